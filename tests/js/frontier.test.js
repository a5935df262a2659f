// Frontiers of recorded steps, compared with products of the direction z itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dualPath, valueAt } from "../../app/components/solver.js";
import { frontier, newFamily, pointAt, solveFamily } from "../../app/explore/js/frontier.js";
import { addSnapshots, emptyTask, moduleBlocks, spreadOrder } from "../../app/explore/js/snapshots.js";
import { makeSnapshot, makeTask, moduleVectors } from "./recorded.js";
import { combine, dot, gram, norm, normalVector, TOLERANCES, uniform } from "./vectors.js";

const RESTRICTION = {
  ...{ solver: "exact", trigger: "violation", step_length: "free" },
  ...{ strength_kind: "dual-floor", strength_per: "split", ...TOLERANCES },
};
const STRENGTHS = [0, 0.2, 1, 5];
const WHOLE = [1, 1e9];

function solved(task, moduleOf, splits, restriction = RESTRICTION, taskWeights = new Array(task.past).fill(1)) {
  const family = newFamily(task, moduleOf, splits, restriction, taskWeights, STRENGTHS);
  assert.equal(solveFamily(family, spreadOrder(task.snapshots)), true);
  return family;
}

// [⟨g_s,z⟩, ⟨g_t,z⟩, ⟨ĝ_s,z⟩] and ‖z‖ of one step, from vectors.
function productsOf(snapshot, moduleOf, splits, restriction, weights, q, s) {
  const sums = [0, 0, 0];
  let square = 0;
  for (let d = 0; d <= Math.max(...moduleOf); d++) {
    const { g, gt, gs, rows, shares } = moduleVectors(snapshot, moduleOf, d, splits);
    const b = Float64Array.from(rows, (row) => dot(row, g));
    const v = valueAt(dualPath(gram(rows), b, weights, restriction, dot(g, g)), q);
    const z = combine([g, ...rows], [1, ...v]), first = s * splits;
    const memory = combine(rows.slice(first, first + splits), shares.slice(first, first + splits));
    [gs[s], gt, memory].forEach((vector, i) => (sums[i] += dot(vector, z)));
    square += dot(z, z);
  }
  return { sums, length: Math.sqrt(square) };
}

function assertClose(found, wanted, tolerance = 1e-9, name = "") {
  found.forEach((value, i) =>
    assert.ok(Math.abs(value - wanted[i]) <= tolerance * (1 + Math.abs(wanted[i])), `${name} ${value}, not ${wanted[i]}`),
  );
}

test("frontiers are the mean products of z for any partition, splits, strength and axes", () => {
  const task = makeTask({ past: 2, splits: 4, tensors: 3, steps: 3, seed: 1 });
  for (const moduleOf of [[0, 0, 0], [0, 0, 1], [0, 1, 2]]) {
    for (const splits of [1, 2, 4]) {
      for (const [i, kind] of ["dual-floor", "margin"].entries()) {
        const solver = splits === 2 ? "approx" : "exact", trigger = i ? "always" : "violation";
        const restriction = { ...RESTRICTION, strength_kind: kind, solver, trigger };
        const family = solved(task, moduleOf, splits, restriction), s = i;
        for (const axes of ["raw", "unit", "cosine"]) {
          const { each, mean } = frontier(family, { s, axes, window: WHOLE }, 1);
          STRENGTHS.forEach((q, j) => {
            const wanted = [0, 0, 0];
            for (const snapshot of task.snapshots) {
              const { sums, length } = productsOf(snapshot, moduleOf, splits, restriction, family.weights, q, s);
              const [past, own] = axes === "cosine" ? [snapshot.norms[2 + s], snapshot.norms[1]] : [1, 1];
              const scale = axes === "raw" ? 1 : length;
              [past, own, past].forEach((unit, k) => (wanted[k] += sums[k] / scale / unit / task.snapshots.length));
            }
            assertClose(each[0][j], wanted, 1e-8, `${moduleOf}, ${splits} splits, ${kind}, ${axes}, q = ${q}:`);
            assert.deepEqual(mean[j], each[0][j]);
          });
        }
      }
    }
  }
});

