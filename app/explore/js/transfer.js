// The panel "Forgetting and learning": BWD against FWD of trained configurations, a line over the strengths of each method.
import { element, svgElement } from "../../components/svg.js";
import { Axes } from "./charts.js";
import { hasChanged, setAttributes, setText } from "./marks.js";
import { buildReplay, drawReplay } from "./replay.js";
import { chosenLines, emphasisOf, inFront, isChosenPoint, linesOf, measureRange, pointTitle } from "./trained_lines.js";
import { pointsOf } from "./trained_points.js";
import { drawTransferLines, drawTransferOutside, drawTransferTexts, placeInTransfer } from "./transfer_marks.js";

const TITLES_OF_TRANSFER = ["BWD, points → forgets less", "FWD, % → learns more"];

export function buildTransfer(lens, height = 300) {
  const plot = new Axes(height), groups = {};
  for (const name of ["equal", "lines", "outside", "labels"]) groups[name] = svgElement("g", { class: `transfer-${name}` });
  plot.content.append(...Object.values(groups));
  plot.svg.onclick = (event) => chooseNearest(lens, event);
  const note = element("p", { class: "note" }), empty = element("p", { class: "empty", role: "status" });
  const head = element("div", { class: "panel-head" }, element("h3", {}, "Forgetting and learning"), buildReplay(lens));
  const stage = element("div", { class: "stage", style: `min-height:${height}px` }, plot.svg, empty);
  const section = element("section", { class: "panel transfer" }, head, note, stage);
  lens.parts.transfer = { section, plot, ...groups, note, empty };
  return section;
}

// A click on a label isolates its line; a click elsewhere on a line chooses its nearest point.
function chooseNearest(lens, event) {
  const part = event.target.closest("[data-line]"), { transfer } = lens.parts;
  if (!part) return;
  const { line } = part.dataset, box = transfer.plot.svg.getBoundingClientRect();
  if (part.matches("text")) return lens.change({ isolated: lens.state.isolated === line ? "" : line });
  const distance = ([x, y]) => Math.hypot(x - (event.clientX - box.left), y - (event.clientY - box.top));
  const own = transfer.placed.filter(({ names }) => names.includes(line));
  const nearest = own.reduce((best, one) => (distance(one.at) < distance(best.at) ? one : best), own[0]);
  if (nearest) lens.choose(line, nearest.point.q);
}

export function drawTransfer(lens, points, width) {
  const { parts: { transfer, replay }, state, data } = lens, chosen = chosenLines(points, state);
  const chosenKey = points.find((point) => isChosenPoint(point, state))?.key;
  const shownState = [data.tasks, isLoading(lens), state.isolated, state.trigger, replay.timer];
  if (!hasChanged(transfer, [points, width, ...shownState, chosenKey, ...chosen])) return;
  const shown = shownPoints(points), rest = shown.filter(({ isCollapsed }) => !isCollapsed);
  drawReplay(lens, points);
  const sentence = emptySentence(lens, shown);
  setText(transfer.empty, sentence);
  transfer.empty.hidden = !sentence;
  transfer.plot.svg.toggleAttribute("hidden", Boolean(sentence));
  setText(transfer.note, sentence ? "" : noteOf(points, state));
  if (sentence) return;
  // While training is replayed, the axes hold all tasks and do not move.
  const inRange = replay.timer ? everyTask(lens) : rest.length ? rest : shown;
  const ends = ({ mean, error }) => (inRange.length > 1 ? [mean] : [mean - error, mean + error]);
  const [xRange, yRange] = ["bwd", "fwd"].map((name) => measureRange(name, inRange.flatMap((point) => ends(point[name]))));
  transfer.plot.resize(width, xRange, yRange, TITLES_OF_TRANSFER);
  const lines = linesOf(shown), emphasis = (name) => emphasisOf([name], chosen, state.isolated);
  transfer.placed = lines.flatMap(({ name, points: own }) =>
    own.map((point) => ({ point, names: [name], at: placeInTransfer(transfer.plot, point) })),
  );
  drawTransferLines(lens, inFront(lines, emphasis), emphasis, shown);
  drawTransferOutside(transfer, lines, emphasis);
  drawTransferTexts(transfer, lines, emphasis);
  const summary = lines.map(({ points: own }) => pointTitle(own.reduce(better))).join("; ");
  setAttributes(transfer.plot.svg, { "aria-label": `BWD against FWD of trained runs; best strengths: ${summary}` });
}

function better(one, other) {
  return other.acc.mean > one.acc.mean ? other : one;
}

function shownPoints(points) {
  const isKnown = ({ fwd, bwd, isComparable }) => isComparable && Number.isFinite(fwd.mean + bwd.mean);
  return points.filter(isKnown);
}

function everyTask({ data, state }) {
  const tasks = Array.from({ length: data.tasks }, (_, i) => (i + 1 < data.tasks ? i + 1 : null));
  const shown = tasks.flatMap((after) => shownPoints(pointsOf(data, { ...state, after })));
  return shown.filter(({ isCollapsed }) => !isCollapsed);
}

// Whether the first messages are still arriving; the progress comes last.
export function isLoading({ data, options }) {
  return Boolean(options.feed && !data.progress);
}

function emptySentence({ data, state, options }, shown) {
  if (isLoading({ data, options })) return "Loading …";
  if (!data.configurations.length) return "These recordings have no trained runs.";
  if (state.after === null || state.after === undefined || state.after > 1) {
    if (!shown.some(({ learned }) => learned > 1)) return "No run has finished two tasks yet.";
  }
  return shown.length ? "" : `No run has learned task ${state.after} yet.`;
}

function noteOf(points, { trigger }) {
  const total = points.reduce((most, one) => Math.max(most, one.total), 0);
  const counted = points.filter(({ isShared }) => isShared).map((one) => one.counted);
  const complete = counted.length ? Math.max(...counted) : 0;
  const seeds = complete ? `trained runs, ${complete} of ${total} seeds` : "trained runs, no complete seed yet";
  const hollow = points.some(({ isActive }) => isActive) ? " · hollow: not all seeds" : "";
  const collapsed = points.some(({ isCollapsed }) => isCollapsed) ? " · ▽ collapsed, or far from the others" : "";
  const restricted = points.map(({ configuration }) => configuration.trigger).filter(Boolean);
  const isOther = restricted.length && !restricted.includes(trigger);
  const convention = trigger === "always" ? "restricted only on conflict" : "restricted at every step";
  return `${seeds}${isOther ? `, ${convention}` : ""} · bars: standard error${collapsed}${hollow}`;
}
