// Trained runs as points: one per configuration with its means over seeds, as in mgem_core/analysis/aggregate.py.
// No DOM here.
import { outsideReasons } from "./collapsed.js";

export const MEASURES = ["acc", "fwd", "bwd", "forgetting", "x", "y"];
const TRANSFER = ["fwd", "bwd", "forgetting"]; // unknown if the tasks do not share a network
const NO_RESULT = ["failed", "diverged", "cancelled"]; // statuses of runs that ended without a result
const IN_PROGRESS = ["running", "queued"];
const PRODUCT_AT = { raw: 0, unit: 2, cosine: 4 }; // index of x in the products of a pair; y follows
const MOST_VIEWS = 12; // of which the measures of a run are kept
const measuresByRun = new WeakMap(); // a run that has changed is a new object

// after: the number of learned tasks; null for the current state. pair: "s,t" or [s, t]; null for the mean of all pairs.
// A point has finished `seeds` of `total`; its means are over the `counted` seeds in `bySeed`. Unknown means are NaN.
export function pointsOf(data, { after = null, axes = "unit", pair = null } = {}) {
  const view = { after, axes, pair: pair === null ? null : String(pair) }, groups = groupRuns(data);
  for (const group of groups) addMeasures(group, view);
  MEASURES.forEach((_, i) => keepSharedSeeds(groups, i));
  const points = groups.map(pointOf), furthest = points.reduce((most, { learned }) => Math.max(most, learned), 0);
  const reasons = outsideReasons(points, data.classes);
  points.forEach((point, i) => {
    point.outside = reasons[i];
    point.isCollapsed = Boolean(reasons[i]);
    // An accuracy after fewer tasks is larger; while runs go on, it cannot be compared with those after more tasks.
    point.isComparable = point.learned === furthest || !point.isActive;
  });
  return inOrder(points, data);
}

// One run per configuration and seed: the newest finished run, or the newest run if none has finished.
function groupRuns({ configurations, runs }) {
  const groups = new Map(configurations.map((one) => [one.index, { configuration: one, bySeed: new Map() }]));
  for (const run of runs.values()) {
    const bySeed = groups.get(run.configuration)?.bySeed, other = bySeed?.get(run.seed);
    if (bySeed && (!other || isPreferred(run, other))) bySeed.set(run.seed, run);
  }
  const kept = [...groups.values()].filter(({ bySeed }) => bySeed.size);
  return kept.map(({ configuration, bySeed }) => ({ configuration, runs: [...bySeed.values()].sort(bySeedNumber) }));
}

function isPreferred(run, other) {
  const [isFinished, isOtherFinished] = [run, other].map(({ status }) => status === "finished");
  return isFinished === isOtherFinished ? run.id > other.id : isFinished;
}

function bySeedNumber(one, other) {
  return one.seed - other.seed;
}

// Adds values [run][measure] to a group; seeds that have learned fewer tasks than others do not count yet. There is no
// transfer between tasks that do not share a network.
function addMeasures(group, view) {
  const { runs, configuration } = group, measured = runs.map((run) => measuresOf(run, view));
  group.learned = measured.reduce((most, { learned }) => Math.max(most, learned), 0);
  group.hasEnded = runs.map(({ status }, i) =>
    view.after === null ? status === "finished" : measured[i].learned === view.after,
  );
  const isProduct = (name) => name === "x" || name === "y", hasTransfer = configuration.sharesNetwork !== false;
  const isKnown = (name, learned) =>
    isProduct(name) || (learned === group.learned && (hasTransfer || !TRANSFER.includes(name)));
  group.values = measured.map(({ learned, values }) =>
    values.map((value, i) => (isKnown(MEASURES[i], learned) ? value : NaN)),
  );
}

function measuresOf(run, view) {
  const key = `${view.after} ${view.axes} ${view.pair}`;
  let cached = measuresByRun.get(run);
  if (!cached || cached.size >= MOST_VIEWS) measuresByRun.set(run, (cached = new Map()));
  if (!cached.has(key)) cached.set(key, computeMeasures(run, view));
  return cached.get(key);
}

