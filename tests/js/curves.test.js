// Knees of curves, and differences between curves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { curveDifference, differenceOverSeeds, kneeOf, risingBranch } from "../../app/explore/js/curves.js";
import { boundariesOf, divisorsOf, partitionOf } from "../../app/explore/js/partition.js";

const RULE = {
  ...{ places: 101, same: 1e-9, leastSeeds: 4, leastCommon: 0.5, comparisons: 3 },
  ...{ quantiles: [null, null, 12.7, 4.3, 3.18], criticals: [null, null, 38, 7.6, 4.86], detectable: [[4, 2.9], [5, 2.2]] },
};
const parabola = (shift = 0, from = 0, to = 1) => Array.from({ length: 51 }, (_, i) => {
  const x = from + ((to - from) * i) / 50;
  return [x, 1 - x * x + shift];
});

test("the knee of a quarter of a circle is at 45 degrees, whatever the units", () => {
  for (const unit of [1, 1e-3, 1e4]) {
    const circle = Array.from({ length: 91 }, (_, i) => [
      Math.sin((i * Math.PI) / 180),
      unit * Math.cos((i * Math.PI) / 180),
    ]);
    assert.equal(kneeOf(circle), 45);
  }
});

test("a straight line and a curve below it have no knee", () => {
  assert.equal(kneeOf([[0, 1], [0.5, 0.5], [1, 0]]), -1);
  assert.equal(kneeOf([[0, 1], [0.3, 0.3], [1, 0]]), -1);
});

test("a curve that is shifted by a constant differs by that constant", () => {
  const { difference, common } = curveDifference(parabola(0.25), parabola(), RULE);
  assert.ok(Math.abs(difference - 0.25) < 1e-12);
  assert.ok(Math.abs(common - 1) < 1e-12);
});

test("only the range that both curves cover is compared", () => {
  const { difference, common } = curveDifference(parabola(0.1, 0, 0.6), parabola(0, 0.2, 1), RULE);
  assert.ok(Math.abs(difference - 0.1) < 1e-3);
  assert.ok(Math.abs(common - 0.4) < 1e-12);
});

test("curves without a common range have no difference", () => {
  const { difference, common } = curveDifference(parabola(0, 0, 0.4), parabola(0, 0.5, 1), RULE);
  assert.ok(Number.isNaN(difference));
  assert.equal(common, 0);
});

test("the rising branch ends at the largest x, and neighbours are averaged where x falls", () => {
  const curve = [[0, 1], [2, 3], [1, 9], [2.5, 2], [2.5, 7], [0, 0]];
  assert.deepEqual(risingBranch(curve, RULE), [[0, 1], [1.5, 6], [2.5, 2]]);
});

const flat = (y, from = 0) => [[from, y], [from + 1, y]];
const overSeeds = (shifts) =>
  differenceOverSeeds({ each: shifts.map((shift) => flat(2 + shift)) }, { each: shifts.map(() => flat(2)) }, RULE);

test("the interval over seeds is mean ± quantile · deviation / √n, in percent", () => {
  const shifts = [0.1, 0.2, 0.3, 0.4], found = overSeeds(shifts);
  const deviation = Math.sqrt([-7.5, -2.5, 2.5, 7.5].reduce((sum, one) => sum + one * one, 0) / 3);
  found.values.forEach((value, i) => assert.ok(Math.abs(value - 50 * shifts[i]) < 1e-9));
  assert.ok(Math.abs(found.mean - 12.5) < 1e-9);
  assert.ok(Math.abs(found.high - 12.5 - (3.18 * deviation) / 2) < 1e-9);
  assert.ok(Math.abs(found.low + found.high - 25) < 1e-9);
  assert.ok(Math.abs(found.detectable - 2.9 * deviation) < 1e-9);
});

test("a difference is significant beyond the critical t of the rule, and only with enough seeds", () => {
  assert.equal(overSeeds([0.1, 0.2, 0.3, 0.4]).isSignificant, false); // t = 3.9, its interval excludes zero
  assert.equal(overSeeds([0.2, 0.3, 0.4, 0.5]).isSignificant, true); // t = 5.4
  assert.equal(overSeeds([0.3, 0.3001, 0.3002]).isSignificant, false);
});

test("a difference over less than half of the range is not significant", () => {
  const over = (end) => [0.2, 0.3, 0.4, 0.5].map((shift) => [[0, 2 + shift], [end, 2 + shift]]);
  const compare = (end) => differenceOverSeeds({ each: over(end) }, { each: over(1).map(() => flat(2)) }, RULE);
  assert.deepEqual([compare(0.6).isNarrow, compare(0.6).isSignificant], [false, true]);
  assert.deepEqual([compare(0.4).isNarrow, compare(0.4).isSignificant], [true, false]);
});

test("the seeds that a difference needs are the fewest of the rule that detect it", () => {
  assert.equal(overSeeds([0.3, 0.3, 0.4, 0.4]).needed, 4);
  assert.equal(overSeeds([0.1, 0.3, 0.2, 0.4]).needed, null);
});

test("seeds without a common range are left out", () => {
  const one = { each: [0.1, 0.2, 0.3].map((shift) => flat(2 + shift)) };
  const found = differenceOverSeeds(one, { each: [flat(2), flat(2, 5), flat(2)] }, RULE);
  assert.equal(found.seeds, 2);
  assert.ok(Math.abs(found.mean - 10) < 1e-9);
});

test("boundaries and partitions are inverse to each other", () => {
  for (const partition of [
    [0, 0, 0, 0],
    [0, 0, 1, 2],
    [0, 1, 2, 3],
  ])
    assert.deepEqual(partitionOf(boundariesOf(partition), 4), partition);
  assert.deepEqual(divisorsOf(12), [1, 2, 3, 4, 6, 12]);
});
