// Rows with numbers, progress and small curves. Sorting and selection stay while rows change.
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) key === "onclick" ? (made.onclick = value) : made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// A line through the values; it is interrupted where one is missing (null).
function curve(values) {
  const svg = document.createElementNS(SVG, "svg");
  const told = values.map((value) => value?.toFixed(1) ?? "unknown").join(", ");
  for (const [key, value] of Object.entries({ width: 64, height: 18, role: "img", "aria-label": `mean accuracy after each task: ${told}` })) svg.setAttribute(key, value);
  const known = values.filter((value) => value !== null);
  const low = Math.min(...known), high = Math.max(...known);
  const at = values.map((value, i) => value !== null && [4 + (56 * i) / Math.max(1, values.length - 1), 15 - (12 * (value - low)) / (high - low || 1)]);
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", at.map((point, i) => point && `${at[i - 1] ? "L" : "M"}${point.join(" ")}`).filter(Boolean).join(""));
  line.setAttribute("style", "fill:none;stroke:currentColor;stroke-width:1.5");
  svg.append(line);
  const alone = at.filter((point, i) => point && !at[i - 1] && !at[i + 1]);
  for (const [x, y] of new Set([...alone, ...at.slice(-1).filter(Boolean)])) {
    const dot = document.createElementNS(SVG, "circle");
    for (const [key, value] of Object.entries({ cx: x, cy: y, r: 2.2, fill: "currentColor" })) dot.setAttribute(key, value);
    svg.append(dot);
  }
  return svg;
}

function shown(column, cell) {
  if (column.kind === "progress") {
    const percent = `${Math.round(100 * cell.value)} %`;
    const bar = element("span", { class: "bar", role: "progressbar", "aria-label": "progress", "aria-valuenow": Math.round(100 * cell.value) });
    bar.append(element("span", { style: `width:${100 * cell.value}%` }));
    bar.title = percent;
    return bar;
  }
  if (column.kind === "curve") return cell.value.some((value) => value !== null) ? curve(cell.value) : "";
  return cell.bold ? element("strong", {}, cell.text) : cell.text;
}

function draw(host) {
  const { columns, rows, about } = host.data;
  const { by, down } = host.order ?? {};
  const order = rows.slice();
  if (by) {
    const value = ({ cells }) => ("value" in cells[by] ? cells[by].value : cells[by].text);
    const weight = (a, b) => (a === null) - (b === null) || (typeof a === "number" && typeof b === "number" ? (down ? b - a : a - b) : (down ? -1 : 1) * String(a).localeCompare(String(b), undefined, { numeric: true }));
    order.sort((a, b) => weight(value(a), value(b)));
  }
  const head = columns.map((column) => {
    const sorted = by === column.name;
    const click = () => { host.order = { by: column.name, down: sorted ? !down : column.kind !== "text" }; draw(host); };
    const button = element("button", { type: "button", title: column.help ?? "", onclick: click, "data-sort": column.name }, column.title + (sorted ? (down ? " ↓" : " ↑") : ""));
    const cell = column.kind === "curve" ? element("th", { scope: "col", title: column.help ?? "" }, column.title) : element("th", { scope: "col", class: column.kind }, button);
    if (sorted) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
    return cell;
  });
  const body = order.map((row) => {
    const chosen = host.chosen.includes(row.key);
    const toggle = (event) => {
      event.stopPropagation();
      host.chosen = chosen ? host.chosen.filter((key) => key !== row.key) : [...host.chosen, row.key];
      draw(host);
      host.tell(host.chosen);
    };
    const cells = columns.map((column, i) => {
      const cell = element("td", { class: column.kind }, ...(i ? [shown(column, row.cells[column.name])] : []));
      if (!i) {
        const swatch = element("span", { class: "swatch", style: `background:${row.color ?? "transparent"}`, "aria-hidden": "true" });
        cell.append(element("button", { type: "button", "aria-pressed": String(chosen), onclick: toggle }, ...(row.color ? [swatch] : []), shown(column, row.cells[column.name])));
      }
      return cell;
    });
    return element("tr", { class: `${chosen ? "chosen" : ""} ${row.active ? "active" : ""}`, "data-key": row.key, onclick: toggle, style: "cursor:pointer" }, ...cells);
  });
  const table = element("table", { "aria-label": about }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
  const top = host.scrollTop, focus = place(host);
  host.replaceChildren(table);
  host.scrollTop = top;
  if (focus) host.querySelector(focus)?.focus({ preventScroll: true });
}

// Where the keyboard is: a redrawn table gives it back.
function place(host) {
  const at = document.activeElement;
  if (!host.contains(at) || at === host) return "";
  return at.dataset.sort ? `[data-sort="${at.dataset.sort}"]` : `tr[data-key="${at.closest("tr")?.dataset.key}"] button`;
}

// While a button is held down the table stands still, so that the click finds what was aimed at.
function holding(host) {
  host.addEventListener("pointerdown", () => (host.held = true));
  window.addEventListener("pointerup", () => setTimeout(() => {
    host.held = false;
    if (host.waiting) draw(host);
    host.waiting = false;
  }));
}

export default function ({ parentElement, data: text, setStateValue }) {
  const host = parentElement.querySelector(".configurations");
  host.tell = (keys) => setStateValue("selected", { keys, at: Date.now() });
  if (host.text === text) return;
  const data = JSON.parse(text);
  if (!host.text) holding(host);
  host.text = text;
  host.tabIndex = 0;
  host.setAttribute("role", "region");
  host.setAttribute("aria-label", data.about);
  host.data = data;
  host.chosen = data.selected;
  if (host.held) host.waiting = true;
  else draw(host);
}
