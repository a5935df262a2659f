// The controls of the lens, and what a frame of it draws.
import { chooser, saveStandalone, scriptLiteral, show, slider } from "../../components/controls.js";
import { element, svgElement } from "../../components/svg.js";
import { Axes, moveTo, nearestOnLine, pathOf, rangeOf } from "./charts.js";
import { kneeOf, pointAt, STRENGTHS } from "./frontier.js";
import { buildPanels, drawPanels } from "./panels.js";
import { divisorsOf } from "./partition.js";
import { drawPartition } from "./partition_bar.js";
import { buildRules, drawRules, readRules, rulesInWords } from "./rules.js";
import { buildTrained, drawTrained, drawTrainedChooser, measuredPoints, STAR, trainedAs, trainedInWords } from "./trained.js";
import { AXES, differenceInWords, nameOf, pointInWords, strengthText, TITLES } from "./words.js";

export function buildLens(lens) {
  const parts = (lens.parts = {});
  parts.plot = new Axes(430);
  parts.faint = svgElement("g", { class: "faint" });
  parts.gem = svgElement("path", { class: "gem" });
  parts.chosen = svgElement("path", { class: "chosen" });
  parts.knee = svgElement("path", { class: "knee", d: "M-6 5L6 5L0 -6Z" });
  parts.used = svgElement("path", { class: "used", d: "M0 -8L8 0L0 8L-8 0Z" });
  parts.marker = svgElement("circle", { class: "marker", r: 7 });
  parts.rules = svgElement("g");
  parts.measuredLine = svgElement("path", { class: "measured-line" });
  parts.measuredSeeds = svgElement("g", { class: "measured-seeds" });
  parts.measured = svgElement("path", { class: "measured", d: STAR });
  const measured = [parts.measuredLine, parts.measuredSeeds, parts.measured];
  parts.plot.content.append(parts.faint, parts.gem, parts.chosen, parts.rules, parts.knee, parts.used, parts.marker, ...measured);
  parts.legend = element("p", { class: "legend" });
  parts.words = element("div", { class: "words" });
  parts.picture = element("div", { class: "picture" }, parts.plot.svg, parts.legend);
  dragAlongCurve(lens);
  const controls = element("div", { class: "controls" }, ...buildControls(lens));
  parts.panels = element("div", { class: "panels" }, ...buildPanels(lens));
  lens.host.replaceChildren(element("div", { class: "first" }, controls, parts.picture), parts.words, parts.panels);
}

function buildControls(lens) {
  const { data, state, parts } = lens, { partitions } = data;
  parts.modules = slider("Modules", { min: 0, max: partitions.length - 1, step: 1 }, (i) => lens.change({ moduleOf: partitions[i].moduleOf }));
  parts.bar = element("div", { class: "partition" });
  parts.splits = slider("Splits", { min: 0, step: 1 }, (i) => lens.change({ splits: divisorsOf(lens.task.splits)[i] }));
  parts.strength = slider("Strength", { min: 0, max: 1, step: 0.001 }, (t) => lens.change({ q: lens.strengthAt(t) }));
  parts.from = slider("From step", { min: 0, step: 1 }, (i) => moveWindow(lens, 0, i));
  parts.to = slider("To step", { min: 0, step: 1 }, (i) => moveWindow(lens, 1, i));
  const pairs = lens.pairs.map(({ s, task }, i) => [i, `past task ${s + 1}, current task ${task + 1}`]);
  const setPair = (i) => {
    const { steps, splits } = lens.taskOf(lens.pairs[i].task);
    lens.change({ pair: Number(i), window: [steps[0], steps[steps.length - 1]], splits: splits % state.splits ? splits : state.splits });
  };
  const buttons = Object.entries(AXES).map(([name, text]) => element("button", { type: "button", "data-axes": name, onclick: () => lens.change({ axes: name }) }, text));
  parts.axes = buttons;
  const pair = pairs.length > 1 ? [chooser("Tasks", pairs, state.pair, setPair)] : [];
  parts.trigger = chooser("Restrict", [["violation", "where a constraint is violated"], ["always", "always"]], state.trigger, (trigger) => lens.change({ trigger }));
  parts.solver = chooser("Solver", [["exact", "exact"], ["approx", "approximate (row by row)"]], state.solver, (solver) => lens.change({ solver }));
  return [
    parts.modules.row, parts.bar, parts.splits.row, parts.strength.row, parts.from.row, parts.to.row, ...pair, parts.trigger, parts.solver,
    element("div", { class: "buttons", role: "group", "aria-label": "Axes" }, element("span", {}, "Axes"), ...buttons),
    buildRules(lens),
    buildTrained(lens),
    element("div", { class: "buttons" }, ...buildActions(lens)),
  ];
}

