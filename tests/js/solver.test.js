// The path of the dual problem over the strength. The solution is checked by its optimality (KKT) conditions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dualPath, pieceAt, valueAt } from "../../app/components/solver.js";
import { combine, distance, dot, gram, KINDS, norm, normalVector, TOLERANCES, uniform, vectorsOf } from "./vectors.js";

const RIDGE = 1e-7; // the default of the solver, relative to the squared length of a row
const STRENGTHS = [0, 0.01, 0.3, 1, 7, 40];
const ALWAYS = { solver: "exact", strength_kind: "dual-floor", trigger: "always", ...TOLERANCES };

function* problems(count) {
  for (let seed = 0; seed < count; seed++) {
    const draw = uniform(seed), kind = KINDS[seed % KINDS.length], C = [1, 2, 3, 6, 12][Math.floor(draw() * 5)];
    const rows = vectorsOf(kind, C, draw), g = normalVector(draw, rows[0].length);
    yield { name: `${kind}, ${C} rows, seed ${seed}`, rows, g, weights: rows.map(() => 0.2 + draw()), draw };
  }
}

function solve(rows, g, weights, restriction) {
  return dualPath(gram(rows), Float64Array.from(rows, (row) => dot(row, g)), weights, restriction, dot(g, g));
}

// Minimise 1/2 vᵀ A v + (b − margin)ᵀ v over v ≥ floor: the slope is not negative, and zero where v is above its floor.
function assertOptimal(v, rows, g, floors, margins, name) {
  const z = combine([g, ...rows], [1, ...v]), scale = norm(g) + norm(z);
  rows.forEach((row, c) => {
    const length = norm(row);
    assert.ok(v[c] >= floors[c] - 1e-9 * (1 + floors[c]), `${name}: v = ${v[c]} is below its floor ${floors[c]}`);
    if (length === 0) return;
    const slope = (dot(row, z) - margins[c]) / length + RIDGE * length * v[c]; // in units of ‖z‖
    assert.ok(slope >= -1e-7 * (scale + margins[c] / length), `${name}: restriction ${c} is violated by ${slope}`);
    const excess = (v[c] - floors[c]) * length;
    if (excess > 1e-6 * scale) {
      const largest = 1e-6 * (scale + margins[c] / length);
      assert.ok(Math.abs(slope) <= largest, `${name}: v is above its floor but the slope is ${slope}`);
    }
  });
}

test("exact solutions with floors satisfy the KKT conditions at every strength", () => {
  for (const { name, rows, g, weights } of problems(350)) {
    const path = solve(rows, g, weights, ALWAYS);
    for (const q of STRENGTHS) {
      const floors = weights.map((weight) => q * weight);
      assertOptimal(valueAt(path, q), rows, g, floors, rows.map(() => 0), `${name}, q = ${q}`);
    }
  }
});

test("exact solutions with margins satisfy the KKT conditions at every strength", () => {
  for (const { name, rows, g, weights } of problems(350)) {
    if (name.startsWith("opposite") || name.startsWith("few")) continue; // no z has positive products with such rows
    const path = solve(rows, g, weights, { ...ALWAYS, strength_kind: "margin" });
    for (const q of STRENGTHS) {
      const margins = weights.map((weight) => q * weight);
      assertOptimal(valueAt(path, q), rows, g, rows.map(() => 0), margins, `${name}, q = ${q}`);
    }
  }
});

test("one row has the closed form of GEM", () => {
  for (const { rows: [row], g } of problems(60)) {
    if (norm(row) === 0) continue;
    const path = solve([row], g, [1], { ...ALWAYS, ridge: 0 }),
      margin = solve([row], g, [1], { ...ALWAYS, strength_kind: "margin", ridge: 0 });
    const square = dot(row, row),
      product = dot(row, g);
    for (const q of STRENGTHS) {
      const withFloor = Math.max(q, -product / square), withMargin = Math.max(0, (q - product) / square);
      assert.ok(Math.abs(valueAt(path, q)[0] - withFloor) <= 1e-9 * (1 + withFloor));
      assert.ok(Math.abs(valueAt(margin, q)[0] - withMargin) <= 1e-9 * (1 + withMargin));
    }
  }
});

