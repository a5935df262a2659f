// Rules of gradient surgery on recorded steps, as in mgem_core/restriction/surgery.py: they combine g and the memory rows
// into one direction. No DOM here.
//
// A rule takes the Gram matrix S [n · n] of g and the n − 1 memory rows in a module, the shares of these rows in the memory
// of their tasks, and Q values of its parameter (zeros for a rule without one). It returns Q weights w [n]:
// z = Σ w_i · (gradient i).
import { dot, exactPath, valueAt } from "../../components/solver.js";
import { unsolved } from "./frontier.js";

const SIMPLEX_RIDGE = 1e-10; // of the mean square of the gradients' lengths
const NO_LENGTH = 1e-8; // of all gradients together: what is shorter is the rounding error of 0

// parameters: the values at which a rule is drawn; shown: the index of the value that is marked and described.
export const RULES = {
  agem: { label: "A-GEM", weights: agem, parameters: [0], shown: 0 },
  pcgrad: { label: "PCGrad", weights: pcgrad, parameters: [0], shown: 0 },
  mgda: { label: "MGDA", weights: mgda, parameters: [0], shown: 0 },
  cagrad: {
    label: "CAGrad",
    weights: cagrad,
    parameters: Array.from({ length: 20 }, (_, i) => i / 20),
    shown: 10,
    symbol: "c",
  },
  upgrad: { label: "UPGrad", weights: upgrad, parameters: [0], shown: 0 },
  replay: {
    label: "replay",
    weights: replay,
    parameters: Array.from({ length: 41 }, (_, i) => 2 ** (i / 8) - 1),
    shown: 8,
    symbol: "weight",
  },
};

// z = g − ⟨g,ĝ⟩ / ‖ĝ‖² · ĝ if that is a conflict, with ĝ the mean gradient of the whole memory.
function agem(S, n, shares) {
  const sum = shares.reduce((total, share) => total + share, 0);
  const mean = Float64Array.from({ length: n }, (_, i) => (i ? shares[i - 1] / sum : 0));
  const products = timesGram(S, n, mean), square = dot(mean, products);
  const factor = products[0] < 0 && square > 0 ? products[0] / square : 0;
  return [mean.map((share, i) => (i ? -factor * share : 1))];
}

// Each gradient is made orthogonal to each other one that it conflicts with, in their order, and all are added.
function pcgrad(S, n) {
  const total = new Float64Array(n), w = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    w.fill(0);
    w[i] = 1;
    for (let j = 0; j < n; j++) {
      if (j === i) continue;
      let product = 0;
      for (let k = 0; k < n; k++) product += S[j * n + k] * w[k];
      if (product < 0 && S[j * n + j] > 0) w[j] -= product / S[j * n + j];
    }
    for (let k = 0; k < n; k++) total[k] += w[k];
  }
  return [total];
}

// The shortest vector in the convex hull: min_v 1/2 vᵀ S v − Σ v over v ≥ 0, scaled to Σ v = 1.
function mgda(S, n) {
  const path = equalMargins(S, n, new Float64Array(n));
  if (!path) return [new Float64Array(n).fill(1 / n)];
  const v = valueAt(path, 1), sum = v.reduce((total, one) => total + one, 0);
  return [v.map((one) => one / sum)];
}

// Of all z within c ‖g_0‖ of the mean gradient g_0, the one with the largest smallest product with a gradient. Where that
// product is μ, z is the projection of g_0 on the directions with products of at least μ, z = g_0 + Gᵀ v. So one path over
// μ has the solutions for all c; they are found on its pieces, where ‖Gᵀ v‖² = (c ‖g_0‖)² is a quadratic equation.
function cagrad(S, n, shares, radii) {
  const mean = new Float64Array(n).fill(1 / n),
    products = timesGram(S, n, mean),
    length = Math.sqrt(Math.max(dot(mean, products), 0));
  let trace = 0;
  for (let i = 0; i < n; i++) trace += S[i * n + i];
  const smallest = NO_LENGTH * Math.sqrt(trace), lowest = products.reduce((a, b) => Math.min(a, b));
  const path = length > smallest ? equalMargins(S, n, products.map((product) => product - lowest)) : null;
  return radii.map((c) => {
    if (c === 0) return mean;
    const v = path ? atLength(path, S, n, c * length) : mean, sum = v.reduce((total, one) => total + one, 0);
    // No direction agrees with all gradients: a combination of them is 0.
    if (!path || !(c * length > smallest * sum)) return new Float64Array(n);
    return v.map((one) => one + 1 / n);
  });
}

