// The lines that are compared: their names in the paper, and bundles of curves that coincide on the screen. No DOM here.
import { nearestOnLine } from "./charts.js";

// isCustom: the modules are none of the partitions to choose from.
export function lineName({ modules, splits, solver = "exact", isCustom = false }) {
  const D = `${modules}${isCustom ? "*" : ""}`;
  if (solver === "approx") return `approx-GEM(${D},${splits})`;
  if (splits === 1) return D === "1" ? "GEM" : `p-mGEM(${D})`;
  return D === "1" ? `d-mGEM(${splits})` : `md-GEM(${D},${splits})`;
}

// One name for several lines: "p-mGEM(2–6)", "d-mGEM(2, 3, 6)", or "md-GEM(2–6,3)" for several modules with 3 splits.
export function joinNames(names, ordered = names) {
  const kindOf = (name) => name.split("(")[0], kinds = [...new Set(names.map(kindOf))];
  return kinds.map((kind) => joinNumbers(kind, names, ordered.filter((name) => kindOf(name) === kind))).join(", ");
}

function joinNumbers(kind, names, ordered) {
  if (ordered.includes(kind)) return kind;
  const numberOf = (name) => name.slice(kind.length + 1, -1), chosen = ordered.filter((name) => names.includes(name));
  const numbers = chosen.map(numberOf);
  if (!numbers[0].includes(",")) return `${kind}(${rangesOf(numbers, ", ")})`;
  const pairs = numbers.map((one) => one.split(",")), groups = new Map();
  for (const K of new Set(pairs.map(([, splits]) => splits))) {
    const modules = rangesOf(pairs.filter(([, splits]) => splits === K).map(([D]) => D), "/");
    groups.set(modules, [...(groups.get(modules) ?? []), K]);
  }
  return [...groups].map(([D, some]) => `${kind}(${D},${rangesOf(some, "/")})`).join(", ");
}

// "2–6" for numbers that follow one another; several such ranges are separated.
function rangesOf(numbers, separator) {
  const runs = [];
  numbers.forEach((number) => {
    const last = runs[runs.length - 1];
    if (last && Number(last.to) === Number(number) - 1) last.to = number;
    else runs.push({ from: number, to: number });
  });
  const text = (from, to) => (from === to ? from : `${from}${Number(to) - Number(from) > 1 ? "–" : separator}${to}`);
  return runs.map(({ from, to }) => text(from, to)).join(separator);
}

// Lines whose drawn curves, points in pixels, are nowhere farther apart than `most`, as arrays of indices.
export function bundlesOf(curves, most) {
  const bundles = [];
  curves.forEach((curve, i) => {
    const found = bundles.find(([first]) => isNear(curve, curves[first], most) && isNear(curves[first], curve, most));
    if (found) found.push(i);
    else bundles.push([i]);
  });
  return bundles;
}

function isNear(points, curve, most) {
  return points.every(([x, y]) => {
    const [i, share] = nearestOnLine(curve, x, y), [x0, y0] = curve[i], [x1, y1] = curve[i + 1] ?? curve[i];
    return Math.hypot(x0 + share * (x1 - x0) - x, y0 + share * (y1 - y0) - y) <= most;
  });
}

// Whether a trained configuration has the chosen settings. Strengths are compared with the rounding of a launch.
export function isChosen(state, { configuration: { moduleOf, splits, solver, trigger }, q }) {
  const rounded = (value) => Number(value.toPrecision(3));
  if (!moduleOf || q === null || rounded(q) !== rounded(state.q)) return false;
  if (splits !== state.splits || (solver ?? "exact") !== state.solver) return false;
  return moduleOf.join() === state.moduleOf.join() && (!trigger || trigger === state.trigger);
}
