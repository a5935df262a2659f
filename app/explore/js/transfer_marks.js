// What the panel "Forgetting and learning" draws: lines with their marks, marks at the border, names, lines of equal ACC.
import { svgElement } from "../../components/svg.js";
import { MARGIN, moveTo, pathOf } from "./charts.js";
import {
  makeLineGroup,
  makeMark,
  setAttributes,
  setOneClass,
  setText,
  symbolPath,
  titled,
  updateChildren,
} from "./marks.js";
import { EMPHASES, isChosenPoint, pointTitle, strengthScale } from "./trained_lines.js";
import { atBorder, equalAcc, placeAccLabels, placeLabels } from "./transfer_layout.js";

export function placeInTransfer(plot, { bwd, fwd }) {
  return [plot.x(bwd.mean), plot.y(fwd.mean)];
}

export function drawTransferLines({ parts: { transfer }, state }, lines, emphasis, shown) {
  const { plot } = transfer, place = strengthScale(shown.map(({ q }) => q ?? 0));
  updateChildren(transfer.lines, lines, ({ name }) => name, makeLineGroup, (group, { name, color, dash, points }) => {
    const inside = points.filter((point) => plot.contains([point.bwd.mean, point.fwd.mean]));
    const [hit, join, marks] = group.children, d = pathOf(inside.map((point) => placeInTransfer(plot, point)));
    setOneClass(group, EMPHASES, emphasis(name));
    setAttributes(hit, { d });
    setText(hit.firstChild, name);
    setAttributes(join, { d, style: `stroke:${color}`, "stroke-dasharray": dash || null });
    updateChildren(marks, inside, ({ key }) => key, makeMark, (mark, point) => {
      const fill = point.isActive || !point.isShared ? "var(--st-background-color)" : color;
      moveTo(mark, placeInTransfer(plot, point));
      setText(mark.firstChild, pointTitle(point));
      setAttributes(mark.children[1], { d: errorBars(plot, point), style: `stroke:${color}` });
      setAttributes(mark.children[2], {
        d: symbolPath(point.symbol, 2.8 + (point.q === null ? 1.4 : 2 * place(point.q))),
        style: `fill:${fill};stroke:${color}`,
      });
      mark.classList.toggle("is-point", isChosenPoint(point, state));
    });
  });
}

// Standard errors over seeds as a cross around the origin, cut off at the border of the plot.
function errorBars(plot, { bwd, fwd }) {
  const [x, y] = [plot.x(bwd.mean), plot.y(fwd.mean)], { left, right, top, bottom } = areaOf(plot);
  const across = bwd.error === null ? 0 : plot.x(bwd.mean + bwd.error) - x;
  const upwards = fwd.error === null ? 0 : y - plot.y(fwd.mean + fwd.error);
  const [x0, x1] = [Math.max(left - x, -across), Math.min(right - x, across)].map((one) => one.toFixed(2));
  const [y0, y1] = [Math.max(top - y, -upwards), Math.min(bottom - y, upwards)].map((one) => one.toFixed(2));
  return `${across ? `M${x0} 0H${x1}` : ""}${upwards ? `M0 ${y0}V${y1}` : ""}`;
}

function areaOf({ width, height }) {
  return { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
}

export function drawTransferOutside({ plot, outside }, lines, emphasis) {
  const isOutside = ({ bwd, fwd }) => !plot.contains([bwd.mean, fwd.mean]), area = areaOf(plot);
  const items = lines.flatMap(({ name, color, points }) =>
    points.filter(isOutside).map((point) => ({ name, color, point })),
  );
  const make = ({ name }) => titled("path", { class: "outside", "data-line": name, d: "M0 -5.5L5 4L-5 4Z" });
  updateChildren(outside, items, ({ name, point }) => `${name} ${point.key}`, make, (mark, { name, color, point }) => {
    const { at: [x, y], angle } = atBorder(placeInTransfer(plot, point), area), fill = point.isActive ? "none" : color;
    const transform = `translate(${x.toFixed(2)} ${y.toFixed(2)}) rotate(${angle})`;
    setAttributes(mark, { transform, style: `fill:${fill};stroke:${color}` });
    setText(mark.firstChild, pointTitle(point));
    setOneClass(mark, EMPHASES, emphasis(name));
  });
}

// Names at the ends of lines, and lines of equal ACC with theirs.
export function drawTransferTexts({ plot, labels, equal, placed }, lines, emphasis) {
  const isInside = ({ bwd, fwd }) => plot.contains([bwd.mean, fwd.mean]), area = areaOf(plot);
  const ends = lines.flatMap(({ name, points }) => {
    const last = points.filter(isInside).pop();
    return last && emphasis(name) !== "is-hidden" ? [{ name, x: plot.x(last.bwd.mean), y: plot.y(last.fwd.mean) }] : [];
  });
  const isFirst = ({ name }) => ["is-isolated", "is-chosen"].includes(emphasis(name));
  const marks = placed.filter(({ point }) => isInside(point)).map(({ at }) => at);
  const names = placeLabels([...ends.filter(isFirst), ...ends.filter((end) => !isFirst(end))], marks, area);
  const makeName = ({ name }) => svgElement("text", { "data-line": name }, name);
  updateChildren(labels, names.placed, ({ name }) => name, makeName, (label, { name, x, y, anchor }) => {
    setAttributes(label, { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor });
    setOneClass(label, EMPHASES, emphasis(name));
  });
  const found = equalAcc(plot.xRange, plot.yRange).map(({ acc, ends }) => ({ acc, ends: plot.place(ends) }));
  const texts = placeAccLabels(found, marks, names.taken, area);
  const items = found.map((line, i) => ({ ...line, label: texts[i] }));
  const make = () => svgElement("g", {}, svgElement("path"), svgElement("text"));
  updateChildren(equal, items, ({ acc }) => acc, make, ({ children: [path, text] }, { ends, label }) => {
    setAttributes(path, { d: pathOf(ends) });
    setText(text, label?.text ?? "");
    if (label) setAttributes(text, { x: label.x.toFixed(1), y: label.y.toFixed(1) });
  });
}
