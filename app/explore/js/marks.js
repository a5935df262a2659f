// Marks of points, and lists of elements that are changed in place, so that hover, focus and scroll survive new data.
import { svgElement } from "../../components/svg.js";

// Corners of symbols by their names, on a circle of radius 1; a circle has none.
const SYMBOLS = {
  square: [[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]],
  diamond: [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]],
  "triangle-up": [[0, -1.15], [1.1, 0.8], [-1.1, 0.8]],
  "triangle-down": [[0, 1.15], [1.1, -0.8], [-1.1, -0.8]],
  bowtie: [[-1.1, -0.9], [1.1, 0.9], [1.1, -0.9], [-1.1, 0.9]],
  cross: [
    ...[[-0.4, -1.1], [0.4, -1.1], [0.4, -0.4], [1.1, -0.4], [1.1, 0.4], [0.4, 0.4]],
    ...[[0.4, 1.1], [-0.4, 1.1], [-0.4, 0.4], [-1.1, 0.4], [-1.1, -0.4], [-0.4, -0.4]],
  ],
  x: [
    ...[[-1, -0.5], [-0.5, -1], [0, -0.5], [0.5, -1], [1, -0.5], [0.5, 0]],
    ...[[1, 0.5], [0.5, 1], [0, 0.5], [-0.5, 1], [-1, 0.5], [-0.5, 0]],
  ],
  star: regular(10, (i) => (i % 2 ? 0.5 : 1.25)),
  pentagon: regular(5, () => 1.1),
  hexagon: regular(6, () => 1.1),
};

function regular(corners, radius) {
  const angle = (i) => (2 * Math.PI * i) / corners - Math.PI / 2;
  return Array.from({ length: corners }, (_, i) => [radius(i) * Math.cos(angle(i)), radius(i) * Math.sin(angle(i))]);
}

export function symbolPath(name, radius) {
  const corners = SYMBOLS[name], r = radius.toFixed(2);
  if (!corners) return `M-${r} 0A${r} ${r} 0 1 1 ${r} 0A${r} ${r} 0 1 1 -${r} 0Z`;
  return `M${corners.map(([x, y]) => `${(x * radius).toFixed(2)} ${(y * radius).toFixed(2)}`).join("L")}Z`;
}

// Whether a part has to be drawn again: one of the values that it depends on differs from those of the last drawing.
export function hasChanged(part, values) {
  const before = part.drawnFrom ?? [];
  part.drawnFrom = values;
  return values.length !== before.length || values.some((value, i) => value !== before[i]);
}

// Set attributes that differ from those present; null removes one.
export function setAttributes(part, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null) part.removeAttribute(name);
    else if (part.getAttribute(name) !== String(value)) part.setAttribute(name, value);
  }
  return part;
}

export function setText(part, text) {
  if (part.textContent !== text) part.textContent = text;
}

// Set one of several classes and leave others, such as that of a hovered line, as they are.
export function setOneClass(part, names, chosen) {
  for (const name of names) part.classList.toggle(name, name === chosen);
}

// Make the children of `parent` those of the items, in their order: known keys are kept, others made or removed.
// update(child, item) is called for each. The focus stays where it was.
export function updateChildren(parent, items, keyOf, make, update) {
  const known = new Map([...parent.children].map((child) => [child.itemKey, child])), focused = document.activeElement;
  const children = items.map((item) => {
    const key = keyOf(item), child = known.get(key) ?? Object.assign(make(item), { itemKey: key });
    known.delete(key);
    update(child, item);
    return child;
  });
  for (const child of known.values()) child.remove();
  children.forEach((child, i) => {
    if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] ?? null);
  });
  if (focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
}

// A line of a plot: a wide invisible path for the pointer, the path itself, and a group for its marks.
export function makeLineGroup({ name }) {
  const parts = [titled("path", { class: "hit" }), svgElement("path", { class: "join" }), svgElement("g")];
  return svgElement("g", { "data-line": name }, ...parts);
}

export function makeMark() {
  const parts = [svgElement("path", { class: "error" }), svgElement("path", { class: "symbol" })];
  return svgElement("g", { class: "mark" }, svgElement("title"), ...parts);
}

export function titled(name, attributes = {}) {
  return svgElement(name, attributes, svgElement("title"));
}
