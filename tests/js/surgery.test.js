// Rules of gradient surgery, checked by closed forms and by what defines them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { frontier, solveFamily } from "../../app/explore/js/frontier.js";
import { spreadOrder } from "../../app/explore/js/snapshots.js";
import { newRuleFamily, RULES } from "../../app/explore/js/surgery.js";
import { makeTask, moduleVectors } from "./recorded.js";
import { combine, distance, dot, gram, KINDS, norm, normalVector, TOLERANCES, uniform, vectorsOf } from "./vectors.js";

const RIDGE = 1e-7; // the default of the solver, relative to the squared length of a gradient

function* problems(count) {
  for (let seed = 0; seed < count; seed++) {
    const draw = uniform(seed),
      kind = KINDS[seed % KINDS.length],
      n = 2 + Math.floor(draw() * 4);
    const gradients = vectorsOf(kind, n, draw),
      shares = gradients.slice(1).map(() => 1 / (n - 1));
    yield {
      name: `${kind}, ${n} gradients, seed ${seed}`,
      kind,
      gradients,
      shares,
      draw,
      scale: Math.max(...gradients.map(norm)),
    };
  }
}

function apply(rule, gradients, shares, parameters = [0]) {
  const weights = RULES[rule].weights(gram(gradients), gradients.length, Float64Array.from(shares), parameters, TOLERANCES);
  assert.equal(weights.length, parameters.length);
  return weights.map((w) => combine(gradients, [...w]));
}

test("A-GEM removes the conflict with the mean of the memory and changes nothing else", () => {
  for (const { name, gradients, shares, scale } of problems(140)) {
    const [z] = apply("agem", gradients, shares),
      [g, ...rows] = gradients,
      mean = combine(rows, shares),
      product = dot(g, mean);
    if (product >= 0) assert.ok(distance(z, g) <= 1e-12 * scale, name);
    else {
      assert.ok(Math.abs(dot(z, mean)) <= 1e-9 * scale * norm(mean), name);
      assert.ok(Math.abs(distance(z, g) - -product / norm(mean)) <= 1e-9 * scale, name);
    }
  }
});

test("PCGrad has its closed form for two gradients", () => {
  const draw = uniform(1);
  for (let i = 0; i < 60; i++) {
    const one = normalVector(draw, 4), other = normalVector(draw, 4), product = dot(one, other);
    const wanted = product < 0
      ? combine([one, other], [1 - product / dot(one, one), 1 - product / dot(other, other)])
      : combine([one, other], [1, 1]);
    assert.ok(distance(apply("pcgrad", [one, other], [1])[0], wanted) <= 1e-10 * (1 + norm(wanted)));
  }
});

test("MGDA finds the shortest vector of the convex hull", () => {
  for (const { name, gradients, shares, scale } of problems(140)) {
    const [w] = RULES.mgda.weights(gram(gradients), gradients.length, shares, [0]), z = combine(gradients, [...w]);
    assert.ok(Math.abs(w.reduce((sum, one) => sum + one) - 1) < 1e-9 && w.every((one) => one >= -1e-9), name);
    for (const gradient of gradients) assert.ok(dot(gradient, z) >= dot(z, z) - 1e-6 * scale * scale, name);
  }
});

test("CAGrad is the best direction within its radius of the mean gradient", () => {
  const radii = [0, 0.3, 0.8];
  for (const { name, kind, gradients, shares, draw, scale } of problems(140)) {
    if (kind === "opposite" || kind === "zero") continue; // no direction improves on all gradients
    const mean = combine(
        gradients,
        gradients.map(() => 1 / gradients.length),
      ),
      worst = (z) => Math.min(...gradients.map((one) => dot(one, z)));
    const found = apply("cagrad", gradients, shares, radii);
    assert.ok(distance(found[0], mean) <= 1e-12 * scale, name);
    radii.forEach((c, i) => {
      const z = found[i];
      if (norm(z) === 0) return; // a combination of the gradients is 0, so none is better
      assert.ok(distance(z, mean) <= (c + 1e-6) * norm(mean) + 1e-6 * scale, name);
      for (let k = 0; k < 30; k++) {
        const step = normalVector(draw, mean.length), other = combine([mean, step], [1, (c * norm(mean)) / norm(step)]);
        assert.ok(worst(z) >= worst(other) - 1e-6 * scale * scale, `${name}, c = ${c}`);
      }
    });
  }
});

