// The tabs below the panels. Only the one that is shown is drawn.
import { element } from "../../components/svg.js";
import { buildOverStrength, drawOverStrength } from "./over_strength.js";
import { buildPerSeed, drawPerSeed } from "./per_seed.js";
import { buildConflict, buildMap, buildMemory, drawConflict, drawMap, drawMemory } from "./recorded_tabs.js";
import { buildTable, drawTable } from "./run_table.js";
import { buildVerdicts, drawVerdicts } from "./verdicts.js";

// draw: (lens, families, width); those with `recorded` need recorded steps.
const TABS = {
  table: {
    title: "Table",
    build: (lens) => element("div", {}, buildTable(lens), buildVerdicts(lens)),
    draw: (lens, { points }) => {
      drawTable(lens, points);
      drawVerdicts(lens);
    },
  },
  map: { title: "Modules × strength", build: buildMap, draw: drawMap, recorded: true },
  strength: {
    title: "Against strength",
    build: buildOverStrength,
    draw: (lens, { points }, width) => drawOverStrength(lens, points, width),
  },
  seeds: { title: "Per seed", build: buildPerSeed, draw: (lens, { points }, width) => drawPerSeed(lens, points, width) },
  conflict: { title: "Conflict by layer and step", build: buildConflict, draw: drawConflict, recorded: true },
  memory: { title: "Memory against truth", build: buildMemory, draw: drawMemory, recorded: true },
};

export function buildTabs(lens) {
  const { parts } = lens;
  parts.tabButtons = Object.entries(TABS).map(([name, { title }]) =>
    element("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "tab-panel" }, title),
  );
  Object.keys(TABS).forEach((name, i) => (parts.tabButtons[i].onclick = () => lens.change({ tab: name })));
  const attributes = { class: "tabs", role: "tablist", "aria-label": "More about these results" };
  const list = element("div", attributes, ...parts.tabButtons);
  list.onkeydown = (event) => moveFocus(lens, event);
  parts.tabContents = Object.fromEntries(Object.entries(TABS).map(([name, { build }]) => [name, build(lens)]));
  parts.tabEmpty = element("p", { class: "note" }, "This needs recorded steps, and there are none yet.");
  const contents = [...Object.values(parts.tabContents), parts.tabEmpty];
  parts.tabPanel = element("div", { class: "tab-panel", role: "tabpanel", id: "tab-panel", tabindex: 0 }, ...contents);
  return [list, parts.tabPanel];
}

// The arrow keys move between tabs.
function moveFocus({ parts, state }, event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], count = parts.tabButtons.length;
  if (!step) return;
  event.preventDefault();
  const next = parts.tabButtons[(Object.keys(TABS).indexOf(state.tab) + step + count) % count];
  next.click();
  next.focus();
}

export function drawTabs(lens, families, width) {
  const { parts, state } = lens, { draw, recorded } = TABS[state.tab], isEmpty = Boolean(recorded && !families.chosen);
  Object.keys(TABS).forEach((name, i) => {
    const isShown = name === state.tab, button = parts.tabButtons[i];
    button.setAttribute("aria-selected", String(isShown));
    button.tabIndex = isShown ? 0 : -1;
    parts.tabContents[name].hidden = !isShown || isEmpty;
  });
  parts.tabPanel.setAttribute("aria-labelledby", `tab-${state.tab}`);
  parts.tabEmpty.hidden = !isEmpty;
  if (!isEmpty) draw(lens, families, width);
}
