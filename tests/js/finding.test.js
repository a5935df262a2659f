// The finding in sentences: what they say of significant, doubtful and other differences, of strength and of trained runs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findingOf } from "../../app/explore/js/finding.js";
import { joinNames } from "../../app/explore/js/lines.js";

const LENS = {
  data: { rule: { leastSeeds: 4, comparisons: 8 }, seeds: [0, 1, 2, 3], progress: null, summary: "No line differs." },
  ...{ state: { axes: "unit" }, isRecorded: true },
};

function line(name, low, high, isSignificant = false, reach = { mean: 0, low: 0, high: 0 }) {
  return { name, found: { mean: (low + high) / 2, low, high, seeds: 4, isSignificant }, reach };
}

function point(line, q, acc, isCollapsed = false) {
  const measures = { acc: { mean: acc }, fwd: { mean: acc + 5 }, bwd: { mean: -5 } };
  return { line, q, isCollapsed, isComparable: true, seeds: 4, total: 4, ...measures };
}

function textsOf(answers) {
  return answers.map(({ topic, text }) => `${topic}: ${text}`);
}

test("lines that do not differ share a sentence, and each family has its own", () => {
  const ofModules = [line("p-mGEM(2)", -1, 0.5), line("p-mGEM(3)", -0.5, 0.7)];
  const compared = [...ofModules, line("d-mGEM(2)", -0.2, 1), line("replay", 0.1, 2)];
  const { headline, answers } = findingOf(LENS, compared), texts = textsOf(answers);
  assert.match(headline, /neither splits nor modules differ significantly from GEM/);
  const doubtful = "Replay: +1.1 % (95 % CI +0.1 to +2.0): not significant after correction for 8 comparisons.";
  assert.deepEqual(texts, [
    "Splits: d-mGEM(2) +0.4 % (95 % CI −0.2 to +1.0): not significant.",
    "Modules: p-mGEM(2, 3): not significant, 95 % CIs within −1.0 to +0.7 %.",
    doubtful,
    "Trained runs: No line differs.",
  ]);
});

test("significant differences are named with their direction", () => {
  const compared = [line("d-mGEM(2)", 0.5, 1.5, true), line("p-mGEM(2)", -3, -1, true)];
  const { headline, answers } = findingOf(LENS, compared);
  assert.match(headline, /^Single steps .* d-mGEM\(2\) learns 1.0 % more than GEM; p-mGEM\(2\) learns 2.0 % less\.$/);
  assert.ok(textsOf(answers).includes("Splits: d-mGEM(2) +1.0 % (95 % CI +0.5 to +1.5): significant."));
});

test("the headline names the lines that differ, with the range of their sizes", () => {
  const splits = [line("d-mGEM(2)", 0.5, 1.5, true), line("d-mGEM(3)", 1, 2, true), line("d-mGEM(4)", -1, 1)];
  splits[2].reach = { mean: 62, low: 41, high: 83 };
  const { headline } = findingOf(LENS, [...splits, line("d-mGEM(6)", -0.1, -0.06, true), line("p-mGEM(2)", -1, 1)]);
  const ofSplits = "d-mGEM(2, 3) learn 1.0 to 1.5 % more, d-mGEM(6) learns 0.08 % less than GEM";
  assert.equal(headline, `Single steps at equal retention: ${ofSplits}; modules do not differ significantly.`);
});

test("lines with less than half of the range in common are named as such", () => {
  const narrow = ["d-mGEM(3)", "d-mGEM(6)"].map((name) => line(name, 1, 3));
  for (const { found } of narrow) found.isNarrow = true;
  const { headline, answers } = findingOf(LENS, narrow);
  assert.match(headline, /splits do not differ significantly from GEM/);
  assert.match(answers[0].text, /^d-mGEM\(3, 6\): not tested, under half of the range/);
});

test("what coincides is given with enough digits", () => {
  const { answers } = findingOf(LENS, [line("d-mGEM(2)", -0.01, 0.02), line("d-mGEM(3)", -0.02, 0.02)]);
  assert.match(answers[0].text, /within −0.02 to \+0.02 %/);
  const one = findingOf(LENS, [line("d-mGEM(2)", -0.03, 0.01)]).answers;
  assert.match(one[0].text, /d-mGEM\(2\) −0.01 % \(95 % CI −0.03 to \+0.01\)/);
});

test("reach names the strengths at which trained runs collapse, and is left out for raw products", () => {
  const compared = [line("d-mGEM(6)", -1, 1, false, { mean: 62, low: 41, high: 83 })];
  const points = [point("d-mGEM(6)", 1, 70), point("d-mGEM(6)", 3, 25, true), point("d-mGEM(6)", 10, 10, true)];
  compared.push(line("p-mGEM(2)", -1, 1, false, { mean: 20, low: 10, high: 30 }));
  const { headline, answers: [splits, modules] } = findingOf(LENS, compared, points);
  assert.match(headline, /; d-mGEM\(6\) can retain 62 % more\.$/);
  assert.match(splits.text, /d-mGEM\(6\) can retain 62 % more than GEM .* collapse at q = 3, 10\./);
  const raw = findingOf({ ...LENS, state: { axes: "raw" } }, compared, points).answers;
  for (const { text } of [modules, ...raw]) assert.ok(!text.includes("can retain"));
});

test("the cost of strength is read from trained GEM, without collapsed runs", () => {
  const points = [point("GEM", 0, 50), point("GEM", 1, 70), point("GEM", 3, 72), point("GEM", 10, 90, true)];
  const compared = [line("d-mGEM(2)", -1, 1)];
  const strength = () => findingOf(LENS, compared, points).answers.find(({ topic }) => topic === "Strength");
  assert.equal(strength().text, "Trained GEM, q 0 → 3: ACC 50.0 → 72.0, BWD −5.0 → −5.0, FWD 55.0 → 77.0.");
  points[3] = point("GEM", 10, 60);
  assert.match(strength().text, /^Trained GEM, q 0 → 3 → 10: ACC 50.0 → 72.0 → 60.0/);
  points[0].seeds = 3;
  assert.equal(strength(), undefined);
});

test("nothing is judged before all seeds are recorded, or with too few", () => {
  const progress = { recordings: [2, 6] }, compared = [line("d-mGEM(2)", 0.5, 1.5, true)];
  const early = findingOf({ ...LENS, isRecorded: false, data: { ...LENS.data, progress } }, compared);
  assert.match(early.answers.at(-1).text, /^2 of 6 recordings are complete/);
  const few = findingOf({ ...LENS, data: { ...LENS.data, seeds: [0, 1] } }, compared);
  assert.match(few.answers.at(-1).text, /At least 4 seeds are needed/);
});

test("names of several lines are joined", () => {
  const of = (kind, numbers) => numbers.map((number) => `${kind}(${number})`);
  assert.equal(joinNames(of("p-mGEM", [2, 3, 4, 5, 6])), "p-mGEM(2–6)");
  assert.equal(joinNames(of("d-mGEM", [2, 3, 6])), "d-mGEM(2, 3, 6)");
  assert.equal(joinNames(["GEM"]), "GEM");
  const all = [2, 3, 4].flatMap((D) => [2, 3, 6].map((K) => `${D},${K}`));
  assert.equal(joinNames(of("md-GEM", all)), "md-GEM(2–4,2/3/6)");
  assert.equal(joinNames(of("md-GEM", ["3,6", "4,6"])), "md-GEM(3/4,6)");
  assert.equal(joinNames(["GEM", ...of("p-mGEM", [2, 4])]), "GEM, p-mGEM(2, 4)");
});