test("UPGrad conflicts with no gradient, and is their mean where they do not conflict", () => {
  for (const { name, gradients, shares, scale } of problems(140)) {
    const [w] = RULES.upgrad.weights(gram(gradients), gradients.length, shares, [0], TOLERANCES);
    const z = combine(gradients, [...w]);
    gradients.forEach((gradient, i) => {
      const ridge = RIDGE * dot(gradient, gradient) * w[i]; // by this much the ridge lowers the product
      assert.ok(dot(gradient, z) + ridge >= -1e-8 * scale * scale, name);
    });
  }
  const gradients = [[1, 0.2], [0.5, 1], [1, 1]], mean = combine(gradients, [1 / 3, 1 / 3, 1 / 3]);
  assert.ok(distance(apply("upgrad", gradients, [0.5, 0.5])[0], mean) < 1e-6);
});

test("replay adds the mean of the memory with its weight", () => {
  const gradients = [[1, 0], [0, 1], [2, 2]];
  assert.deepEqual(apply("replay", gradients, [0.25, 0.75], [0, 2]), [[1, 0], [4, 3.5]]);
});

test("every rule gives zero for gradients of zeros", () => {
  for (const rule of Object.keys(RULES)) {
    const { parameters } = RULES[rule], found = apply(rule, [[0, 0], [0, 0], [0, 0]], [0.5, 0.5], parameters);
    for (const z of found) assert.equal(norm(z), 0, rule);
  }
});

test("the length of the gradients does not change a rule", () => {
  const draw = uniform(3), gradients = vectorsOf("random", 4, draw), shares = [0.2, 0.3, 0.5];
  for (const rule of Object.keys(RULES)) {
    const { parameters } = RULES[rule], z = apply(rule, gradients, shares, parameters);
    for (const factor of [1e-6, 1e5]) {
      const scaled = apply(
        rule,
        gradients.map((one) => one.map((value) => value * factor)),
        shares,
        parameters,
      );
      z.forEach((one, i) =>
        assert.ok(
          distance(
            one,
            scaled[i].map((value) => value / factor),
          ) <=
            1e-6 * (1 + norm(one)),
          rule,
        ),
      );
    }
  }
});

test("a rule on recorded steps has the products of its z, added over modules", () => {
  const task = makeTask({ past: 2, splits: 2, tensors: 3, steps: 1, seed: 5 }),
    [snapshot] = task.snapshots,
    moduleOf = [0, 1, 1];
  for (const rule of Object.keys(RULES)) {
    const family = newRuleFamily(task, rule, moduleOf, 2, { step_length: "free", ...TOLERANCES });
    solveFamily(family, spreadOrder(task.snapshots));
    for (const s of [0, 1]) {
      const wanted = family.strengths.map(() => [0, 0, 0]), squares = family.strengths.map(() => 0);
      for (const d of [0, 1]) {
        const { g, gt, gs, rows, shares } = moduleVectors(snapshot, moduleOf, d, 2);
        const memory = combine(rows.slice(2 * s, 2 * s + 2), shares.slice(2 * s, 2 * s + 2));
        apply(rule, [g, ...rows], shares, family.strengths).forEach((z, j) => {
          [gs[s], gt, memory].forEach((vector, i) => (wanted[j][i] += dot(vector, z)));
          squares[j] += dot(z, z);
        });
      }
      for (const axes of ["raw", "unit"]) {
        frontier(family, { s, axes, window: [1, 1] }, 1).mean.forEach((point, j) => point.forEach((value, i) => {
          const expected = wanted[j][i] / (axes === "unit" ? Math.sqrt(squares[j]) : 1);
          assert.ok(Math.abs(value - expected) <= 1e-9 * (1 + Math.abs(expected)), `${rule}, ${axes}`);
        }));
      }
    }
  }
});
