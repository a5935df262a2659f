// Tabs about the recorded steps: modules × strength, conflict by layer and step, and memory against truth.
import { chooser } from "../../components/controls.js";
import { valueAt } from "../../components/solver.js";
import { element, signedText, svgElement } from "../../components/svg.js";
import { Axes, CellMap, MARGIN, pathOf, rangeOf } from "./charts.js";
import { STRENGTHS } from "./frontier.js";
import { moduleBlocks } from "./snapshots.js";
import { axisTitles, nameOf, plural, strengthText } from "./words.js";

const MAP_COLUMNS = 31; // every second strength of the grid
const MOST_BINS = 60; // of steps in the conflict map
const CONFLICTS = {
  cosine: "cosine of ĝ_s and g",
  violated: "share of memory rows that g violates",
  v: "mean v at the chosen strength",
};

function tabContent(note, chooser, ...content) {
  const text = element("p", { class: "note" }, note);
  return element("div", {}, element("div", { class: "panel-head" }, text, ...(chooser ? [chooser] : [])), ...content);
}

export function buildMap(lens) {
  const { parts, state, data } = lens;
  const press = (row, column) => lens.change({ moduleOf: data.partitions[row].moduleOf, q: lens.strengths[2 * column] });
  parts.heat = new CellMap(press);
  parts.heatNote = element("p", { class: "note" });
  const options = [["x", "⟨g_s,z⟩: retention"], ["y", "⟨g_t,z⟩: learning"]];
  const mapOf = chooser("Shown", options, state.map, (map) => lens.change({ map }));
  const note = "With the chosen splits, at the recorded steps; a click chooses modules and strength.";
  return tabContent(note, mapOf, parts.heat.svg, parts.heatNote);
}

export function buildConflict(lens) {
  const { parts, state } = lens;
  parts.conflict = new CellMap();
  parts.conflictNote = element("p", { class: "note" });
  const conflictOf = chooser("Shown", Object.entries(CONFLICTS), state.conflict, (conflict) => lens.change({ conflict }));
  const note = "Layers (for v: modules) from top to bottom, recorded steps from left to right; means over seeds.";
  return tabContent(note, conflictOf, parts.conflict.svg, parts.conflictNote);
}

export function buildMemory(lens) {
  const { parts } = lens;
  parts.gap = new Axes(260);
  parts.truth = svgElement("path", { class: "chosen" });
  parts.seen = svgElement("path", { class: "gem" });
  parts.gapLine = svgElement("line", { class: "strength-line" });
  parts.gap.content.append(parts.gapLine, parts.seen, parts.truth);
  const entry = (kind, text) => element("span", { class: `entry ${kind}` }, text);
  const note =
    "The memory is a sample of the past task. The restriction knows only ⟨ĝ_s,z⟩ on the memory; ⟨g_s,z⟩ is measured on " +
    "training images of the past task that are drawn at each step. In a recording without true gradients, both are the " +
    "same.";
  const truth = entry("chosen", "⟨g_s,z⟩, on training images"), seen = entry("gem", "⟨ĝ_s,z⟩, on the memory");
  return tabContent(note, null, parts.gap.svg, element("p", { class: "legend" }, truth, seen));
}

export function drawMap(lens, families, width) {
  const { state } = lens, solved = lens.data.partitions.map(({ moduleOf }) => lens.family(moduleOf, state.splits).solved);
  drawOnce(lens, "map", [width, viewOf(state), state.map, state.splits, solved], () => drawHeatMap(lens, width));
}

export function drawMemory(lens, { chosen }, width) {
  drawOnce(lens, "memory", [width, viewOf(lens.state), chosen.moduleOf, chosen.splits, chosen.solved], () =>
    drawGap(lens, chosen, width),
  );
  const x = lens.parts.gap.x(lens.placeOf(lens.state.q));
  for (const name of ["x1", "x2"]) lens.parts.gapLine.setAttribute(name, x);
}

