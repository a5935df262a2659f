// z of each method in two or three dimensions, as in mgem_core/restriction/direction.py, and the sets that they allow.
// No DOM here.
//
// A method has { modules, splits, solver, restriction }. The memory has two splits, whose gradients are the rows; with one
// split, the row is their mean. With two modules, the first has all coordinates but the last.
// restriction: { strength_kind, trigger, strength }.
import { dot, dualPath, valueAt } from "../../components/solver.js";

export const ROUNDING = 1e-6; // relative: smaller differences count as rounding errors

export function lengthOf(vector) {
  return Math.hypot(...vector);
}

// one + factor · other
export function plus(one, other, factor = 1) {
  return one.map((value, i) => value + factor * other[i]);
}

export function meanOf(rows) {
  return rows[0].map((_, i) => rows.reduce((sum, row) => sum + row[i], 0) / rows.length);
}

export function memoryRows({ splits }, rows) {
  return splits === 1 ? [meanOf(rows)] : rows;
}

// For each module, 1 at its coordinates and 0 at the others.
export function modulesOf({ modules }, P) {
  const last = Array.from({ length: P }, (_, i) => Number(i === P - 1));
  return modules === 1 ? [last.map(() => 1)] : [last.map((one) => 1 - one), last];
}

function within(vector, module) {
  return vector.map((value, i) => value * module[i]);
}

// z, v of each module and row, and `from`: the point whose nearest allowed direction the exact solver finds. A floor v ≥ q
// is the same as projecting g + q Σ ĝ_c: with v = q + u, it is the dual problem of that projection in u ≥ 0.
export function directionOf(method, g, rows, { strength_kind, trigger, strength }) {
  const used = memoryRows(method, rows), v = [];
  let z = g, from = g;
  for (const module of modulesOf(method, g.length)) {
    const own = within(g, module),
      G = used.map((row) => within(row, module));
    const A = Float64Array.from(G.flatMap((row) => G.map((other) => dot(row, other)))),
      b = Float64Array.from(G, (row) => dot(row, own));
    const path = dualPath(
      A,
      b,
      G.map(() => 1),
      { ...method.restriction, solver: method.solver, strength_kind, trigger },
      dot(own, own),
    );
    const found = [...valueAt(path, strength)],
      isRestricted = found.some((one) => one > 0);
    G.forEach((row, c) => {
      z = plus(z, row, found[c]);
      if (isRestricted && strength_kind === "dual-floor") from = plus(from, row, strength);
    });
    v.push(found);
  }
  return { z, v, from };
}

// The restrictions ⟨normal, z⟩ ≥ floor of each module and row. Rows of zeros restrict nothing.
export function restrictionsOf(method, rows, { strength_kind, strength }) {
  const used = memoryRows(method, rows), floor = strength_kind === "margin" ? strength : 0;
  return modulesOf(method, rows[0].length).flatMap((module, d) =>
    used
      .map((row, c) => ({ normal: within(row, module), floor, module: d, row: c }))
      .filter(({ normal }) => lengthOf(normal) > 0),
  );
}

// Does a vector violate a restriction, by more than rounding can explain?
export function isViolated({ normal, floor }, vector) {
  return (floor - dot(normal, vector)) / lengthOf(normal) > ROUNDING * Math.max(lengthOf(vector), floor / lengthOf(normal));
}

// The part of a convex polygon that satisfies a restriction; corners in two or three dimensions.
function clipPolygon(corners, { normal, floor }) {
  const slack = 1e-9 * lengthOf(normal) * Math.max(...corners.map(lengthOf), 0),
    heights = corners.map((corner) => dot(normal, corner) - floor + slack);
  return corners.flatMap((corner, i) => {
    const j = (i + 1) % corners.length, kept = heights[i] >= 0 ? [corner] : [];
    if (heights[i] >= 0 === heights[j] >= 0) return kept;
    return [...kept, plus(corner, plus(corners[j], corner, -1), heights[i] / (heights[i] - heights[j]))];
  });
}

// The part of a polygon that all restrictions allow.
export function allowedPolygon(corners, restrictions) {
  return restrictions.reduce((polygon, one) => (polygon.length ? clipPolygon(polygon, one) : polygon), corners);
}

// In three dimensions: the faces of the set that all restrictions allow, within a radius of each boundary's nearest point.
export function allowedFaces(restrictions, radius) {
  return restrictions
    .map((one) =>
      allowedPolygon(
        disc(one, radius),
        restrictions.filter((other) => other !== one),
      ),
    )
    .filter((face) => face.length > 2);
}

// A disc on the boundary of a half-space, as a polygon.
function disc({ normal, floor }, radius) {
  const unit = normal.map((value) => value / lengthOf(normal)),
    centre = unit.map((value) => (value * floor) / lengthOf(normal));
  const least = unit.map(Math.abs).indexOf(Math.min(...unit.map(Math.abs))),
    other = unit.map((_, i) => Number(i === least));
  const across = cross(unit, other),
    one = across.map((value) => value / lengthOf(across)),
    two = cross(unit, one);
  return Array.from({ length: 72 }, (_, i) => {
    const angle = (i * Math.PI) / 36;
    return plus(plus(centre, one, radius * Math.cos(angle)), two, radius * Math.sin(angle));
  });
}

function cross([a, b, c], [x, y, z]) {
  return [b * z - c * y, c * x - a * z, a * y - b * x];
}