test("the point at a strength is on the frontier", () => {
  const task = makeTask({ past: 1, splits: 2, tensors: 2, steps: 4, recordings: 2, seed: 2 }),
    family = solved(task, [0, 1], 2);
  const view = { s: 0, axes: "unit", window: WHOLE },
    curve = frontier(family, view, 2);
  STRENGTHS.forEach((q, j) => {
    const point = pointAt(family, q, view, 2);
    assertClose(point.mean, curve.mean[j], 1e-12);
    point.each.forEach((one, r) => assertClose(one, curve.each[r][j], 1e-12));
  });
});

test("every recording has the same weight, whatever the number of its steps", () => {
  const task = makeTask({ past: 1, splits: 1, tensors: 1, steps: 3, recordings: 2, seed: 3 });
  task.snapshots.splice(4); // the second recording has one step
  const { each, mean } = frontier(solved(task, [0], 1), { s: 0, axes: "raw", window: WHOLE }, 2);
  assertClose(mean[1], each[0][1].map((value, i) => (value + each[1][1][i]) / 2), 1e-12);
});

test("a window that moves has the same means as one that is computed from the start", () => {
  const task = makeTask({ past: 1, splits: 2, tensors: 2, steps: 9, recordings: 2, seed: 4 }),
    family = solved(task, [0, 1], 2);
  let before = null;
  for (const window of [[1, 9], [4, 9], [4, 4], [2, 7], [1, 9], [9, 9]]) {
    const view = { s: 0, axes: "cosine", window };
    before = frontier(family, view, 2, before);
    frontier(family, view, 2).mean.forEach((point, j) => assertClose(before.mean[j], point, 1e-10));
  }
});

test("a window without steps has no mean", () => {
  const family = solved(makeTask({ past: 1, splits: 1, tensors: 1, steps: 2 }), [0], 1);
  const { each, mean } = frontier(family, { s: 0, axes: "unit", window: [5, 6] }, 1);
  assert.ok([...each[0].flat(), ...mean.flat()].every(Number.isNaN));
});

test("a step whose z is zero is left out of means per length", () => {
  const opposite = makeSnapshot([[[-1, 0], [0, 1], [1, 0], [1, 0]]], [[1]], 0, 1); // z = 0, because v = 1
  const other = makeSnapshot([[[0, 1], [0, 1], [1, 0], [1, 0]]], [[1]], 0, 2);
  const task = { past: 1, splits: 1, snapshots: [opposite, other] };
  const family = solved(task, [0], 1, { ...RESTRICTION, ridge: 0 });
  assertClose(frontier(family, { s: 0, axes: "unit", window: WHOLE }, 1).mean[0], [0, 1, 0]);
});

test("without a conflict, z is g for all partitions", () => {
  const draw = uniform(6), g = normalVector(draw, 6), gt = normalVector(draw, 6), gs = normalVector(draw, 6);
  const snapshot = makeSnapshot([[g, gt, gs, g, g]], [[2, 3]]), task = { past: 1, splits: 2, snapshots: [snapshot] };
  for (const splits of [1, 2]) {
    const { mean } = frontier(solved(task, [0], splits), { s: 0, axes: "cosine", window: WHOLE }, 1);
    for (const [x, y] of mean)
      assertClose([x, y], [dot(gs, g) / norm(gs) / norm(g), dot(gt, g) / norm(gt) / norm(g)], 1e-12);
  }
});

test("the step length of the gradient scales z to the length of g", () => {
  const task = makeTask({ past: 1, splits: 1, tensors: 2, steps: 1, seed: 7 }),
    [snapshot] = task.snapshots;
  const view = { s: 0, window: WHOLE },
    free = solved(task, [0, 0], 1),
    scaled = solved(task, [0, 0], 1, { ...RESTRICTION, step_length: "gradient" });
  const unit = frontier(free, { ...view, axes: "unit" }, 1).mean,
    raw = frontier(scaled, { ...view, axes: "raw" }, 1).mean;
  raw.forEach((point, j) =>
    assertClose(
      point,
      unit[j].map((value) => value * snapshot.norms[0]),
      1e-12,
    ),
  );
});

test("a strength per task is divided among its splits", () => {
  const task = makeTask({ past: 2, splits: 3, tensors: 1, steps: 1 });
  assertClose(
    newFamily(task, [0], 3, { ...RESTRICTION, strength_per: "task" }, [1, 0.5], STRENGTHS).weights,
    [1, 1, 1, 0.5, 0.5, 0.5].map((w) => w / 3),
  );
  assertClose(newFamily(task, [0], 3, RESTRICTION, [1, 0.5], STRENGTHS).weights, [1, 1, 1, 0.5, 0.5, 0.5]);
});

