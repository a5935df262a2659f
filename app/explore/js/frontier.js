// From recorded steps to frontiers: what a partition, splits and strengths would have done. As mgem_core/lens/answers.py. No DOM here.
//
// A snapshot has the Gram matrices [L, M, M] of L parameter tensors: of g, g_t, the true gradients g_s of S past tasks, and K
// memory rows of each. A family is all strengths of { moduleOf, splits, knobs }.
import { dualPath, pieceAt } from "../../components/solver.js";

const CANCELLED = 1e-5; // of the finer rows' lengths: a mean of rows that is shorter is what rounding left of opposite ones
export const STRENGTHS = 61; // at which curves are drawn
const PLACES = 101; // at which two curves are compared

// The recorded steps of one task: { past, splits, snapshots: [{ recording, step, sizes, grams, norms }] }.
export function decodeTask(data, task) {
  const L = data.layers.reduce((count, layer) => count + layer.tensors.length, 0), snapshots = [];
  data.recordings.forEach((one, recording) => {
    const part = one.tasks.find((other) => other.task === task);
    const factors = decodeFloats(part.factors), M = rowsOf(factors.length / L / part.steps.length);
    part.steps.forEach((step, n) => {
      const size = (M * (M + 1)) / 2, grams = new Float64Array(L * M * M);
      for (let l = 0; l < L; l++) unpackGram(factors, (n * L + l) * size, M, grams, l * M * M);
      const norms = Float64Array.from({ length: M }, (_, i) => {
        let square = 0;
        for (let l = 0; l < L; l++) square += grams[l * M * M + i * M + i];
        return Math.sqrt(Math.max(square, 0));
      });
      snapshots.push({ recording, step, sizes: part.sizes[n], grams, norms });
    });
  });
  return { past: snapshots[0].sizes.length, splits: snapshots[0].sizes[0].length, snapshots };
}

function decodeFloats(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}

function rowsOf(packedLength) {
  return Math.round((Math.sqrt(8 * packedLength + 1) - 1) / 2);
}

// F Fᵀ of a packed lower triangle.
function unpackGram(factors, from, M, target, at) {
  for (let i = 0; i < M; i++) {
    for (let j = 0; j <= i; j++) {
      const rowI = from + (i * (i + 1)) / 2, rowJ = from + (j * (j + 1)) / 2;
      let sum = 0;
      for (let k = 0; k <= j; k++) sum += factors[rowI + k] * factors[rowJ + k];
      target[at + i * M + j] = target[at + j * M + i] = sum;
    }
  }
}

// Gram matrices of each module, with neighbouring memory rows averaged to fewer splits, and the share of each row.
export function moduleBlocks({ grams, sizes }, moduleOf, splits) {
  const S = sizes.length, K = sizes[0].length, M = 2 + S + S * K, joined = K / splits, m = 2 + S + S * splits;
  const target = new Int32Array(M), share = new Float64Array(M).fill(1), shares = new Float64Array(S * splits);
  for (let i = 0; i < M; i++) target[i] = i < 2 + S ? i : 2 + S + Math.floor((i - 2 - S) / joined);
  for (let s = 0; s < S; s++) {
    const all = sizes[s].reduce((sum, size) => sum + size, 0);
    for (let k = 0; k < splits; k++) {
      const some = sizes[s].slice(k * joined, (k + 1) * joined), sum = some.reduce((total, size) => total + size, 0);
      some.forEach((size, i) => (share[2 + S + s * K + k * joined + i] = size / sum));
      shares[s * splits + k] = sum / all;
    }
  }
  const blocks = Array.from({ length: Math.max(...moduleOf) + 1 }, () => new Float64Array(M * M));
  moduleOf.forEach((d, l) => {
    for (let i = 0; i < M * M; i++) blocks[d][i] += grams[l * M * M + i];
  });
  if (joined === 1) return { blocks, shares };
  return { blocks: blocks.map((fine) => mergeRows(fine, M, m, 2 + S, target, share)), shares };
}

