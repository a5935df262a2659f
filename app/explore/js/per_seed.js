// The tab "Per seed": the difference of each line from GEM at equal strengths, a mark per seed.
import { chooser } from "../../components/controls.js";
import { element, niceTicks, signedText, svgElement } from "../../components/svg.js";
import { hasChanged, setAttributes, setOneClass, setText, titled, updateChildren } from "./marks.js";
import { chosenLines, differencesBySeed, EMPHASES, emphasisOf, MEASURE_NAMES, measureRange } from "./trained_lines.js";
import { meanAndError } from "./trained_points.js";

const SEED_NAMES = 116; // pixels for the names of lines
const SEED_ROW = 26;
const SEED_MEASURES = ["acc", "fwd", "bwd"].map((name) => [name, MEASURE_NAMES[name]]);

export function buildPerSeed(lens) {
  const grid = svgElement("g"), rows = svgElement("g"), note = element("p", { class: "note" });
  const axis = svgElement("text", { class: "title", "text-anchor": "middle" });
  const svg = svgElement("svg", { role: "img" }, grid, rows, axis);
  const measure = chooser("Measure", SEED_MEASURES, lens.state.seedMeasure ?? "acc", (seedMeasure) =>
    lens.change({ seedMeasure }),
  );
  const section = element(
    "section",
    { class: "panel per-seed" },
    element("div", { class: "panel-head" }, note, measure),
    svg,
  );
  rows.onclick = (event) => {
    const row = event.target.closest("[data-line]");
    if (row) lens.choose(row.dataset.line, lens.state.q);
  };
  lens.parts.perSeed = { section, svg, grid, rows, note, axis, measure };
  return section;
}

export function drawPerSeed(lens, points, width) {
  const { state, parts: { perSeed } } = lens, measure = state.seedMeasure ?? "acc";
  const chosen = chosenLines(points, state);
  if (!hasChanged(perSeed, [points, width, measure, state.isolated, ...chosen])) return;
  const found = differencesBySeed(points, measure), lines = found.filter(({ values }) => values.length);
  perSeed.measure.querySelector("select").value = measure;
  setText(perSeed.note, noteOfSeeds(lens, found, lines, points));
  perSeed.svg.toggleAttribute("hidden", !lines.length);
  if (!lines.length) return;
  const height = lines.length * SEED_ROW + 50, base = height - 42;
  const title = `${MEASURE_NAMES[measure]} minus that of ${lines[0].base}`;
  const range = measureRange("bwd", [0, ...lines.flatMap(({ values }) => values.map(({ value }) => value))]);
  const place = (value) => SEED_NAMES + ((value - range[0]) / (range[1] - range[0])) * (width - SEED_NAMES - 14);
  setAttributes(perSeed.svg, { width, height, viewBox: `0 0 ${width} ${height}` });
  drawSeedGrid(perSeed, range, place, base, width);
  setAttributes(perSeed.axis, { x: (SEED_NAMES + width) / 2, y: height - 6 });
  setText(perSeed.axis, `${title}, percentage points`);
  const emphasis = (name) => emphasisOf([name], chosen, state.isolated);
  const summary = [];
  updateChildren(perSeed.rows, lines, ({ name }) => name, makeSeedRow, (row, { name, color, values, strengths }) => {
    const y = (lines.findIndex((line) => line.name === name) + 0.5) * SEED_ROW + 6;
    const [hit, text, seeds, mean] = row.children;
    const { mean: value, error } = meanAndError(values.map((one) => one.value));
    const words = `${name}: ${signedText(value, 2)}${error === null ? "" : ` ± ${error.toFixed(2)}`}`;
    setOneClass(row, EMPHASES, emphasis(name));
    setAttributes(hit, { x: 0, y: y - SEED_ROW / 2, width, height: SEED_ROW });
    setAttributes(text, { x: SEED_NAMES - 10, y: y + 4 });
    updateChildren(seeds, values, ({ seed }) => seed, () => titled("circle", { r: 4 }), (dot, one) => {
      setAttributes(dot, { cx: place(one.value).toFixed(2), cy: y, style: `fill:${color}` });
      setText(dot.firstChild, `${name}, seed ${one.seed}: ${signedText(one.value, 2)}`);
    });
    setAttributes(mean, { d: `M${place(value).toFixed(2)} ${y - 9}V${y + 9}`, style: `stroke:${color}` });
    setText(mean.firstChild, `${words}, mean over ${values.length} seeds and ${strengths} strengths`);
    summary.push(words);
  });
  setAttributes(perSeed.svg, { "aria-label": `${title}, per seed: ${summary.join("; ")}` });
}

function makeSeedRow({ name }) {
  const label = [svgElement("rect", { class: "hit" }), svgElement("text", { "text-anchor": "end" }, name)];
  return svgElement("g", { class: "row", "data-line": name }, ...label, svgElement("g"), titled("path", { class: "mean" }));
}

function drawSeedGrid({ grid }, range, place, base, width) {
  const { ticks, digits } = niceTicks(...range, Math.max(2, width / 90));
  const make = () => svgElement("g", {}, svgElement("line"), svgElement("text", { "text-anchor": "middle" }));
  updateChildren(grid, ticks, (at) => at, make, ({ children: [line, text] }, at) => {
    setAttributes(line, { class: Math.abs(at) < 1e-12 ? "zero" : "tick", x1: place(at), x2: place(at), y1: 4, y2: base });
    setAttributes(text, { x: place(at), y: base + 16 });
    setText(text, signedText(at, digits));
  });
}

function noteOfSeeds({ data }, found, lines, points) {
  if (!data.configurations.length) return "These recordings have no trained runs.";
  if (!lines.length) return "No line has a finished seed and a strength in common with GEM yet.";
  const missing = found.filter(({ values }) => !values.length).map(({ name }) => name);
  const left = missing.length ? ` · not comparable: ${missing.join(", ")}` : "";
  const collapsed = points.some(({ isCollapsed }) => isCollapsed) ? ", without collapsed ones" : "";
  const equal = `mean over equal q${collapsed} (not an equal restriction: K splits act like up to K times the strength)`;
  return `one dot per seed: ${equal} · bar: mean over seeds${left}`;
}