function buildActions(lens) {
  const { train, standalone, state } = lens, buttons = [];
  const values = () => ({ moduleOf: state.moduleOf, splits: state.splits, strength: Number(state.q.toPrecision(3)), solver: state.solver, trigger: state.trigger });
  if (train) buttons.push(element("button", { type: "button", onclick: () => train(values()) }, "Train this"));
  if (standalone) buttons.push(element("button", { type: "button", onclick: () => saveLens(lens) }, "Save as HTML"));
  return buttons;
}

function moveWindow(lens, end, i) {
  const { steps } = lens.task, window = [...lens.state.window];
  window[end] = steps[i];
  if (window[0] > window[1]) window[1 - end] = steps[i];
  lens.change({ window });
}

// The marker follows the pointer along the curve of the chosen family.
function dragAlongCurve(lens) {
  const { svg } = lens.parts.plot;
  const follow = (event) => {
    const box = svg.getBoundingClientRect(), [i, share] = nearestOnLine(lens.drawnCurve, event.clientX - box.left, event.clientY - box.top);
    lens.change({ q: lens.strengthAt((i + share) / (STRENGTHS - 1)) });
  };
  svg.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    follow(event);
  });
  svg.addEventListener("pointermove", (event) => event.buttons && svg.hasPointerCapture(event.pointerId) && follow(event));
}

export function drawLens(lens, families) {
  const { parts, state, host } = lens, { chosen } = families;
  if (!host.clientWidth) return; // hidden
  // Widths are read before anything is changed: after a change, the browser would have to lay out the page for it.
  const width = parts.picture.clientWidth, panelWidth = parts.panels.firstChild.clientWidth;
  const entry = trainedAs(lens), measured = entry && measuredPoints(lens, entry), isMeasured = Boolean(measured?.each.length);
  const solved = [...families.others, ...families.rules, chosen].map((one) => one.solved);
  const measuredKey = isMeasured ? measured.each.map(({ point }) => point) : null;
  const scaleKey = JSON.stringify([state.pair, lens.view, solved, chosen.moduleOf, chosen.splits, width, state.solver, state.trigger, state.rules, measuredKey]);
  if (lens.scaleKey !== scaleKey) {
    lens.scaleKey = scaleKey;
    drawCurves(lens, families, width, measured?.each.map(({ point }) => point) ?? []);
    drawLegend(lens, chosen, isMeasured);
    lens.comparison = null;
  }
  const point = pointAt(chosen, state.q, lens.view, lens.R), [at] = parts.plot.place([point.mean]);
  moveTo(parts.marker, at);
  drawTrained(lens, measured, at);
  lens.comparison ??= differenceInWords(lens, chosen, families.gem); // does not depend on the strength
  drawWords(lens, [pointInWords(lens, chosen, point), trainedInWords(lens, entry, measured, point), lens.comparison, lens.rulesText]);
  drawControls(lens);
  drawPanels(lens, families, panelWidth);
}

