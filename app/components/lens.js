// The lens: choose partition, splits, strength, task pair and window; every frame shows what they would have done.
// Everything is computed here, from recorded steps that arrive once (app/lens/payload.py).
const FRAME = 9; // milliseconds of a frame in which steps are solved; what is left comes in the next frames
const LEAST_SEEDS = 4; // below, no difference is claimed
const MOST_FAMILIES = 200; // that are kept
const DEFAULT_KNOBS = { solver: "exact", kind: "dual-floor", trigger: "violation", per: "split", stepLength: "free" };
const AXES = { unit: "per ‖z‖", raw: "raw", cosine: "cosine" };
const TITLES = {
  unit: ["⟨g_s,z⟩ / ‖z‖ → the past task is kept", "⟨g_t,z⟩ / ‖z‖ → the current task is learnt"],
  raw: ["⟨g_s,z⟩ → the past task is kept", "⟨g_t,z⟩ → the current task is learnt"],
  cosine: ["cos(g_s, z) → the past task is kept", "cos(g_t, z) → the current task is learnt"],
};

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
      solver: used?.knobs.solver ?? "exact",
      trigger: used?.knobs.trigger ?? "violation",
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
    if (used?.knobs.kind === "margin") { // margins are in units of ‖ĝ_s‖²
      const { snapshots } = this.taskOf(this.pairs[0].task), squares = snapshots.map(({ norms }) => norms[2] ** 2).sort((a, b) => a - b);
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

  get knobs() {
    return { ...DEFAULT_KNOBS, ...this.data.used?.knobs, solver: this.state.solver, trigger: this.state.trigger };
  }

  family(moduleOf, splits, knobs = this.knobs, taskWeights = new Array(this.task.past).fill(1)) {
    const make = () => newFamily(this.task, moduleOf, splits, knobs, taskWeights, this.strengths);
    return this.keep([moduleOf, splits, knobs, taskWeights], make);
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
    const strength = Array.from({ length: S }, (_, s) => used.strength[used.strength.length > 1 ? s : 0]), q = Math.max(...strength);
    return { q, family: this.family(used.moduleOf, used.splits, used.knobs, strength.map((one) => (q ? one / q : 1))) };
  }

  // Computed again only if the view is another, or more steps are solved; of another window, only what it adds or leaves out.
  curveOf(family) {
    const { view } = this, key = [view.s, view.axes, family.solved].join(), isKnown = family.curveKey === key;
    if (isKnown && family.curve.window.join() === view.window.join()) return family.curve;
    return Object.assign(family, { curveKey: key, curve: frontier(family, view, this.R, isKnown ? family.curve : null) }).curve;
  }

  ruleFamily(name) {
    const { state: { moduleOf, splits }, knobs } = this;
    return this.keep([name, moduleOf, splits, knobs.stepLength], () => newRuleFamily(this.task, name, moduleOf, splits, knobs));
  }

  // What was trained with settings of these recordings.
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
      if (this.host.lens === this) this.solveAndDraw(); // else other recordings are shown by now
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

function divisorsOf(count) {
  return Array.from({ length: count }, (_, i) => i + 1).filter((one) => count % one === 0);
}

// Where a module ends within the sequence of tensors.
function boundariesOf(moduleOf) {
  return moduleOf.flatMap((d, l) => (l && d !== moduleOf[l - 1] ? [l] : []));
}

function partitionOf(boundaries, T) {
  return Array.from({ length: T }, (_, l) => boundaries.filter((at) => at <= l).length);
}

function plural(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function nameOf({ moduleOf, splits }) {
  const modules = Math.max(...moduleOf) + 1;
  return modules === 1 && splits === 1 ? "GEM" : `${plural(modules, "module")}, ${plural(splits, "split")}`;
}

function strengthText(q) {
  return q === 0 ? "0" : Number(q.toPrecision(q < 1 ? 2 : 3)).toString();
}

// What the difference to GEM at equal retention is, as far as that can be told.
function differenceInWords(lens, chosen, gem) {
  const name = nameOf(chosen), seeds = lens.R;
  if (name === "GEM") return "This is GEM itself: choose more modules or splits to compare them with it.";
  if (chosen.solved < lens.task.order.length) return "Comparing with GEM …";
  if (seeds === 1) return `One run was recorded, so nothing is claimed about a difference to GEM: it takes at least ${LEAST_SEEDS} seeds to tell.`;
  const found = differenceOverSeeds(lens.curveOf(chosen), lens.curveOf(gem), seeds, lens.data.quantile);
  if (!Number.isFinite(found.mean)) return `${name} and GEM have no range of retention in common here, so they cannot be compared.`;
  if (seeds < LEAST_SEEDS) {
    const each = found.values.map((value) => `${signed(value)} %`).join(", ");
    return `At equal ⟨g_s,z⟩, the difference in ⟨g_t,z⟩ to GEM is ${each} in ${seeds} seeds; it takes at least ${LEAST_SEEDS} to tell.`;
  }
  const where = found.common >= 0.75 ? "" : `, over the ${Math.round(100 * found.common)} % of the range that both cover`;
  const interval = `95 %: ${signed(found.low)} … ${signed(found.high)}, ${seeds} seeds`;
  const size = `${Math.abs(found.mean).toFixed(2)} % ${found.mean > 0 ? "larger" : "smaller"} than GEM’s`;
  const verdict = found.low > 0 || found.high < 0 ? ". The interval is that of a single comparison: among many, some look good by chance." : ": no difference can be told.";
  return `At equal ⟨g_s,z⟩ (retention), ⟨g_t,z⟩ (learning) of ${name} is on average ${size}${where} (${interval})${verdict}`;
}

function signed(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}

// Where the chosen strength is on the plot.
function pointInWords(lens, chosen, point) {
  const { state, task, data, knee } = lens, steps = countSteps(lens, chosen);
  const axes = state.axes === "unit" ? " per ‖z‖" : state.axes === "cosine" ? ", as cosines" : "";
  const seeds = data.recordings.length > 1 ? ` of ${plural(data.recordings.length, "seed")}` : "";
  const solved = chosen.solved < task.order.length ? ` (${chosen.solved} of ${task.order.length} solved so far)` : "";
  const [x, y] = point.mean.map((value) => (Number.isFinite(value) ? signedText(value, 3) : "unknown"));
  const kneeText = knee === null ? "" : ` The knee of this curve is at strength ${strengthText(knee)}.`;
  const name = `${nameOf(chosen)}, strength ${strengthText(state.q)}`;
  return `${name}: ⟨g_s,z⟩ = ${x}, ⟨g_t,z⟩ = ${y}${axes}; means over ${plural(steps, "recorded step")}${seeds}${solved}.${kneeText}`;
}

function countSteps({ task, state: { window } }, family) {
  return task.snapshots.filter(({ step }, n) => family.pieces[n] && isWithin(step, window)).length;
}

export default function ({ parentElement, data, setTriggerValue }) {
  const host = parentElement.querySelector(".lens");
  host.sendTrain = (values) => setTriggerValue("train", JSON.stringify(values));
  if (host.key === data.key) return;
  host.key = data.key;
  followTheme(host);
  const train = data.canTrain ? (values) => host.sendTrain(values) : null;
  new Lens(host, JSON.parse(data.payload), { train, standalone: data.standalone, trained: globalThis.lensTrained });
}
