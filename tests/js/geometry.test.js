// The methods of the page Geometry, the sets that they allow, their descriptions, and the places of names.
import assert from "node:assert/strict";
import { test } from "node:test";
import { signedText } from "../../app/components/svg.js";
import { crosses, LINE_HEIGHT, placeLabels } from "../../app/geometry/js/labels.js";
import { allowedFaces, allowedPolygon, directionOf, isViolated, restrictionsOf } from "../../app/geometry/js/methods.js";
import { gradientInWords, methodInWords, numberText, propositionInWords } from "../../app/geometry/js/words.js";
import { combine, distance, dot, norm, normalVector, TOLERANCES, uniform } from "./vectors.js";

const GEM = { modules: 1, splits: 1, solver: "exact", label: "GEM", restriction: TOLERANCES };
const METHODS = [
  GEM,
  { ...GEM, modules: 2 },
  { ...GEM, splits: 2, label: "d-mGEM(2)" },
  { ...GEM, splits: 2, solver: "approx" },
];
const RIDGE = 1e-7; // the default of the solver, relative to the squared length of a row
const FLOOR = { strength_kind: "dual-floor", trigger: "violation", strength: 0 };
const SQUARE = [[-4, -4], [4, -4], [4, 4], [-4, 4]];

function* cases(count) {
  for (let seed = 0; seed < count; seed++) {
    const draw = uniform(seed), dimensions = 2 + (seed % 2);
    const [g, ...rows] = [0, 1, 2].map(() => normalVector(draw, dimensions));
    yield { g, rows, draw, name: `seed ${seed}` };
  }
}

test("GEM has its closed form: g minus its conflicting part", () => {
  for (const { g, rows, name } of cases(200)) {
    const mean = combine(rows, [0.5, 0.5]), product = dot(g, mean);
    const wanted = product < 0 ? combine([g, mean], [1, -product / dot(mean, mean)]) : g;
    assert.ok(distance(directionOf(GEM, g, rows, FLOOR).z, wanted) <= 1e-6 * norm(g), name);
  }
});

test("two modules are two separate problems, of which the second has the last coordinate", () => {
  for (const { g, rows, name } of cases(100)) {
    const last = g.length - 1, mean = combine(rows, [0.5, 0.5]), { z } = directionOf(METHODS[1], g, rows, FLOOR);
    assert.ok(Math.abs(z[last] - (g[last] * mean[last] < 0 ? 0 : g[last])) <= 1e-6 * norm(g), name);
    const [first] = [[g, rows]].map(
      ([one, others]) =>
        directionOf(
          GEM,
          one.slice(0, last),
          others.map((row) => row.slice(0, last)),
          FLOOR,
        ).z,
    );
    assert.ok(distance(z.slice(0, last), first) <= 1e-6 * norm(g), name);
  }
});

test("z of the exact methods satisfies all restrictions", () => {
  for (const { g, rows, draw, name } of cases(200)) {
    for (const method of METHODS.filter(({ solver }) => solver === "exact")) {
      const strength_kind = draw() < 0.5 ? "margin" : "dual-floor";
      const restriction = { strength_kind, trigger: "always", strength: 2 * draw() };
      const { z, v } = directionOf(method, g, rows, restriction);
      for (const { normal, floor, module, row } of restrictionsOf(method, rows, restriction)) {
        const ridge = RIDGE * dot(normal, normal) * v[module][row]; // by this much the ridge lowers the product
        assert.ok(dot(normal, z) + ridge >= floor - 1e-8 * (norm(normal) * (norm(g) + norm(z)) + floor), name);
      }
    }
  }
});

test("z is the allowed direction nearest to the point that is projected", () => {
  for (const { g, rows, draw, name } of cases(200)) {
    for (const method of METHODS.filter(({ solver }) => solver === "exact")) {
      const restriction = { strength_kind: "dual-floor", trigger: "always", strength: draw() < 0.5 ? 0 : draw() };
      const { z, from } = directionOf(method, g, rows, restriction);
      const restrictions = restrictionsOf(method, rows, restriction);
      for (let k = 0; k < 40; k++) {
        const other = combine([z, normalVector(draw, g.length)], [1, draw()]);
        if (restrictions.some(({ normal }) => dot(normal, other) < 0)) continue;
        assert.ok(distance(other, from) >= distance(z, from) - 1e-5 * (1 + norm(from)), name);
      }
    }
  }
});

test("rows of zeros restrict nothing", () => {
  const g = [1, -2], rows = [[0, 0], [0, 0]];
  for (const method of METHODS) {
    assert.deepEqual(restrictionsOf(method, rows, FLOOR), []);
    assert.deepEqual(directionOf(method, g, rows, { ...FLOOR, trigger: "always", strength: 1 }).z, g);
  }
});

test("a vector on the boundary does not violate a restriction", () => {
  const restriction = { normal: [3, 4], floor: 0 };
  assert.equal(isViolated(restriction, [4, -3]), false);
  assert.equal(isViolated(restriction, [4, -3.001]), true);
});

