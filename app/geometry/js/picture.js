// The picture in SVG: vectors whose tips can be dragged, the sets that methods allow, and z of each method. In three
// dimensions it is a parallel projection.
import { dot } from "../../components/solver.js";
import { niceTicks, svgElement } from "../../components/svg.js";
import { LINE_HEIGHT, placeLabels } from "./labels.js";
import { allowedFaces, allowedPolygon, lengthOf, meanOf, memoryRows, plus } from "./methods.js";
import { arrow, closedPath, line, mark, pathOfPoints, tip, TIP_NAMES } from "./shapes.js";
import { numberText } from "./words.js";

const FARTHEST = 3; // times the longest vector: a z beyond is not fitted into the picture

export class Picture {
  constructor(names) {
    const groups = ["grid", "sets", "paths", "arrows", "marks", "tips", "labels"];
    for (const name of groups) this[name] = svgElement("g", { class: name });
    this.frame = svgElement("rect");
    this.clip = svgElement("clipPath", { id: "geometry-frame" }, this.frame);
    const inside = svgElement(
      "g",
      { "clip-path": "url(#geometry-frame)" },
      this.grid,
      this.sets,
      this.paths,
      this.arrows,
      this.marks,
    );
    this.svg = svgElement(
      "svg",
      { role: "group", "aria-label": "Gradients, and the directions that the methods allow" },
      svgElement("defs", {}, this.clip),
      inside,
      this.labels,
      this.tips,
    );
    this.tipOf = Object.fromEntries(names.map((name) => [name, tip(name)]));
    this.tips.append(...Object.values(this.tipOf));
  }

  // The directions that point right and up in the picture: the axes of a plane, or space turned and tilted.
  setBasis(dimensions, [turn, tilt]) {
    const [a, b] = [turn, tilt].map((degrees) => (degrees * Math.PI) / 180);
    this.right = dimensions === 2 ? [1, 0] : [Math.cos(a), Math.sin(a), 0];
    this.up = dimensions === 2 ? [0, 1] : [-Math.sin(a) * Math.sin(b), Math.cos(a) * Math.sin(b), Math.cos(b)];
  }

  place(point) {
    return [this.centre[0] + this.scale * dot(this.right, point), this.centre[1] - this.scale * dot(this.up, point)];
  }

  // The vector after a move by (dx, dy) pixels in the plane of the picture.
  moved(vector, dx, dy) {
    return plus(plus(vector, this.right, dx / this.scale), this.up, -dy / this.scale);
  }

  resize(width, height) {
    if (this.width === width && this.height === height) return false;
    Object.assign(this, { width, height });
    for (const one of [this.svg, this.frame])
      for (const [key, value] of Object.entries({ width, height })) one.setAttribute(key, value);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    return true;
  }

  // Scale and centre the picture so that all points and the origin are visible; without isWanted, only if some are not, or
  // if all are small.
  fit(vectors, zs, isWanted) {
    const reach = Math.max(...vectors.map(lengthOf), 0.1),
      origin = vectors[0].map(() => 0);
    const points = [origin, ...vectors, ...zs.filter((z) => lengthOf(z) <= FARTHEST * reach)],
      radius = Math.max(...points.map(lengthOf), reach);
    const isFlat = origin.length === 2,
      [sides, ends] = isFlat ? [Math.min(72, this.width / 6), 44] : [30, 30]; // room for names
    const range = (i) =>
      isFlat
        ? [Math.min(...points.map((point) => point[i])), Math.max(...points.map((point) => point[i]))]
        : [-radius, radius];
    const [[left, right], [low, high]] = [range(0), range(1)];
    const scale = Math.min(
      (this.width - 2 * sides) / Math.max(right - left, reach),
      (this.height - 2 * ends) / Math.max(high - low, reach),
    );
    const centre = [this.width / 2 - (scale * (left + right)) / 2, this.height / 2 + (scale * (low + high)) / 2];
    const isOutside = () => points.some((point) => {
      const [x, y] = this.place(point);
      return x < 12 || x > this.width - 12 || y < 12 || y > this.height - 12;
    });
    if (isWanted || scale > 1.8 * this.scale || isOutside()) Object.assign(this, { scale, centre });
  }

