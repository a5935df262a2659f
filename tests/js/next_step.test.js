// What the workbench recommends to do next.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nextStep } from "../../app/explore/js/next_step.js";

const DATA = { source: "s1", canTrain: true, seeds: [0, 1, 2, 3], progress: null, seedsToAdd: 0, rule: { leastSeeds: 4 } };
const LENS = { data: DATA, isRecorded: true, options: { send: () => {} } };

function found(name, needed, isSignificant = false) {
  return { name, found: { seeds: 4, mean: 0.5, isSignificant, needed } };
}

function points(...accuracies) {
  return accuracies.map((mean, q) => ({ line: "GEM", q, acc: { mean }, isCollapsed: false }));
}

test("the example points to the highest mean ACC if it is above that of GEM, unless nothing can be trained", () => {
  const data = { ...DATA, source: "example" }, gem = points(50, 60).map((one) => ({ ...one, seeds: 4, total: 4 }));
  const er = { line: "ER", q: null, acc: { mean: 70 }, isCollapsed: false, seeds: 4, total: 4 };
  assert.match(nextStep({ ...LENS, data }, [], [...gem, er]).text, /^ER has the highest mean ACC, 70.0 % \(GEM 60.0 %\)/);
  assert.match(nextStep({ ...LENS, data }, [], [...gem, { ...er, isCollapsed: true }]).text, /“Train this”/);
  assert.equal(nextStep({ ...LENS, data, options: {} }, [], []), null);
  assert.equal(nextStep({ ...LENS, data: { ...data, canTrain: false } }, [], []), null);
});

test("nothing is recommended while runs are training", () => {
  const data = { ...DATA, progress: { isActive: true } };
  assert.equal(nextStep({ ...LENS, data }, [found("d-mGEM(2)", 9)], []), null);
});

test("seeds are added until lines can be compared", () => {
  const { text, seeds } = nextStep({ ...LENS, data: { ...DATA, seeds: [0] } }, [], []);
  assert.equal(text, "1 seed cannot be compared.");
  assert.equal(seeds, 3);
});

test("a line without recordings or others to compare it with calls for another one", () => {
  const data = { ...DATA, seeds: [] }, [gem] = points(50), isTrained = (total) => [{ ...gem, total }];
  const alone = nextStep({ ...LENS, data }, [], isTrained(6));
  assert.match(alone.text, /^To compare it, choose other modules or splits/);
  assert.equal(alone.seeds, 0);
  assert.equal(nextStep({ ...LENS, data }, [], isTrained(2)).seeds, 2);
});

test("a best strength at the edge calls for larger ones, but not a single or a collapsed one", () => {
  const rising = points(50, 60, 70);
  assert.equal(nextStep(LENS, [], rising).text, "GEM had the best mean ACC at the largest strength, 2: try larger ones.");
  rising[2].isCollapsed = true;
  assert.equal(nextStep(LENS, [], rising), null);
  assert.equal(nextStep(LENS, [], points(50, 60)), null);
  assert.equal(nextStep(LENS, [], points(50, 70, 60)), null);
});

test("the difference nearest to significance decides how many seeds to add", () => {
  const compared = [found("p-mGEM(2)", 20), found("d-mGEM(2)", 9), found("d-mGEM(3)", 4, true)];
  const { text, seeds } = nextStep(LENS, compared, []);
  assert.equal(text, "If the difference of 0.5 % of d-mGEM(2) is real, 9 seeds would probably show it.");
  assert.equal(seeds, 5);
});

test("differences that would need very many seeds are named as such", () => {
  const { text, seeds } = nextStep(LENS, [found("d-mGEM(2)", null)], []);
  assert.match(text, /more than 24 further seeds/);
  assert.equal(seeds, 0);
  assert.equal(nextStep(LENS, [found("d-mGEM(2)", 4, true)], []), null);
});

test("seeds are not added for lines that share too little of the range", () => {
  const narrow = found("d-mGEM(2)", 9);
  narrow.found.isNarrow = true;
  assert.equal(nextStep(LENS, [narrow], []), null);
});
