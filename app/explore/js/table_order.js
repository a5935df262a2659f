// The order of the rows of a table of points. No DOM here.
const FALLING_FIRST = ["x", "y", "acc", "fwd", "bwd", "seeds"]; // columns whose largest values are the first of interest

// The sort order after a press on the head of a column: one way, then the other, then by line and strength again (null).
export function nextSort(sort, name) {
  const isRisingFirst = !FALLING_FIRST.includes(name);
  if (sort?.name !== name) return { name, isRising: isRisingFirst };
  return sort.isRising === isRisingFirst ? { name, isRising: !isRisingFirst } : null;
}

// Unknown values come last; equal ones keep their order, which is by line and strength.
export function sortPoints(points, sort) {
  if (!sort) return points;
  const places = new Map(points.map((point, i) => [point, i])), lines = [...new Set(points.map(({ line }) => line))];
  const valueOf = (point) => {
    if (sort.name === "method") return lines.indexOf(point.line);
    if (sort.name === "q") return point.q ?? NaN;
    return sort.name === "seeds" ? point.seeds : point[sort.name].mean;
  };
  const sign = sort.isRising ? 1 : -1;
  return [...points].sort((one, other) => {
    const a = valueOf(one), b = valueOf(other), isUnknown = Number(Number.isNaN(a)) - Number(Number.isNaN(b));
    return isUnknown || (a === b || Number.isNaN(a) ? places.get(one) - places.get(other) : sign * (a - b));
  });
}
