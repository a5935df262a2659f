// Frontiers from recorded steps: the results of a partition and splits at all strengths, as in mgem_core/lens/answers.py.
// No DOM here. A family is { moduleOf, splits, restriction } with all strengths.
import { dualPath, pieceAt } from "../../components/solver.js";
import { moduleBlocks } from "./snapshots.js";

export const STRENGTHS = 61; // at which curves are drawn

// The contribution of one module on each piece of its path: the products with z (g, g_t, g_s, ĝ_s) and ‖z‖², as polynomials
// of the distance from the start of the piece, which avoids cancellation. Returns { start [J], values [J, 2 P + 3] } with
// P = 2 + 2 S, and the path of v.
function modulePieces(block, past, splits, shares, weights, restriction) {
  const first = 2 + past, C = past * splits, M = first + C, P = 2 + 2 * past, W = 2 * P + 3;
  const A = new Float64Array(C * C), b = new Float64Array(C);
  for (let i = 0; i < C; i++) {
    b[i] = block[(first + i) * M];
    for (let j = 0; j < C; j++) A[i * C + j] = block[(first + i) * M + first + j];
  }
  const { start, v0, v1 } = dualPath(A, b, weights, restriction, block[0]);
  const values = new Float64Array(start.length * W),
    z = new Float64Array(M),
    dz = new Float64Array(M),
    v = new Float64Array(C);
  for (let j = 0; j < start.length; j++) {
    for (let c = 0; c < C; c++) v[c] = v0[j * C + c] + start[j] * v1[j * C + c];
    for (let i = 0; i < M; i++) { // the products of all rows with z at the start of the piece, and their slopes
      z[i] = block[i];
      dz[i] = 0;
      for (let c = 0; c < C; c++) {
        z[i] += v[c] * block[i * M + first + c];
        dz[i] += v1[j * C + c] * block[i * M + first + c];
      }
    }
    const at = j * W;
    for (let i = 0; i < first; i++) {
      values[at + i] = z[i];
      values[at + P + i] = dz[i];
    }
    let square = z[0], mixed = 0, slope = 0;
    for (let c = 0; c < C; c++) {
      const s = first + Math.floor(c / splits), row = first + c;
      values[at + s] += shares[c] * z[row];
      values[at + P + s] += shares[c] * dz[row];
      square += v[c] * z[row];
      mixed += v1[j * C + c] * z[row];
      slope += v1[j * C + c] * dz[row];
    }
    values[at + 2 * P] = square;
    values[at + 2 * P + 1] = 2 * mixed;
    values[at + 2 * P + 2] = slope;
  }
  return { start, values, v0, v1 };
}

// Adds the products and ‖z‖² of a module at a strength to sums [P + 1].
function addProducts({ start, values }, P, q, sums, at) {
  const j = pieceAt(start, q), from = j * (2 * P + 3), distance = q - start[j];
  for (let i = 0; i < P; i++) sums[at + i] += values[from + i] + distance * values[from + P + i];
  sums[at + P] += values[from + 2 * P] + distance * (values[from + 2 * P + 1] + distance * values[from + 2 * P + 2]);
}

// A family of GEM's restriction without solved steps. taskWeights [S]: the strength of each past task at q = 1.
export function newFamily(task, moduleOf, splits, restriction, taskWeights, strengths) {
  const share = restriction.strength_per === "task" ? 1 / splits : 1;
  const weights = Array.from({ length: task.past * splits }, (_, c) => taskWeights[Math.floor(c / splits)] * share);
  return { ...unsolved(task, strengths), moduleOf, splits, restriction, weights, solveStep: followPaths };
}

// A family without solved steps. sums: P products with z and ‖z‖² at each step and strength; pieces: those of each solved
// step.
export function unsolved(task, strengths) {
  return { task, strengths, P: 2 + 2 * task.past, sums: new Float64Array(0), pieces: [], solved: 0 };
}

// Make room for all steps of the task: while a run records, they become more.
function growSums(family) {
  const size = family.task.snapshots.length * family.strengths.length * (family.P + 1);
  if (family.sums.length >= size) return;
  const sums = new Float64Array(family.sums.length ? 2 * size : size);
  sums.set(family.sums);
  family.sums = sums;
}

