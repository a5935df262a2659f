// The tab "Against strength": a measure of trained configurations over the memory strength.
import { chooser } from "../../components/controls.js";
import { element, svgElement } from "../../components/svg.js";
import { Axes, MARGIN, moveTo, pathOf } from "./charts.js";
import {
  hasChanged,
  makeLineGroup,
  makeMark,
  setAttributes,
  setOneClass,
  setText,
  symbolPath,
  updateChildren,
} from "./marks.js";
import {
  chosenLines,
  EMPHASES,
  emphasisOf,
  inFront,
  isChosenPoint,
  linesOf,
  MEASURE_NAMES,
  measureRange,
  measureTitle,
  pointTitle,
  strengthMarks,
  strengthScale,
} from "./trained_lines.js";
import { placeLabels, TO_THE_RIGHT } from "./transfer_layout.js";

const ROOM_FOR_NAMES = 0.16; // of the width, right of the largest strength

export function buildOverStrength(lens, height = 280) {
  const plot = new Axes(height), lines = svgElement("g", { class: "transfer-lines" });
  const labels = svgElement("g", { class: "transfer-labels" }), empty = element("p", { class: "empty" });
  plot.content.append(lines, labels);
  const change = (measure) => lens.change({ measure });
  const measure = chooser("Measure", Object.entries(MEASURE_NAMES), lens.state.measure ?? "acc", change);
  const note = element("p", { class: "note" }, "means over seeds · bars: standard error");
  const head = element("div", { class: "panel-head" }, note, measure);
  plot.svg.onclick = (event) => {
    const part = event.target.closest("[data-line]"), q = event.target.closest(".mark")?.q;
    if (part) lens.choose(part.dataset.line, q ?? lens.state.q);
  };
  const section = element("section", { class: "panel over-strength" }, head, plot.svg, empty);
  lens.parts.overStrength = { section, plot, lines, labels, measure, empty };
  return section;
}

export function drawOverStrength(lens, points, width) {
  const { state, parts: { overStrength } } = lens, { plot } = overStrength, measure = state.measure ?? "acc";
  const chosen = chosenLines(points, state), chosenKey = points.find((point) => isChosenPoint(point, state))?.key;
  if (!hasChanged(overStrength, [points, width, measure, state.isolated, chosenKey, ...chosen])) return;
  const isProduct = measure === "x" || measure === "y";
  const known = points.filter((one) => (isProduct || one.isComparable) && Number.isFinite(one[measure].mean));
  overStrength.measure.querySelector("select").value = measure;
  setText(overStrength.empty, known.length ? "" : "No trained run has a value of this measure yet.");
  overStrength.empty.hidden = known.length > 0;
  plot.svg.toggleAttribute("hidden", !known.length);
  if (!known.length) return;
  const strengths = known.flatMap(({ q }) => (q === null ? [] : [q])), place = strengthScale(strengths);
  const rest = known.filter(({ isCollapsed }) => !isCollapsed), inRange = rest.length ? rest : known;
  const title = ["memory strength q", measureTitle(measure, state.axes)], room = width * (1 - ROOM_FOR_NAMES);
  const yRange = measureRange(measure, inRange.map((point) => point[measure].mean));
  plot.resize(width, [-0.02, 1 + ROOM_FOR_NAMES], yRange, title, strengthMarks(strengths, place, 30 / room));
  const lines = linesOf(known).map((line) => ({ ...line, ...coordinatesOf(line, measure, place) }));
  const emphasis = (name) => emphasisOf([name], chosen, state.isolated);
  drawStrengthLines(lens, inFront(lines, emphasis), measure, emphasis);
  drawStrengthLabels(overStrength, lines, emphasis);
  const names = lines.map(({ name }) => name).join(", ");
  setAttributes(plot.svg, { "aria-label": `${title[1]} over the memory strength: ${names}` });
}

// A line without a strength is drawn over all of them; its point is at the right.
function coordinatesOf({ points }, measure, place) {
  const at = points.map((point) => [point.q === null ? 1 : place(point.q), point[measure].mean]);
  return { at, path: points.length === 1 && points[0].q === null ? [[0, at[0][1]], at[0]] : at };
}

function drawStrengthLines({ state, parts: { overStrength: { plot, lines: parent } } }, lines, measure, emphasis) {
  const [low, high] = plot.yRange, clip = (y) => Math.min(high, Math.max(low, y));
  updateChildren(parent, lines, ({ name }) => name, makeLineGroup, (group, { name, color, dash, points, at, path }) => {
    const [hit, join, marks] = group.children;
    const d = pathOf(plot.place(path.map(([x, y]) => [x, y < low || y > high ? NaN : y])));
    setOneClass(group, EMPHASES, emphasis(name));
    setText(hit.firstChild, name);
    setAttributes(hit, { d });
    setAttributes(join, { d, style: `stroke:${color}`, "stroke-dasharray": dash || null });
    updateChildren(marks, points, ({ key }) => key, makeMark, (mark, point) => {
      const { mean, error } = point[measure], isInside = mean >= low && mean <= high, i = points.indexOf(point);
      mark.q = point.q;
      moveTo(mark, plot.place([[at[i][0], clip(mean)]])[0]);
      const ends = [clip(mean + error), clip(mean - error)].map((end) => (plot.y(end) - plot.y(clip(mean))).toFixed(2));
      setText(mark.firstChild, `${pointTitle(point)}${isInside ? "" : "; outside the plot"}`);
      setAttributes(mark.children[1], { d: error && isInside ? `M0 ${ends[0]}V${ends[1]}` : "", style: `stroke:${color}` });
      const fill = point.isActive || !point.isShared ? "var(--st-background-color)" : color;
      const shape = isInside ? point.symbol : mean < low ? "triangle-down" : "triangle-up";
      setAttributes(mark.children[2], { d: symbolPath(shape, 4), style: `fill:${fill};stroke:${color}` });
      mark.classList.toggle("is-point", isChosenPoint(point, state));
    });
  });
}

function drawStrengthLabels({ plot, labels }, lines, emphasis) {
  const isInside = ([, y]) => y >= plot.yRange[0] && y <= plot.yRange[1];
  const ends = lines.flatMap(({ name, at }) => {
    const last = at.filter(isInside).pop(), [[x, y]] = plot.place([last ?? [NaN, NaN]]);
    return last && emphasis(name) !== "is-hidden" ? [{ name, x, y }] : [];
  });
  const isFirst = ({ name }) => ["is-isolated", "is-chosen"].includes(emphasis(name));
  const marks = lines.flatMap(({ at }) => plot.place(at.filter(isInside)));
  const area = { left: MARGIN.left, right: plot.width, top: MARGIN.top, bottom: plot.height - MARGIN.bottom };
  const ordered = [...ends.filter(isFirst), ...ends.filter((end) => !isFirst(end))];
  const { placed } = placeLabels(ordered, marks, area, TO_THE_RIGHT);
  const make = ({ name }) => svgElement("text", { "data-line": name }, name);
  updateChildren(labels, placed, ({ name }) => name, make, (label, { name, x, y, anchor }) => {
    setAttributes(label, { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor });
    setOneClass(label, EMPHASES, emphasis(name));
  });
}
