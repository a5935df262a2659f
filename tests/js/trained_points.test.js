// Points of trained runs, and how the panels group, order and place them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { leastForward, outsideReasons } from "../../app/explore/js/collapsed.js";
import { nextSort, sortPoints } from "../../app/explore/js/table_order.js";
import {
  differencesBySeed,
  emphasisOf,
  hasChosenLine,
  isChosenPoint,
  linesOf,
  measureRange,
  strengthMarks,
  strengthScale,
  valueText,
} from "../../app/explore/js/trained_lines.js";
import { pointsOf } from "../../app/explore/js/trained_points.js";
import { atBorder, equalAcc, nextTask, placeAccLabels, placeLabels } from "../../app/explore/js/transfer_layout.js";

const AREA = { left: 0, right: 200, top: 0, bottom: 200 };

function configuration(index, line, q) {
  return { index, key: `c${index}`, line, label: line, q, color: "#000000", dash: "", symbol: "circle" };
}

// R of two tasks with this FWD and BWD.
function matrix(fwd, bwd) {
  return [[fwd, 10], [fwd + 2 * bwd, fwd]];
}

function dataOf(configurations, runs, more = {}) {
  const items = runs.map((run, i) => ({ id: i + 1, status: "finished", R: matrix(80, -5), pairs: {}, ...run }));
  return { configurations, runs: new Map(items.map((run) => [run.id, run])), tasks: 2, ...more };
}

const transfer = (fwd, bwd) => ({ fwd: { mean: fwd }, bwd: { mean: bwd } });

test("points are ordered by the header's lines, then by strength", () => {
  const configurations = [configuration(0, "ER", null), configuration(1, "d-mGEM(2)", 1), configuration(2, "GEM", 1)];
  configurations.push(configuration(3, "GEM", 0), configuration(4, "d-mGEM(2)", 0.1));
  const runs = configurations.map(({ index }) => ({ configuration: index, seed: 0 }));
  const points = pointsOf(dataOf(configurations, runs, { lines: [{ name: "GEM" }, { name: "d-mGEM(2)" }] }));
  assert.deepEqual(points.map(({ line, q }) => [line, q]), [
    ["GEM", 0], ["GEM", 1], ["d-mGEM(2)", 0.1], ["d-mGEM(2)", 1], ["ER", null],
  ]);
});

test("means are over the seeds that all configurations share", () => {
  const configurations = [configuration(0, "GEM", 0), configuration(1, "GEM", 1)];
  const runs = [0, 1, 2].map((seed) => ({ configuration: 0, seed, R: matrix(80 + seed, -5) }));
  runs.push(...[1, 2].map((seed) => ({ configuration: 1, seed, R: matrix(70 + seed, -5) })));
  const [one, other] = pointsOf(dataOf(configurations, runs));
  assert.deepEqual([one.fwd, other.fwd].map(({ mean }) => mean), [81.5, 71.5]);
  assert.equal(one.fwd.error, 0.5);
  assert.deepEqual(one.bySeed.map(({ seed }) => seed), [1, 2]);
  assert.deepEqual([one.seeds, one.counted, one.total], [3, 2, 3]);
});

test("a changed run is a new object, and its measures are computed again", () => {
  const data = dataOf([configuration(0, "GEM", 0)], [{ configuration: 0, seed: 0, R: matrix(80, -5).slice(0, 1) }]);
  assert.equal(pointsOf(data)[0].learned, 1);
  data.runs.set(1, { ...data.runs.get(1), R: matrix(80, -5) });
  const [point] = pointsOf(data);
  assert.deepEqual([point.learned, point.acc.mean, point.bwd.mean, point.forgetting.mean], [2, 75, -5, 10]);
});

test("accuracies after fewer tasks are not comparable while runs go on", () => {
  const configurations = [configuration(0, "GEM", 0), configuration(1, "GEM", 1)];
  const runs = [{ configuration: 0, seed: 0 }, { configuration: 1, seed: 0, status: "running", R: [[90, 10]] }];
  assert.deepEqual(pointsOf(dataOf(configurations, runs)).map(({ isComparable }) => isComparable), [true, false]);
});

test("a run is collapsed if its FWD is below twice chance", () => {
  assert.deepEqual([leastForward(10), leastForward(undefined), leastForward(100)], [20, 20, 2]);
  assert.equal(leastForward(2), 62.5); // twice chance would be 100 %
  const reasons = outsideReasons([transfer(80, -5), transfer(15, 0), transfer(NaN, NaN)], 10);
  assert.deepEqual(reasons.map(Boolean), [false, true, false]);
});

test("a point far from the quartiles is outside, unless there are too few points to tell", () => {
  const points = [80, 81, 82, 83, 84, 85].map((fwd) => transfer(fwd, -5));
  assert.deepEqual(outsideReasons([...points, transfer(60, -5)]).map(Boolean).indexOf(true), 6);
  assert.deepEqual(outsideReasons([...points, transfer(82, -40)]).map(Boolean).indexOf(true), 6);
  assert.ok(!outsideReasons([...points, transfer(78, -8)]).some(Boolean));
  assert.ok(!outsideReasons([...points.slice(0, 3), transfer(60, -5)]).some(Boolean));
});

test("a point of several lines belongs to each of them", () => {
  const points = [{ line: "A; B", q: 0 }, { line: "A", q: 1 }, { line: "B", q: 1 }];
  assert.deepEqual(linesOf(points).map(({ name, points: own }) => [name, own.length]), [["A", 2], ["B", 2]]);
});