test("the approximate solver treats each row as if it were the only one", () => {
  for (const kind of ["dual-floor", "margin"]) {
    for (const { rows, g, weights } of problems(140)) {
      const together = solve(rows, g, weights, { ...ALWAYS, solver: "approx", strength_kind: kind });
      rows.forEach((row, c) => {
        const alone = solve([row], g, [weights[c]], { ...ALWAYS, solver: "approx", strength_kind: kind });
        for (const q of STRENGTHS) assert.equal(valueAt(together, q)[c], valueAt(alone, q)[0]);
      });
    }
  }
});

test("for orthogonal rows the approximate solution is exact", () => {
  const draw = uniform(5);
  for (let n = 0; n < 50; n++) {
    const rows = [0, 1, 2, 3].map((c) => Array.from({ length: 6 }, (_, i) => (i === c ? 0.5 + draw() : 0)));
    const g = normalVector(draw, 6), weights = rows.map(() => 0.5 + draw());
    for (const kind of ["dual-floor", "margin"]) {
      const exact = solve(rows, g, weights, { ...ALWAYS, strength_kind: kind, ridge: 0 });
      const approx = solve(rows, g, weights, { ...ALWAYS, strength_kind: kind, solver: "approx" });
      for (const q of STRENGTHS) assert.ok(distance([...valueAt(exact, q)], [...valueAt(approx, q)]) < 1e-9 * (1 + q));
    }
  }
});

test("a path is continuous and its pieces begin in rising order at 0", () => {
  for (const { name, rows, g, weights } of problems(200)) {
    for (const solver of ["exact", "approx"]) {
      const path = solve(rows, g, weights, { ...ALWAYS, solver }), { start, v0, v1 } = path, C = rows.length;
      assert.equal(start[0], 0);
      for (let j = 1; j < start.length; j++) {
        assert.ok(start[j] >= start[j - 1]);
        const [before, after] = [j - 1, j].map((piece) =>
          combine([g, ...rows], [1, ...rows.map((_, c) => v0[piece * C + c] + start[j] * v1[piece * C + c])]));
        assert.ok(distance(before, after) <= 1e-6 * (norm(g) + norm(after)), `${name}, ${solver}, piece ${j}`);
      }
    }
  }
});

test("a row of zeros keeps its floor and needs no margin", () => {
  const rows = [[1, 0], [0, 0]], g = [-1, 2];
  for (const solver of ["exact", "approx"]) {
    assert.equal(valueAt(solve(rows, g, [1, 1], { ...ALWAYS, solver }), 3)[1], 3);
    assert.equal(valueAt(solve(rows, g, [1, 1], { ...ALWAYS, solver, strength_kind: "margin" }), 3)[1], 0);
  }
});

test("a repeated row does not change z without a floor", () => {
  const draw = uniform(9);
  for (let n = 0; n < 50; n++) {
    const row = normalVector(draw, 5), g = normalVector(draw, 5);
    const [once, twice] = [[row], [row, row]].map((rows) => {
      const v = valueAt(solve(rows, g, rows.map(() => 1), ALWAYS), 0);
      return combine([g, ...rows], [1, ...v]);
    });
    assert.ok(distance(once, twice) <= 1e-6 * norm(g));
  }
});

test("without a violated row, the trigger leaves v at 0 for every strength", () => {
  const rows = [[1, 0], [1, 1]], path = solve(rows, [1, 0], [1, 1], { ...ALWAYS, trigger: "violation" });
  for (const q of STRENGTHS) assert.deepEqual([...valueAt(path, q)], [0, 0]);
  const violated = solve(rows, [-1, 0], [1, 1], { ...ALWAYS, trigger: "violation" });
  assert.ok(valueAt(violated, 1).every((v) => v >= 1));
});

test("a product that only rounding made negative does not count as violated", () => {
  const violates = (b) => valueAt(dualPath([1], Float64Array.of(b), [1], { ...ALWAYS, trigger: "violation" }, 1), 1)[0] > 0;
  assert.equal(violates(-1e-13), false);
  assert.equal(violates(-1e-11), true);
});

test("the piece at a strength is the last one that begins at or below it", () => {
  const start = Float64Array.of(0, 1, 1, 4);
  assert.deepEqual([0, 0.5, 1, 3.9, 4, 100].map((q) => pieceAt(start, q)), [0, 0, 2, 2, 3, 3]);
});
