// The curves of all lines in the frontier, with marks at the strengths of the sweep and a label at the end of each; curves
// that coincide have one label.
import { svgElement } from "../../components/svg.js";
import { MARGIN, pathOf } from "./charts.js";
import { STRENGTHS } from "./frontier.js";
import { bundlesOf, joinNames } from "./lines.js";
import { placeLabels } from "./transfer_layout.js";

const LINE_WIDTH = 2; // pixels: curves that are nowhere farther apart get one label
// Where a label may be, from the end of its curve, with its text-anchor.
const AT_AN_END = [4, 18, -10, 32, 46, -24].flatMap((dy) => [[6, dy, "start"], [-6, dy, "end"]]);

// extra: the name and the end of the chosen curve, if it is none of the lines.
export function drawLines(lens, lines, extra) {
  const { parts } = lens, means = lines.map(({ family }) => lens.curveOf(family).mean);
  const curves = means.map((mean) => parts.plot.place(mean));
  lens.drawnLines = lines.map(({ name }, i) => ({ name, curve: curves[i], mean: means[i] }));
  const drawn = lines.map((line, i) => {
    const d = pathOf(curves[i]), kind = isShownThick(lens, line) ? "line is-chosen" : "line";
    const path = svgElement("path", { d, style: `stroke:${line.color}` });
    const hit = svgElement("path", { class: "hit", d }), marks = marksAtStrengths(lens, curves[i], line.color);
    const group = svgElement("g", { class: kind, "data-line": line.name }, path, ...marks, hit);
    group.onclick = line.choose;
    return group;
  });
  parts.lines.replaceChildren(...drawn);
  const key = JSON.stringify([curves.map((curve) => curve[STRENGTHS - 1]), parts.plot.width]);
  if (lens.bundlesKey !== key) {
    const known = curves.map((curve) => curve.filter((point) => point.every(Number.isFinite)));
    const areDrawn = known.every(({ length }) => length > 1);
    Object.assign(lens, { bundlesKey: key, bundles: areDrawn ? bundlesOf(known, LINE_WIDTH) : [] });
  }
  drawLabels(lens, lines, curves, extra);
}

function isShownThick({ state }, { family }) {
  return family.splits === state.splits && family.moduleOf.join() === state.moduleOf.join();
}

// A small circle at each strength of the sweep, between the points of the curve.
function marksAtStrengths(lens, curve, color) {
  return lens.data.strengths.flatMap((q) => {
    const at = lens.placeOf(q) * (STRENGTHS - 1), i = Math.min(STRENGTHS - 2, Math.floor(at)), share = at - i;
    if (!(at <= STRENGTHS - 1)) return [];
    const [x, y] = [0, 1].map((axis) => curve[i][axis] + share * (curve[i + 1][axis] - curve[i][axis]));
    if (!Number.isFinite(x + y)) return [];
    return [svgElement("circle", { cx: x.toFixed(2), cy: y.toFixed(2), r: 2.6, style: `fill:${color}` })];
  });
}

// A click on a label lets its lines stay alone; another one shows all again. Labels without room are left out: the panel
// with the differences has all names, and the chosen line, GEM and lines of a single number come first.
function drawLabels(lens, lines, curves, extra) {
  const { parts, bundles } = lens, ordered = lines.map(({ name }) => name), { width, height } = parts.plot;
  const labels = bundles.map((members) => {
    const names = members.map((i) => ordered[i]), [x, y] = curves[members[members.length - 1]][STRENGTHS - 1];
    return { name: joinNames(names, ordered), line: names.join("; "), x, y, first: lines[members[0]] };
  });
  const [x, y] = extra?.end ?? [NaN, NaN];
  if (Number.isFinite(x + y)) labels.push({ name: extra.name, line: extra.name, x, y });
  const rank = ({ name, first }) => {
    if (!first || isShownThick(lens, first)) return 0;
    return name === "GEM" ? 1 : name.includes(",") ? 3 : 2;
  };
  const area = { left: MARGIN.left, right: width, top: MARGIN.top, bottom: height - MARGIN.bottom };
  const { placed } = placeLabels(labels.sort((one, other) => rank(one) - rank(other)), [], area, AT_AN_END);
  parts.labels.replaceChildren(
    ...placed.map(({ name, x, y, anchor }) => {
      const { line, first } = labels.find((label) => label.name === name);
      const label = svgElement("text", { x, y, "text-anchor": anchor, "data-line": line }, name);
      if (first) label.onclick = () => isolate(lens, first);
      return label;
    }),
  );
}

function isolate(lens, line) {
  const isAlone = lens.state.isolated === line.name;
  lens.change({ isolated: isAlone ? "" : line.name });
  line.choose();
}
