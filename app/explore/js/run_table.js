// The tab "Table": a row per trained configuration with its means over seeds, sortable by each column.
import { element } from "../../components/svg.js";
import { hasChanged, setAttributes, setText, updateChildren } from "./marks.js";
import { nextSort, sortPoints } from "./table_order.js";
import {
  digitsOf,
  isChosenPoint,
  MEASURE_NAMES,
  measureTitle,
  namesOf,
  UNKNOWN,
  valueText,
} from "./trained_lines.js";

const ACCURACIES = ["acc", "fwd", "bwd", "forgetting"];
const TABLE_COLUMNS = [
  { name: "method", title: "method", help: "name in the paper" },
  { name: "q", title: "q", help: "memory strength" },
  ...["x", "y"].map((name) => {
    return { name, title: `◇ ${MEASURE_NAMES[name]}`, help: `${measureTitle(name)}, along its own run` };
  }),
  ...ACCURACIES.map((name) => ({ name, title: MEASURE_NAMES[name], help: measureTitle(name) })),
  { name: "seeds", title: "seeds", help: "finished seeds of all seeds" },
];

export function buildTable(lens) {
  const heads = TABLE_COLUMNS.map(({ name, title, help }) => {
    const sort = () => {
      lens.parts.table.sort = nextSort(lens.parts.table.sort, name);
      drawTable(lens, lens.parts.table.points);
    };
    const button = element("button", { type: "button", title: `${help}; sort`, onclick: sort }, title);
    const arrow = element("span", { class: "arrow", "aria-hidden": "true" });
    return element("th", { scope: "col", "data-column": name }, ...(name === "method" ? [button, arrow] : [arrow, button]));
  });
  const body = element("tbody"), empty = element("p", { class: "empty" });
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body);
  const label = { tabindex: 0, role: "region", "aria-label": "Table of trained configurations" };
  const scroll = element("div", { class: "scroll", ...label }, table);
  const meaning = "± standard error over seeds; ◇ measured along its own run, so it differs from the curves";
  const note = element("p", { class: "note" }, meaning);
  const section = element("section", { class: "panel run-table" }, empty, scroll, note);
  lens.parts.table = { section, scroll, heads, body, empty, note, sort: null, points: [] };
  body.onclick = (event) => {
    const row = event.target.closest("tr"), point = lens.parts.table.points.find(({ key }) => key === row?.itemKey);
    if (point) lens.choose(namesOf(point.line)[0], point.q);
  };
  return section;
}

export function drawTable(lens, points) {
  const { table } = lens.parts, { state, data } = lens;
  const chosenKey = points.find((point) => isChosenPoint(point, state))?.key;
  if (!hasChanged(table, [points, table.sort, state.isolated, chosenKey])) return;
  const top = table.scroll.scrollTop;
  table.points = points;
  const isFile = !data.configurations.length;
  setText(table.empty, isFile ? "These recordings have no trained runs." : "No run has started yet.");
  table.empty.hidden = points.length > 0;
  table.scroll.hidden = table.note.hidden = !points.length;
  table.heads.forEach((head, i) => {
    const isSorted = table.sort?.name === TABLE_COLUMNS[i].name, isRising = table.sort?.isRising;
    setAttributes(head, { "aria-sort": isSorted ? (isRising ? "ascending" : "descending") : "none" });
    setText(head.querySelector(".arrow"), isSorted ? (isRising ? "▲" : "▼") : "");
  });
  const keyOf = ({ key }) => key;
  const isShown = ({ line }) => !state.isolated || namesOf(line).includes(state.isolated);
  updateChildren(table.body, sortPoints(points.filter(isShown), table.sort), keyOf, makeRow, (row, point) => {
    setAttributes(row, { "data-line": point.line, "aria-current": point.key === chosenKey ? "true" : null });
    row.classList.toggle("is-active", point.isActive);
    fillRow(row.children, point, data.tasks);
  });
  if (table.scroll.scrollTop !== top) table.scroll.scrollTop = top;
}

function makeRow() {
  const [swatch, tag] = ["swatch", "tag"].map((name) => element("span", { class: name }));
  const method = element("td", { "data-column": "method" }, swatch, element("button", { type: "button" }), tag);
  return element("tr", {}, method, ...TABLE_COLUMNS.slice(1).map(({ name }) => element("td", { "data-column": name })));
}

function fillRow([method, q, ...cells], point, tasks) {
  const [swatch, button, tag] = method.children, seeds = cells.pop();
  setAttributes(swatch, { style: `--line:${point.color}` });
  setText(button, point.line);
  setAttributes(button, { "aria-label": `Choose ${point.line}${point.q === null ? "" : ` at q = ${point.q}`}` });
  setText(tag, point.outside.startsWith("collapsed") ? "collapsed" : "");
  setAttributes(tag, { title: point.outside });
  setText(q, point.q === null ? UNKNOWN : `${point.q}`);
  ["x", "y", ...ACCURACIES].forEach((name, i) => {
    const isProduct = i < 2, isKnown = isProduct || point.isComparable;
    setText(cells[i], isKnown ? valueText(point[name], digitsOf(name)) : UNKNOWN);
    setAttributes(cells[i], { title: isKnown ? null : `after ${point.learned} of ${tasks} tasks so far` });
  });
  setText(seeds, `${point.seeds} / ${point.total}`);
  setAttributes(seeds, { title: seedsTitle(point) });
}

function seedsTitle({ seeds, total, active, failed, counted }) {
  const parts = [`${seeds} of ${total} finished`];
  if (active) parts.push(`${active} running or waiting`);
  if (failed) parts.push(`${failed} failed, diverged or cancelled`);
  return `${parts.join(", ")}; means over ${counted}`;
}
