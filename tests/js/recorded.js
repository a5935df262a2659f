// Recorded steps made from known vectors, so that every number of the lens can be computed from z itself.
import { combine, dot, gram, normalVector, uniform } from "./vectors.js";

// One step: vectors[l] are the gradients in tensor l: g, g_t, g_s of each past task, and the memory rows of each past task.
export function makeTask({ past, splits, tensors, steps, recordings = 1, seed = 0, dimensions = 8 }) {
  const draw = uniform(seed), snapshots = [], M = 2 + past + past * splits;
  for (let recording = 0; recording < recordings; recording++) {
    for (let step = 1; step <= steps; step++) {
      const vectors = Array.from({ length: tensors }, () =>
        Array.from({ length: M }, () => normalVector(draw, dimensions)),
      );
      const sizes = Array.from({ length: past }, () => Array.from({ length: splits }, () => 1 + Math.floor(5 * draw())));
      snapshots.push(makeSnapshot(vectors, sizes, recording, step));
    }
  }
  return { past, splits, snapshots };
}

export function makeSnapshot(vectors, sizes, recording = 0, step = 1) {
  const grams = Float64Array.from(vectors.flatMap((tensor) => [...gram(tensor)]));
  const norms = vectors[0].map((_, i) => Math.sqrt(vectors.reduce((sum, tensor) => sum + dot(tensor[i], tensor[i]), 0)));
  return { recording, step, sizes, grams, norms: Float64Array.from(norms), cancelled: 1e-5, vectors };
}

// The gradients of a step in one module, with memory rows averaged to fewer splits, weighted by their sizes.
export function moduleVectors({ vectors, sizes }, moduleOf, module, splits) {
  const joined = vectors[0].map((_, i) => vectors.flatMap((tensor, l) => (moduleOf[l] === module ? tensor[i] : [])));
  const past = sizes.length, K = sizes[0].length, first = 2 + past, rows = [], shares = [];
  sizes.forEach((counts, s) => {
    const all = counts.reduce((a, b) => a + b);
    for (let k = 0; k < splits; k++) {
      const members = Array.from({ length: K / splits }, (_, i) => (k * K) / splits + i),
        total = members.reduce((sum, i) => sum + counts[i], 0);
      rows.push(
        combine(
          members.map((i) => joined[first + s * K + i]),
          members.map((i) => counts[i] / total),
        ),
      );
      shares.push(total / all);
    }
  });
  return { g: joined[0], gt: joined[1], gs: joined.slice(2, first), rows, shares };
}