  // alone: the method that is highlighted, if any.
  draw({ g, rows, methods, results, restrictions, names, alone }) {
    const zero = g.map(() => 0), start = this.place(zero), isFlat = g.length === 2;
    isFlat ? this.drawPlane() : this.drawSpace(g, rows, results);
    this.sets.classList.toggle("space", !isFlat);
    this.sets.replaceChildren(...restrictions.flatMap(({ method, list }) => this.setOf(method, list)));
    this.paths.replaceChildren(
      ...results
        .filter(({ method }) => !alone || method === alone)
        .flatMap(({ method, result }) => this.pathsOf(method, result, g, rows)),
    );
    const mean = meanOf(rows),
      tips = { g, g1: rows[0], g2: rows[1] };
    const width = (i) => 1.6 + 1.5 * (results.length - i); // nested where they coincide
    this.arrows.replaceChildren(
      ...results.map(({ method, result }, i) =>
        line(start, this.place(result.z), { class: "z", style: `stroke:${method.color};stroke-width:${width(i)}` }),
      ),
      arrow(start, this.place(mean), "mean"),
      ...names.toReversed().map((name) => arrow(start, this.place(tips[name]), name)),
    );
    this.marks.replaceChildren(
      ...results.map(({ method, result }, i) => mark(method, this.place(result.z), 5.5 + 1.1 * (results.length - i))),
    );
    results.forEach(({ method }, i) => {
      for (const group of [this.arrows, this.marks])
        group.children[i].classList.toggle("faint", Boolean(alone) && method !== alone);
    });
    for (const name of names) {
      const [x, y] = this.place(tips[name]), handle = this.tipOf[name];
      handle.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
      handle.setAttribute("aria-valuenow", lengthOf(tips[name]).toFixed(2));
      handle.setAttribute("aria-valuetext", tips[name].map(numberText).join(", "));
    }
    this.drawLabels(start, tips, mean, results, methods);
  }

  // Axes of a plane, with round numbers.
  drawPlane() {
    const [x0, y0] = this.centre,
      parts = [],
      { ticks: every } = niceTicks(0, Math.min(this.width, this.height) / this.scale, 5),
      step = every[1];
    for (const [axis, size] of [
      [0, this.width],
      [1, this.height],
    ]) {
      const sign = axis ? -1 : 1,
        ends = [-this.centre[axis], size - this.centre[axis]]
          .map((pixels) => (sign * pixels) / this.scale)
          .sort((a, b) => a - b);
      for (let i = Math.ceil(ends[0] / step); i * step <= ends[1]; i++) {
        const at = this.centre[axis] + sign * i * step * this.scale,
          isAxis = i === 0 ? "axis" : "";
        parts.push(
          axis ? line([0, at], [this.width, at], { class: isAxis }) : line([at, 0], [at, this.height], { class: isAxis }),
        );
        const text = Number((i * step).toPrecision(6))
          .toString()
          .replace("-", "−");
        if (i)
          parts.push(
            axis
              ? svgElement("text", { x: x0 - 5, y: at + 4, "text-anchor": "end" }, text)
              : svgElement("text", { x: at, y: y0 + 15, "text-anchor": "middle" }, text),
          );
      }
    }
    parts.push(
      svgElement(
        "text",
        { x: this.width - 6, y: Math.min(y0 + 29, this.height - 5), "text-anchor": "end" },
        "θ₁, module 1",
      ),
    );
    parts.push(svgElement("text", { x: Math.min(Math.max(x0 + 6, 6), this.width - 90), y: 14 }, "θ₂, module 2"));
    this.grid.replaceChildren(...parts);
  }

