// The workbench: all lines of a sweep at the same recorded steps, and what trained runs reached. Choose partition, splits
// and strength; every frame shows their results. The server sends data as it is measured (app/feed.py), and everything is
// computed here.
import { followTheme } from "../../components/controls.js";
import { stateToText, textToState } from "./address.js";
import { buildBar, drawBar } from "./bar.js";
import { applyMessage, countTensors, emptyData, messagesOf } from "./data.js";
import { Families } from "./families.js";
import { openFeed } from "./feed.js";
import { solveFamily } from "./frontier.js";
import { RULES } from "./surgery.js";
import { pointsOf } from "./trained_points.js";
import { buildWorkbench, drawWorkbench } from "./view.js";

const FRAME = 7; // milliseconds per frame for solving and comparing; the rest is done in the next frames
const ADDRESS_WAIT = 400; // milliseconds without a change before the address is written

class Workbench extends Families {
  // options: { messages, feed, send, standalone, start }; send(name, value) tells the server what a button asks for.
  constructor(host, options = {}) {
    super(emptyData());
    Object.assign(this, { host, options, snapshotMessages: [], waiting: [], parts: {} });
    host.lens = this;
    const hasFocus = host.querySelector(".source")?.matches(":focus");
    host.replaceChildren(...buildBar(this));
    if (hasFocus) this.parts.source.focus(); // another source was chosen by keyboard
    for (const message of options.messages ?? []) this.apply(message);
    if (options.feed) {
      this.close = openFeed(options.feed, {
        onMessage: (message) => this.receive(message),
        onConnection: (isOpen) => this.noteConnection(isOpen),
        isWanted: () => host.isConnected && host.lens === this,
      });
    }
    new ResizeObserver(() => this.redraw()).observe(host);
    this.redraw();
  }

  // Messages that arrive between two frames are applied together.
  receive(message) {
    this.waiting.push(message);
    this.redraw();
  }

  apply(message) {
    if (this.mustStartAgain && message.kind === "header") this.forget();
    applyMessage(this.data, message);
    if (message.kind === "snapshots") this.snapshotMessages.push(message);
    if (message.kind === "header") this.begin();
    if (message.kind === "gone") this.options.send?.("gone", message.message);
  }

  // After a lost connection, the server sends everything again; runs may have been removed or recorded again since.
  noteConnection(isOpen) {
    this.isCut = !isOpen;
    this.mustStartAgain ||= !isOpen;
    this.redraw();
  }

  // Forget all data, but keep what the user has chosen.
  forget() {
    Object.assign(this, { data: emptyData(), snapshotMessages: [], mustStartAgain: false });
    this.families.clear();
  }

  // The first header: set the state from the address, and build the page.
  begin() {
    this.T = countTensors(this.data);
    this.setScale();
    if (this.state) return;
    this.first = this.firstState();
    const text = this.options.start ?? new URLSearchParams(location.search).get("view") ?? "";
    this.state = { ...this.first, ...textToState(text, { tensors: this.T, rules: Object.keys(RULES) }) };
    if (this.state.moduleOf.length !== this.T) this.state.moduleOf = this.first.moduleOf;
    buildWorkbench(this);
  }

  firstState() {
    const { used, lines, strengths, partitions } = this.data, restriction = used?.restriction ?? this.data.defaults;
    const splits = lines.filter(({ moduleOf }) => !moduleOf.some(Boolean)).map((line) => line.splits);
    const q = [...strengths].filter((one) => one > 0).sort((a, b) => Math.abs(Math.log(a)) - Math.abs(Math.log(b)))[0];
    return {
      moduleOf: partitions[0]?.moduleOf ?? [],
      splits: splits.includes(3) ? 3 : Math.max(1, ...splits),
      q: q ?? 0.5,
      pair: [0, 1],
      window: null,
      axes: "unit",
      solver: "exact",
      trigger: restriction?.trigger ?? "violation",
      step_length: restriction?.step_length ?? "free",
      map: "y",
      conflict: "cosine",
      difference: "means",
      rules: ["replay"],
      measured: false,
      isolated: "",
      tab: "table",
      after: null,
    };
  }

