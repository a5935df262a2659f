// Lines, scales and texts that the panels of trained runs share. No DOM here.
import { niceTicks, signedText } from "../../components/svg.js";
import { rangeOf } from "./charts.js";

export const MEASURE_NAMES = {
  acc: "ACC",
  fwd: "FWD",
  bwd: "BWD",
  forgetting: "Forgetting",
  x: "⟨g_s,z⟩",
  y: "⟨g_t,z⟩",
};
export const MEASURE_TITLES = {
  acc: "ACC: accuracy at the end, %",
  fwd: "FWD: accuracy just after learning, %",
  bwd: "BWD: change by later tasks, points",
  forgetting: "Forgetting: fall from the best accuracy on earlier tasks, points",
  x: "⟨g_s,z⟩: the past task is kept",
  y: "⟨g_t,z⟩: the current task is learnt",
};
export const UNKNOWN = "—";
export const EMPHASES = ["is-isolated", "is-hidden", "is-chosen", "is-behind"]; // classes of lines, see `emphasisOf`
const UNITS = { unit: " / ‖z‖", raw: "", cosine: ", cosine" };

// The lines of points in their order: [{ name, color, dash, points }]. A point whose line is "A; B" belongs to both.
export function linesOf(points) {
  const lines = new Map();
  for (const point of points) {
    for (const name of namesOf(point.line)) {
      if (!lines.has(name)) lines.set(name, { name, color: point.color, dash: point.dash, points: [] });
      lines.get(name).points.push(point);
    }
  }
  return [...lines.values()];
}

export function namesOf(line) {
  return line.split("; ");
}

// Whether a configuration has the chosen settings, whatever its strength.
export function hasChosenLine({ configuration: { moduleOf, splits, solver, trigger } }, state) {
  if (!moduleOf || !state.moduleOf) return false;
  const isSame = (own, chosen) => own === null || own === undefined || own === chosen;
  const isSameSplit = splits === state.splits && moduleOf.join() === state.moduleOf.join();
  return isSameSplit && isSame(solver, state.solver) && isSame(trigger, state.trigger);
}

// Strengths are compared with the rounding of *Train this*.
export function isChosenPoint(point, state) {
  const rounded = (q) => Number(Number(q).toPrecision(3));
  return hasChosenLine(point, state) && point.q !== null && rounded(point.q) === rounded(state.q);
}

// Lines in the order in which they are drawn: the one that stands out comes last and covers the others.
export function inFront(lines, emphasis) {
  const isFront = ({ name }) => ["is-isolated", "is-chosen"].includes(emphasis(name));
  return [...lines.filter((line) => !isFront(line)), ...lines.filter(isFront)];
}

// "is-isolated" or "is-chosen" for the line that stands out, "is-hidden" or "is-behind" for the others, "" if none does.
export function emphasisOf(names, chosenNames, isolated) {
  if (isolated) return names.includes(isolated) ? "is-isolated" : "is-hidden";
  if (!chosenNames.length) return "";
  return names.some((name) => chosenNames.includes(name)) ? "is-chosen" : "is-behind";
}

export function chosenLines(points, state) {
  return [...new Set(points.filter((point) => hasChosenLine(point, state)).flatMap(({ line }) => namesOf(line)))];
}

export function measureTitle(name, axes = "unit") {
  const isProduct = name === "x" || name === "y", [symbol, text] = MEASURE_TITLES[name].split(": ");
  return isProduct ? `${symbol}${UNITS[axes]}: ${text}` : MEASURE_TITLES[name];
}

export function digitsOf(name) {
  return name === "x" || name === "y" ? 3 : 1;
}

export function valueText({ mean, error }, digits) {
  if (!Number.isFinite(mean)) return UNKNOWN;
  return error === null ? signedText(mean, digits) : `${signedText(mean, digits)} ± ${error.toFixed(digits)}`;
}

export function pointTitle(point) {
  const q = point.q === null ? "" : ` at q = ${point.q}`;
  const values = ["acc", "fwd", "bwd"].map((name) => `${MEASURE_NAMES[name]} ${valueText(point[name], 1)}`);
  const reason = point.outside ? `; ${point.outside}` : "", state = point.isActive ? ", still training" : "";
  return `${point.line}${q}: ${values.join(", ")} (${point.seeds} of ${point.total} seeds${state})${reason}`;
}

// The ends of the axis of a measure at round numbers, so that they rarely move while results arrive. No axis is so short
// that it would show noise alone, and none of an accuracy goes beyond 100 %.
export function measureRange(name, values) {
  const known = values.filter(Number.isFinite), least = digitsOf(name) === 1 ? 2 : 0.02;
  const low = known.reduce((a, b) => Math.min(a, b), Infinity), high = known.reduce((a, b) => Math.max(a, b), -Infinity);
  const missing = Math.max(0, least - (high - low)) / 2, range = rangeOf([low - missing, high + missing], 0.06);
  const { ticks } = niceTicks(...range, 6), step = (ticks[1] - ticks[0]) / 2;
  const bottom = Math.floor(range[0] / step + 1e-9) * step, top = Math.ceil(range[1] / step - 1e-9) * step;
  return [bottom, name === "acc" || name === "fwd" ? Math.min(top, 100) : top];
}

// Positions 0 … 1 of strengths on a scale that is logarithmic but shows 0, too.
export function strengthScale(strengths) {
  const positive = strengths.filter((q) => q > 0), largest = positive.reduce((a, b) => Math.max(a, b), 0) || 1;
  const unit = positive.reduce((a, b) => Math.min(a, b), largest), span = Math.log(1 + largest / unit);
  return (q) => Math.log(1 + q / unit) / span;
}

// Strengths with their places, without those whose text would cover that of another; the first and last are always named.
export function strengthMarks(strengths, place, distance) {
  const sorted = [...new Set(strengths)].sort((a, b) => a - b), last = sorted[sorted.length - 1], kept = [];
  for (const q of sorted) {
    const isFree = !kept.length || place(q) - place(kept[kept.length - 1]) >= distance;
    if (q === last || (isFree && (!kept.length || place(last) - place(q) >= distance))) kept.push(q);
  }
  return kept.map((q) => [place(q), `${q}`]);
}

// The difference of each line from the baseline in a measure, per seed: means over the strengths that both have. Collapsed
// configurations are left out.
export function differencesBySeed(points, measure) {
  const lines = linesOf(points.filter(({ isCollapsed, isComparable }) => !isCollapsed && isComparable));
  const base = lines.find(({ points: [first] }) => first.label === "GEM") ?? lines[0];
  return lines.filter((line) => line !== base).map(({ name, color, points: own }) => {
    const sums = new Map(), strengths = new Set();
    for (const point of own) {
      const other = base.points.find(({ q }) => q !== null && q === point.q);
      for (const { seed, [measure]: value } of other ? point.bySeed : []) {
        const difference = value - (other.bySeed.find((one) => one.seed === seed)?.[measure] ?? NaN);
        if (Number.isNaN(difference)) continue;
        strengths.add(point.q);
        sums.set(seed, [...(sums.get(seed) ?? []), difference]);
      }
    }
    const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const values = [...sums].map(([seed, found]) => ({ seed, value: mean(found) })).sort((a, b) => a.seed - b.seed);
    return { name, color, base: base.name, values, strengths: strengths.size };
  });
}