function mergeRows(fine, M, m, first, target, share) {
  const block = new Float64Array(m * m), lengths = new Float64Array(m);
  for (let i = 0; i < M; i++) {
    lengths[target[i]] += share[i] * Math.sqrt(Math.max(fine[i * M + i], 0));
    for (let j = 0; j < M; j++) block[target[i] * m + target[j]] += share[i] * share[j] * fine[i * M + j];
  }
  for (let i = first; i < m; i++) {
    if (Math.sqrt(Math.max(block[i * m + i], 0)) > CANCELLED * lengths[i]) continue;
    for (let j = 0; j < m; j++) block[i * m + j] = block[j * m + i] = 0;
  }
  return block;
}

// What one module adds, piece by piece of its path: the products with z (g, g_t, g_s, ĝ_s) and ‖z‖², as polynomials of the
// distance from the start of the piece, where nothing cancels. { start [J], values [J, 2 P + 3] } with P = 2 + 2 S, and the path of v.
function modulePieces(block, past, splits, shares, weights, knobs) {
  const first = 2 + past, C = past * splits, M = first + C, P = 2 + 2 * past, W = 2 * P + 3;
  const A = new Float64Array(C * C), b = new Float64Array(C);
  for (let i = 0; i < C; i++) {
    b[i] = block[(first + i) * M];
    for (let j = 0; j < C; j++) A[i * C + j] = block[(first + i) * M + first + j];
  }
  const { start, v0, v1 } = dualPath(A, b, weights, knobs, block[0]);
  const values = new Float64Array(start.length * W), z = new Float64Array(M), dz = new Float64Array(M), v = new Float64Array(C);
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

// A family of which no step is solved yet. taskWeights [S]: the strength of each past task at q = 1.
export function newFamily(task, moduleOf, splits, knobs, taskWeights, strengths) {
  const share = knobs.per === "task" ? 1 / splits : 1;
  const weights = Array.from({ length: task.past * splits }, (_, c) => taskWeights[Math.floor(c / splits)] * share);
  return { ...unsolved(task, strengths), moduleOf, splits, knobs, weights, solveStep: followPaths };
}

// What every family begins with. sums: at each step and strength, P products with z and ‖z‖²; pieces: those of a solved step.
export function unsolved(task, strengths) {
  const P = 2 + 2 * task.past, N = task.snapshots.length;
  return { task, strengths, P, sums: new Float64Array(N * strengths.length * (P + 1)), pieces: new Array(N), solved: 0 };
}

// The pieces of each module at a step; adds their products and ‖z‖² at each strength to those of the family.
function followPaths({ task, splits, knobs, weights, P, strengths, sums }, n, blocks, shares) {
  const Q = strengths.length, pieces = blocks.map((block) => modulePieces(block, task.past, splits, shares, weights, knobs));
  for (const piece of pieces) {
    for (let j = 0; j < Q; j++) addProducts(piece, P, strengths[j], sums, (n * Q + j) * (P + 1));
  }
  return pieces;
}

// Solve steps of a family, in the given order, until they are all solved or the time is up; true if all are.
export function solveFamily(family, order, deadline = Infinity) {
  while (family.solved < order.length) {
    if (performance.now() > deadline) return false;
    const n = order[family.solved];
    const { blocks, shares } = moduleBlocks(family.task.snapshots[n], family.moduleOf, family.splits);
    family.pieces[n] = family.solveStep(family, n, blocks, shares);
    family.solved++;
  }
  return true;
}

// The order in which steps are solved: such that the first ones are spread over all recordings and the whole training.
export function spreadOrder(snapshots) {
  const byRecording = new Map();
  snapshots.forEach(({ recording }, n) => byRecording.set(recording, [...(byRecording.get(recording) ?? []), n]));
  const golden = (Math.sqrt(5) - 1) / 2, placed = [];
  for (const members of byRecording.values()) members.forEach((n, i) => placed.push([i === 0 ? 0 : (i * golden) % 1, n]));
  return placed.sort((one, other) => one[0] - other[0]).map(([, n]) => n);
}

// Means over the solved steps of a window: [⟨g_s,z⟩, ⟨g_t,z⟩, ⟨ĝ_s,z⟩] at each of Q strengths, of each recording and of all.
// Axes are "unit" (per ‖z‖), "raw" or "cosine". A step at which that divides by 0 is left out; NaN where no step is left.
// before: the means over another window of the same solved steps and on the same axes. Only those steps are then added or
// subtracted that the windows do not have in common; in double precision, that costs a few of the last digits.
function meansOver(family, sums, Q, { s, axes, window }, recordings, before) {
  const { P, knobs, task, pieces } = family, W = P + 1, memory = 2 + task.past + s;
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
      } else if (knobs.stepLength === "gradient" && norm > 0) scale = norms[0] / norm;
      totals[to] += (sign * sums[at + 2 + s] * scale) / pastLength;
      totals[to + 1] += (sign * sums[at + 1] * scale) / ownLength;
      totals[to + 2] += (sign * sums[at + memory] * scale) / pastLength;
      totals[to + 3] += sign;
    }
  });
  return { window, totals, mean: meanCurve(totals, Q, recordings), get each() { return eachCurve(totals, Q, recordings); } };
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

