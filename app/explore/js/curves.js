// Comparing curves of points [x, y] over the strength, as mgem_core/analysis/curves.py and significance.py do: their knees,
// and their differences in y at equal x. No DOM here. rule: the constants that come with the data (app/lens/payload.py).

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

// The points up to the largest x, with neighbours averaged until x rises.
export function risingBranch(curve, { same }) {
  const end = curve.reduce((best, [x], i) => (x > curve[best][0] ? i : best), 0), sums = [];
  for (let [x, y] of curve.slice(0, end + 1)) {
    let count = 1;
    while (sums.length) {
      const [beforeX, beforeY, number] = sums[sums.length - 1], before = beforeX / number;
      if (x / count > before + same * Math.abs(before)) break;
      [x, y, count] = [x + beforeX, y + beforeY, count + number];
      sums.pop();
    }
    sums.push([x, y, count]);
  }
  return sums.map(([x, y, count]) => [x / count, y / count]);
}

// Mean difference in y at equal x on the rising branches of two curves, the share of the range in common, mean |y| of the
// other one.
export function curveDifference(one, other, rule) {
  const branches = [one, other].map((curve) => risingBranch(curve, rule));
  const lows = branches.map((branch) => branch[0][0]), highs = branches.map((branch) => branch[branch.length - 1][0]);
  const low = Math.max(...lows), high = Math.min(...highs), isKnown = [...one, ...other].flat().every(Number.isFinite);
  if (!isKnown || !(low < high)) return { difference: NaN, common: 0, level: NaN };
  let difference = 0, level = 0;
  for (let i = 0; i < rule.places; i++) {
    const x = low + ((high - low) * i) / (rule.places - 1), y = interpolate(branches[1], x);
    difference += (interpolate(branches[0], x) - y) / rule.places;
    level += Math.abs(y) / rule.places;
  }
  return { difference, level, common: (high - low) / (Math.max(...highs) - Math.min(...lows)) };
}

// y at x of a branch with rising x; at the ends, the nearest point.
function interpolate(branch, x) {
  const i = branch.findIndex(([end]) => end >= x);
  if (i <= 0) return branch[i < 0 ? branch.length - 1 : 0][1];
  const [x0, y0] = branch[i - 1], [x1, y1] = branch[i];
  return y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
}

// The difference of two frontiers in y at equal x, in percent of the second, over the recordings with a common range: its
// 95 % confidence interval, whether it is significant, the smallest difference that would be found with 80 % probability,
// and the number of seeds that this one would need (null: more than the rule looks at).
export function differenceOverSeeds(one, other, rule) {
  const found = one.each
    .map((curve, r) => curveDifference(curve, other.each[r], rule))
    .filter(({ difference }) => Number.isFinite(difference));
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const level = mean(found.map((pair) => pair.level)), values = found.map((pair) => (100 * pair.difference) / level);
  const centre = mean(values), n = values.length;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (n - 1));
  const error = deviation / Math.sqrt(n), reach = rule.quantiles[n] * error;
  const isFound = ([count, deviations]) => deviation * deviations <= Math.abs(centre);
  return {
    values,
    seeds: n,
    mean: centre,
    low: centre - reach,
    high: centre + reach,
    common: mean(found.map((pair) => pair.common)),
    isSignificant: n >= rule.leastSeeds && Math.abs(centre) > rule.criticals[n] * error,
    detectable: deviation * (rule.detectable.find(([count]) => count === n)?.[1] ?? NaN),
    needed: rule.detectable.find(isFound)?.[0] ?? null,
  };
}
