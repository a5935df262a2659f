// Round numbers at axes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { niceTicks } from "../../app/components/svg.js";

test("an axis has round numbers, and at least two", () => {
  assert.deepEqual(niceTicks(0, 1, 5).ticks.map((one) => one.toFixed(1)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
  assert.deepEqual(niceTicks(-18.5, -11, 2), { ticks: [-18, -16, -14, -12], digits: 0 });
  assert.equal(niceTicks(0.41, 0.63, 2).ticks.length, 2);
});
