// The state of the workbench in the address of the page, as one parameter: view=splits-3*q-0.5*axes-raw. No DOM here.
import { boundariesOf, partitionOf } from "./partition.js";

const AS_THEY_ARE = ["axes", "solver", "trigger", "step_length", "map", "conflict", "difference", "tab", "isolated"];
const NUMBERS = ["splits", "q", "after"];
const CHOICES = {
  axes: ["unit", "raw", "cosine"],
  solver: ["exact", "approx"],
  trigger: ["violation", "always"],
  step_length: ["free", "gradient"],
  map: ["x", "y"],
  conflict: ["cosine", "violated", "v"],
  difference: ["means", "range"],
  tab: ["table", "map", "strength", "seeds", "conflict", "memory"],
};

// The text of what differs from the state at first.
export function stateToText(state, first) {
  const texts = {};
  for (const name of [...AS_THEY_ARE, ...NUMBERS]) if (state[name] !== first[name]) texts[name] = `${state[name] ?? ""}`;
  if (state.moduleOf.join() !== first.moduleOf.join()) texts.cuts = boundariesOf(state.moduleOf).join(".") || "none";
  if (state.pair.join() !== first.pair.join()) texts.pair = state.pair.map((task) => task + 1).join(".");
  if (state.window) texts.window = state.window.join(".");
  if (state.measured) texts.measured = "yes";
  if (state.rules.join() !== first.rules.join()) texts.rules = state.rules.join(".") || "none";
  const encode = (text) => encodeURIComponent(text).replaceAll("*", "%2A");
  return Object.entries(texts).map(([name, text]) => `${name}-${encode(text)}`).join("*");
}

// The values that a text gives to the state; what is malformed or unknown is left out.
export function textToState(text, { tensors, rules }) {
  const parts = text.split("*").map((part) => [part.split("-")[0], decodeText(part.replace(/^[^-]*-?/, ""))]);
  const texts = Object.fromEntries(parts);
  const state = {}, wholes = (value) => value.split(".").map(Number).filter(Number.isInteger);
  for (const name of AS_THEY_ARE) {
    if (name in texts && (!CHOICES[name] || CHOICES[name].includes(texts[name]))) state[name] = texts[name];
  }
  for (const name of NUMBERS) {
    const value = Number(texts[name] || NaN);
    if (Number.isFinite(value) && value >= 0) state[name] = value;
  }
  for (const name of ["splits", "after"]) if (!(Number.isInteger(state[name]) && state[name] > 0)) delete state[name];
  if (texts.cuts) {
    const cuts = [...new Set(wholes(texts.cuts))].filter((at) => at > 0 && at < tensors).sort((a, b) => a - b);
    state.moduleOf = partitionOf(cuts, tensors);
  }
  for (const [name, least] of [["pair", 1], ["window", 0]]) {
    const ends = wholes(texts[name] ?? "");
    if (ends.length === 2 && ends[0] >= least && ends[0] <= ends[1]) state[name] = ends.map((end) => end - least);
  }
  if (texts.measured) state.measured = texts.measured === "yes";
  if (texts.rules) state.rules = rules.filter((rule) => texts.rules.split(".").includes(rule));
  return state;
}

function decodeText(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
