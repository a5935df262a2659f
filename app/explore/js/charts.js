// Plots in SVG: axes, curves and maps of cells.
import { niceTicks, signedText, svgElement } from "../../components/svg.js";

export const PANEL_HEIGHT = 300; // pixels, of the three panels side by side
export const MARGIN = { left: 58, right: 14, top: 10, bottom: 44 };

export function rangeOf(values, padding = 0.04) {
  const known = values.filter(Number.isFinite);
  if (!known.length) return [0, 1];
  let [low, high] = [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
  if (high - low < 1e-9 * Math.max(Math.abs(low), Math.abs(high), 1e-300))
    [low, high] = [low - 0.5 * (Math.abs(low) || 1), high + 0.5 * (Math.abs(high) || 1)];
  return [low - padding * (high - low), high + padding * (high - low)];
}

export function pathOf(points) {
  let isOpen = false, text = "";
  for (const [x, y] of points) {
    const isKnown = Number.isFinite(x) && Number.isFinite(y);
    if (isKnown) text += `${isOpen ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`;
    isOpen = isKnown;
  }
  return text;
}

// A plot with axes whose parts are made once and moved afterwards.
export class Axes {
  constructor(height) {
    this.height = height;
    this.grid = svgElement("g", { class: "grid" });
    this.content = svgElement("g");
    this.xTitle = svgElement("text", { class: "title", "text-anchor": "middle" });
    this.yTitle = svgElement("text", { class: "title", "text-anchor": "middle" });
    this.svg = svgElement("svg", { role: "img", height }, this.grid, this.content, this.xTitle, this.yTitle);
  }

  // xTicks: positions with their texts, where they are not round numbers.
  resize(width, xRange, yRange, titles, xTicks) {
    Object.assign(this, { width, xRange, yRange });
    const key = JSON.stringify([width, xRange, yRange, titles, xTicks]);
    if (this.key === key) return;
    this.key = key;
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    const { left, right, top, bottom } = MARGIN, base = this.height - bottom, parts = [];
    const x = niceTicks(...xRange, Math.max(2, width / 110)), y = niceTicks(...yRange, 6);
    const ticks = xTicks ?? x.ticks.map((at) => [at, signedText(at, x.digits)]);
    for (const [at, text] of ticks) {
      parts.push(svgElement("line", { x1: this.x(at), x2: this.x(at), y1: top, y2: base }));
      parts.push(svgElement("text", { x: this.x(at), y: base + 16, "text-anchor": "middle" }, text));
    }
    for (const at of y.ticks) {
      parts.push(svgElement("line", { x1: left, x2: width - right, y1: this.y(at), y2: this.y(at) }));
      parts.push(svgElement("text", { x: left - 6, y: this.y(at) + 4, "text-anchor": "end" }, signedText(at, y.digits)));
    }
    this.grid.replaceChildren(...parts);
    this.xTitle.textContent = titles[0];
    this.yTitle.textContent = titles[1];
    this.xTitle.setAttribute("x", (left + width - right) / 2);
    this.xTitle.setAttribute("y", this.height - 8);
    this.yTitle.setAttribute("transform", `translate(13 ${(top + base) / 2}) rotate(-90)`);
  }

  x(value) {
    const [low, high] = this.xRange;
    return MARGIN.left + ((value - low) / (high - low)) * (this.width - MARGIN.left - MARGIN.right);
  }

  y(value) {
    const [low, high] = this.yRange;
    return this.height - MARGIN.bottom - ((value - low) / (high - low)) * (this.height - MARGIN.top - MARGIN.bottom);
  }

  contains([x, y]) {
    return x >= this.xRange[0] && x <= this.xRange[1] && y >= this.yRange[0] && y <= this.yRange[1];
  }

  place(points) {
    return points.map(([x, y]) => [this.x(x), this.y(y)]);
  }
}

export function moveTo(mark, [x, y]) {
  const isKnown = Number.isFinite(x) && Number.isFinite(y);
  mark.setAttribute("visibility", isKnown ? "visible" : "hidden");
  if (isKnown) mark.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
}

// The place on a line of points that is nearest to (x, y): [index of the point before, share of the way to the next].
export function nearestOnLine(points, x, y) {
  let best = Infinity, found = [0, 0];
  for (let i = 0; i + 1 < points.length; i++) {
    const [x0, y0] = points[i], dx = points[i + 1][0] - x0, dy = points[i + 1][1] - y0;
    const share = Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1)));
    const distance = (x0 + share * dx - x) ** 2 + (y0 + share * dy - y) ** 2;
    if (distance < best) [best, found] = [distance, [i, share]];
  }
  return found;
}

// Rows of coloured cells; colour(value) gives the fill of a cell. Cells are made once for a size and coloured afterwards.
export class CellMap {
  constructor(onPress) {
    this.svg = svgElement("svg", { role: "img" });
    this.svg.onclick = (event) => {
      const cell = event.target.closest("rect");
      if (cell && onPress) onPress(Number(cell.dataset.row), Number(cell.dataset.column));
    };
    if (onPress) this.svg.style.cursor = "pointer";
  }

  draw(width, rowNames, columnTicks, values, colour, describe) {
    const rows = values.length, columns = values[0].length, rowHeight = Math.max(6, Math.min(26, 260 / rows));
    const left = 74, room = width - left - MARGIN.right, height = rows * rowHeight + 30;
    const key = JSON.stringify([width, rowNames, columnTicks, columns]);
    if (this.key !== key) {
      this.key = key;
      this.svg.setAttribute("width", width);
      this.svg.setAttribute("height", height);
      this.cells = values.map((row, r) =>
        row.map((_, c) => {
          const place = {
            x: left + (c * room) / columns,
            y: r * rowHeight,
            width: room / columns + 0.4,
            height: rowHeight - 1,
          };
          return svgElement("rect", { ...place, "data-row": r, "data-column": c }, svgElement("title"));
        }),
      );
      const every = Math.ceil(12 / rowHeight);
      const names = rowNames.map((name, r) =>
        r % every
          ? ""
          : svgElement("text", { x: left - 6, y: r * rowHeight + rowHeight / 2 + 4, "text-anchor": "end" }, name),
      );
      const ticks = columnTicks.map(([at, text]) =>
        svgElement(
          "text",
          { x: left + ((at + 0.5) * room) / columns, y: rows * rowHeight + 16, "text-anchor": "middle" },
          text,
        ),
      );
      this.svg.replaceChildren(...this.cells.flat(), ...names, ...ticks);
    }
    values.forEach((row, r) => row.forEach((value, c) => {
      const cell = this.cells[r][c];
      cell.setAttribute("style", colour(value));
      cell.firstChild.textContent = describe(value, r, c);
    }));
  }
}
