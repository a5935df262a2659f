// The controls around the picture, and the texts below it.
import { chooser, show, slider } from "../../components/controls.js";
import { element, signedText, svgElement } from "../../components/svg.js";
import { listenToTips, turnByBackground } from "./dragging.js";
import { Picture } from "./picture.js";
import { saveGeometry, savePicture } from "./saving.js";
import { mark, NAMES, TIP_NAMES } from "./shapes.js";
import { numberText } from "./words.js";

const KINDS = [
  ["dual-floor", "floor v ≥ q, as in GEM"],
  ["margin", "margin ⟨ĝ,z⟩ ≥ γ"],
];
const TRIGGERS = [
  ["violation", "only on conflict (GEM’s code)"],
  ["always", "every step"],
];
const COLUMNS = {
  "⟨ĝₛ,z⟩": "how well z keeps the past task",
  "⟨g,z⟩": "how well z learns the batch",
  "‖z‖": "the length of z",
  v: "the multiplier of each row; a bar separates modules",
};
export const LARGEST = 100; // of a coordinate; app/geometry/link.py accepts the same

function button(text, onclick, attributes = {}) {
  return element("button", { type: "button", onclick, ...attributes }, text);
}

function group(name, ...children) {
  return element("div", { class: "buttons", role: "group", "aria-label": name }, ...children);
}

export function buildGeometry(geometry) {
  const { host, parts, content } = geometry;
  parts.picture = new Picture(NAMES);
  parts.frame = element("div", { class: "picture" }, parts.picture.svg);
  parts.presets = content.presets.map((preset) =>
    button(preset.name, () => geometry.load(preset), { title: preset.about }),
  );
  parts.views = [2, 3].map((dimensions) =>
    button(`${dimensions}-D`, () => geometry.change({ dimensions }, true), { "data-dimensions": dimensions }),
  );
  parts.note = element("p", { class: "note" });
  parts.words = element("ul", { class: "words" });
  const top = element("div", { class: "top" }, group("Examples", ...parts.presets), group("View", ...parts.views));
  const controls = element("div", { class: "controls" }, ...buildControls(geometry));
  const picture = element("div", { class: "drawing" }, parts.frame, parts.note);
  host.replaceChildren(element("div", { class: "first" }, top, picture, parts.words, controls));
  listenToTips(geometry);
  turnByBackground(geometry);
}

function buildControls(geometry) {
  const { parts, state, standalone } = geometry;
  parts.strength = slider("Strength", { min: 0, max: 3, step: 0.05 }, (strength) => geometry.change({ strength }));
  parts.turn = slider("Turn", { min: -180, max: 180, step: 1 }, (turn) => geometry.change({ turn: [turn, state.turn[1]] }));
  parts.tilt = slider("Tilt", { min: 0, max: 90, step: 1 }, (tilt) => geometry.change({ turn: [state.turn[0], tilt] }));
  for (const { input } of [parts.strength, parts.turn, parts.tilt]) input.onchange = () => geometry.settle();
  parts.kind = chooser("The strength is a", KINDS, state.kind, (kind) => geometry.change({ kind }, true));
  parts.trigger = chooser("When to restrict", TRIGGERS, state.trigger, (trigger) => geometry.change({ trigger }, true));
  parts.numbers = NAMES.map((name) => [0, 1, 2].map((i) => numberInput(geometry, name, i)));
  const names = NAMES.map((name, n) =>
    element("div", { class: "vector" }, element("span", {}, TIP_NAMES[name]), ...parts.numbers[n]),
  );
  const actions = [button("Fit", () => geometry.change({}, true)), button("Save as SVG", () => savePicture(parts.picture))];
  if (standalone) actions.push(button("Save as HTML", () => saveGeometry(geometry)));
  return [
    buildTable(geometry),
    parts.strength.row,
    parts.kind,
    parts.trigger,
    parts.turn.row,
    parts.tilt.row,
    element("div", { class: "vectors", role: "group", "aria-label": "Vectors" }, ...names),
    group("Picture", ...actions),
  ];
}

