// The dual problem of one module over all strengths, solved as in mgem_core/restriction/path.py and
// mgem_core/lens/modules.py. No DOM here.
//
// v(q) of a module is piecewise linear in the strength q. A path is { start [J], v0 [J·C], v1 [J·C] }: from the strength
// start[j] on, v = v0[j] + q · v1[j]. Matrices are flat arrays, row by row.
const NO_SLOPE = 1e-13; // relative: slopes below it are rounding errors

// A [C, C] and b [C] of the memory rows, weights [C]: the strength of each row at q = 1, squaredNorm: ‖g‖² in this module.
// restriction: { solver, strength_kind, trigger, ridge, ridge_kind, violated }, see mgem_core/restriction/restriction.py
export function dualPath(A, b, weights, restriction, squaredNorm) {
  const C = b.length;
  // With a margin, v = 0 wherever nothing is violated, so the trigger changes nothing.
  const canSkip = restriction.trigger === "violation" && restriction.strength_kind === "dual-floor";
  if (canSkip && !violates(A, b, squaredNorm, restriction.violated)) {
    return { start: new Float64Array(1), v0: new Float64Array(C), v1: new Float64Array(C) };
  }
  return restriction.solver === "approx" ? approxPath(A, b, weights, restriction) : exactPath(A, b, weights, restriction);
}

// violated: the cosine of g and a row below which g violates it.
function violates(A, b, squaredNorm, violated) {
  return b.some((product, c) => product < violated * Math.sqrt(Math.max(A[c * b.length + c] * squaredNorm, 0)));
}

// v = max(−(b − γ) / diag(A), floor), row by row; rows of zeros keep v = floor.
function approxPath(A, b, weights, { strength_kind }) {
  const C = b.length, hasFloor = strength_kind === "dual-floor";
  const meets = Array.from(b, (product, c) => {
    const scale = hasFloor ? weights[c] * A[c * C + c] : weights[c];
    const q = A[c * C + c] > 0 && scale > 0 ? ((hasFloor ? -1 : 1) * product) / scale : Infinity;
    return q > 0 ? q : Infinity;
  });
  const start = [0, ...new Set(meets.filter(Number.isFinite))].sort((one, other) => one - other);
  const v0 = new Float64Array(start.length * C), v1 = new Float64Array(start.length * C);
  start.forEach((from, j) => {
    for (let c = 0; c < C; c++) {
      const diagonal = A[c * C + c], i = j * C + c;
      if (hasFloor) {
        const isAboveFloor = diagonal > 0 && -b[c] > 0 && (from < meets[c] || weights[c] === 0);
        if (isAboveFloor) v0[i] = -b[c] / diagonal;
        else v1[i] = weights[c];
      } else if (diagonal > 0 && (b[c] <= 0 || from >= meets[c])) {
        v0[i] = -b[c] / diagonal;
        v1[i] = weights[c] / diagonal;
      }
    }
  });
  return { start: Float64Array.from(start), v0, v1 };
}

export function exactPath(A, b, weights, { strength_kind, ridge, ridge_kind }) {
  const C = b.length, hasFloor = strength_kind === "dual-floor";
  const norm = b.map((_, c) => Math.sqrt(Math.max(A[c * C + c], 0)));
  const inverse = norm.map((length) => (length > 0 ? 1 / length : 0));
  let ridges = inverse.map((one) => (ridge_kind === "relative" ? ridge : ridge * one * one));
  for (let attempt = 0; attempt < 8; attempt++) { // where rounding breaks a path, the ridge grows
    const found = follow(tableau(A, b, weights, norm, inverse, ridges, hasFloor), C);
    if (found) {
      const J = found.start.length, { v0, v1 } = found;
      for (let j = 0; j < J; j++) {
        for (let c = 0; c < C; c++) {
          v0[j * C + c] *= inverse[c];
          v1[j * C + c] = v1[j * C + c] * inverse[c] + (hasFloor ? weights[c] : 0);
        }
      }
      return found;
    }
    ridges = ridges.map((one) => Math.max(100 * one, 1e-9));
  }
  throw new Error(`the path over the strength was not found for a dual problem with ${C} memory rows`);
}

