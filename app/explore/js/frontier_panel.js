// The panel "Frontier": the curves of all lines at the recorded steps, the chosen strength, and measured points.
import { element, svgElement } from "../../components/svg.js";
import { Axes, moveTo, nearestOnLine, PANEL_HEIGHT, pathOf, rangeOf } from "./charts.js";
import { kneeOf } from "./curves.js";
import { pointAt, STRENGTHS } from "./frontier.js";
import { drawLines } from "./frontier_lines.js";
import { drawMeasured, measuredInView } from "./measured.js";
import { drawRules, readRules } from "./rules.js";
import { axisTitles, nameOf, plural, productsInWords, strengthText } from "./words.js";

export function buildFrontier(lens) {
  const { parts } = lens;
  parts.plot = new Axes(PANEL_HEIGHT);
  parts.lines = svgElement("g", { class: "lines" });
  parts.labels = svgElement("g", { class: "labels" });
  parts.chosen = svgElement("path", { class: "chosen" });
  const kneeTitle = svgElement("title", {}, "knee of the chosen curve");
  parts.knee = svgElement("path", { class: "knee", d: "M-6 5L6 5L0 -6Z" }, kneeTitle);
  const recorded = svgElement("title", {}, "settings of the recorded runs");
  parts.used = svgElement("path", { class: "used", d: "M0 -7L7 0L0 7L-7 0Z" }, recorded);
  parts.marker = svgElement("circle", { class: "marker", r: 8 });
  parts.rules = svgElement("g");
  parts.measuredPoints = svgElement("g", { class: "measured-points" });
  const { lines, chosen, rules, measuredPoints, labels, knee, used, marker } = parts;
  parts.plot.content.append(lines, chosen, rules, measuredPoints, labels, knee, used, marker);
  parts.frontierNote = element("p", { class: "note" });
  const head = element("div", { class: "panel-head" }, element("h3", {}, "Frontier"));
  dragAlongCurve(lens);
  return element("section", { class: "panel picture" }, head, parts.frontierNote, parts.plot.svg, buildTip(lens));
}

