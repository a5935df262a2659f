// The lens: choose partition, splits, strength, task pair and window; every frame shows their results at recorded steps.
// Everything is computed here, from recorded steps that arrive once (app/lens/payload.py).
import { followTheme } from "../../components/controls.js";
import { frontier, newFamily, solveFamily, spreadOrder, STRENGTHS } from "./frontier.js";
import { boundariesOf, divisorsOf } from "./partition.js";
import { decodeTask } from "./snapshots.js";
import { newRuleFamily } from "./surgery.js";
import { buildLens, drawLens } from "./view.js";

const FRAME = 9; // milliseconds per frame for solving steps; the rest is solved in the next frames
const MOST_FAMILIES = 200; // in the cache

class Lens {
  constructor(host, data, { train, standalone, start, trained } = {}) {
    Object.assign(this, { host, data, train, standalone, trained: [], tasks: new Map(), families: new Map() });
    this.R = data.recordings.length;
    this.T = data.layers.reduce((count, layer) => count + layer.tensors.length, 0);
    this.pairs = data.recordings[0].tasks.flatMap(({ task, sizes }) => sizes[0].map((_, s) => ({ s, task })));
    const used = data.used, isContiguous = used && boundariesOf(used.moduleOf).length === Math.max(...used.moduleOf);
    const { splits, steps } = this.taskOf(this.pairs[0].task);
    this.state = {
      moduleOf: isContiguous ? used.moduleOf : data.partitions[0].moduleOf,
      splits,
      q: used ? Math.max(...used.strength) : 0.5,
      pair: 0,
      window: [steps[0], steps[steps.length - 1]],
      axes: "unit",
      solver: used?.restriction.solver ?? "exact",
      trigger: used?.restriction.trigger ?? "violation",
      map: "y",
      conflict: "cosine",
      rules: [],
      ...start,
    };
    host.lens = this;
    this.setScale();
    buildLens(this);
    this.setTrained(trained);
    new ResizeObserver(() => this.redraw()).observe(host);
    this.redraw();
  }

  // Strengths on a scale that is logarithmic but begins with 0: q = c (e^(k t) − 1) for t from 0 to 1.
  setScale() {
    const used = this.data.used, largest = used ? Math.max(...used.strength) : 0;
    let high = 30;
    if (used?.restriction.strength_kind === "margin") {
      // margins are in units of ‖ĝ_s‖²
      const { snapshots } = this.taskOf(this.pairs[0].task),
        squares = snapshots.map(({ norms }) => norms[2] ** 2).sort((a, b) => a - b);
      high = 4 * squares[squares.length >> 1];
    }
    this.scale = { c: Math.max(high, 2 * largest) / 1500, k: Math.log(1501) };
    this.strengths = Array.from({ length: STRENGTHS }, (_, i) => this.strengthAt(i / (STRENGTHS - 1)));
  }

  strengthAt(t) {
    return this.scale.c * (Math.exp(this.scale.k * t) - 1);
  }

  placeOf(q) {
    return Math.log(q / this.scale.c + 1) / this.scale.k;
  }

  taskOf(task) {
    if (!this.tasks.has(task)) {
      const decoded = decodeTask(this.data, task);
      decoded.order = spreadOrder(decoded.snapshots);
      decoded.steps = [...new Set(decoded.snapshots.map(({ step }) => step))].sort((a, b) => a - b);
      this.tasks.set(task, decoded);
    }
    return this.tasks.get(task);
  }

  get task() {
    return this.taskOf(this.pairs[this.state.pair].task);
  }

  get view() {
    return { s: this.pairs[this.state.pair].s, axes: this.state.axes, window: this.state.window };
  }

  get restriction() {
    const { solver, trigger } = this.state;
    return { ...(this.data.used?.restriction ?? this.data.defaults), solver, trigger };
  }

  family(moduleOf, splits, restriction = this.restriction, taskWeights = new Array(this.task.past).fill(1)) {
    const make = () => newFamily(this.task, moduleOf, splits, restriction, taskWeights, this.strengths);
    return this.keep([moduleOf, splits, restriction, taskWeights], make);
  }

  // The family of the present task that these values describe, made only once.
  keep(values, make) {
    const key = JSON.stringify([this.pairs[this.state.pair].task, values]);
    if (this.families.size > MOST_FAMILIES) this.families.clear();
    if (!this.families.has(key)) this.families.set(key, make());
    return this.families.get(key);
  }

  // The family of the run's own settings, and its strength.
  usedFamily() {
    const { used } = this.data, S = this.task.past;
    if (!used || this.task.splits % used.splits) return null;
    const strength = Array.from({ length: S }, (_, s) => used.strength[used.strength.length > 1 ? s : 0]),
      q = Math.max(...strength);
    return {
      q,
      family: this.family(
        used.moduleOf,
        used.splits,
        used.restriction,
        strength.map((one) => (q ? one / q : 1)),
      ),
    };
  }

  // Computed again only if the view changes or more steps are solved; for another window, only the difference is computed.
  curveOf(family) {
    const { view } = this, key = [view.s, view.axes, family.solved].join(), isKnown = family.curveKey === key;
    if (isKnown && family.curve.window.join() === view.window.join()) return family.curve;
    return Object.assign(family, { curveKey: key, curve: frontier(family, view, this.R, isKnown ? family.curve : null) })
      .curve;
  }

  ruleFamily(name) {
    const {
      state: { moduleOf, splits },
      restriction,
    } = this;
    return this.keep([name, moduleOf, splits, restriction.step_length], () =>
      newRuleFamily(this.task, name, moduleOf, splits, restriction),
    );
  }

  // Show runs that were trained with settings of these recordings.
  setTrained(found) {
    if (!found || found.source !== this.data.source) return;
    this.trained = found.configurations;
    this.redraw();
  }

  change(values) {
    Object.assign(this.state, values);
    this.redraw();
  }

  redraw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.host.lens === this) this.solveAndDraw(); // otherwise the page shows other recordings now
    });
  }

  solveAndDraw() {
    const { task, state } = this, deadline = performance.now() + FRAME, all = new Array(this.T).fill(0);
    const chosen = this.family(state.moduleOf, state.splits), gem = this.family(all, 1), used = this.usedFamily();
    const splits = divisorsOf(task.splits);
    const others = this.data.partitions.flatMap(({ moduleOf }) => splits.map((one) => this.family(moduleOf, one)));
    const rules = state.rules.map((name) => this.ruleFamily(name));
    const first = [chosen, gem, ...(used ? [used.family] : []), ...rules];
    const isSolved = [...first, ...others].every((family) => solveFamily(family, task.order, deadline));
    drawLens(this, { chosen, gem, used, others, rules });
    if (!isSolved) this.redraw();
  }
}

export default function ({ parentElement, data, setTriggerValue }) {
  const host = parentElement.querySelector(".lens");
  host.sendTrain = (values) => setTriggerValue("train", JSON.stringify(values));
  if (host.key === data.key) return;
  host.key = data.key;
  followTheme(host);
  const train = data.canTrain ? (values) => host.sendTrain(values) : null;
  const trained = document.querySelector(".trained-runs")?.trained; // see trained_runs.js
  new Lens(host, JSON.parse(data.payload), { train, standalone: data.standalone, trained });
}
