// The parts of the workbench, and the drawing of a frame.
import { element } from "../../components/svg.js";
import { drawProgress, fillBar } from "./bar.js";
import { buildDifference, drawDifference } from "./difference.js";
import { findingOf } from "./finding.js";
import { buildFrontier, drawFrontier } from "./frontier_panel.js";
import { buildGlossary } from "./glossary.js";
import { setText, updateChildren } from "./marks.js";
import { nextStep } from "./next_step.js";
import { buildShare, buildStrip, buildViewMenu, drawControls } from "./settings.js";
import { buildTabs, drawTabs } from "./tabs.js";
import { buildTransfer, drawTransfer, isLoading } from "./transfer.js";
import { chosenInWords, plural } from "./words.js";

export function buildWorkbench(lens) {
  const { parts } = lens;
  const about = "About single steps at the same recorded parameters; Trained runs says what whole runs show.";
  parts.headline = element("h2", { class: "headline", title: about });
  parts.answers = element("dl", { class: "answers" });
  parts.chosenText = element("p", { class: "chosen-text" });
  const menus = [buildViewMenu(lens), buildGlossary(), ...(lens.options.send ? [buildShare(lens)] : [])];
  parts.panels = [buildFrontier(lens), buildDifference(lens), buildTransfer(lens)];
  const panels = element("div", { class: "first" }, ...parts.panels);
  fillBar(lens, menus);
  lens.host.append(
    parts.headline,
    parts.answers,
    panels,
    buildStrip(lens),
    parts.chosenText,
    ...buildTabs(lens),
  );
  highlightOnHover(lens);
}

// While the pointer is on a part of a line, which names it in data-line, the line is highlighted in every panel.
function highlightOnHover(lens) {
  const { host } = lens;
  host.onpointerover = (event) => {
    lens.hovered = event.target.closest?.("[data-line]")?.dataset.line.split("; ")[0] ?? "";
    highlight(lens);
  };
  host.onpointerleave = () => {
    lens.hovered = "";
    highlight(lens);
  };
  const showAll = ({ key }) => {
    if (host.lens !== lens || !host.isConnected) return document.removeEventListener("keydown", showAll);
    const closesOther = document.querySelector("[role=dialog], .menu[open]"); // Escape closes that first
    if (key === "Escape" && lens.state.isolated && !closesOther) lens.change({ isolated: "" });
  };
  document.addEventListener("keydown", showAll);
}

// Fade all lines but the one under the pointer, or the one that was chosen to stay alone.
function highlight({ host, hovered, state }) {
  const name = hovered || state.isolated;
  for (const part of host.querySelectorAll(name ? "[data-line]" : ".is-faded"))
    part.classList.toggle("is-faded", Boolean(name) && !part.dataset.line.split("; ").includes(name));
}

// families: { points, chosen, gem, used, lines, rules, compared }; without recorded steps, only the points.
export function drawWorkbench(lens, families) {
  const { parts, host } = lens;
  if (!host.clientWidth) return; // hidden
  // Widths are read before anything is changed: after a change, the browser would have to lay out the page for it.
  const [frontierWidth, differenceWidth, transferWidth] = parts.panels.map((panel) => panel.clientWidth);
  const tabWidth = parts.tabPanel.clientWidth;
  drawProgress(lens);
  const point = drawFrontier(lens, families, frontierWidth);
  drawComparisons(lens, families, differenceWidth);
  drawTransferOnce(lens, families.points, transferWidth);
  setText(parts.chosenText, chosenInWords(lens, families, point));
  drawControls(lens);
  drawTabs(lens, families, tabWidth);
  highlight(lens);
}

// The finding and the differences; drawn again only if a comparison, the size or the choice of lines changes.
function drawComparisons(lens, { compared, lines, points }, width) {
  const { parts, state, data } = lens, before = lens.drawnComparisons ?? [];
  if (lines && !compared) return; // not all are compared yet: leave what is drawn
  const rows = compared ?? [];
  const found = rows.flatMap((row) => [row.name, row.found, row.isChosen]);
  const recorded = [lens.isRecorded, data.progress?.recordings?.join(), data.progress?.isActive];
  const drawn = [width, state.difference, ...recorded, points, data.summary, data.seedsToAdd, state.axes, ...found];
  if (drawn.length === before.length && drawn.every((value, i) => value === before[i])) return;
  lens.drawnComparisons = drawn;
  drawDifference(lens, rows, width);
  const { headline, answers } = findingOf(lens, rows, points), next = nextStep(lens, rows, points);
  setText(parts.headline, headline);
  drawAnswers(lens, next ? [...answers, { topic: "Next", ...next }] : answers);
}

// A row per topic; a recommendation to add seeds has a button that does so.
function drawAnswers({ parts, options }, answers) {
  const make = () => {
    const button = element("button", { type: "button" });
    return element("div", {}, element("dt"), element("dd", {}, element("span"), button));
  };
  updateChildren(parts.answers, answers, ({ topic }) => topic, make, (row, { topic, text, seeds = 0 }) => {
    const [sentence, button] = row.lastChild.children;
    setText(row.firstChild, topic);
    setText(sentence, text);
    setText(button, seeds ? `Add ${plural(seeds, "seed")}` : "");
    button.hidden = !seeds;
    button.onclick = () => options.send("add", seeds);
  });
}

function drawTransferOnce(lens, points, width) {
  const { state, data } = lens, before = lens.drawnTransfer ?? [];
  const chosen = [state.after, state.isolated, state.trigger, state.moduleOf, state.splits, state.solver, state.q];
  const drawn = [points, width, isLoading(lens), data.progress?.isActive, ...chosen];
  if (drawn.every((value, i) => value === before[i])) return;
  lens.drawnTransfer = drawn;
  drawTransfer(lens, points, width);
}