test("solving stops at its deadline and continues later", () => {
  const task = makeTask({ past: 1, splits: 1, tensors: 1, steps: 5 }), order = spreadOrder(task.snapshots);
  const family = newFamily(task, [0], 1, RESTRICTION, [1], STRENGTHS);
  assert.equal(solveFamily(family, order, -1), false);
  assert.equal(family.solved, 0);
  assert.equal(solveFamily(family, order), true);
  assert.deepEqual(family.sums, solved(task, [0], 1).sums);
});

test("the order of solving has every step once, and begins with every recording", () => {
  const { snapshots } = makeTask({ past: 1, splits: 1, tensors: 1, steps: 20, recordings: 3 }),
    order = spreadOrder(snapshots);
  assert.deepEqual(
    [...order].sort((a, b) => a - b),
    snapshots.map((_, n) => n),
  );
  assert.deepEqual(new Set(order.slice(0, 3).map((n) => snapshots[n].recording)), new Set([0, 1, 2]));
});

test("modules add the Gram matrices of their tensors, and joined splits average their rows", () => {
  const { snapshots: [snapshot] } = makeTask({ past: 2, splits: 4, tensors: 3, steps: 1, seed: 8 });
  for (const splits of [1, 2, 4]) {
    const { blocks, shares } = moduleBlocks(snapshot, [0, 1, 1], splits);
    blocks.forEach((block, d) => {
      const { g, gt, gs, rows, shares: wanted } = moduleVectors(snapshot, [0, 1, 1], d, splits);
      assertClose([...block], gram([g, gt, ...gs, ...rows]), 1e-12);
      assertClose([...shares], wanted, 1e-12);
    });
  }
});

test("a mean of opposite rows is exactly zero", () => {
  const row = [0.1, 0.2, 0.3],
    opposite = row.map((value) => -value * (1 + 1e-9));
  const {
    blocks: [block],
  } = moduleBlocks(makeSnapshot([[[1, 1, 1], [1, 0, 0], [0, 1, 0], row, opposite]], [[1, 1]]), [0], 1);
  assert.ok([0, 1, 2, 3].every((i) => block[i * 4 + 3] === 0 && block[3 * 4 + i] === 0));
});

test("packed triangles are decoded to the Gram matrix of their rows", () => {
  const M = 4, factor = [[1.5], [0.5, 2], [-1, 0.25, 0.75], [0, 1, -0.5, 3]]; // exact as float32
  const rows = factor.map((row) => [...row, ...new Array(M - row.length).fill(0)]);
  const factors = Buffer.from(Float32Array.from(factor.flat()).buffer).toString("base64");
  const task = emptyTask(), message = { recording: 2, steps: [7], sizes: [[[5]]], factors };
  assert.equal(addSnapshots(task, message, 1, 1e-5), 1);
  const { past, splits, snapshots: [{ step, recording, grams, norms }] } = task;
  assert.deepEqual({ past, splits, step, recording }, { past: 1, splits: 1, step: 7, recording: 2 });
  assert.deepEqual(grams, gram(rows));
  assertClose([...norms], rows.map(norm), 1e-15);
  assert.equal(addSnapshots(task, message, 1, 1e-5), 0); // a server that is asked again sends it again
  assert.equal(task.snapshots.length, 1);
});

test("steps that arrive later are solved like those that were there at first", () => {
  const whole = makeTask({ past: 1, splits: 2, tensors: 2, steps: 9, recordings: 2 }), all = whole.snapshots;
  const part = { ...whole, snapshots: all.slice(0, 4) }, order = all.map((_, n) => n);
  const family = newFamily(part, [0, 1], 2, RESTRICTION, [1], STRENGTHS);
  assert.equal(solveFamily(family, order.slice(0, 4)), true);
  part.snapshots = all;
  assert.equal(solveFamily(family, order), true);
  const atOnce = newFamily(whole, [0, 1], 2, RESTRICTION, [1], STRENGTHS), view = { s: 0, axes: "unit", window: [1, 9] };
  solveFamily(atOnce, order);
  assert.deepEqual(frontier(family, view, 2).mean, frontier(atOnce, view, 2).mean);
});
