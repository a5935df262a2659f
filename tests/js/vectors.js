// Random numbers that follow a seed, and vectors of kinds that are difficult for solvers.
export const KINDS = ["random", "few dimensions", "nearly parallel", "duplicate", "opposite", "zero", "scaled"];

// Uniform numbers between 0 and 1 (mulberry32).
export function uniform(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function normalVector(draw, length) {
  return Array.from({ length }, () => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw()));
}

// C vectors of one kind; "few dimensions" has more vectors than dimensions if C is larger than 2.
export function vectorsOf(kind, C, draw, dimensions = 12) {
  const rows = Array.from({ length: C }, () => normalVector(draw, kind === "few dimensions" ? 2 : dimensions));
  if (kind === "nearly parallel") return rows.map((row) => combine([rows[0], row], [1, 1e-3]));
  if (kind === "scaled") return rows.map((row, c) => row.map((value) => value * 10 ** ((c % 5) - 2)));
  if (C > 1 && kind === "duplicate") rows[1] = [...rows[0]];
  if (C > 1 && kind === "opposite") rows[1] = rows[0].map((value) => -value);
  if (kind === "zero") rows[C - 1].fill(0);
  return rows;
}

export function dot(one, other) {
  return one.reduce((sum, value, i) => sum + value * other[i], 0);
}

export function norm(vector) {
  return Math.sqrt(dot(vector, vector));
}

// Σ weights_i · vectors_i
export function combine(vectors, weights) {
  return vectors[0].map((_, i) => vectors.reduce((sum, vector, k) => sum + weights[k] * vector[i], 0));
}

export function distance(one, other) {
  return norm(combine([one, other], [1, -1]));
}

// The Gram matrix as a flat array, row by row.
export function gram(vectors) {
  return Float64Array.from(vectors.flatMap((one) => vectors.map((other) => dot(one, other))));
}

// The tolerances of the solver, as mgem_core/restriction/restriction.py sends them.
export const TOLERANCES = { ridge: 1e-7, ridge_kind: "relative", violated: -1e-12 };
