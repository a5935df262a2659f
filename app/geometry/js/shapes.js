// Arrows, marks and paths of the picture.
import { svgElement } from "../../components/svg.js";
import { plus } from "./methods.js";

const SHAPES = { // of the marks at the tips of z, named as plotly does; for a radius of 1
  circle: "M1 0A1 1 0 1 1 -1 0A1 1 0 1 1 1 0Z",
  "triangle-up": "M0 -1.15L1.1 0.75L-1.1 0.75Z",
  square: "M-0.9 -0.9L0.9 -0.9L0.9 0.9L-0.9 0.9Z",
  diamond: "M0 -1.2L1.2 0L0 1.2L-1.2 0Z",
  cross: "M-0.4 -1.1L0.4 -1.1L0.4 -0.4L1.1 -0.4L1.1 0.4L0.4 0.4L0.4 1.1L-0.4 1.1L-0.4 0.4L-1.1 0.4L-1.1 -0.4L-0.4 -0.4Z",
};
export const NAMES = ["g", "g1", "g2"];
export const TIP_NAMES = { g: "g", g1: "ĝ₁", g2: "ĝ₂" };

// The handle at a tip, which is dragged, or moved with the arrow keys.
export function tip(name) {
  const attributes = {
    class: `tip ${name}`,
    role: "slider",
    tabindex: 0,
    "aria-label": `${TIP_NAMES[name]}, moved with the arrow keys`,
  };
  return svgElement(
    "g",
    attributes,
    svgElement("circle", { class: "hit", r: 20 }),
    svgElement("circle", { class: "halo", r: 10 }),
  );
}

export function line([x1, y1], [x2, y2], attributes) {
  return svgElement("line", { x1, y1, x2, y2, ...attributes });
}

export function arrow(from, to, kind) {
  const [dx, dy] = plus(to, from, -1), length = Math.hypot(dx, dy), head = Math.min(11, length), parts = [];
  if (length > 0.5) {
    const [x, y] = [dx / length, dy / length],
      base = [to[0] - head * x, to[1] - head * y];
    const corners = [
      to,
      [base[0] - 0.4 * head * y, base[1] + 0.4 * head * x],
      [base[0] + 0.4 * head * y, base[1] - 0.4 * head * x],
    ];
    parts.push(line(from, base), svgElement("path", { d: closedPath(corners) }));
  }
  return svgElement("g", { class: `arrow ${kind}` }, ...parts);
}

export function mark({ symbol, color }, [x, y], size) {
  return svgElement("path", {
    d: SHAPES[symbol],
    transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${size})`,
    style: `fill:${color}`,
    "vector-effect": "non-scaling-stroke",
  });
}

export function pathOfPoints(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");
}

export function closedPath(points) {
  return `${pathOfPoints(points)}Z`;
}