// All recorded steps are shown, whatever the window.
export function drawConflict(lens, { chosen }, width) {
  const { conflict, pair, splits, moduleOf, solver, trigger, q } = lens.state;
  const depends = { cosine: [], violated: [splits], v: [splits, moduleOf, solver, trigger, q, chosen.solved] };
  drawOnce(lens, "conflict", [width, pair, conflict, depends[conflict], lens.task.order.length], () =>
    drawConflicts(lens, chosen, width),
  );
}

function viewOf({ pair, axes, window, solver, trigger, step_length }) {
  return [pair, axes, window, solver, trigger, step_length];
}

// Draw only if one of the values has changed since this was drawn last.
function drawOnce(lens, name, values, draw) {
  const key = JSON.stringify(values);
  lens.drawnTabs ??= {};
  if (lens.drawnTabs[name] === key) return;
  lens.drawnTabs[name] = key;
  draw();
}

// Strengths below an axis of places 0 … 1.
function strengthTicks(lens) {
  const largest = lens.strengths[STRENGTHS - 1], wanted = [0, 0.1, 0.3, 1, 3, 10, 30];
  const factor = 10 ** Math.floor(Math.log10(largest / 29.9));
  return wanted.map((q) => q * factor).filter((q) => q <= largest * 1.001).map((q) => [lens.placeOf(q), strengthText(q)]);
}

function drawHeatMap(lens, width) {
  const { data, state, parts } = lens, i = state.map === "x" ? 0 : 1;
  const curves = data.partitions.map(({ moduleOf }) => lens.curveOf(lens.family(moduleOf, state.splits)).mean);
  const values = curves.map((curve) => Array.from({ length: MAP_COLUMNS }, (_, c) => curve[2 * c][i]));
  const [low, high] = rangeOf(values.flat(), 0);
  const colour = (value) =>
    Number.isFinite(value)
      ? `fill:var(--lens-colour);fill-opacity:${(0.06 + (0.94 * (value - low)) / (high - low)).toFixed(3)}`
      : "fill:none";
  const names = data.partitions.map(({ modules }) => plural(modules, "module"));
  const ticks = strengthTicks(lens).map(([place, text]) => [place * (MAP_COLUMNS - 1), text]);
  const describe = (value, r, c) => `${names[r]}, strength ${strengthText(lens.strengths[2 * c])}: ${signedText(value, 4)}`;
  parts.heat.draw(width, names, ticks, values, colour, describe);
  const title = axisTitles(state)[i].split(" → ")[0];
  parts.heat.svg.setAttribute("aria-label", `${title} for modules and strengths`);
  const range = `from ${signedText(low, 3)} (faint) to ${signedText(high, 3)} (full colour)`;
  parts.heatNote.textContent = `${title}: ${range}; strength from left to right.`;
}

function drawGap(lens, chosen, width) {
  const { parts, state } = lens, { mean } = lens.curveOf(chosen), places = mean.map((_, j) => j / (STRENGTHS - 1));
  const range = rangeOf(mean.flatMap(([x, , memory]) => [x, memory]));
  const title = { unit: "product / ‖z‖", raw: "product", cosine: "product / (‖g_s‖ ‖z‖)" }[state.axes];
  parts.gap.resize(width, [0, 1], range, [`strength of ${nameOf(lens, chosen)}`, title], strengthTicks(lens));
  parts.truth.setAttribute("d", pathOf(parts.gap.place(mean.map(([x], j) => [places[j], x]))));
  parts.seen.setAttribute("d", pathOf(parts.gap.place(mean.map(([, , memory], j) => [places[j], memory]))));
  parts.gapLine.setAttribute("y1", MARGIN.top);
  parts.gapLine.setAttribute("y2", parts.gap.height - MARGIN.bottom);
  parts.gap.svg.setAttribute("aria-label", "⟨g_s,z⟩ on the past task and ⟨ĝ_s,z⟩ on its memory, over the strength");
}

