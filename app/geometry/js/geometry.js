// Figure 1 of the paper, interactive: drag the gradients of a batch and of two halves of the memory, and see the direction
// of each method. Everything is computed here; the URL is updated at the end of a drag.
import { followTheme } from "../../components/controls.js";
import { dot } from "../../components/solver.js";
import { element } from "../../components/svg.js";
import { directionOf, lengthOf, meanOf, restrictionsOf } from "./methods.js";
import { NAMES } from "./shapes.js";
import { buildGeometry, drawControls, fillRow, LARGEST } from "./view.js";
import { gradientInWords, methodInWords, numberText, propositionInWords } from "./words.js";

const DEFAULTS = { dimensions: 2, strength: 0, kind: "dual-floor", trigger: "violation", turn: [10, 26] };

class Geometry {
  constructor(host, content, { start = {}, standalone, isInURL } = {}) {
    Object.assign(this, { host, content, standalone, isInURL, parts: {} });
    const { g, g1, g2, methods } = content.presets[0];
    this.state = { ...DEFAULTS, g, g1, g2, methods, ...start };
    host.geometry = this;
    buildGeometry(this);
    this.isFitWanted = true;
    new ResizeObserver(() => this.redraw()).observe(host);
    this.redraw();
  }

  load({ g, g1, g2, methods }) {
    this.change({ g, g1, g2, methods, strength: 0 }, true);
  }

  // isFinal: nothing is being dragged, so the picture is fitted again and the URL is updated.
  change(values, isFinal = false) {
    Object.assign(this.state, values);
    if (isFinal) {
      this.isFitWanted = true;
      this.writeURL();
    }
    this.redraw();
  }

  moveTip(name, vector) {
    const rounded = vector.map((value) => Math.round(100 * Math.min(LARGEST, Math.max(-LARGEST, value))) / 100 || 0);
    this.isMoving = true;
    this.change({ [name]: this.state[name].map((value, i) => rounded[i] ?? value) });
  }

  // The end of a drag.
  settle() {
    this.isMoving = false;
    this.writeURL();
    this.redraw();
  }

  switchMethod(family, isOn) {
    const { methods } = this.state;
    this.change({
      methods: this.content.methods
        .map((one) => one.family)
        .filter((one) => (one === family ? isOn : methods.includes(one))),
    });
    this.settle();
  }

  highlight(family) {
    this.highlighted = family;
    this.redraw();
  }

  writeURL() {
    if (!this.isInURL) return;
    const { dimensions, strength, kind, trigger, methods, turn } = this.state, query = new URLSearchParams();
    for (const name of NAMES) query.set(name, this.state[name].slice(0, dimensions).join(","));
    if (dimensions === 3) query.set("turn", turn.join(","));
    for (const [name, value] of Object.entries({ strength: String(strength), kind, trigger, methods: methods.join(",") }))
      query.set(name, value);
    history.replaceState(history.state, "", `?${query.toString().replaceAll("%2C", ",")}`);
  }

  redraw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  // Compute everything that is drawn and described.
  solve() {
    const { state, content } = this, [g, ...rows] = NAMES.map((name) => state[name].slice(0, state.dimensions));
    const restriction = { strength_kind: state.kind, trigger: state.trigger, strength: state.strength };
    const results = content.methods.map((method) => {
      const result = directionOf(method, g, rows, restriction);
      return {
        method,
        result,
        exact: method.solver === "exact" ? result : directionOf({ ...method, solver: "exact" }, g, rows, restriction),
      };
    });
    return { g, rows, restriction, results, shown: results.filter(({ method }) => state.methods.includes(method.family)) };
  }

  draw() {
    const { parts, state, host } = this;
    if (!host.clientWidth) return; // hidden
    drawControls(this);
    const solved = this.solve(), { g, rows, restriction, results, shown } = solved, width = parts.frame.clientWidth;
    const isResized = parts.picture.resize(width, Math.round(Math.min(460, Math.max(320, 0.95 * width))));
    parts.picture.setBasis(state.dimensions, state.turn);
    if (!this.isMoving || isResized)
      parts.picture.fit(
        [g, ...rows],
        shown.map(({ result }) => result.z),
        this.isFitWanted || isResized,
      );
    this.isFitWanted = false;
    const alone = shown.filter(({ method }) => method.family === this.highlighted), restricted = new Map();
    for (const { method } of alone.length ? alone : shown) { // methods with the same restrictions allow the same set
      const key = `${method.modules} ${method.splits}`;
      if (!restricted.has(key)) restricted.set(key, { method, list: restrictionsOf(method, rows, restriction) });
    }
    parts.picture.draw({
      g,
      rows,
      methods: this.content.methods,
      results: shown,
      alone: alone[0]?.method,
      restrictions: [...restricted.values()],
      names: NAMES,
    });
    this.drawNumbers(solved, results);
    this.drawWords(solved);
  }

  drawNumbers({ g, rows }, results) {
    const { parts, state } = this,
      numbers = (z, v) => [...[dot(meanOf(rows), z), dot(g, z), lengthOf(z)].map(numberText), v];
    fillRow(parts.own, numbers(g, ""));
    results.forEach(({ method, result }, i) => {
      const { box, row } = parts.rows[i];
      box.checked = state.methods.includes(method.family);
      row.classList.toggle("off", !box.checked);
      fillRow(row, numbers(result.z, result.v.map((module) => module.map(numberText).join(", ")).join(" | ")));
    });
  }

  drawWords(solved) {
    const { g, rows, shown } = solved,
      proposition = propositionInWords(shown, solved);
    const lines = [
      ["", gradientInWords(g, rows)],
      ...shown.map(({ method, result, exact }) => [method.label, methodInWords(method, result, exact, solved)]),
    ];
    if (proposition) lines.push(["", proposition]);
    this.parts.words.replaceChildren(
      ...lines.map(([name, text]) => element("li", {}, ...(name ? [element("strong", {}, `${name}: `)] : []), text)),
    );
  }
}

export default function ({ parentElement, data }) {
  const host = parentElement.querySelector(".geometry");
  followTheme(host);
  if (!host.geometry) new Geometry(host, data.content, { start: data.start, standalone: data.standalone, isInURL: true });
}
