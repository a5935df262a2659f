// Sentences about the picture, computed from the vectors and settings. No DOM here.
import { dot } from "../../components/solver.js";
import { signedText } from "../../components/svg.js";
import { isViolated, lengthOf, meanOf, plus, restrictionsOf, ROUNDING } from "./methods.js";

const PLACES = 2; // decimals of numbers in sentences and in the table
const LEAST_SHOWN = 0.005; // smaller differences are not visible with two decimals
const ROW_NAMES = ["ĝ₁", "ĝ₂"];

export function numberText(value) {
  return Math.abs(value) < 1e5 ? signedText(value, PLACES) : value.toExponential(1).replace(/-/g, "−").replace("e+", "e");
}

// The sign of a product; 0 if rounding may have decided it.
function signOf(product, one, other) {
  return Math.abs(product) <= ROUNDING * lengthOf(one) * lengthOf(other) ? 0 : Math.sign(product);
}

// Does z violate a restriction visibly, with the shown number of decimals?
function isMissed({ normal, floor }, z) {
  return floor - dot(normal, z) > LEAST_SHOWN;
}

// The effect of the gradient itself on the memory.
export function gradientInWords(g, rows) {
  const mean = meanOf(rows),
    verdict = { [-1]: "g hurts", 0: "g neither helps nor hurts", 1: "g helps" }[signOf(dot(g, mean), g, mean)];
  const parts = rows.map((row, c) => `⟨g,${ROW_NAMES[c]}⟩ = ${numberText(dot(g, row))}`).join(" and ");
  return `${verdict} the memory as a whole: ⟨g,ĝₛ⟩ = ${numberText(dot(g, mean))}. On its two splits, ${parts}.`;
}

// The restrictions of a method that g violates.
function violationsInWords(method, g, restrictions) {
  const violated = restrictions.filter((one) => isViolated(one, g));
  if (!restrictions.length) return "there is nothing to restrict";
  if (method.modules === 1 && method.splits === 1)
    return violated.length ? "g violates its restriction" : "g satisfies its restriction";
  const [unit, key] = method.modules > 1 ? ["module", "module"] : ["split", "row"],
    preposition = method.modules > 1 ? "in" : "on";
  if (!violated.length) return `g satisfies its restrictions ${preposition} both ${unit}s`;
  const where = [...new Set(violated.map((one) => one[key]))];
  if (where.length === 1) return `g violates its restriction ${preposition} ${unit} ${where[0] + 1}`;
  return `g violates its restrictions ${preposition} both ${unit}s`;
}

// A violated restriction, as a product that is too small.
function missInWords({ modules, splits }, { normal, floor, module, row }, z) {
  const name = splits > 1 ? ROW_NAMES[row] : "ĝₛ", where = modules > 1 ? ` in module ${module + 1}` : "";
  return `⟨${name},z⟩${where} = ${numberText(dot(normal, z))}, which is below ${numberText(floor)}`;
}

// The effect of a method on g; `exact` is the result of the exact solver for the same restrictions.
export function methodInWords(method, result, exact, { g, rows, restriction }) {
  const restrictions = restrictionsOf(method, rows, restriction), moved = lengthOf(plus(result.z, g, -1));
  const isSame = (one, other) => lengthOf(plus(one, other, -1)) <= ROUNDING * Math.max(1, lengthOf(other));
  const cause = violationsInWords(method, g, restrictions), kept = `⟨ĝₛ,z⟩ = ${numberText(dot(meanOf(rows), result.z))}`;
  if (isSame(result.z, g)) return `${cause}, and z = g.`;
  const missed = restrictions.find((one) => isMissed(one, result.z));
  const miss = missed && missInWords(method, missed, result.z);
  const hasFloor = restriction.strength_kind === "dual-floor" && restriction.strength > 0;
  if (method.solver === "exact") {
    if (missed) return `${cause}. Its rows are opposite or nearly opposite, and the solver stops at ${miss}.`;
    if (!hasFloor) return `${cause}; z is the nearest direction that is allowed, ${numberText(moved)} away. ${kept}.`;
    const sum = method.splits > 1 ? "(ĝ₁ + ĝ₂)" : "ĝₛ",
      where = method.modules > 1 ? " in every restricted module" : "";
    const target = `g + ${numberText(restriction.strength)} ${sum}${where} (the ring)`;
    return `${cause}; z is the allowed direction nearest to ${target}. ${kept}.`;
  }
  const alone = `${cause}, and g is corrected for each row as if that row were the only one`;
  if (isSame(result.z, exact.z)) return `${alone}. Here, this is the exact solution. ${kept}.`;
  if (missed) return `${alone}. This is not enough: ${miss}.`;
  if (hasFloor) return `${alone}. ${kept}; the exact solver gives ${numberText(dot(meanOf(rows), exact.z))}.`;
  const enough = lengthOf(plus(exact.z, g, -1));
  if (moved < enough + LEAST_SHOWN) return `${alone}. Here, this is nearly the exact solution. ${kept}.`;
  const distances = `z is ${numberText(moved)} away from g, but ${numberText(enough)} would be enough`;
  return `${alone}. This over-corrects: ${distances}. ${kept}.`;
}

// A sentence if d-mGEM keeps less than GEM; the paper's proposition is about margins, including 0.
export function propositionInWords(results, { rows, restriction }) {
  if (restriction.strength_kind === "dual-floor" && restriction.strength > 0) return "";
  const of = (modules, splits) =>
    results.find(({ method }) => method.modules === modules && method.splits === splits && method.solver === "exact");
  const gem = of(1, 1),
    split = of(1, 2),
    kept = (one) => dot(meanOf(rows), one.result.z);
  if (
    !gem ||
    !split ||
    kept(split) > kept(gem) - LEAST_SHOWN ||
    restrictionsOf(split.method, rows, restriction).some((one) => isMissed(one, split.result.z))
  )
    return "";
  const [ofSplit, ofGem] = [split, gem].map((one) => `${numberText(kept(one))} with ${one.method.label}`);
  const claim = `with ${split.method.label} is at least as large as with ${gem.method.label}`;
  return (
    `Proposition 2 of the paper says that ⟨ĝₛ,z⟩ ${claim}. ` +
    `This is a counterexample: ⟨ĝₛ,z⟩ is ${ofSplit} and ${ofGem}.`
  );
}
