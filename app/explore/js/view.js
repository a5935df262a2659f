// The parts of the lens, and the drawing of a frame.
import { element, svgElement } from "../../components/svg.js";
import { Axes, moveTo, nearestOnLine, pathOf, rangeOf } from "./charts.js";
import { kneeOf } from "./curves.js";
import { pointAt, STRENGTHS } from "./frontier.js";
import { buildPanels, drawPanels } from "./panels.js";
import { drawRules, readRules, rulesInWords } from "./rules.js";
import { buildControls, drawControls } from "./settings.js";
import { drawTrained, measuredPoints, STAR, trainedAs, trainedInWords } from "./trained.js";
import { differenceInWords, nameOf, pointInWords, TITLES } from "./words.js";

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
  parts.plot.content.append(
    parts.faint,
    parts.gem,
    parts.chosen,
    parts.rules,
    parts.knee,
    parts.used,
    parts.marker,
    ...measured,
  );
  parts.legend = element("p", { class: "legend" });
  parts.words = element("div", { class: "words" });
  parts.picture = element("div", { class: "picture" }, parts.plot.svg, parts.legend);
  dragAlongCurve(lens);
  const controls = element("div", { class: "controls" }, ...buildControls(lens));
  parts.panels = element("div", { class: "panels" }, ...buildPanels(lens));
  lens.host.replaceChildren(element("div", { class: "first" }, controls, parts.picture), parts.words, parts.panels);
}

// The marker follows the pointer along the curve of the chosen family.
function dragAlongCurve(lens) {
  const { svg } = lens.parts.plot;
  const follow = (event) => {
    const box = svg.getBoundingClientRect(),
      [i, share] = nearestOnLine(lens.drawnCurve, event.clientX - box.left, event.clientY - box.top);
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
  const width = parts.picture.clientWidth,
    panelWidth = parts.panels.firstChild.clientWidth;
  const entry = trainedAs(lens),
    measured = entry && measuredPoints(lens, entry),
    isMeasured = Boolean(measured?.each.length);
  const solved = [...families.others, ...families.rules, chosen].map((one) => one.solved);
  const measuredKey = isMeasured ? measured.each.map(({ point }) => point) : null;
  const scaleKey = JSON.stringify([
    state.pair,
    lens.view,
    solved,
    chosen.moduleOf,
    chosen.splits,
    width,
    state.solver,
    state.trigger,
    state.rules,
    measuredKey,
  ]);
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
  drawWords(lens, [
    pointInWords(lens, chosen, point),
    trainedInWords(lens, entry, measured, point),
    lens.comparison,
    lens.rulesText,
  ]);
  drawControls(lens);
  drawPanels(lens, families, panelWidth);
}

// Draw everything that does not move while the strength is dragged.
function drawCurves(lens, { chosen, gem, used, others, rules }, width, alsoWithin) {
  const { parts, state } = lens,
    { plot } = parts,
    found = readRules(lens, rules),
    curve = lens.curveOf(chosen).mean;
  const points = [
    ...others.flatMap((family) => lens.curveOf(family).mean),
    ...curve,
    ...found.flatMap((rule) => [rule.point, ...rule.curve]),
    ...alsoWithin,
  ];
  plot.resize(width, rangeOf(points.map(([x]) => x)), rangeOf(points.map(([, y]) => y)), TITLES[state.axes]);
  const lines = others.map((family) =>
    svgElement("path", { d: pathOf(plot.place(lens.curveOf(family).mean)) }, svgElement("title", {}, nameOf(family))),
  );
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