// The same at one strength, which need not be one of the grid.
export function pointAt(family, q, view, recordings) {
  const sums = new Float64Array(family.pieces.length * (family.P + 1));
  family.pieces.forEach((pieces, n) => pieces.forEach((piece) => addProducts(piece, family.P, q, sums, n * (family.P + 1))));
  const { each, mean } = meansOver(family, sums, 1, view, recordings);
  return { each: each.map(([point]) => point), mean: mean[0] };
}

// The point of a curve that is farthest above the straight line between its ends, both axes scaled to the curve's range.
export function kneeOf(points) {
  const range = (i) => Math.max(...points.map((point) => point[i])) - Math.min(...points.map((point) => point[i])) || 1;
  const [width, height] = [range(0), range(1)], [first, last] = [points[0], points[points.length - 1]];
  const [dx, dy] = [(last[0] - first[0]) / width, (last[1] - first[1]) / height];
  const above = (point) => ((point[1] - first[1]) / height) * dx - ((point[0] - first[0]) / width) * dy;
  const distances = points.map((point) => Math.sign(dx || 1) * above(point));
  const best = Math.max(...distances);
  return best > 1e-9 ? distances.indexOf(best) : -1;
}

// Mean difference in y at equal x of two curves, the share of the range in common, mean |y| of the other one.
export function curveDifference(one, other) {
  const xs = [one, other].map((curve) => curve.map(([x]) => x));
  const lows = xs.map((values) => Math.min(...values)), highs = xs.map((values) => Math.max(...values));
  const low = Math.max(...lows), high = Math.min(...highs);
  if (![low, high].every(Number.isFinite) || !(low < high)) return { difference: NaN, common: 0, level: NaN };
  let difference = 0, level = 0;
  for (let i = 0; i < PLACES; i++) {
    const x = low + ((high - low) * i) / (PLACES - 1), y = upperEnvelope(other, x);
    difference += (upperEnvelope(one, x) - y) / PLACES;
    level += Math.abs(y) / PLACES;
  }
  return { difference, level, common: (high - low) / (Math.max(...highs) - Math.min(...lows)) };
}

// y of a curve at x: the largest of its linear pieces there; at the ends, where rounding may leave none, the nearest point.
function upperEnvelope(curve, x) {
  let best = -Infinity;
  for (let i = 1; i < curve.length; i++) {
    const [x0, y0] = curve[i - 1], [x1, y1] = curve[i];
    if (x < Math.min(x0, x1) || x > Math.max(x0, x1)) continue;
    best = Math.max(best, x0 === x1 ? Math.max(y0, y1) : y0 + ((x - x0) / (x1 - x0)) * (y1 - y0));
  }
  if (best > -Infinity) return best;
  return curve.reduce((nearest, point) => (Math.abs(point[0] - x) < Math.abs(nearest[0] - x) ? point : nearest))[1];
}

// The difference of two frontiers in y at equal x, in percent of the second, with its interval over the recordings.
export function differenceOverSeeds(one, other, recordings, quantile) {
  const ones = one.each, others = other.each;
  const found = Array.from({ length: recordings }, (_, r) => curveDifference(ones[r], others[r]));
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const level = mean(found.map((pair) => pair.level)), values = found.map((pair) => (100 * pair.difference) / level);
  const centre = mean(values), n = values.length;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (n - 1));
  const reach = (quantile * deviation) / Math.sqrt(n);
  return { values, mean: centre, low: centre - reach, high: centre + reach, common: mean(found.map((pair) => pair.common)) };
}