// The values at the point of a curve that is nearest to the pointer; drawn here because titles appear late and do not move.
function buildTip(lens) {
  const { svg } = lens.parts.plot, tip = element("div", { class: "tip", hidden: "", "aria-hidden": "true" });
  svg.addEventListener("pointermove", (event) => {
    const name = event.buttons ? null : event.target.closest("[data-line]")?.dataset.line;
    const line = lens.drawnLines?.find((one) => one.name === name);
    tip.hidden = !line;
    if (!line) return;
    const box = svg.getBoundingClientRect(), [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const [i, share] = nearestOnLine(line.curve, x, y), q = lens.strengthAt((i + share) / (STRENGTHS - 1));
    tip.textContent = `${name}, q = ${strengthText(q)}\n${productsInWords(lens.state, line.mean[Math.round(i + share)])}`;
    const panel = svg.parentElement.getBoundingClientRect(), top = event.clientY - panel.top - tip.offsetHeight - 10;
    const left = Math.min(event.clientX - panel.left + 12, panel.width - tip.offsetWidth);
    Object.assign(tip.style, { left: `${Math.max(0, left)}px`, top: `${top}px` });
  });
  svg.addEventListener("pointerleave", () => (tip.hidden = true));
  return tip;
}

// The marker follows the pointer along the curve of the chosen line.
function dragAlongCurve(lens) {
  const { svg } = lens.parts.plot;
  const follow = (event) => {
    if (!lens.drawnCurve?.length) return;
    const box = svg.getBoundingClientRect();
    const [i, share] = nearestOnLine(lens.drawnCurve, event.clientX - box.left, event.clientY - box.top);
    lens.change({ q: lens.strengthAt((i + share) / (STRENGTHS - 1)) });
  };
  svg.addEventListener("pointerdown", (event) => {
    if (event.target.closest("[data-line]")) return; // a click on a line chooses it
    svg.setPointerCapture(event.pointerId);
    follow(event);
  });
  svg.addEventListener("pointermove", (event) => event.buttons && svg.hasPointerCapture(event.pointerId) && follow(event));
}

// Returns the point of the chosen line at the chosen strength, or null without recorded steps.
export function drawFrontier(lens, families, width) {
  const { parts, state, data } = lens, { chosen } = families, measured = measuredInView(lens, families.points);
  const drawn = chosen ? [chosen, ...families.lines.map(({ family }) => family), ...families.rules] : [];
  const solved = drawn.map((family) => family.solved);
  const { pair, solver, trigger, step_length, rules, axes, window } = state;
  const settings = [pair, axes, window, state.moduleOf, state.splits, width, solver, trigger, step_length, rules];
  const key = JSON.stringify([settings, solved, data.lines.length, data.strengths, measured.map(({ at }) => at)]);
  if (lens.frontierKey !== key) {
    lens.frontierKey = key;
    drawCurves(lens, families, width, measured);
  }
  const point = chosen ? pointAt(chosen, state.q, lens.view, lens.R) : null;
  moveTo(parts.marker, point ? parts.plot.place([point.mean])[0] : [NaN, NaN]);
  return point;
}

// Draw everything that does not move while the strength is dragged.
function drawCurves(lens, { chosen, used, lines = [], rules = [] }, width, measured) {
  const { parts, state } = lens, { plot } = parts, found = chosen ? readRules(lens, rules) : [];
  const curve = chosen ? lens.curveOf(chosen).mean : [];
  const points = [...lines.flatMap(({ family }) => lens.curveOf(family).mean), ...curve]; // rules may leave the plot
  const inRange = measured.filter(({ isCollapsed }) => !isCollapsed).map(({ at }) => at);
  if (!points.length || state.measured) points.push(...inRange);
  plot.resize(width, rangeOf(points.map(([x]) => x)), rangeOf(points.map(([, y]) => y)), axisTitles(state));
  lens.drawnCurve = plot.place(curve);
  const chosenLine = lines.find(({ family }) => family === chosen), name = chosen ? nameOf(lens, chosen) : "";
  parts.chosen.setAttribute("d", pathOf(lens.drawnCurve));
  parts.chosen.style.stroke = chosenLine?.color ?? "var(--lens-marker)";
  drawLines(lens, lines, chosen && !chosenLine ? { name, end: lens.drawnCurve[STRENGTHS - 1] } : null);
  const knee = curve.length ? kneeOf(curve) : -1, kneeAt = knee < 0 ? [NaN, NaN] : lens.drawnCurve[knee];
  lens.knee = knee < 0 ? null : lens.strengths[knee];
  moveTo(parts.knee, kneeAt);
  const showsUsed = used && !lens.data.configurations.length; // without trained runs, nothing else shows where they were
  const usedAt = showsUsed ? plot.place([pointAt(used.family, used.q, lens.view, lens.R).mean])[0] : [NaN, NaN];
  moveTo(parts.used, usedAt);
  drawRules(lens, found, [kneeAt, usedAt]);
  const shown = measured.filter(({ at }) => state.measured || !chosen || plot.contains(at));
  drawMeasured(lens, shown);
  drawNote(lens, chosen, shown, { knee, showsUsed });
  const label = chosen ? `Frontiers over the strength, ${name} chosen` : "Points measured along trained runs";
  plot.svg.setAttribute("aria-label", `${label}: ${axisTitles(state).join("; ")}`);
}

// What the curves are, and what each mark in the plot means.
function drawNote({ parts, task, data }, chosen, measured, { knee, showsUsed }) {
  const known = task?.snapshots.length ?? 0, isOutside = ({ at }) => !parts.plot.contains(at);
  const marks = ["● chosen strength, drag it", ...(knee < 0 ? [] : ["△ knee"]), ...(showsUsed ? ["◇ recorded run"] : [])];
  if (measured.length) marks.push(`${measured.every(isOutside) ? "▲" : "◇"} measured along its own run`);
  const curves = `every curve at the same ${plural(known, "recorded step")}; ${marks.join(", ")}`;
  const alone = measured.length ? "◇ means along each run’s own steps; nothing was recorded" : emptyNote(data);
  parts.frontierNote.textContent = chosen ? curves : alone;
  parts.frontierNote.title = measured.length
    ? "A trained run follows its own path, so what is measured along it differs from the curves, which compare all " +
      "settings at the same steps."
    : "";
}

function emptyNote({ progress }) {
  if (!progress || (progress.isActive && progress.recordings?.[1])) return "Waiting for the first recorded steps.";
  return "No steps were recorded; switch on “Record GEM’s steps” in the form to see curves.";
}