// All that stays where it is while the strength is dragged.
function drawCurves(lens, { chosen, gem, used, others, rules }, width, alsoWithin) {
  const { parts, state } = lens, { plot } = parts, found = readRules(lens, rules), curve = lens.curveOf(chosen).mean;
  const points = [...others.flatMap((family) => lens.curveOf(family).mean), ...curve, ...found.flatMap((rule) => [rule.point, ...rule.curve]), ...alsoWithin];
  plot.resize(width, rangeOf(points.map(([x]) => x)), rangeOf(points.map(([, y]) => y)), TITLES[state.axes]);
  const lines = others.map((family) => svgElement("path", { d: pathOf(plot.place(lens.curveOf(family).mean)) }, svgElement("title", {}, nameOf(family))));
  parts.faint.replaceChildren(...lines);
  parts.gem.setAttribute("d", pathOf(plot.place(lens.curveOf(gem).mean)));
  lens.drawnCurve = plot.place(curve);
  parts.chosen.setAttribute("d", pathOf(lens.drawnCurve));
  const knee = kneeOf(curve), kneeAt = knee < 0 ? [NaN, NaN] : lens.drawnCurve[knee];
  lens.knee = knee < 0 ? null : lens.strengths[knee];
  moveTo(parts.knee, kneeAt);
  const usedAt = used ? plot.place([pointAt(used.family, used.q, lens.view, lens.R).mean])[0] : [NaN, NaN];
  moveTo(parts.used, usedAt);
  drawRules(lens, found, [kneeAt, usedAt]);
  lens.rulesText = rulesInWords(found);
}

function drawLegend({ parts, state, data }, chosen, isMeasured) {
  const entry = (kind, text) => element("span", { class: `entry ${kind}` }, text);
  const name = nameOf(chosen);
  parts.legend.replaceChildren(...[
    entry("chosen", `${name}, all strengths`),
    ...(name === "GEM" ? [] : [entry("gem", "GEM")]),
    entry("faint", "other modules and splits"),
    entry("marker", "the chosen strength"),
    ...(isMeasured ? [entry("measured", "trained with these settings (small: single seeds)")] : []),
    ...(data.used ? [entry("used", "what the run itself used")] : []),
    entry("knee", "knee: the point farthest above the line between the ends"),
  ]);
  parts.plot.svg.setAttribute("aria-label", `Frontier of ${name} over the strength: ${TITLES[state.axes].join("; ")}`);
}

function drawWords({ parts: { words } }, sentences) {
  const known = sentences.filter(Boolean);
  if (words.childElementCount !== known.length) words.replaceChildren(...known.map(() => element("p")));
  known.forEach((text, i) => (words.children[i].textContent = text));
}

function drawControls(lens) {
  const { data, state, parts, task } = lens, splits = divisorsOf(task.splits), { steps } = task;
  const modules = Math.max(...state.moduleOf) + 1, text = state.moduleOf.join();
  const known = data.partitions.findIndex((one) => one.moduleOf.join() === text);
  const nearest = data.partitions.findIndex((one) => one.modules >= modules);
  show(parts.modules, known < 0 ? nearest : known, known < 0 ? `${modules}, cut by hand` : `${modules}`);
  drawPartition(lens);
  parts.splits.input.max = splits.length - 1;
  show(parts.splits, splits.indexOf(state.splits), `${state.splits} of each past task’s memory`);
  show(parts.strength, Number(lens.placeOf(state.q).toFixed(3)), strengthText(state.q));
  const ends = [steps.findIndex((step) => step >= state.window[0]), steps.findLastIndex((step) => step <= state.window[1])];
  [parts.from, parts.to].forEach((one, end) => {
    one.input.max = steps.length - 1;
    show(one, ends[end], `${steps[ends[end]]}`);
  });
  for (const name of ["trigger", "solver"]) parts[name].querySelector("select").value = state[name];
  for (const button of parts.axes) button.setAttribute("aria-pressed", String(button.dataset.axes === state.axes));
  for (const button of parts.ruleButtons) button.setAttribute("aria-pressed", String(state.rules.includes(button.dataset.rule)));
  drawTrainedChooser(lens);
}

// The lens as one file, with its data and its present settings, that needs no server.
function saveLens({ data, state, trained, standalone }) {
  const options = { start: state, trained: { source: data.source, configurations: trained } };
  saveStandalone("lens", `Lens: ${data.title}`, standalone, `new Lens(host, ${scriptLiteral(data)}, ${scriptLiteral(options)});`);
}