  // Whether all seeds are recorded: until then, differences may still change.
  get isRecorded() {
    const [done, total] = this.data.progress?.recordings ?? [0, 0];
    return done >= total;
  }

  change(values) {
    Object.assign(this.state, values);
    const { splits } = this.state, choices = this.splitChoices;
    if (!choices.includes(splits)) this.state.splits = choices[choices.length - 1];
    this.redraw();
    clearTimeout(this.addressTimer);
    this.addressTimer = setTimeout(() => this.writeAddress(), ADDRESS_WAIT);
  }

  writeAddress() {
    if (!this.options.send) return; // a saved page has no address to share
    const url = new URL(location.href), text = stateToText(this.state, this.first);
    if (text) url.searchParams.set("view", text);
    else url.searchParams.delete("view");
    if (url.href !== location.href) history.replaceState(history.state, "", url);
  }

  // Choose a line by its name, and a strength if one is given.
  choose(name, q = null) {
    const line = this.data.lines.find((one) => one.name === name);
    const other = this.data.configurations.find((one) => one.line === name && one.moduleOf);
    const found = line ?? other, values = Number.isFinite(q) && q !== null ? { q } : {};
    if (this.state.isolated) values.isolated = name; // the line that is alone is the chosen one
    if (found) Object.assign(values, { moduleOf: found.moduleOf, splits: found.splits, solver: found.solver ?? "exact" });
    this.change(values);
  }

  redraw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.host.lens !== this) return; // the page shows another source now
      this.waiting.splice(0).forEach((message) => this.apply(message));
      if (this.state) this.solveAndDraw();
    });
  }

  solveAndDraw() {
    const points = this.trainedPoints();
    if (!this.task) return drawWorkbench(this, { points });
    const { task, state } = this, deadline = performance.now() + FRAME;
    const chosen = this.family(state.moduleOf, state.splits), gem = this.gemFamily(), used = this.usedFamily();
    const lines = this.lines(), rules = state.rules.map((name) => this.ruleFamily(name));
    const first = [chosen, gem, ...lines.map(({ family }) => family), ...(used ? [used.family] : []), ...rules];
    const maps = state.tab === "map" ? this.data.partitions.map(({ moduleOf }) => this.family(moduleOf, state.splits)) : [];
    const isSolved = [...first, ...maps].map((family) => solveFamily(family, task.order, deadline)).every(Boolean);
    const isReady = first.every(({ solved }) => solved === task.order.length);
    const compared = isReady ? this.compareAll(this.rows(lines, chosen, rules), gem, deadline) : null;
    drawWorkbench(this, { points, chosen, gem, used, lines, rules, compared });
    if (!isSolved || !compared) this.redraw();
  }

  // The trained configurations with their means, computed again only if the data or the view of them changes.
  trainedPoints() {
    const { after, axes, pair } = this.state, { runChanges, configurations } = this.data;
    const key = JSON.stringify([after, axes, pair, runChanges]);
    if (this.pointsKey !== key || this.pointsOfList !== configurations) {
      Object.assign(this, { pointsKey: key, pointsOfList: configurations });
      this.points = pointsOf(this.data, { after, axes, pair });
    }
    return this.points;
  }

  // All that a saved page needs: the messages, and the state as text.
  toSave() {
    return { messages: messagesOf(this.data, this.snapshotMessages), start: stateToText(this.state, this.first) };
  }
}

export default function ({ parentElement, data, setTriggerValue }) {
  const host = parentElement.querySelector(".lens");
  host.bar = data.bar;
  host.send = (name, value) => setTriggerValue(name, JSON.stringify(value));
  if (host.key === data.key) return host.lens && drawBar(host.lens);
  host.key = data.key;
  host.lens?.close?.();
  followTheme(host);
  const send = (name, value) => host.send(name, value);
  const messages = data.messages ? JSON.parse(data.messages) : [];
  new Workbench(host, { messages, feed: data.feed, send, standalone: data.standalone });
}
