// Rules of gradient surgery in the picture of the lens, with the chosen modules and splits: a labelled point each, and for
// rules with a parameter a curve.
import { element, signedText, svgElement } from "../../components/svg.js";
import { MARGIN, moveTo, pathOf } from "./charts.js";
import { RULES } from "./surgery.js";
import { strengthText } from "./words.js";

const RULE_SOURCES = {
  agem: "Chaudhry et al. 2019, arXiv 1812.00420",
  pcgrad: "Yu et al. 2020, arXiv 2001.06782; the gradients are taken in their order",
  mgda: "Désidéri 2012; Sener and Koltun 2018, arXiv 1810.04650",
  cagrad: "Liu et al. 2021, arXiv 2110.14048",
  upgrad: "Quinton and Rey 2024, arXiv 2406.16232",
  replay: "z = g + weight · the memory’s gradients",
};
const LABEL_OFFSETS = [
  [9, 4, "start"],
  [-9, 4, "end"],
  [0, -10, "middle"],
  [0, 19, "middle"],
  [9, -9, "start"],
  [9, 17, "start"],
  [-9, -9, "end"],
  [-9, 17, "end"],
];

export function buildRules(lens) {
  const toggle = (name) => {
    const { rules } = lens.state;
    lens.change({ rules: Object.keys(RULES).filter((one) => (one === name) !== rules.includes(one)) });
  };
  lens.parts.ruleButtons = Object.entries(RULES).map(([name, { label }]) =>
    element(
      "button",
      { type: "button", class: `rule ${name}`, "data-rule": name, title: RULE_SOURCES[name], onclick: () => toggle(name) },
      label,
    ),
  );
  return element(
    "div",
    { class: "buttons", role: "group", "aria-label": "Rules of gradient surgery" },
    element("span", {}, "Gradient surgery"),
    ...lens.parts.ruleButtons,
  );
}

// The name, point and curve of each rule, with the parameter of the point.
export function readRules(lens, families) {
  return families.map((family) => {
    const { label, shown, symbol } = RULES[family.rule],
      { mean } = lens.curveOf(family),
      [first, last] = [mean[0], mean[mean.length - 1]];
    const valueOf = (i) => strengthText(family.strengths[i]);
    const range = symbol ? `${symbol} from 0 to ${valueOf(family.strengths.length - 1)}` : "";
    return {
      name: family.rule,
      label,
      parameter: symbol ? `${symbol} = ${valueOf(shown)}` : "",
      range,
      point: mean[shown],
      curve: first === last ? [] : mean,
    };
  });
}

// A rule whose point lies outside of the plot is labelled where its curve leaves it.
export function drawRules({ parts }, rules, obstacles) {
  const { plot } = parts, insideOf = (curve) => curve.filter((point) => plot.contains(point));
  const shown = rules.map((rule) => ({ ...rule, inside: insideOf(rule.curve) }));
  const placed = shown.filter(({ point, inside }) => plot.contains(point) || inside.length);
  const anchors = placed.map(({ point, inside }) => (plot.contains(point) ? point : inside[inside.length - 1]));
  const texts = placed.map(({ label, parameter, point }) => {
    return plot.contains(point) ? [label, parameter].filter(Boolean).join(", ") : `${label} ↗`;
  });
  const points = plot.place(anchors), labels = placeRuleLabels(points, texts, [...obstacles, ...points], plot);
  const curves = shown
    .filter(({ inside }) => inside.length)
    .map(({ name, label, inside, range }) =>
      svgElement(
        "path",
        { class: `rule ${name}`, d: pathOf(plot.place(inside)), "data-line": label },
        svgElement("title", {}, `${label}, ${range}`),
      ),
    );
  const marks = placed.map((rule, i) => {
    const [dx, dy, anchor] = labels[i], isInside = plot.contains(rule.point);
    const square = isInside ? [svgElement("rect", { x: -5, y: -5, width: 10, height: 10 })] : [];
    const mark = svgElement(
      "g",
      { class: `rule ${rule.name}`, "data-line": rule.label },
      svgElement("title", {}, `${ruleInWords(rule)}${isInside ? "" : " (outside of the plot)"}`),
      ...square,
      svgElement("text", { x: dx, y: dy, "text-anchor": anchor }, texts[i]),
    );
    moveTo(mark, points[i]);
    return mark;
  });
  parts.rules.replaceChildren(...curves, ...marks);
}

function ruleInWords({ label, parameter, point: [x, y] }) {
  const known = Number.isFinite(x) && Number.isFinite(y);
  return `${label}${parameter ? ` (${parameter})` : ""} ${known ? `${signedText(x, 3)}, ${signedText(y, 3)}` : "unknown"}`;
}

// For each point, the first offset of its label that covers no obstacle and no other label, if there is one.
function placeRuleLabels(points, texts, obstacles, { width, height }) {
  const boxes = [];
  return points.map(([x, y], i) => {
    const size = 6.8 * texts[i].length;
    const boxAt = ([dx, dy, anchor]) => {
      const left = x + dx - { start: 0, middle: size / 2, end: size }[anchor];
      return [left, y + dy - 11, left + size, y + dy + 3];
    };
    const isFree = (offset) => {
      const [left, top, right, bottom] = boxAt(offset);
      const covers = ([a, b]) => a > left - 6 && a < right + 6 && b > top - 6 && b < bottom + 6;
      const meets = ([a, b, c, d]) => left < c && a < right && top < d && b < bottom;
      return (
        left > MARGIN.left &&
        right < width &&
        top > 0 &&
        bottom < height - MARGIN.bottom &&
        !obstacles.some(covers) &&
        !boxes.some(meets)
      );
    };
    const found = LABEL_OFFSETS.find(isFree) ?? LABEL_OFFSETS[0];
    boxes.push(boxAt(found));
    return found;
  });
}
