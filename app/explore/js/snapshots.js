// Recorded steps: from packed numbers to the Gram matrices of modules. No DOM here.
//
// A snapshot has the Gram matrices [L, M, M] of L parameter tensors: of g, g_t, the true gradients g_s of S past tasks, and
// K memory rows of each past task.

// The recorded steps of one task: { past, splits, snapshots: [{ recording, step, sizes, grams, norms, cancelled }] }.
// cancelled: of the finer rows' lengths; a mean of rows that is shorter is what rounding left of opposite ones.
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
      snapshots.push({ recording, step, sizes: part.sizes[n], grams, norms, cancelled: data.cancelled });
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
