// Names, numbers and sentences of the lens. No DOM here.
import { signedText } from "../../components/svg.js";
import { signed } from "./finding.js";
import { isChosen, lineName } from "./lines.js";

export const AXES = { unit: "per ‖z‖", raw: "raw", cosine: "cosine" };
const PRODUCTS = {
  unit: ["⟨g_s,z⟩ / ‖z‖", "⟨g_t,z⟩ / ‖z‖"],
  raw: ["⟨g_s,z⟩", "⟨g_t,z⟩"],
  cosine: ["cos(g_s, z)", "cos(g_t, z)"],
};

// The titles of the axes of the frontier, which name the tasks.
export function axisTitles({ axes, pair: [s, t] }) {
  const [x, y] = PRODUCTS[axes];
  return [`${x} → keeps task ${s + 1}`, `${y} → learns task ${t + 1}`];
}

// The conventions of mgem_core/restriction/restriction.py.
export const CONVENTIONS = {
  "on-conflict": { title: "only on conflict (GEM’s code)", fields: { trigger: "violation", step_length: "free" } },
  "every-step": { title: "every step (a floor in the dual)", fields: { trigger: "always", step_length: "free" } },
  "equal-length": {
    title: "every step, equal length (same curves per ‖z‖)",
    fields: { trigger: "always", step_length: "gradient" },
  },
};

export function conventionOf({ trigger, step_length }) {
  if (trigger === "violation") return "on-conflict";
  return step_length === "gradient" ? "equal-length" : "every-step";
}

export function plural(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

// The name of a family in the paper; a star marks modules that were cut by hand.
export function nameOf({ data }, { moduleOf, splits, restriction: { solver } }) {
  const text = moduleOf.join(), isCustom = !data.partitions.some((one) => one.moduleOf.join() === text);
  return lineName({ modules: Math.max(...moduleOf) + 1, splits, solver, isCustom });
}

export function strengthText(q) {
  return q === 0 ? "0" : Number(q.toPrecision(q < 1 ? 2 : 3)).toString();
}

// The chosen settings in one line: where they lie, how they differ from GEM, and what was measured.
export function chosenInWords(lens, { chosen, gem, points }, point) {
  if (!chosen) return "";
  const compared = chosen.solved === lens.task.order.length ? differenceInWords(lens, chosen, gem) : "";
  return [pointInWords(lens, chosen, point), compared, trainedInWords(lens, points)].filter(Boolean).join(" ");
}

// The difference from GEM at equal retention, and what it would take to find a smaller one.
function differenceInWords(lens, chosen, gem) {
  const { rule } = lens.data, { found } = lens.compare(chosen, gem);
  if (chosen === gem || !lens.isRecorded || found.seeds < rule.leastSeeds) return "";
  const interval = `95 % CI ${signed(found.low, 2)} to ${signed(found.high, 2)}, ${plural(found.seeds, "seed")}`;
  const what = `At equal retention it learns ${signed(found.mean, 2)} % compared with GEM (${interval})`;
  const share = Math.round(100 * found.common), isPart = found.common < rule.mostCommon;
  const where = isPart ? ` Both curves exist on ${share} % of the range, where they are compared.` : "";
  if (found.isSignificant) return `${what}: significant.${where}`;
  if (found.isNarrow) return `${what}: not significant, because both curves exist on only ${share} % of the range.`;
  const power = `A difference of ${found.detectable.toFixed(1)} % would be found with 80 % probability.`;
  return `${what}: not significant. ${power}${where}`;
}

// The position of the chosen strength on the plot.
function pointInWords(lens, chosen, point) {
  const { state, task, knee } = lens;
  const solved = chosen.solved < task.order.length ? ` (${chosen.solved} of ${task.order.length} steps solved so far)` : "";
  const kneeText = knee === null ? "" : ` Its knee is at strength ${strengthText(knee)}.`;
  const name = `${nameOf(lens, chosen)}, strength ${strengthText(state.q)}`;
  return `${name}: ${productsInWords(state, point.mean)}${solved}.${kneeText}`;
}

// A point of the frontier: "⟨g_s,z⟩ = 0.859, ⟨g_t,z⟩ = 0.777 per ‖z‖".
export function productsInWords({ axes }, point) {
  const [x, y] = point.map((value) => (Number.isFinite(value) ? signedText(value, 3) : "unknown"));
  return `⟨g_s,z⟩ = ${x}, ⟨g_t,z⟩ = ${y}${{ unit: " per ‖z‖", cosine: " as cosines", raw: "" }[axes]}`;
}

// The results of runs that were trained with exactly the chosen settings.
function trainedInWords({ state }, points) {
  const point = points.find((one) => isChosen(state, one));
  if (!point) return "";
  if (!point.seeds) return point.isActive ? "Runs with these settings are training or waiting." : "";
  const value = ({ mean, error }) => `${signedText(mean, 1)}${error === null ? "" : ` ± ${error.toFixed(1)}`}`;
  const accuracies = `ACC ${value(point.acc)} %, FWD ${value(point.fwd)} %, BWD ${value(point.bwd)}`;
  const error = point.seeds > 1 ? "± standard error, " : "", at = [point.x?.mean, point.y?.mean];
  const own = at.every(Number.isFinite) ? ` Along these runs: ${productsInWords(state, at)}.` : "";
  return `Trained with these settings: ${accuracies} (${error}${plural(point.seeds, "seed")}).${own}`;
}
