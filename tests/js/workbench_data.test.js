// Messages folded into data, the state in the address, and the words of progress.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stateToText, textToState } from "../../app/explore/js/address.js";
import { applyMessage, emptyData, messagesOf, pairsOf } from "../../app/explore/js/data.js";
import { durationText, progressInWords } from "../../app/explore/js/progress.js";
import { uniform } from "./vectors.js";

const HEADER = { kind: "header", source: "s4", tasks: 3, seeds: [0, 1], layers: [{ name: "fc1", tensors: ["w", "b"] }] };
const FACTORS = Buffer.from(new Float32Array(2 * 10).fill(1).buffer).toString("base64"); // two tensors, four rows
const SNAPSHOT = { kind: "snapshots", recording: 0, task: 1, steps: [5], sizes: [[[4]]], factors: FACTORS };
const RULES = ["agem", "replay"];
const FIRST = {
  ...{ moduleOf: [0, 0, 0, 0], splits: 3, q: 1, pair: [0, 1], window: null, axes: "unit", solver: "exact" },
  ...{ trigger: "violation", step_length: "free", map: "y", conflict: "cosine", difference: "means", rules: ["replay"] },
  ...{ measured: false, isolated: "", tab: "table", after: null },
};
const read = (text) => textToState(text, { tensors: 4, rules: RULES });

test("messages are folded into the data, and saved data can be read again", () => {
  const data = emptyData(), items = [{ id: 3, status: "running" }];
  const messages = [HEADER, SNAPSHOT, { kind: "runs", items }, { kind: "runs", items: [{ id: 3, status: "finished" }] }];
  for (const message of [...messages, { kind: "from a later version" }]) applyMessage(data, message);
  assert.equal(data.source, "s4");
  assert.equal(data.recorded.get(1).snapshots.length, 1);
  assert.deepEqual([...data.runs.values()], [{ id: 3, status: "finished" }]);
  assert.deepEqual(pairsOf(data).map(({ s, t }) => [s, t]), [[0, 1], [0, 2], [1, 2]]);
  const again = emptyData();
  for (const message of messagesOf(data, [SNAPSHOT])) applyMessage(again, message);
  assert.deepEqual({ ...again, canTrain: 0, runChanges: 0 }, { ...data, canTrain: 0, runChanges: 0 });
});

test("a state survives the way through the address", () => {
  assert.equal(stateToText(FIRST, FIRST), "");
  const state = {
    ...{ ...FIRST, moduleOf: [0, 1, 1, 2], splits: 2, q: 0.35, pair: [1, 2], window: [10, 60], axes: "raw" },
    ...{ trigger: "always", rules: [], measured: true, isolated: "p-mGEM(3*)", tab: "memory", after: 2 },
  };
  const text = stateToText(state, FIRST);
  assert.deepEqual({ ...FIRST, ...read(text) }, state);
  assert.deepEqual({ ...FIRST, ...read(stateToText({ ...FIRST, moduleOf: [0, 0, 0, 0] }, state)) }.moduleOf, [0, 0, 0, 0]);
});

test("malformed addresses change nothing that they should not", () => {
  assert.deepEqual(read(""), {});
  const malformed = ["axes-3d", "splits-0", "splits-1.5", "q--1", "q-NaN", "pair-2", "pair-3.1", "tab-x", "after-x", "%%%"];
  for (const text of malformed) assert.deepEqual(read(text), {}, text);
  assert.deepEqual(read("cuts-9.2.x.2").moduleOf, [0, 0, 1, 1]);
  const draw = uniform(5), letters = "axes-*.%q2splitwindowcutsrules✓";
  for (let i = 0; i < 300; i++) {
    const text = Array.from({ length: 30 }, () => letters[Math.floor(draw() * letters.length)]).join("");
    const state = { ...FIRST, ...read(text) };
    assert.ok(state.moduleOf.length === 4 && state.splits >= 1 && state.q >= 0, text);
  }
});

test("progress counts runs and recordings apart, with the time left only while runs are active", () => {
  const progress = {
    ...{ counts: { finished: 104, running: 2, queued: 164 }, isActive: true, secondsLeft: 110.4, msPerStep: 2.14 },
    ...{ runsPerMinute: 58.3, recordings: [6, 6] },
  };
  const words = ["98 of 264 runs · 1 min 50 s left", "6 of 6 recordings · 58 runs/min · 2.1 ms/step"];
  assert.deepEqual(progressInWords({ progress }), words);
  const counts = { finished: 269, failed: 1 }, ended = { ...progress, counts, isActive: false, recordings: [0, 0] };
  assert.deepEqual(progressInWords({ progress: ended }), ["269 of 270 runs · 1 failed", "2.1 ms/step"]);
  const recordings = { ...progress, counts: { finished: 1, queued: 1 }, isActive: false, recordings: [1, 2] };
  assert.deepEqual(progressInWords({ progress: recordings }), ["1 of 2 recordings", "2.1 ms/step"]);
  assert.deepEqual(progressInWords({ progress: null, title: "Example" }), ["Example", ""]);
  assert.deepEqual([0.2, 59, 61, 7260].map(durationText), ["1 s", "59 s", "1 min 1 s", "2 h 1 min"]);
});
