// Names, numbers and sentences of the lens. No DOM here.
import { signedText } from "../../components/svg.js";
import { differenceOverSeeds } from "./curves.js";
import { isWithin } from "./frontier.js";

export const AXES = { unit: "per ‖z‖", raw: "raw", cosine: "cosine" };
export const TITLES = {
  unit: ["⟨g_s,z⟩ / ‖z‖ → the past task is kept", "⟨g_t,z⟩ / ‖z‖ → the current task is learnt"],
  raw: ["⟨g_s,z⟩ → the past task is kept", "⟨g_t,z⟩ → the current task is learnt"],
  cosine: ["cos(g_s, z) → the past task is kept", "cos(g_t, z) → the current task is learnt"],
};

export function plural(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

export function nameOf({ moduleOf, splits }) {
  const modules = Math.max(...moduleOf) + 1;
  return modules === 1 && splits === 1 ? "GEM" : `${plural(modules, "module")}, ${plural(splits, "split")}`;
}

export function strengthText(q) {
  return q === 0 ? "0" : Number(q.toPrecision(q < 1 ? 2 : 3)).toString();
}

// The difference to GEM at equal retention, and whether it is significant.
export function differenceInWords(lens, chosen, gem) {
  const name = nameOf(chosen), { rule } = lens.data;
  if (name === "GEM") return "This is GEM itself: choose more modules or splits to compare them with it.";
  if (chosen.solved < lens.task.order.length) return "Comparing with GEM …";
  const enough = `At least ${rule.leastSeeds} seeds are needed to compare them.`;
  if (lens.R === 1) return `One run was recorded. ${enough}`;
  const found = differenceOverSeeds(lens.curveOf(chosen), lens.curveOf(gem), rule), { seeds } = found;
  if (!seeds) return `${name} and GEM have no range of retention in common here, so they cannot be compared.`;
  const left = seeds < lens.R ? `${seeds} of ${plural(lens.R, "seed")} with a common range` : plural(seeds, "seed");
  if (seeds < rule.leastSeeds) {
    const each = found.values.map((value) => `${signed(value)} %`).join(", ");
    return `At equal ⟨g_s,z⟩, the difference in ⟨g_t,z⟩ to GEM is ${each} (${left}). ${enough}`;
  }
  const share = Math.round(100 * found.common);
  const where = found.common >= rule.mostCommon ? "" : `, over the ${share} % of the range that both cover`;
  const interval = `95 % CI ${signed(found.low)} to ${signed(found.high)}, ${left}`;
  const size = `${Math.abs(found.mean).toFixed(2)} % ${found.mean > 0 ? "larger" : "smaller"} than GEM’s`;
  const what = `At equal ⟨g_s,z⟩ (retention), ⟨g_t,z⟩ (learning) of ${name}`;
  const sentence = `${what} is on average ${size}${where} (${interval})`;
  const corrected = `corrected for the ${plural(rule.comparisons, "setting")} to choose from`;
  if (found.isSignificant) return `${sentence}: significant, ${corrected}.`;
  const needed = found.needed ?? `more than ${rule.mostSeeds}`;
  const others = `one of ${Math.abs(found.mean).toFixed(2)} % needs ${needed} seeds`;
  const power = `A true difference of ${found.detectable.toFixed(2)} % would be found with 80 % probability; ${others}.`;
  return `${sentence}: not significant, ${corrected}. ${power}`;
}

function signed(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}

// The position of the chosen strength on the plot.
export function pointInWords(lens, chosen, point) {
  const { state, task, data, knee } = lens, steps = countSteps(lens, chosen);
  const axes = state.axes === "unit" ? " per ‖z‖" : state.axes === "cosine" ? ", as cosines" : "";
  const seeds = data.recordings.length > 1 ? ` of ${plural(data.recordings.length, "seed")}` : "";
  const solved = chosen.solved < task.order.length ? ` (${chosen.solved} of ${task.order.length} solved so far)` : "";
  const [x, y] = point.mean.map((value) => (Number.isFinite(value) ? signedText(value, 3) : "unknown"));
  const kneeText = knee === null ? "" : ` The knee of this curve is at strength ${strengthText(knee)}.`;
  const name = `${nameOf(chosen)}, strength ${strengthText(state.q)}`;
  const means = `means over ${plural(steps, "recorded step")}${seeds}${solved}`;
  return `${name}: ⟨g_s,z⟩ = ${x}, ⟨g_t,z⟩ = ${y}${axes}; ${means}.${kneeText}`;
}

function countSteps({ task, state: { window } }, family) {
  return task.snapshots.filter(({ step }, n) => family.pieces[n] && isWithin(step, window)).length;
}