// The pieces of each module at a step; adds their products and ‖z‖² at each strength to those of the family.
function followPaths({ task, splits, restriction, weights, P, strengths, sums }, n, blocks, shares) {
  const Q = strengths.length,
    pieces = blocks.map((block) => modulePieces(block, task.past, splits, shares, weights, restriction));
  for (const piece of pieces) {
    for (let j = 0; j < Q; j++) addProducts(piece, P, strengths[j], sums, (n * Q + j) * (P + 1));
  }
  return pieces;
}

// Solve steps of a family, in the given order, until they are all solved or the time is up; true if all are.
export function solveFamily(family, order, deadline = Infinity) {
  growSums(family);
  while (family.solved < order.length) {
    if (performance.now() > deadline) return false;
    const n = order[family.solved];
    const { blocks, shares } = moduleBlocks(family.task.snapshots[n], family.moduleOf, family.splits);
    family.pieces[n] = family.solveStep(family, n, blocks, shares);
    family.solved++;
  }
  return true;
}

// Means over the solved steps of a window: [⟨g_s,z⟩, ⟨g_t,z⟩, ⟨ĝ_s,z⟩] at each of Q strengths, per recording and of all.
// Axes are "unit" (per ‖z‖), "raw" or "cosine". A step at which that divides by 0 is left out; NaN where no step is left.
// before: the means over another window of the same solved steps and on the same axes. Only those steps are then added or
// subtracted that the windows do not have in common; in double precision, that costs a few of the last digits.
function meansOver(family, sums, Q, { s, axes, window }, recordings, before) {
  const { P, restriction, task, pieces } = family, W = P + 1, memory = 2 + task.past + s;
  const totals = before ? before.totals.slice() : new Float64Array(recordings * Q * 4);
  task.snapshots.forEach(({ recording, step, norms }, n) => {
    const sign = isWithin(step, window) - (before ? isWithin(step, before.window) : 0);
    if (!pieces[n] || !sign) return;
    const pastLength = axes === "cosine" ? norms[2 + s] : 1, ownLength = axes === "cosine" ? norms[1] : 1;
    for (let j = 0; j < Q; j++) {
      const at = (n * Q + j) * W, to = (recording * Q + j) * 4, norm = Math.sqrt(Math.max(sums[at + P], 0));
      let scale = 1;
      if (axes !== "raw") {
        if (!(norm * pastLength * ownLength > 0)) continue;
        scale = 1 / norm;
      } else if (restriction.step_length === "gradient" && norm > 0) scale = norms[0] / norm;
      totals[to] += (sign * sums[at + 2 + s] * scale) / pastLength;
      totals[to + 1] += (sign * sums[at + 1] * scale) / ownLength;
      totals[to + 2] += (sign * sums[at + memory] * scale) / pastLength;
      totals[to + 3] += sign;
    }
  });
  return {
    window,
    totals,
    mean: meanCurve(totals, Q, recordings),
    get each() {
      return eachCurve(totals, Q, recordings);
    },
  };
}

export function isWithin(step, [first, last]) {
  return step >= first && step <= last ? 1 : 0;
}

function eachCurve(totals, Q, recordings) {
  const point = (at) => [0, 1, 2].map((i) => (totals[at + 3] ? totals[at + i] / totals[at + 3] : NaN));
  return Array.from({ length: recordings }, (_, r) => Array.from({ length: Q }, (_, j) => point((r * Q + j) * 4)));
}

// Every recording counts the same, whatever the number of its steps.
function meanCurve(totals, Q, recordings) {
  const curve = [];
  for (let j = 0; j < Q; j++) {
    let x = 0, y = 0, memory = 0, known = 0;
    for (let r = 0; r < recordings; r++) {
      const at = (r * Q + j) * 4, steps = totals[at + 3];
      if (!steps) continue;
      x += totals[at] / steps;
      y += totals[at + 1] / steps;
      memory += totals[at + 2] / steps;
      known++;
    }
    curve.push([x / known, y / known, memory / known]);
  }
  return curve;
}

// The frontier at the strengths of the grid.
export function frontier(family, view, recordings, before) {
  return meansOver(family, family.sums, family.strengths.length, view, recordings, before);
}

// The point of the frontier at one strength, which need not be on the grid.
export function pointAt(family, q, view, recordings) {
  const sums = new Float64Array(family.pieces.length * (family.P + 1));
  family.pieces.forEach((pieces, n) =>
    pieces.forEach((piece) => addProducts(piece, family.P, q, sums, n * (family.P + 1))),
  );
  const { each, mean } = meansOver(family, sums, 1, view, recordings);
  return { each: each.map(([point]) => point), mean: mean[0] };
}