// v of the path where ‖Gᵀ v‖, which rises along it, has this length.
function atLength({ start, v0, v1 }, S, n, length) {
  for (let j = 0; ; j++) {
    const slope = v1.slice(j * n, (j + 1) * n),
      v = slope.map((one, i) => v0[j * n + i] + start[j] * one);
    const rows = timesGram(S, n, slope),
      a = dot(slope, rows),
      b = dot(v, rows),
      missing = length ** 2 - dot(v, timesGram(S, n, v));
    const distance = missing > 0 ? missing / (b + Math.sqrt(Math.max(b * b + a * missing, 0))) : 0;
    if (j === start.length - 1 || distance <= start[j + 1] - start[j]) return v.map((one, i) => one + distance * slope[i]);
  }
}

// Each gradient is projected onto the cone of directions that conflict with none, and the mean is taken.
function upgrad(S, n, shares, parameters, { ridge, ridge_kind }) {
  const total = new Float64Array(n), weights = new Float64Array(n);
  const restriction = { strength_kind: "dual-floor", ridge, ridge_kind };
  for (let i = 0; i < n; i++) {
    weights.fill(0);
    weights[i] = 1;
    const v = valueAt(exactPath(S, new Float64Array(n), weights, restriction), 1);
    for (let k = 0; k < n; k++) total[k] += v[k] / n;
  }
  return [total];
}

// A plain mix with the memory: z = g + q Σ_s ĝ_s.
function replay(S, n, shares, factors) {
  return factors.map((q) => Float64Array.from({ length: n }, (_, i) => (i ? q * shares[i - 1] : 1)));
}

// The path of min_v 1/2 vᵀ S v + (b − μ)ᵀ v, v ≥ 0, over μ from 0 on, with b ≥ 0; null if all gradients are 0.
function equalMargins(S, n, b) {
  let scale = 0;
  for (let i = 0; i < n; i++) scale += S[i * n + i] / n;
  if (!(scale > 0)) return null;
  const H = Float64Array.from(S);
  for (let i = 0; i < n; i++) H[i * n + i] += SIMPLEX_RIDGE * scale;
  return exactPath(H, b, new Float64Array(n).fill(1), { strength_kind: "margin", ridge: 0, ridge_kind: "absolute" });
}

function timesGram(S, n, w) {
  const products = new Float64Array(n);
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) products[i] += S[i * n + j] * w[j];
  return products;
}

// A family of a rule's parameter without solved steps.
export function newRuleFamily(task, name, moduleOf, splits, restriction) {
  return { ...unsolved(task, RULES[name].parameters), rule: name, moduleOf, splits, restriction, solveStep: applyRule };
}

// Adds the results of the rule in each module at a step: the products with z (g, g_t, g_s, ĝ_s) and ‖z‖², per parameter.
function applyRule({ task, rule, restriction, splits, P, strengths, sums }, n, blocks, shares) {
  const first = 2 + task.past, C = shares.length, M = first + C, size = C + 1, S = new Float64Array(size * size);
  const rowOf = (i) => (i ? first + i - 1 : 0);
  for (const block of blocks) {
    for (let i = 0; i < size; i++) for (let j = 0; j < size; j++) S[i * size + j] = block[rowOf(i) * M + rowOf(j)];
    RULES[rule].weights(S, size, shares, strengths, restriction).forEach((w, q) => {
      const at = (n * strengths.length + q) * (P + 1);
      for (let row = 0; row < M; row++) {
        let product = 0;
        for (let i = 0; i < size; i++) product += w[i] * block[row * M + rowOf(i)];
        if (row < first) sums[at + row] += product;
        else sums[at + first + Math.floor((row - first) / splits)] += shares[row - first] * product;
        if (row === 0) sums[at + P] += w[0] * product;
        else if (row >= first) sums[at + P] += w[row - first + 1] * product;
      }
    });
  }
  return [];
}