function numberInput(geometry, name, i) {
  const input = element("input", {
    type: "number",
    step: 0.1,
    min: -LARGEST,
    max: LARGEST,
    "aria-label": `${TIP_NAMES[name]}, coordinate ${i + 1}`,
  });
  input.onchange = () => {
    const value = input.value === "" ? NaN : Number(input.value);
    if (Math.abs(value) <= LARGEST) geometry.moveTip(name, geometry.state[name].with(i, value));
    geometry.settle();
  };
  return input;
}

// A row for g, and one for each method, which switches it on and off.
function buildTable(geometry) {
  const { parts, content } = geometry,
    cells = () => Object.keys(COLUMNS).map(() => element("td"));
  const head = element(
    "tr",
    {},
    element("th", { scope: "col" }, "Method"),
    ...Object.entries(COLUMNS).map(([text, title]) => element("th", { scope: "col", title }, text)),
  );
  parts.rows = content.methods.map((method) => {
    const box = element("input", { type: "checkbox", onchange: () => geometry.switchMethod(method.family, box.checked) });
    const symbol = svgElement(
      "svg",
      { class: "symbol", width: 16, height: 16, viewBox: "-8 -8 16 16", "aria-hidden": "true" },
      mark(method, [0, 0], 6),
    );
    const row = element(
      "tr",
      {},
      element("th", { scope: "row" }, element("label", {}, box, symbol, method.label)),
      ...cells(),
    );
    row.onpointerenter = () => geometry.highlight(method.family);
    row.onpointerleave = () => geometry.highlight("");
    return { box, row };
  });
  parts.own = element(
    "tr",
    {},
    element("th", { scope: "row" }, element("span", { class: "unrestricted" }, "z = g")),
    ...cells(),
  );
  return element(
    "div",
    { class: "numbers" },
    element("table", {}, element("thead", {}, head), element("tbody", {}, parts.own, ...parts.rows.map(({ row }) => row))),
  );
}

export function fillRow(row, texts) {
  texts.forEach((text, i) => (row.children[i + 1].textContent = text));
}

export function drawControls({ parts, state, content }) {
  show(parts.strength, state.strength, `${state.kind === "margin" ? "γ" : "q"} = ${numberText(state.strength)}`);
  show(parts.turn, state.turn[0], `${signedText(state.turn[0], 0)}°`);
  show(parts.tilt, state.turn[1], `${state.turn[1]}°`);
  for (const { row } of [parts.turn, parts.tilt]) row.hidden = state.dimensions === 2;
  parts.kind.querySelector("select").value = state.kind;
  parts.trigger.querySelector("select").value = state.trigger;
  for (const view of parts.views)
    view.setAttribute("aria-pressed", String(Number(view.dataset.dimensions) === state.dimensions));
  content.presets.forEach((preset, i) =>
    parts.presets[i].setAttribute(
      "aria-pressed",
      String(NAMES.every((name) => preset[name].join() === state[name].join())),
    ),
  );
  parts.numbers.forEach((inputs, n) =>
    inputs.forEach((input, i) => {
      input.hidden = i >= state.dimensions;
      if (document.activeElement !== input) input.value = state[NAMES[n]][i];
    }),
  );
  const drag =
    state.dimensions === 3
      ? "Drag the tips of g, ĝ₁ and ĝ₂; drag the background to turn the view."
      : "Drag the tips of g, ĝ₁ and ĝ₂.";
  const floor = state.kind === "margin" ? "γ" : 0;
  parts.note.textContent =
    `${drag} ĝₛ is the mean of ĝ₁ and ĝ₂. Shaded: the directions that satisfy all restrictions ⟨ĝ,z⟩ ≥ ${floor} ` +
    "of a method. Coloured arrows: z of each method. Dotted lines: the way from g to z.";
}