// ACC = mean_j≤k R[k,j], FWD = mean_j R[j,j] and BWD = ACC − FWD after k tasks; Forgetting as in mgem_core/metrics.py;
// x = ⟨g_s,z⟩ and y = ⟨g_t,z⟩.
function computeMeasures({ status, R = [], pairs = {} }, { after, axes, pair }) {
  if (after === null && NO_RESULT.includes(status)) return { learned: 0, values: MEASURES.map(() => NaN) };
  const learned = after === null ? R.length : Math.min(after, R.length);
  const isKnown = learned > 0 && (after === null || learned === after);
  const last = Array.from({ length: learned }, (_, j) => R[learned - 1]?.[j] ?? NaN);
  const diagonal = Array.from({ length: learned }, (_, j) => R[j]?.[j] ?? NaN);
  const acc = isKnown ? meanValue(last) : NaN, fwd = isKnown ? meanValue(diagonal) : NaN;
  const best = (j) => R.slice(0, learned - 1).reduce((most, row) => Math.max(most, row?.[j] ?? NaN), -Infinity);
  const forgetting = isKnown ? meanValue(last.slice(0, -1).map((value, j) => best(j) - value)) : NaN;
  const isShown = (name) => (pair === null || name === pair) && (after === null || Number(name.split(",")[1]) < after);
  const products = Object.keys(pairs).filter(isShown).map((name) => pairs[name]);
  const [x, y] = [0, 1].map((i) => meanValue(products.map((values) => values[PRODUCT_AT[axes] + i] ?? NaN)));
  const values = [acc, fwd, acc - fwd, forgetting, x, y];
  return { learned, values: values.map((value) => (Number.isFinite(value) ? value : NaN)) };
}

function meanValue(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

// Seeds often differ more than configurations do, so means over different seeds would show differences that do not exist.
// A seed is shared if it has ended with a value in every configuration in which any seed has. A configuration in which no
// seed has ended keeps all its values. If there is no shared seed, all configurations keep theirs.
function keepSharedSeeds(groups, i) {
  const counts = new Map();
  const ended = groups.filter(({ runs, values, hasEnded }) => {
    const seeds = runs.filter((_, n) => hasEnded[n] && !Number.isNaN(values[n][i])).map(({ seed }) => seed);
    for (const seed of seeds) counts.set(seed, (counts.get(seed) ?? 0) + 1);
    return seeds.length > 0;
  });
  const shared = new Set([...counts].filter(([, count]) => count === ended.length).map(([seed]) => seed));
  for (const group of groups) if (MEASURES[i] === "acc") group.isShared = shared.size > 0 && ended.includes(group);
  if (!shared.size) return;
  for (const { runs, values, hasEnded } of ended)
    runs.forEach(({ seed }, n) => {
      if (!hasEnded[n] || !shared.has(seed)) values[n][i] = NaN;
    });
}

function pointOf({ configuration, runs, values, learned, isShared }) {
  const { key, line, label, family, q, color, dash, symbol } = configuration;
  const count = (statuses) => runs.filter(({ status }) => statuses.includes(status)).length;
  const bySeed = runs.map(({ seed }, n) => ({
    seed,
    ...Object.fromEntries(MEASURES.map((name, i) => [name, values[n][i]])),
  }));
  const means = MEASURES.map((name, i) => [name, meanAndError(values.map((one) => one[i]))]);
  return {
    ...{ configuration, key, line, label, family, q, color, dash, symbol, learned, isShared },
    ...{ seeds: count(["finished"]), total: runs.length, active: count(IN_PROGRESS), failed: count(NO_RESULT) },
    isActive: count(IN_PROGRESS) > 0,
    counted: values.filter(([acc]) => !Number.isNaN(acc)).length,
    bySeed: bySeed.filter((one) => MEASURES.some((name) => !Number.isNaN(one[name]))),
    ...Object.fromEntries(means),
  };
}

// The mean of the known values and its standard error, which is null for fewer than two.
export function meanAndError(values) {
  const known = values.filter((value) => !Number.isNaN(value)), n = known.length, mean = meanValue(known);
  if (n < 2) return { mean, error: null };
  const squares = known.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, error: Math.sqrt(squares / (n - 1) / n) };
}

// In the order of the header's lines, then of the configurations; within a line by strength.
function inOrder(points, { lines = [] }) {
  const names = lines.map(({ name }) => name), places = new Map();
  for (const { line, label, configuration } of [...points].sort((a, b) => a.configuration.index - b.configuration.index)) {
    const found = [line, label].map((name) => names.indexOf(name)).find((place) => place >= 0) ?? names.length;
    if (!places.has(line)) places.set(line, [found, configuration.index]);
  }
  const keyOf = ({ line, q, configuration }) => [...places.get(line), q ?? -1, configuration.index];
  const keyed = points.map((point) => ({ point, key: keyOf(point) }));
  return keyed.sort((one, other) => compareKeys(one.key, other.key)).map(({ point }) => point);
}

function compareKeys(one, other) {
  const i = one.findIndex((value, at) => value !== other[at]);
  return i < 0 ? 0 : one[i] - other[i];
}