// [rows][bins] of a measure of a step, mean over its steps and all recordings.
function drawConflicts(lens, chosen, width) {
  const { task, state, data, parts } = lens, { steps, snapshots } = task, bins = Math.min(MOST_BINS, steps.length);
  const binOf = new Map(steps.map((step, i) => [step, Math.floor((i * bins) / steps.length)]));
  const modules = Math.max(...state.moduleOf) + 1, isV = state.conflict === "v";
  const layerOf = data.layers.flatMap(({ tensors }, layer) => tensors.map(() => layer));
  const rows = isV ? modules : data.layers.length;
  const sums = Array.from({ length: rows }, () => new Float64Array(bins)),
    counts = Array.from({ length: rows }, () => new Float64Array(bins));
  snapshots.forEach((snapshot, n) => {
    if (isV && !chosen.pieces[n]) return;
    const values = isV
      ? meanVs(chosen, n, state.q, lens.view.s)
      : conflictsOf(snapshot, layerOf, lens.view.s, state.splits, state.conflict, lens.restriction.violated);
    values.forEach((value, r) => {
      if (!Number.isFinite(value)) return;
      sums[r][binOf.get(snapshot.step)] += value;
      counts[r][binOf.get(snapshot.step)]++;
    });
  });
  const values = sums.map((row, r) => Array.from(row, (sum, c) => sum / counts[r][c]));
  const largest =
    state.conflict === "violated" ? 1 : Math.max(...values.flat().filter(Number.isFinite).map(Math.abs), 1e-300);
  const colour = (value) => {
    if (!Number.isFinite(value)) return "fill:none";
    const name = value < 0 || state.conflict === "violated" ? "--lens-against" : "--lens-colour";
    return `fill:var(${name});fill-opacity:${(Math.abs(value) / largest).toFixed(3)}`;
  };
  const names = isV
    ? values.map((_, d) => `module ${d + 1}`)
    : data.layers.map(({ name }) => name.split(".").slice(-2).join("."));
  const binStep = (c) => steps[Math.ceil((c * steps.length) / bins)];
  const describe = (value, r, c) => `${names[r]}, from step ${binStep(c)}: ${signedText(value, 3)}`;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => Math.round(share * (bins - 1))).map((c) => [c, `${binStep(c)}`]);
  parts.conflict.draw(width, names, ticks, values, colour, describe);
  parts.conflict.svg.setAttribute("aria-label", `${CONFLICTS[state.conflict]} by layer and step`);
  const scale = {
    cosine: `Blue: they agree; red: they conflict; full colour at ±${largest.toFixed(2)}.`,
    violated: "Full colour: all rows.",
    v: `Full colour at ${strengthText(largest)}.`,
  };
  parts.conflictNote.textContent = `${CONFLICTS[state.conflict]}. ${scale[state.conflict]}`;
}

// Per layer: the cosine of g and the mean of the past task's memory rows, or the share of these rows that g violates.
function conflictsOf(snapshot, layerOf, s, splits, kind, violated) {
  const { blocks } = moduleBlocks(snapshot, layerOf, kind === "cosine" ? 1 : splits), S = snapshot.sizes.length;
  const K = kind === "cosine" ? 1 : splits, M = 2 + S + S * K, first = 2 + S + s * K;
  return blocks.map((block) => {
    const cosines = Array.from(
      { length: K },
      (_, k) => block[(first + k) * M] / Math.sqrt(block[0] * block[(first + k) * M + first + k]),
    );
    return kind === "cosine" ? cosines[0] : cosines.filter((cosine) => cosine < violated).length / K;
  });
}

// Per module: the mean of v over the rows of a past task.
function meanVs({ pieces, splits }, n, q, s) {
  return pieces[n].map(
    (path) =>
      valueAt(path, q)
        .slice(s * splits, (s + 1) * splits)
        .reduce((sum, v) => sum + v, 0) / splits,
  );
}