test("the shaded polygon holds exactly the allowed points of the square", () => {
  const area = (polygon) => polygon.reduce((sum, [x, y], i) => {
    const [x1, y1] = polygon[(i + 1) % polygon.length];
    return sum + (x * y1 - x1 * y) / 2;
  }, 0);
  assert.ok(Math.abs(area(allowedPolygon(SQUARE, [{ normal: [1, 0], floor: 0 }])) - 32) < 1e-6);
  assert.ok(
    Math.abs(
      area(
        allowedPolygon(SQUARE, [
          { normal: [1, 0], floor: 2 },
          { normal: [0, -2], floor: 0 },
        ]),
      ) - 8,
    ) < 1e-6,
  );
  assert.deepEqual(allowedPolygon(SQUARE, [{ normal: [1, 0], floor: 5 }]), []);
  for (const { rows } of cases(60)) {
    if (rows[0].length === 3) continue;
    const restrictions = restrictionsOf(METHODS[2], rows, FLOOR);
    for (const corner of allowedPolygon(SQUARE, restrictions)) {
      for (const { normal } of restrictions) assert.ok(dot(normal, corner) >= -1e-6 * norm(normal));
    }
  }
});

test("the faces of a set in space lie on its boundary", () => {
  for (const { rows, draw } of cases(80)) {
    if (rows[0].length === 2) continue;
    const restrictions = restrictionsOf(METHODS[2], rows, { strength_kind: "margin", strength: draw() });
    for (const face of allowedFaces(restrictions, 5)) {
      for (const corner of face) {
        const heights = restrictions.map(({ normal, floor }) => (dot(normal, corner) - floor) / norm(normal));
        assert.ok(Math.min(...heights.map(Math.abs)) < 1e-6 && heights.every((height) => height > -1e-6));
      }
    }
  }
});

test("descriptions agree with the directions", () => {
  let changed = 0;
  for (const { g, rows, name } of cases(200)) {
    for (const method of METHODS) {
      const result = directionOf(method, g, rows, FLOOR),
        exact = directionOf({ ...method, solver: "exact" }, g, rows, FLOOR);
      const text = methodInWords(method, result, exact, { g, rows, restriction: FLOOR });
      assert.equal(text.includes("z = g"), distance(result.z, g) <= 1e-6 * Math.max(1, norm(g)), `${name}: ${text}`);
      assert.doesNotMatch(text, /NaN|undefined/);
      changed += !text.includes("z = g");
    }
    assert.equal(gradientInWords(g, rows).startsWith("g hurts"), dot(g, combine(rows, [0.5, 0.5])) < 0);
  }
  assert.ok(changed > 100);
});

test("the counterexample to Proposition 2 is described, and agreement is not", () => {
  const resultsOf = (g, rows) =>
    [GEM, METHODS[2]].map((method) => ({ method, result: directionOf(method, g, rows, FLOOR) }));
  const counterexample = [
      [1, 0],
      [-3, 1],
    ],
    agreement = [
      [1.4, 0.5],
      [0.2, 1.4],
    ];
  assert.match(
    propositionInWords(resultsOf([-1, 1], counterexample), { rows: counterexample, restriction: FLOOR }),
    /counterexample/,
  );
  assert.equal(propositionInWords(resultsOf([0.6, 1.1], agreement), { rows: agreement, restriction: FLOOR }), "");
});

test("numbers have a minus sign, and rounded zeros have none", () => {
  assert.deepEqual([-1.234, -0.001, 0, 2e7].map(numberText), ["−1.23", "0.00", "0.00", "2.0e7"]);
  assert.equal(signedText(-0.04, 1), "0.0");
});

test("names of arrows stay in the picture and do not overlap", () => {
  const draw = uniform(2), [width, height] = [500, 400], centre = [250, 200];
  for (let n = 0; n < 100; n++) {
    const labels = ["g", "ĝ₁", "ĝ₂"].map((name, i) => {
      const angle = (2 * Math.PI * (i + 0.6 * draw())) / 3,
        reach = 60 + 100 * draw(),
        away = [reach * Math.cos(angle), reach * Math.sin(angle)];
      return { at: combine([centre, away], [1, 1]), away, lines: [name], reach: 12 };
    });
    const places = placeLabels(labels, labels.map(({ at }) => [centre, at]), width, height);
    places.forEach(([x, y], i) => {
      assert.ok(x > 0 && x < width && y > 0 && y < height);
      for (const [a, b] of places.slice(0, i)) assert.ok(Math.abs(x - a) > 8 || Math.abs(y - b) > LINE_HEIGHT - 1);
    });
  }
});

test("a segment crosses a box if one of its points is inside", () => {
  const box = [[0, 0], [2, 1]]; // centre and half of its size
  assert.equal(crosses(...box, [-5, 0], [5, 0]), true);
  assert.equal(crosses(...box, [-5, 2], [5, 2]), false);
  assert.equal(crosses(...box, [-5, 0], [-3, 0]), false);
  assert.equal(crosses(...box, [0, 0], [9, 9]), true);
  assert.equal(crosses(...box, [3, -5], [3, 5]), false);
});
