// What the picture shows, in sentences that hold for all vectors and settings. No DOM here.
import { dot } from "../../components/solver.js";
import { signedText } from "../../components/svg.js";
import { isViolated, lengthOf, meanOf, plus, restrictionsOf, ROUNDING } from "./methods.js";

const PLACES = 2; // decimals of numbers in sentences and in the table
const LEAST_SHOWN = 0.005; // differences below it are not seen with so many decimals
const ROW_NAMES = ["ĝ₁", "ĝ₂"];

export function numberText(value) {
  return Math.abs(value) < 1e5 ? signedText(value, PLACES) : value.toExponential(1).replace(/-/g, "−").replace("e+", "e");
}

// Products to which rounding may have given a sign have none.
function signOf(product, one, other) {
  return Math.abs(product) <= ROUNDING * lengthOf(one) * lengthOf(other) ? 0 : Math.sign(product);
}

// Does z violate a restriction by so much that its product with the row shows it?
function isMissed({ normal, floor }, z) {
  return floor - dot(normal, z) > LEAST_SHOWN;
}

// What the gradient would do to the memory by itself.
export function gradientInWords(g, rows) {
  const mean = meanOf(rows), verdict = { [-1]: "g hurts", 0: "g neither helps nor hurts", 1: "g helps" }[signOf(dot(g, mean), g, mean)];
  const parts = rows.map((row, c) => `⟨g,${ROW_NAMES[c]}⟩ = ${numberText(dot(g, row))}`).join(" and ");
  return `${verdict} the memory as a whole: ⟨g,ĝₛ⟩ = ${numberText(dot(g, mean))}. On its two splits, ${parts}.`;
}

// Which of its restrictions g violates.
function violationsInWords(method, g, restrictions) {
  const violated = restrictions.filter((one) => isViolated(one, g));
  if (!restrictions.length) return "there is nothing to restrict";
  if (method.modules === 1 && method.splits === 1) return violated.length ? "g violates its restriction" : "g satisfies its restriction";
  const [unit, key] = method.modules > 1 ? ["module", "module"] : ["split", "row"], preposition = method.modules > 1 ? "in" : "on";
  if (!violated.length) return `g satisfies its restrictions ${preposition} both ${unit}s`;
  const where = [...new Set(violated.map((one) => one[key]))];
  return `g violates its restriction${where.length > 1 ? "s" : ""} ${preposition} ${where.length > 1 ? `both ${unit}s` : `${unit} ${where[0] + 1}`}`;
}

// What a method does to g; `exact` is the result of the same restrictions with the exact solver.
export function methodInWords(method, result, exact, { g, rows, knobs }) {
  const restrictions = restrictionsOf(method, rows, knobs), moved = lengthOf(plus(result.z, g, -1));
  const isSame = (one, other) => lengthOf(plus(one, other, -1)) <= ROUNDING * Math.max(1, lengthOf(other));
  const cause = violationsInWords(method, g, restrictions), kept = `⟨ĝₛ,z⟩ = ${numberText(dot(meanOf(rows), result.z))}`;
  if (isSame(result.z, g)) return `${cause}, and z = g.`;
  const missed = restrictions.find((one) => isMissed(one, result.z));
  const miss = missed && `⟨${method.splits > 1 ? ROW_NAMES[missed.row] : "ĝₛ"},z⟩${method.modules > 1 ? ` in module ${missed.module + 1}` : ""} = ${numberText(dot(missed.normal, result.z))}, which is below ${numberText(missed.floor)}`;
  const hasFloor = knobs.kind === "dual-floor" && knobs.strength > 0;
  if (method.solver === "exact") {
    if (missed) return `${cause}. Its rows are opposite, or nearly so, and the solver stops at ${miss}.`;
    if (!hasFloor) return `${cause}; z is the nearest direction that it allows, ${numberText(moved)} away. ${kept}.`;
    const sum = method.splits > 1 ? "(ĝ₁ + ĝ₂)" : "ĝₛ", where = method.modules > 1 ? " in every module that it restricts" : "";
    return `${cause}; z is the direction that it allows nearest to g + ${numberText(knobs.strength)} ${sum}${where} (the ring). ${kept}.`;
  }
  const alone = `${cause}, and each row is corrected as if it were alone`;
  if (isSame(result.z, exact.z)) return `${alone}. Here that is the exact solution. ${kept}.`;
  if (missed) return `${alone}. That is not enough: it leaves ${miss}.`;
  if (hasFloor) return `${alone}. ${kept}, with the exact solver ${numberText(dot(meanOf(rows), exact.z))}.`;
  const enough = lengthOf(plus(exact.z, g, -1));
  if (moved < enough + LEAST_SHOWN) return `${alone}. Here that is nearly the exact solution. ${kept}.`;
  return `${alone}. It over-corrects: z is ${numberText(moved)} away from g, where ${numberText(enough)} is enough. ${kept}.`;
}

// Where d-mGEM keeps less than GEM; the paper's proposition is about margins, of which 0 is one.
export function propositionInWords(results, { rows, knobs }) {
  if (knobs.kind === "dual-floor" && knobs.strength > 0) return "";
  const of = (modules, splits) => results.find(({ method }) => method.modules === modules && method.splits === splits && method.solver === "exact");
  const gem = of(1, 1), split = of(1, 2), kept = (one) => dot(meanOf(rows), one.result.z);
  if (!gem || !split || kept(split) > kept(gem) - LEAST_SHOWN || restrictionsOf(split.method, rows, knobs).some((one) => isMissed(one, split.result.z))) return "";
  return `Proposition 2 of the paper says that ${split.method.label} leaves ⟨ĝₛ,z⟩ at least as large as ${gem.method.label} does. Not here: ` +
    `${split.method.label} leaves ${numberText(kept(split))} where ${gem.method.label} leaves ${numberText(kept(gem))}.`;
}