// [H | c | d | 1], with rows of unit length.
function tableau(A, b, weights, norm, inverse, ridges, hasFloor) {
  const C = b.length, W = C + 3, T = new Float64Array(C * W);
  for (let i = 0; i < C; i++) {
    let product = 0;
    for (let j = 0; j < C; j++) {
      let value = A[i * C + j] * inverse[i] * inverse[j];
      if (i === j) value += norm[i] > 0 ? ridges[i] : 1;
      T[i * W + j] = value;
      product += value * weights[j] * norm[j];
    }
    T[i * W + C] = b[i] * inverse[i];
    T[i * W + C + 1] = hasFloor ? product : -weights[i] * inverse[i];
    T[i * W + C + 2] = 1;
  }
  return T;
}

// First τ falls to 0, which gives the solution at q = 0; then q rises. At each zero, a row changes sides. Return null if a
// pivot is not positive, or if there are too many.
function follow(T, C) {
  const W = C + 3, most = 20 * C + 50, isU = new Uint8Array(C);
  let pivots = 0;
  for (; ; pivots++) {
    const row = nextZero(T, C, C + 2, 1);
    if (row < 0 || !(-T[row * W + C] / T[row * W + C + 2] > 0)) break;
    if (pivots >= most || !pivot(T, C, row)) return null;
    isU[row] ^= 1;
  }
  const start = [], v0 = [], v1 = [];
  let q = 0;
  for (pivots = 0; ; pivots++) {
    start.push(q);
    for (let c = 0; c < C; c++) {
      v0.push(isU[c] ? T[c * W + C] : 0);
      v1.push(isU[c] ? T[c * W + C + 1] : 0);
    }
    const row = nextZero(T, C, C + 1, -1);
    if (row < 0) break;
    if (pivots >= most) return null;
    q = Math.max(q, -T[row * W + C] / T[row * W + C + 1]);
    if (!pivot(T, C, row)) return null;
    isU[row] ^= 1;
  }
  return { start: new Float64Array(start), v0: new Float64Array(v0), v1: new Float64Array(v1) };
}

// The row whose value is the first to reach 0: sign 1 for the largest τ, −1 for the smallest q; the least index of ties.
function nextZero(T, C, slopes, sign) {
  const W = C + 3;
  let largest = 0, best = sign > 0 ? -Infinity : Infinity, found = -1;
  for (let i = 0; i < C; i++) largest = Math.max(largest, Math.abs(T[i * W + slopes]));
  for (let i = 0; i < C; i++) {
    const slope = T[i * W + slopes];
    if (!(sign * slope > NO_SLOPE * largest)) continue;
    const at = -T[i * W + C] / slope;
    if (sign > 0 ? at > best : at < best) {
      best = at;
      found = i;
    }
  }
  return found;
}

// Exchange u and y of a row; return false if the pivot is not positive.
function pivot(T, C, row) {
  const W = C + 3, value = T[row * W + row];
  if (!(value > 0)) return false;
  for (let j = 0; j < W; j++) T[row * W + j] = j === row ? 1 / value : -T[row * W + j] / value;
  for (let i = 0; i < C; i++) {
    if (i === row) continue;
    const factor = T[i * W + row];
    T[i * W + row] = 0;
    for (let j = 0; j < W; j++) T[i * W + j] += factor * T[row * W + j];
  }
  return true;
}

// v [C] of a path at a strength.
export function valueAt({ start, v0, v1 }, q) {
  const C = v0.length / start.length, j = pieceAt(start, q);
  return Float64Array.from({ length: C }, (_, c) => v0[j * C + c] + q * v1[j * C + c]);
}

// The number of the piece that holds at q.
export function pieceAt(start, q) {
  let j = start.length - 1;
  while (j > 0 && start[j] > q) j--;
  return j;
}

export function dot(one, other) {
  let sum = 0;
  for (let i = 0; i < one.length; i++) sum += one[i] * other[i];
  return sum;
}
