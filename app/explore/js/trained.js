// Runs that were trained with settings of the lens (app/lens/trained.py): their measurements next to the predictions.
import { element, signedText, svgElement } from "../../components/svg.js";
import { moveTo, pathOf } from "./charts.js";
import { isWithin, STRENGTHS } from "./frontier.js";
import { boundariesOf } from "./partition.js";
import { plural } from "./words.js";

export const STAR = "M0 -10L2.6 -3.4L9.5 -3.1L4.1 1.2L5.9 8.1L0 4.2L-5.9 8.1L-4.1 1.2L-9.5 -3.1L-2.6 -3.4Z";

export function buildTrained(lens) {
  const select = element("select", { "aria-label": "Trained settings" });
  select.onchange = () => {
    const { moduleOf, splits, strength: q, solver, trigger } = lens.trained[select.value];
    lens.change({ moduleOf, splits, q, solver, trigger: trigger ?? lens.state.trigger });
  };
  lens.parts.trained = {
    select,
    row: element("label", { class: "chooser" }, element("span", {}, "Trained settings"), select),
  };
  return lens.parts.trained.row;
}

// The trained settings that the lens can be set to; one of them is shown as chosen.
export function drawTrainedChooser(lens) {
  const { trained, parts: { trained: { select, row } }, task, strengths } = lens;
  if (select.drawn !== trained || select.drawnSplits !== task.splits) {
    [select.drawn, select.drawnSplits] = [trained, task.splits];
    const isOffered = ({ moduleOf, splits, strength }) =>
      boundariesOf(moduleOf).length === Math.max(...moduleOf) &&
      task.splits % splits === 0 &&
      strength <= strengths[STRENGTHS - 1];
    const options = trained.map((one, i) => (isOffered(one) ? [element("option", { value: i }, one.name)] : [])).flat();
    select.replaceChildren(element("option", { value: "", disabled: "" }, "choose …"), ...options);
    row.hidden = !options.length;
  }
  const found = trained.indexOf(trainedAs(lens));
  select.value = found < 0 ? "" : String(found);
}

// The trained configuration with the chosen settings, or null. Strengths are compared with the rounding of a launch.
export function trainedAs({ trained, state }) {
  const rounded = (q) => Number(q.toPrecision(3)), modules = state.moduleOf.join();
  const isSame = ({ moduleOf, splits, strength, solver, trigger }) =>
    splits === state.splits && rounded(strength) === rounded(state.q) && solver === state.solver &&
    (trigger === null || trigger === state.trigger) && moduleOf.join() === modules;
  return trained.find(isSame) ?? null;
}

// For each seed that was probed in the window, the mean point over its recorded steps: { each: [{ seed, point }], mean }.
export function measuredPoints(lens, { runs }) {
  const { view } = lens, { task } = lens.pairs[lens.state.pair], recorded = new Set(lens.task.steps), each = [];
  for (const { seed, tasks } of runs) {
    const part = tasks.find((one) => one.task === task), sums = [0, 0];
    let count = 0;
    part?.steps.forEach((step, n) => {
      const past = (part.values[n].length - 3) / 2,
        values = part.values[n],
        lengths = [values[past + 2 + view.s], values[2 * past + 2]];
      const scales = lengths.map(
        (length) => ({ raw: 1, unit: values[past + 1], cosine: values[past + 1] * length })[view.axes],
      );
      if (!recorded.has(step) || !isWithin(step, view.window) || !(scales[0] > 0 && scales[1] > 0)) return;
      sums[0] += values[view.s] / scales[0];
      sums[1] += values[past] / scales[1];
      count++;
    });
    if (count) each.push({ seed, point: sums.map((sum) => sum / count) });
  }
  return { each, mean: meanPoint(each.map(({ point }) => point)) };
}

function meanPoint(points) {
  return [0, 1].map((i) => points.reduce((sum, point) => sum + point[i], 0) / points.length);
}

// The star next to the marker, and a small one for each seed.
export function drawTrained({ parts }, measured, predicted) {
  const { each, mean } = measured ?? { each: [], mean: [NaN, NaN] }, at = parts.plot.place([mean])[0];
  moveTo(parts.measured, at);
  parts.measuredLine.setAttribute(
    "d",
    pathOf([predicted, at].every((point) => point.every(Number.isFinite)) ? [predicted, at] : []),
  );
  parts.measuredSeeds.replaceChildren(
    ...(each.length > 1 ? each : []).map(({ seed, point }) => {
      const star = svgElement("path", { d: STAR }, svgElement("title", {}, `Trained, seed ${seed}: ${pointText(point)}`));
      const [x, y] = parts.plot.place([point])[0];
      star.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(0.55)`);
      return star;
    }),
  );
}

function pointText(point) {
  return point.map((value) => (Number.isFinite(value) ? signedText(value, 3) : "unknown")).join(", ");
}

// The results of training the chosen settings, next to the prediction for the same seeds.
export function trainedInWords(lens, entry, measured, predicted) {
  if (!entry) return "";
  const { runs } = entry, count = (...statuses) => runs.filter(({ status }) => statuses.includes(status)).length;
  const sentences = [], seeds = measured.each.map(({ seed }) => seed), active = count("queued", "running");
  if (seeds.length) {
    const same = lens.data.recordings.flatMap(({ seed }, r) => (seeds.includes(seed) ? [predicted.each[r]] : []));
    sentences.push(
      `Trained: ${pointText(measured.mean)} (${plural(seeds.length, "seed")}); ` +
        `predicted at the recorded steps: ${pointText(meanPoint(same))}.`,
    );
  } else if (count("finished")) sentences.push("Trained, but no step of this window was probed.");
  if (active) {
    const state = count("running") ? "still training" : "waiting to be trained";
    sentences.push(`${active} of ${plural(runs.length, "seed")} ${state} with these settings.`);
  }
  for (const status of ["diverged", "failed", "cancelled"]) {
    const hint = status === "failed" ? "; the page Runs says why" : "";
    if (count(status)) sentences.push(`${count(status)} of ${plural(runs.length, "trained seed")} ${status}${hint}.`);
  }
  return sentences.join(" ");
}
