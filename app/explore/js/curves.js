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
// other one, and the profile: the difference at each place of the common range.
export function curveDifference(one, other, rule) {
  const branches = [one, other].map((curve) => risingBranch(curve, rule));
  const lows = branches.map((branch) => branch[0][0]), highs = branches.map((branch) => branch[branch.length - 1][0]);
  const low = Math.max(...lows), high = Math.min(...highs), isKnown = [...one, ...other].flat().every(Number.isFinite);
  if (!isKnown || !(low < high)) return { difference: NaN, common: 0, level: NaN, profile: [] };
  const profile = new Float64Array(rule.places);
  let difference = 0, level = 0;
  for (let i = 0; i < rule.places; i++) {
    const x = low + ((high - low) * i) / (rule.places - 1), y = interpolate(branches[1], x);
    profile[i] = interpolate(branches[0], x) - y;
    difference += profile[i] / rule.places;
    level += Math.abs(y) / rule.places;
  }
  return { difference, level, profile, common: (high - low) / (Math.max(...highs) - Math.min(...lows)) };
}

// y at x of a branch with rising x; at the ends, the nearest point.
function interpolate(branch, x) {
  const i = branch.findIndex(([end]) => end >= x);
  if (i <= 0) return branch[i < 0 ? branch.length - 1 : 0][1];
  const [x0, y0] = branch[i - 1], [x1, y1] = branch[i];
  return y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
}

// The difference of two frontiers in y at equal x, in percent of the second, over the recordings with a common range: its
// 95 % confidence interval, whether the common range is too narrow for a significant difference, whether it is significant,
// the smallest difference that would be found with 80 % probability, the number of seeds that this one would need (null:
// more than the rule looks at), and the same interval at each place of the common range (profile).
export function differenceOverSeeds(one, other, rule) {
  const found = one.each
    .map((curve, r) => curveDifference(curve, other.each[r], rule))
    .filter(({ difference }) => Number.isFinite(difference));
  const level = meanOf(found.map((pair) => pair.level)), percent = (value) => (100 * value) / level;
  const values = found.map((pair) => percent(pair.difference)), n = values.length;
  const { mean, low, high, deviation } = intervalOver(values, rule);
  const common = meanOf(found.map((pair) => pair.common)), isNarrow = common < rule.leastCommon;
  const isBeyond = n >= rule.leastSeeds && Math.abs(mean) > (rule.criticals[n] * deviation) / Math.sqrt(n);
  const isFound = ([count, deviations]) => deviation * deviations <= Math.abs(mean);
  return {
    values,
    seeds: n,
    mean,
    low,
    high,
    common,
    isNarrow,
    isSignificant: isBeyond && !isNarrow,
    detectable: deviation * (rule.detectable.find(([count]) => count === n)?.[1] ?? NaN),
    needed: rule.detectable.find(isFound)?.[0] ?? null,
    get profile() {
      return Array.from({ length: n ? rule.places : 0 }, (_, i) =>
        intervalOver(found.map((pair) => percent(pair.profile[i])), rule),
      );
    },
  };
}

// How much larger the largest x of one frontier is than that of another, in percent, with its 95 % confidence interval.
export function reachOverSeeds(one, other, rule) {
  const largest = (curve) => Math.max(...curve.map(([x]) => x));
  const ratios = one.each.map((curve, r) => 100 * (largest(curve) / largest(other.each[r]) - 1));
  return intervalOver(ratios.filter(Number.isFinite), rule);
}

function intervalOver(values, rule) {
  const mean = meanOf(values), n = values.length;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1));
  const reach = (rule.quantiles[n] * deviation) / Math.sqrt(n);
  return { mean, deviation, low: mean - reach, high: mean + reach };
}

function meanOf(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