test("the chosen settings are recognised with the rounding of a launch", () => {
  const state = { moduleOf: [0, 1], splits: 2, solver: "exact", trigger: "always", q: 0.30004 };
  const point = { q: 0.3, configuration: { moduleOf: [0, 1], splits: 2, solver: "exact", trigger: null } };
  assert.ok(isChosenPoint(point, state));
  assert.ok(hasChosenLine(point, state) && !isChosenPoint(point, { ...state, q: 0.4 }));
  assert.ok(!hasChosenLine(point, { ...state, splits: 1 }));
  assert.ok(!hasChosenLine({ q: null, configuration: { moduleOf: null } }, state));
});

test("an isolated line hides the others, a chosen one only stands before them", () => {
  assert.deepEqual(["A", "B"].map((name) => emphasisOf([name], ["B"], "A")), ["is-isolated", "is-hidden"]);
  assert.deepEqual(["A", "B"].map((name) => emphasisOf([name], ["B"], "")), ["is-behind", "is-chosen"]);
  assert.equal(emphasisOf(["A"], [], ""), "");
});

test("the scale of strengths shows 0 and has room for each named strength", () => {
  const strengths = [0, 0.1, 0.11, 1, 10], place = strengthScale(strengths);
  assert.deepEqual([place(0), place(10)], [0, 1]);
  assert.ok(place(0.1) > 0.1 && place(1) > place(0.1));
  assert.deepEqual(strengthMarks(strengths, place, 0.05).map(([, text]) => text), ["0", "0.1", "1", "10"]);
  assert.deepEqual([strengthScale([0])(0), strengthScale([2])(2)], [0, 1]);
});

test("axes of accuracies have round ends, are never tiny and never exceed 100 %", () => {
  const [low, high] = measureRange("acc", [90]);
  assert.ok(low <= 89 && high >= 91 && high - low < 4);
  assert.equal(measureRange("fwd", [60, 99.9])[1], 100);
  assert.ok(measureRange("bwd", [-30, 0])[1] > 0);
});

test("differences per seed are means over equal strengths without collapsed configurations", () => {
  const point = (line, q, values, isCollapsed = false) => ({
    ...{ line, label: line, q, isCollapsed, isComparable: true },
    bySeed: values.map((acc, seed) => ({ seed, acc })),
  });
  const points = [point("GEM", 0, [70, 71]), point("GEM", 1, [75, 76]), point("GEM", 9, [75, 76])];
  points.push(point("X", 0, [71, 71]), point("X", 1, [78, NaN]), point("X", 9, [10, 10], true));
  points.push(point("ER", null, [80, 80]));
  const [x, er] = differencesBySeed(points, "acc");
  assert.deepEqual(x.values, [{ seed: 0, value: 2 }, { seed: 1, value: 0 }]);
  assert.deepEqual([x.base, x.strengths, er.values], ["GEM", 2, []]);
});

test("rows are sorted one way, the other, then in their own order, with unknown values last", () => {
  const row = (line, acc) => ({ line, q: null, seeds: 1, acc: { mean: acc } });
  const rows = [row("A", 1), row("B", NaN), row("C", 3)];
  const names = (sort) => sortPoints(rows, sort).map(({ line }) => line).join("");
  const first = nextSort(null, "acc"), second = nextSort(first, "acc");
  assert.deepEqual([names(first), names(second), names(nextSort(second, "acc"))], ["CAB", "ACB", "ABC"]);
  assert.deepEqual([nextSort(first, "q").isRising, names({ name: "method", isRising: false })], [true, "CBA"]);
});

test("a replay begins again after the last task", () => {
  assert.deepEqual([nextTask(null, 3), nextTask(1, 3), nextTask(3, 3)], [1, 2, 1]);
});

test("lines of equal ACC end at the axes and their FWD and BWD add up to ACC", () => {
  const lines = equalAcc([-20, 0], [70, 90]);
  assert.ok(lines.length >= 3 && lines.length <= 7);
  for (const { acc, ends } of lines) {
    for (const [x, y] of ends) {
      assert.ok(Math.abs(x + y - acc) < 1e-9 && x >= -20 && x <= 0 && y >= 70 && y <= 90);
    }
  }
});

test("a label is left out where it would cover a mark or another label", () => {
  const ends = [{ name: "GEM", x: 100, y: 100 }, { name: "p-mGEM(2)", x: 100, y: 101 }];
  assert.deepEqual(placeLabels(ends, [], AREA).placed.map(({ anchor }) => anchor), ["start", "end"]);
  const crowd = Array.from({ length: 400 }, (_, i) => [10 * (i % 20), 10 * Math.floor(i / 20)]);
  assert.deepEqual(placeLabels(ends, crowd, AREA).placed, []);
  const line = { acc: 75, ends: [[0, 0], [200, 200]] };
  assert.equal(placeAccLabels([line], [], [], AREA)[0].text, "ACC 75");
  assert.deepEqual(placeAccLabels([line], crowd, [], AREA), [null]);
});

test("a point outside is moved to the border and points out of the plot", () => {
  assert.deepEqual(atBorder([50, 900], AREA), { at: [50, 200], angle: 180 });
  assert.deepEqual(atBorder([-50, 20], AREA), { at: [0, 20], angle: -90 });
  assert.deepEqual(atBorder([500, 20], AREA), { at: [200, 20], angle: 90 });
});

test("values have their standard error, if it is known", () => {
  assert.equal(valueText({ mean: -15.44, error: 0.31 }, 1), "−15.4 ± 0.3");
  assert.deepEqual([valueText({ mean: 1, error: null }, 1), valueText({ mean: NaN, error: null }, 1)], ["1.0", "—"]);
});