  // The plane of module 1 as a grid, the axis of module 2, and how high the tips are above the plane.
  drawSpace(g, rows, results) {
    const reach = (0.95 * (Math.min(this.width, this.height) / 2 - 30)) / this.scale,
      step = niceTicks(0, reach, 3).ticks[1],
      count = Math.floor(reach / step),
      parts = [];
    const end = count * step,
      across = (one, other, kind) => parts.push(line(this.place(one), this.place(other), { class: kind }));
    for (let i = -count; i <= count; i++) {
      across([i * step, -end, 0], [i * step, end, 0], i ? "" : "axis");
      across([-end, i * step, 0], [end, i * step, 0], i ? "" : "axis");
    }
    across([0, 0, -end], [0, 0, end], "axis");
    for (const [x, y, z] of [g, ...rows, ...results.map(({ result }) => result.z)])
      if (z) across([x, y, z], [x, y, 0], "drop");
    const beyond = 1.08 * end,
      axes = [
        ["θ₁, module 1", [beyond, 0, 0]],
        ["θ₂, module 1", [0, beyond, 0]],
        ["θ₃, module 2", [0, 0, beyond]],
      ];
    for (const [text, at] of axes) {
      const [x, y] = this.place(at);
      parts.push(svgElement("text", { x, y: y + 4, "text-anchor": "middle" }, text));
    }
    this.grid.replaceChildren(...parts);
  }

  // The set that a method allows, up to the edges of the picture; in space, its faces.
  setOf(method, restrictions) {
    const style = `fill:${method.color};stroke:${method.color}`;
    if (this.right.length === 3) {
      const radius = (0.85 * Math.min(this.width, this.height)) / 2 / this.scale;
      return allowedFaces(restrictions, radius).map((face) =>
        svgElement("path", { d: closedPath(face.map((point) => this.place(point))), style }),
      );
    }
    const corners = [
      [-20, -20],
      [this.width + 20, -20],
      [this.width + 20, this.height + 20],
      [-20, this.height + 20],
    ];
    const polygon = allowedPolygon(
      corners.map(([x, y]) => [(x - this.centre[0]) / this.scale, (this.centre[1] - y) / this.scale]),
      restrictions,
    );
    return polygon.length > 2 && restrictions.length
      ? [svgElement("path", { d: closedPath(polygon.map((point) => this.place(point))), style })]
      : [];
  }

  // The path from g to z: through the ring, which is projected, or, with the closed form, row by row.
  pathsOf(method, { z, v, from }, g, rows) {
    const style = `stroke:${method.color}`,
      points = method.solver === "exact" ? [g, from, z] : [g, plus(g, memoryRows(method, rows)[0], v[0][0]), z];
    const places = points.map((point) => this.place(point)),
      isElsewhere = lengthOf(plus(from, g, -1)) > 1e-9 && method.solver === "exact";
    const path = svgElement("path", { d: pathOfPoints(places), style });
    return isElsewhere
      ? [path, svgElement("circle", { cx: places[1][0], cy: places[1][1], r: 5, style, class: "ring" })]
      : [path];
  }

  drawLabels(start, tips, mean, results, methods) {
    const labels = Object.entries(tips).map(([name, tip]) => ({
      at: this.place(tip),
      lines: [TIP_NAMES[name]],
      reach: 12,
      kind: name,
    }));
    labels.push({ at: this.place(mean), lines: ["ĝₛ"], reach: 8, kind: "mean" });
    const groups = [];
    for (const { method, result } of results) {
      const at = this.place(result.z),
        near = groups.find((group) => Math.hypot(group.at[0] - at[0], group.at[1] - at[1]) < 5);
      near ? near.names.push(method.family) : groups.push({ at, names: [method.family] });
    }
    for (const { at, names } of groups) {
      const isSeen = at[0] > 0 && at[0] < this.width && at[1] > 0 && at[1] < this.height;
      const lines = names.length === methods.length ? ["all methods"] : names;
      if (isSeen) labels.push({ at, lines, reach: 14, kind: "z" });
    }
    for (const label of labels)
      label.away = plus(label.at, start, -1).some((value) => Math.abs(value) > 1) ? plus(label.at, start, -1) : [1, -1];
    const segments = [...Object.values(tips), mean, ...results.map(({ result }) => result.z)].map((tip) => [
      start,
      this.place(tip),
    ]);
    const places = placeLabels(labels, segments, this.width, this.height);
    this.labels.replaceChildren(
      ...labels.map(({ lines, kind }, i) => {
        const [x, y] = places[i],
          top = y - (LINE_HEIGHT * (lines.length - 1)) / 2 + 5;
        return svgElement(
          "text",
          { class: `name ${kind}`, "text-anchor": "middle" },
          ...lines.map((text, j) => svgElement("tspan", { x, y: top + j * LINE_HEIGHT }, text)),
        );
      }),
    );
  }
}
