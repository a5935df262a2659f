// Comparing curves of points [x, y]: their knees, and their differences in y at equal x. No DOM here.

const PLACES = 101; // at which two curves are compared

// The point of a curve that is farthest above the straight line between its ends, both axes scaled to the curve's range.
export function kneeOf(points) {
  const range = (i) => Math.max(...points.map((point) => point[i])) - Math.min(...points.map((point) => point[i])) || 1;
  const [width, height] = [range(0), range(1)], [first, last] = [points[0], points[points.length - 1]];
  const [dx, dy] = [(last[0] - first[0]) / width, (last[1] - first[1]) / height];
  const above = (point) => ((point[1] - first[1]) / height) * dx - ((point[0] - first[0]) / width) * dy;
  const distances = points.map((point) => Math.sign(dx || 1) * above(point));
  const best = Math.max(...distances);
  return best > 1e-9 ? distances.indexOf(best) : -1;
}

// Mean difference in y at equal x of two curves, the share of the range in common, mean |y| of the other one.
export function curveDifference(one, other) {
  const xs = [one, other].map((curve) => curve.map(([x]) => x));
  const lows = xs.map((values) => Math.min(...values)), highs = xs.map((values) => Math.max(...values));
  const low = Math.max(...lows), high = Math.min(...highs);
  if (![low, high].every(Number.isFinite) || !(low < high)) return { difference: NaN, common: 0, level: NaN };
  let difference = 0, level = 0;
  for (let i = 0; i < PLACES; i++) {
    const x = low + ((high - low) * i) / (PLACES - 1), y = upperEnvelope(other, x);
    difference += (upperEnvelope(one, x) - y) / PLACES;
    level += Math.abs(y) / PLACES;
  }
  return { difference, level, common: (high - low) / (Math.max(...highs) - Math.min(...lows)) };
}

// y of a curve at x: the largest of its linear pieces there; at the ends, where rounding may leave none, the nearest point.
export function upperEnvelope(curve, x) {
  let best = -Infinity;
  for (let i = 1; i < curve.length; i++) {
    const [x0, y0] = curve[i - 1], [x1, y1] = curve[i];
    if (x < Math.min(x0, x1) || x > Math.max(x0, x1)) continue;
    best = Math.max(best, x0 === x1 ? Math.max(y0, y1) : y0 + ((x - x0) / (x1 - x0)) * (y1 - y0));
  }
  if (best > -Infinity) return best;
  return curve.reduce((nearest, point) => (Math.abs(point[0] - x) < Math.abs(nearest[0] - x) ? point : nearest))[1];
}

// The difference of two frontiers in y at equal x, in percent of the second, with its interval over the recordings.
export function differenceOverSeeds(one, other, recordings, quantile) {
  const ones = one.each, others = other.each;
  const found = Array.from({ length: recordings }, (_, r) => curveDifference(ones[r], others[r]));
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const level = mean(found.map((pair) => pair.level)), values = found.map((pair) => (100 * pair.difference) / level);
  const centre = mean(values), n = values.length;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (n - 1));
  const reach = (quantile * deviation) / Math.sqrt(n);
  return {
    values,
    mean: centre,
    low: centre - reach,
    high: centre + reach,
    common: mean(found.map((pair) => pair.common)),
  };
}
