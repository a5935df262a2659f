// Rows with numbers, progress bars and small curves. The order and the selection stay while rows change.
// A line through the values; it is interrupted where one is missing (null).
import { element, svgElement } from "./svg.js";

function curve(values) {
  const description = values.map((value) => value?.toFixed(1) ?? "unknown").join(", ");
  const svg = svgElement("svg", {
    width: 64,
    height: 18,
    role: "img",
    "aria-label": `mean accuracy after each task: ${description}`,
  });
  const known = values.filter((value) => value !== null);
  const low = Math.min(...known),
    high = Math.max(...known);
  const points = values.map(
    (value, i) =>
      value !== null && [4 + (56 * i) / Math.max(1, values.length - 1), 15 - (12 * (value - low)) / (high - low || 1)],
  );
  const d = points
    .map((point, i) => point && `${points[i - 1] ? "L" : "M"}${point.join(" ")}`)
    .filter(Boolean)
    .join("");
  svg.append(svgElement("path", { d, style: "fill:none;stroke:currentColor;stroke-width:1.5" }));
  const isolated = points.filter((point, i) => point && !points[i - 1] && !points[i + 1]);
  for (const [cx, cy] of new Set([...isolated, ...points.slice(-1).filter(Boolean)])) {
    svg.append(svgElement("circle", { cx, cy, r: 2.2, fill: "currentColor" }));
  }
  return svg;
}

function cellContent(column, cell) {
  if (column.kind === "progress") {
    const percent = Math.round(100 * cell.value);
    const bar = element("span", {
      class: "bar",
      role: "progressbar",
      "aria-label": "progress",
      "aria-valuenow": percent,
      title: `${percent} %`,
    });
    bar.append(element("span", { style: `width:${100 * cell.value}%` }));
    return bar;
  }
  if (column.kind === "curve") return cell.value.some((value) => value !== null) ? curve(cell.value) : "";
  return cell.bold ? element("strong", {}, cell.text) : cell.text;
}

function sortedRows(rows, { by, descending } = {}) {
  if (!by) return rows;
  const value = ({ cells }) => ("value" in cells[by] ? cells[by].value : cells[by].text);
  const compareText = (a, b) => String(a).localeCompare(String(b), undefined, { numeric: true });
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : compareText(a, b));
  const missingLast = (a, b) => (a === null) - (b === null);
  return rows
    .slice()
    .sort((a, b) => missingLast(value(a), value(b)) || (descending ? -1 : 1) * compare(value(a), value(b)));
}

function headCell(host, column) {
  const { by, descending } = host.order ?? {};
  const isSorted = by === column.name;
  const title = column.help ?? "";
  if (["curve", "action"].includes(column.kind)) return element("th", { scope: "col", title }, column.title);
  const onclick = () => {
    host.order = { by: column.name, descending: isSorted ? !descending : column.kind !== "text" };
    draw(host);
  };
  const arrow = isSorted ? (descending ? " ↓" : " ↑") : "";
  const button = element("button", { type: "button", "data-sort": column.name }, column.title + arrow); // for the keyboard
  const cell = element("th", { scope: "col", class: column.kind, title, onclick, style: "cursor:pointer" }, button);
  if (isSorted) cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
  return cell;
}

// A button with the text of the cell; no button if the text is empty.
function actionButton(host, row, cell) {
  const press = (event) => {
    event.stopPropagation();
    host.sendPress(row.key);
  };
  const button = element(
    "button",
    { type: "button", class: "action", "aria-label": cell.label ?? cell.text, onclick: press },
    cell.text,
  );
  button.disabled = Boolean(cell.disabled);
  return cell.text ? button : "";
}

function bodyRow(host, row) {
  const isSelected = host.selected.includes(row.key);
  const toggle = (event) => {
    event.stopPropagation();
    host.selected = isSelected ? host.selected.filter((key) => key !== row.key) : [...host.selected, row.key];
    draw(host);
    host.sendSelection(host.selected);
  };
  const cells = host.data.columns.map((column, i) => {
    const cell = row.cells[column.name];
    if (column.kind === "action") return element("td", {}, actionButton(host, row, cell));
    const content = cellContent(column, cell);
    if (i) return element("td", { class: column.kind }, content);
    const swatch = element("span", {
      class: "swatch",
      style: `background:${row.color ?? "transparent"}`,
      "aria-hidden": "true",
    });
    const children = [...(row.color ? [swatch] : []), content];
    if (!host.data.selectable) return element("td", { class: column.kind }, ...children);
    return element(
      "td",
      { class: column.kind },
      element("button", { type: "button", "aria-pressed": String(isSelected), onclick: toggle }, ...children),
    );
  });
  const classes = `${isSelected ? "selected" : ""} ${row.active ? "active" : ""}`;
  const onSelect = host.data.selectable ? { onclick: toggle, style: "cursor:pointer" } : {};
  return element("tr", { class: classes, "data-key": row.key, ...onSelect }, ...cells);
}

function draw(host) {
  const { columns, rows, description } = host.data;
  const head = columns.map((column) => headCell(host, column));
  const body = sortedRows(rows, host.order).map((row) => bodyRow(host, row));
  const table = element(
    "table",
    { "aria-label": description },
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...body),
  );
  const top = host.scrollTop,
    focused = focusedSelector(host);
  host.replaceChildren(table);
  host.scrollTop = top;
  if (focused) host.querySelector(focused)?.focus({ preventScroll: true });
}

// Scroll the first selected row into the table, without scrolling the page.
function scrollToSelected(host) {
  const row = host.querySelector("tr.selected");
  if (row) host.scrollTop += row.getBoundingClientRect().top - host.getBoundingClientRect().top - host.clientHeight / 2;
}

// Return a selector of the button with the keyboard focus, so that a redrawn table can restore it.
function focusedSelector(host) {
  const active = document.activeElement;
  if (!host.contains(active) || active === host) return "";
  return active.dataset.sort
    ? `[data-sort="${active.dataset.sort}"]`
    : `tr[data-key="${active.closest("tr")?.dataset.key}"] button`;
}

// Do not redraw the table while a button is pressed, so that a click reaches the intended row.
function delayDrawingWhilePressed(host) {
  host.addEventListener("pointerdown", () => (host.isPressed = true));
  window.addEventListener("pointerup", () => setTimeout(() => {
    host.isPressed = false;
    if (host.mustDraw) draw(host);
    host.mustDraw = false;
  }));
}

export default function ({ parentElement, data: text, setStateValue, setTriggerValue }) {
  const host = parentElement.querySelector(".configurations");
  host.sendSelection = (keys) => setStateValue("selected", { keys, at: Date.now() });
  host.sendPress = (key) => setTriggerValue("pressed", key);
  if (host.text === text) return;
  const isFirst = !host.text;
  if (isFirst) delayDrawingWhilePressed(host);
  host.text = text;
  host.data = JSON.parse(text);
  host.selected = host.data.selected;
  host.classList.toggle("whole", host.data.whole);
  host.tabIndex = 0;
  host.setAttribute("role", "region");
  host.setAttribute("aria-label", host.data.description);
  if (host.isPressed) host.mustDraw = true;
  else draw(host);
  if (isFirst) scrollToSelected(host);
}
