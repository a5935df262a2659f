// The controls of the workbench: the strip of sliders below the panels, and the menu View.
import { chooser, saveStandalone, scriptLiteral, show, slider } from "../../components/controls.js";
import { element } from "../../components/svg.js";
import { menu } from "./glossary.js";
import { drawPartition } from "./partition_bar.js";
import { buildRules } from "./rules.js";
import { AXES, CONVENTIONS, conventionOf, strengthText } from "./words.js";

const STRENGTH_STEP = 0.01; // of the slider, for the arrow keys: about 7 % of a strength
const SNAP = STRENGTH_STEP / 2; // a larger distance would hold back the arrow keys

export function buildStrip(lens) {
  const { parts, options } = lens, { partitions } = lens.data;
  parts.modules = slider("Modules", { min: 0, max: Math.max(0, partitions.length - 1), step: 1 }, (i) =>
    lens.change({ moduleOf: partitions[i].moduleOf }),
  );
  parts.bar = element("div", { class: "partition" });
  parts.splits = slider("Splits", { min: 0, step: 1 }, (i) => lens.change({ splits: lens.splitChoices[i] }));
  const strengths = { min: 0, max: 1, step: STRENGTH_STEP };
  parts.strength = slider("Strength", strengths, (t) => lens.change({ q: nearStrength(lens, t) }));
  const launch = () => options.send("train", toTrain(lens));
  const train = element("button", { type: "button", class: "primary", onclick: launch });
  train.textContent = "Train this";
  train.title = "Train networks with exactly these settings, one for each seed";
  const canTrain = options.send && lens.data.canTrain;
  const sliders = [parts.modules.row, parts.bar, parts.splits.row, parts.strength.row];
  return element("div", { class: "strip controls" }, ...sliders, ...(canTrain ? [train] : []));
}

// The strength at a place of the slider: near a strength of the sweep, that one.
function nearStrength(lens, t) {
  return lens.data.strengths.find((q) => Math.abs(lens.placeOf(q) - t) < SNAP) ?? lens.strengthAt(t);
}

function toTrain({ state: { moduleOf, splits, q, solver, trigger, step_length } }) {
  return { moduleOf, splits, strength: Number(q.toPrecision(3)), solver, trigger, step_length };
}

export function buildViewMenu(lens) {
  const { parts, state } = lens;
  parts.convention = chooser(
    "Convention: when to restrict",
    Object.entries(CONVENTIONS).map(([name, { title }]) => [name, title]),
    conventionOf(state),
    (name) => lens.change(CONVENTIONS[name].fields),
  );
  parts.pairs = chooser("Tasks", [], "", (value) => lens.change({ pair: value.split(",").map(Number), window: null }));
  const exact = ["exact", "exact (quadratic program)"], approx = ["approx", "approximate (approx-GEM)"];
  parts.solver = chooser("Solver", [exact, approx], state.solver, (solver) => lens.change({ solver }));
  parts.axes = Object.entries(AXES).map(([name, text]) =>
    element("button", { type: "button", "data-axes": name, onclick: () => lens.change({ axes: name }) }, text),
  );
  const group = { class: "buttons", role: "group", "aria-label": "Axes" };
  parts.from = slider("From step", { min: 0, step: 1 }, (i) => moveWindow(lens, 0, i));
  parts.to = slider("To step", { min: 0, step: 1 }, (i) => moveWindow(lens, 1, i));
  parts.measured = element("input", { type: "checkbox" });
  parts.measured.onchange = () => lens.change({ measured: parts.measured.checked });
  const measured = element("label", { class: "check" }, parts.measured, "Points measured along trained runs");
  return menu(
    "View",
    parts.convention,
    parts.pairs,
    element("div", group, element("span", {}, "Axes"), ...parts.axes),
    measured,
    buildRules(lens),
    parts.solver,
    parts.from.row,
    parts.to.row,
    ...(lens.options.standalone ? [saveButton(lens)] : []),
  );
}

export function buildShare(lens) {
  const copied = element("span", { role: "status" });
  const field = element("input", { type: "text", readonly: "", "aria-label": "Link" });
  const copy = async () => {
    field.select();
    await navigator.clipboard?.writeText(field.value);
    copied.textContent = "Copied.";
  };
  const box = menu(
    "Share",
    element("p", {}, "This link shows the same view to anyone who can reach this server:"),
    field,
    element("button", { type: "button", onclick: copy }, "Copy"),
    copied,
  );
  box.addEventListener("toggle", () => {
    lens.writeAddress();
    const url = new URL(location.href);
    if (lens.data.source === "example") url.searchParams.set("of", "example"); // a newer sweep would be shown without it
    field.value = url.href;
    copied.textContent = "";
  });
  return box;
}

function moveWindow(lens, end, i) {
  const { steps } = lens.task, window = [...lens.view.window];
  window[end] = steps[i];
  if (window[0] > window[1]) window[1 - end] = steps[i];
  const isWhole = window[0] === steps[0] && window[1] === steps[steps.length - 1];
  lens.change({ window: isWhole ? null : window });
}

export function drawControls(lens) {
  const { data, state, parts, splitChoices } = lens;
  const modules = Math.max(...state.moduleOf, 0) + 1, text = state.moduleOf.join();
  const known = data.partitions.findIndex((one) => one.moduleOf.join() === text);
  const nearest = data.partitions.findIndex((one) => one.modules >= modules);
  show(parts.modules, known < 0 ? nearest : known, known < 0 ? `${modules}, cut by hand` : `${modules}`);
  drawPartition(lens);
  parts.splits.input.max = splitChoices.length - 1;
  show(parts.splits, splitChoices.indexOf(state.splits), `${state.splits}`);
  show(parts.strength, Number(lens.placeOf(state.q).toFixed(3)), strengthText(state.q));
  drawMenu(lens);
}

function drawMenu(lens) {
  const { state, parts, task, pairs } = lens;
  const select = parts.pairs.querySelector("select"), pairTexts = pairs.map(({ s, t }) => `${s},${t}`);
  if (select.drawn !== pairTexts.join(" ")) {
    select.drawn = pairTexts.join(" ");
    const option = ({ s, t }) => element("option", { value: `${s},${t}` }, `past task ${s + 1}, current task ${t + 1}`);
    select.replaceChildren(...pairs.map(option));
  }
  select.value = state.pair.join();
  parts.convention.querySelector("select").value = conventionOf(state);
  parts.solver.querySelector("select").value = state.solver;
  for (const button of parts.axes) button.setAttribute("aria-pressed", String(button.dataset.axes === state.axes));
  for (const button of parts.ruleButtons)
    button.setAttribute("aria-pressed", String(state.rules.includes(button.dataset.rule)));
  parts.measured.checked = state.measured;
  const steps = task?.steps ?? [], window = task ? lens.view.window : [0, 0];
  const ends = [steps.findIndex((step) => step >= window[0]), steps.findLastIndex((step) => step <= window[1])];
  [parts.from, parts.to].forEach((one, end) => {
    one.row.hidden = steps.length < 2;
    one.input.max = Math.max(0, steps.length - 1);
    show(one, ends[end], `${steps[ends[end]]}`);
  });
}

// Save the workbench as one file, with its data and its current settings, that needs no server.
function saveButton(lens) {
  const save = () => {
    const { title } = lens.data, call = `new Workbench(host, ${scriptLiteral(lens.toSave())});`;
    saveStandalone("lens", title, lens.options.standalone, call);
  };
  return element("button", { type: "button", onclick: save }, "Save as HTML");
}
