// The controls that choose the settings of the lens.
import { chooser, saveStandalone, scriptLiteral, show, slider } from "../../components/controls.js";
import { element } from "../../components/svg.js";
import { divisorsOf } from "./partition.js";
import { drawPartition } from "./partition_bar.js";
import { buildRules } from "./rules.js";
import { buildTrained, drawTrainedChooser } from "./trained.js";
import { AXES, strengthText } from "./words.js";

export function buildControls(lens) {
  const { data, state, parts } = lens,
    { partitions } = data;
  parts.modules = slider("Modules", { min: 0, max: partitions.length - 1, step: 1 }, (i) =>
    lens.change({ moduleOf: partitions[i].moduleOf }),
  );
  parts.bar = element("div", { class: "partition" });
  parts.splits = slider("Splits", { min: 0, step: 1 }, (i) => lens.change({ splits: divisorsOf(lens.task.splits)[i] }));
  parts.strength = slider("Strength", { min: 0, max: 1, step: 0.001 }, (t) => lens.change({ q: lens.strengthAt(t) }));
  parts.from = slider("From step", { min: 0, step: 1 }, (i) => moveWindow(lens, 0, i));
  parts.to = slider("To step", { min: 0, step: 1 }, (i) => moveWindow(lens, 1, i));
  const pairs = lens.pairs.map(({ s, task }, i) => [i, `past task ${s + 1}, current task ${task + 1}`]);
  const setPair = (i) => {
    const { steps, splits } = lens.taskOf(lens.pairs[i].task);
    lens.change({
      pair: Number(i),
      window: [steps[0], steps[steps.length - 1]],
      splits: splits % state.splits ? splits : state.splits,
    });
  };
  const buttons = Object.entries(AXES).map(([name, text]) =>
    element("button", { type: "button", "data-axes": name, onclick: () => lens.change({ axes: name }) }, text),
  );
  parts.axes = buttons;
  const pair = pairs.length > 1 ? [chooser("Tasks", pairs, state.pair, setPair)] : [];
  parts.trigger = chooser(
    "Restrict",
    [
      ["violation", "where a constraint is violated"],
      ["always", "always"],
    ],
    state.trigger,
    (trigger) => lens.change({ trigger }),
  );
  parts.solver = chooser(
    "Solver",
    [
      ["exact", "exact"],
      ["approx", "approximate (row by row)"],
    ],
    state.solver,
    (solver) => lens.change({ solver }),
  );
  return [
    parts.modules.row,
    parts.bar,
    parts.splits.row,
    parts.strength.row,
    parts.from.row,
    parts.to.row,
    ...pair,
    parts.trigger,
    parts.solver,
    element("div", { class: "buttons", role: "group", "aria-label": "Axes" }, element("span", {}, "Axes"), ...buttons),
    buildRules(lens),
    buildTrained(lens),
    element("div", { class: "buttons" }, ...buildActions(lens)),
  ];
}

function buildActions(lens) {
  const { train, standalone, state } = lens,
    buttons = [];
  const values = () => ({
    moduleOf: state.moduleOf,
    splits: state.splits,
    strength: Number(state.q.toPrecision(3)),
    solver: state.solver,
    trigger: state.trigger,
  });
  if (train) buttons.push(element("button", { type: "button", onclick: () => train(values()) }, "Train this"));
  if (standalone) buttons.push(element("button", { type: "button", onclick: () => saveLens(lens) }, "Save as HTML"));
  return buttons;
}

function moveWindow(lens, end, i) {
  const { steps } = lens.task, window = [...lens.state.window];
  window[end] = steps[i];
  if (window[0] > window[1]) window[1 - end] = steps[i];
  lens.change({ window });
}

export function drawControls(lens) {
  const { data, state, parts, task } = lens, splits = divisorsOf(task.splits), { steps } = task;
  const modules = Math.max(...state.moduleOf) + 1, text = state.moduleOf.join();
  const known = data.partitions.findIndex((one) => one.moduleOf.join() === text);
  const nearest = data.partitions.findIndex((one) => one.modules >= modules);
  show(parts.modules, known < 0 ? nearest : known, known < 0 ? `${modules}, cut by hand` : `${modules}`);
  drawPartition(lens);
  parts.splits.input.max = splits.length - 1;
  show(parts.splits, splits.indexOf(state.splits), `${state.splits} of each past task’s memory`);
  show(parts.strength, Number(lens.placeOf(state.q).toFixed(3)), strengthText(state.q));
  const ends = [steps.findIndex((step) => step >= state.window[0]), steps.findLastIndex((step) => step <= state.window[1])];
  [parts.from, parts.to].forEach((one, end) => {
    one.input.max = steps.length - 1;
    show(one, ends[end], `${steps[ends[end]]}`);
  });
  for (const name of ["trigger", "solver"]) parts[name].querySelector("select").value = state[name];
  for (const button of parts.axes) button.setAttribute("aria-pressed", String(button.dataset.axes === state.axes));
  for (const button of parts.ruleButtons)
    button.setAttribute("aria-pressed", String(state.rules.includes(button.dataset.rule)));
  drawTrainedChooser(lens);
}

// Save the lens as one file, with its data and its current settings, that needs no server.
function saveLens({ data, state, trained, standalone }) {
  const options = { start: state, trained: { source: data.source, configurations: trained } };
  saveStandalone(
    "lens",
    `Lens: ${data.title}`,
    standalone,
    `new Lens(host, ${scriptLiteral(data)}, ${scriptLiteral(options)});`,
  );
}
