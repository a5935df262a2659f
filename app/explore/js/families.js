// The families of a workbench: all strengths of a partition and splits at the recorded steps, each solved once and kept.
import { differenceOverSeeds, reachOverSeeds } from "./curves.js";
import { pairsOf } from "./data.js";
import { frontier, newFamily, STRENGTHS } from "./frontier.js";
import { divisorsOf } from "./partition.js";
import { newRuleFamily } from "./surgery.js";
import { nameOf } from "./words.js";

const MOST_FAMILIES = 300; // in the cache

// Works on `data` and `state` of the workbench.
export class Families {
  constructor(data) {
    Object.assign(this, { data, state: null, families: new Map() });
  }

  // Strengths on a scale that is logarithmic but begins with 0: q = c (e^(k t) − 1) for t from 0 to 1.
  setScale() {
    const { used, strengths } = this.data, largest = Math.max(...(used?.strength ?? [0]), ...strengths, 0);
    const high = used?.restriction.strength_kind === "margin" ? this.marginScale() : 30;
    const scale = { c: Math.max(high, 2 * largest) / 1500, k: Math.log(1501) };
    if (this.scale?.c === scale.c) return;
    this.scale = scale;
    this.strengths = Array.from({ length: STRENGTHS }, (_, i) => this.strengthAt(i / (STRENGTHS - 1)));
    this.families.clear();
  }

  // Margins are in units of ‖ĝ_s‖².
  marginScale() {
    const squares = (this.task?.snapshots ?? []).map(({ norms }) => norms[2] ** 2).sort((a, b) => a - b);
    return squares.length ? 4 * squares[squares.length >> 1] : 30;
  }

  strengthAt(t) {
    return this.scale.c * (Math.exp(this.scale.k * t) - 1);
  }

  placeOf(q) {
    return Math.log(q / this.scale.c + 1) / this.scale.k;
  }

  get R() {
    return this.data.seeds.length;
  }

  get pairs() {
    return pairsOf(this.data);
  }

  // The recorded steps of the current task, or null if there are none yet.
  get task() {
    return this.data.recorded.get(this.state?.pair[1] ?? 1) ?? null;
  }

  // The splits that can be chosen: divisors of the recorded ones.
  get splitChoices() {
    const most = this.task?.splits ?? Math.max(1, ...this.data.lines.map(({ splits }) => splits));
    return divisorsOf(most);
  }

  get view() {
    const { steps } = this.task, { pair, axes, window } = this.state;
    return { s: pair[0], axes, window: window ?? [steps[0], steps[steps.length - 1]] };
  }

  get restriction() {
    const { solver, trigger, step_length } = this.state;
    return { ...(this.data.used?.restriction ?? this.data.defaults), solver, trigger, step_length };
  }

  family(moduleOf, splits, restriction = this.restriction, taskWeights = new Array(this.task.past).fill(1)) {
    const make = () => newFamily(this.task, moduleOf, splits, restriction, taskWeights, this.strengths);
    return this.keep([moduleOf, splits, restriction, taskWeights], make);
  }

  // The family of the present task that these values describe, made only once.
  keep(values, make) {
    const key = JSON.stringify([this.state.pair[1], values]);
    if (this.families.size > MOST_FAMILIES) this.families.clear();
    if (!this.families.has(key)) this.families.set(key, make());
    return this.families.get(key);
  }

  // The baseline, whatever the chosen solver.
  gemFamily() {
    return this.family(new Array(this.T).fill(0), 1, { ...this.restriction, solver: "exact" });
  }

  // The lines to compare, each with its family: those of the data that the recorded splits allow.
  lines() {
    const isPossible = ({ splits }) => this.task.splits % splits === 0;
    return this.data.lines.filter(isPossible).map((line) => {
      const family = this.family(line.moduleOf, line.splits, { ...this.restriction, solver: line.solver ?? "exact" });
      return { ...line, family, choose: () => this.choose(line.name) };
    });
  }

  // The family of the recorded run's own settings, and its strength.
  usedFamily() {
    const { used } = this.data, S = this.task.past;
    if (!used || this.task.splits % used.splits) return null;
    const strength = Array.from({ length: S }, (_, s) => used.strength[used.strength.length > 1 ? s : 0]);
    const q = Math.max(...strength), weights = strength.map((one) => (q ? one / q : 1));
    return { q, family: this.family(used.moduleOf, used.splits, used.restriction, weights) };
  }

  // Computed again only if the view changes or more steps are solved; for another window, only the difference is computed.
  curveOf(family) {
    const { view } = this, key = [view.s, view.axes, family.solved, this.R].join(), isKnown = family.curveKey === key;
    if (isKnown && family.curve.window.join() === view.window.join()) return family.curve;
    const curve = frontier(family, view, this.R, isKnown ? family.curve : null);
    return Object.assign(family, { curveKey: key, curve }).curve;
  }

  // The difference of a family from GEM at equal retention, and how much further it reaches; computed again only if one of
  // the curves changes.
  compare(family, gem) {
    const curve = this.curveOf(family), base = this.curveOf(gem), { rule } = this.data;
    if (family.compared?.curve !== curve || family.compared.base !== base) {
      const found = differenceOverSeeds(curve, base, rule), reach = reachOverSeeds(curve, base, rule);
      family.compared = { curve, base, found, reach };
    }
    return family.compared;
  }

  // Compare all lines with GEM; null if the time is up before all are compared.
  compareAll(lines, gem, deadline) {
    const compared = [];
    for (const line of lines) {
      if (performance.now() > deadline) return null;
      compared.push({ ...line, ...this.compare(line.family, gem) });
    }
    return compared;
  }

  ruleFamily(name) {
    const { state: { moduleOf, splits }, restriction } = this;
    return this.keep([name, moduleOf, splits, restriction.step_length], () =>
      newRuleFamily(this.task, name, moduleOf, splits, restriction),
    );
  }

  // The lines of the comparison with GEM: those that are drawn, the chosen one, and replay if it is switched on.
  rows(lines, chosen, rules) {
    const isGem = ({ family: { moduleOf, splits, restriction } }) =>
      !moduleOf.some(Boolean) && splits === 1 && restriction.solver === "exact";
    const found = lines.filter((line) => !isGem(line));
    const row = { name: nameOf(this, chosen), color: "var(--lens-marker)", family: chosen, choose: () => {} };
    if (!lines.some(({ family }) => family === chosen) && !isGem(row)) found.push(row);
    const replay = rules.filter(({ rule }) => rule === "replay");
    return [
      ...found.map((one) => ({ ...one, isChosen: one.family === chosen })),
      ...replay.map((family) => ({ name: "replay", color: "var(--rule-replay)", family, choose: () => {} })),
    ];
  }
}
