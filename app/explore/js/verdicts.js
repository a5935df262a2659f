// What trained runs show: each line compared with the baseline, in sentences that the server sends (analysis/paired.py).
import { element } from "../../components/svg.js";
import { plural } from "./words.js";

export function buildVerdicts(lens) {
  const { parts } = lens;
  parts.verdictList = element("ul");
  parts.addSeeds = element("button", { type: "button", onclick: () => lens.options.send("add", lens.data.seedsToAdd) });
  parts.addSeeds.title = "Enough to find a difference as large as the seen one with 80 % probability, if it is real";
  const summary = element("summary", {}, "Trained lines compared with GEM");
  parts.verdicts = element("details", { class: "verdicts" }, summary, parts.verdictList, parts.addSeeds);
  return parts.verdicts;
}

export function drawVerdicts(lens) {
  const { parts, data: { verdicts, seedsToAdd }, options } = lens;
  if (parts.verdictList.drawn !== verdicts) {
    parts.verdictList.drawn = verdicts;
    parts.verdictList.replaceChildren(...verdicts.map((sentence) => element("li", {}, sentence)));
  }
  parts.verdicts.hidden = !verdicts.length;
  parts.addSeeds.hidden = !seedsToAdd || !options.send;
  parts.addSeeds.textContent = `Add ${plural(seedsToAdd, "seed")}`;
}
