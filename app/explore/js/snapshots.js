// Recorded steps: from packed numbers to the Gram matrices of modules. No DOM here.
//
// A snapshot has the Gram matrices [L, M, M] of L parameter tensors: of g, g_t, the true gradients g_s of S past tasks, and
// K memory rows of each past task.

// An empty task: { past, splits, snapshots: [{ recording, step, sizes, grams, norms, cancelled }], steps, order }.
// order: the indices of the snapshots, in the order in which they are solved.
export function emptyTask() {
  return { past: 0, splits: 0, snapshots: [], steps: [], order: [], known: new Set() };
}

// Adds the snapshots of a message to their task, but for those that it has already; returns how many were new.
// cancelled: of the finer rows' lengths; a mean of rows that is shorter is what rounding left of opposite ones.
export function addSnapshots(task, { recording, steps, sizes, factors: text }, tensors, cancelled) {
  const factors = decodeFloats(text), M = rowsOf(factors.length / tensors / steps.length), size = (M * (M + 1)) / 2;
  const first = task.snapshots.length;
  steps.forEach((step, n) => {
    if (task.known.has(`${recording} ${step}`)) return;
    task.known.add(`${recording} ${step}`);
    const grams = new Float64Array(tensors * M * M);
    for (let l = 0; l < tensors; l++) unpackGram(factors, (n * tensors + l) * size, M, grams, l * M * M);
    const norms = Float64Array.from({ length: M }, (_, i) => {
      let square = 0;
      for (let l = 0; l < tensors; l++) square += grams[l * M * M + i * M + i];
      return Math.sqrt(Math.max(square, 0));
    });
    task.snapshots.push({ recording, step, sizes: sizes[n], grams, norms, cancelled });
  });
  const added = task.snapshots.slice(first);
  if (!added.length) return 0;
  [task.past, task.splits] = [sizes[0].length, sizes[0][0].length];
  task.steps = [...new Set([...task.steps, ...steps])].sort((a, b) => a - b);
  task.order.push(...spreadOrder(added).map((n) => first + n));
  return added.length;
}

// The order in which steps are solved: the first ones are spread over all recordings and the whole training.
export function spreadOrder(snapshots) {
  const byRecording = new Map();
  snapshots.forEach(({ recording }, n) => byRecording.set(recording, [...(byRecording.get(recording) ?? []), n]));
  const golden = (Math.sqrt(5) - 1) / 2, placed = [];
  for (const members of byRecording.values()) members.forEach((n, i) => placed.push([i === 0 ? 0 : (i * golden) % 1, n]));
  return placed.sort((one, other) => one[0] - other[0]).map(([, n]) => n);
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
export function moduleBlocks({ grams, sizes, cancelled }, moduleOf, splits) {
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
  return { blocks: blocks.map((fine) => mergeRows(fine, M, m, 2 + S, target, share, cancelled)), shares };
}

function mergeRows(fine, M, m, first, target, share, cancelled) {
  const block = new Float64Array(m * m), lengths = new Float64Array(m);
  for (let i = 0; i < M; i++) {
    lengths[target[i]] += share[i] * Math.sqrt(Math.max(fine[i * M + i], 0));
    for (let j = 0; j < M; j++) block[target[i] * m + target[j]] += share[i] * share[j] * fine[i * M + j];
  }
  for (let i = first; i < m; i++) {
    if (Math.sqrt(Math.max(block[i * m + i], 0)) > cancelled * lengths[i]) continue;
    for (let j = 0; j < m; j++) block[i * m + j] = block[j * m + i] = 0;
  }
  return block;
}
