// Configurations that are far outside the others, such as collapsed ones: plots mark them at the border, because axes that
// include them would squeeze all other points. No DOM here.
const CHANCE = 10; // percent, if the number of classes is unknown
const FEWEST = 5; // points from which quartiles say something
const FARTHEST = 3; // interquartile ranges from the quartiles
const LEAST_RANGE = 2; // percentage points: a smaller interquartile range counts as this

// FWD below which a run has hardly learned anything: twice chance, or, of few classes, a quarter of the way up from chance.
export function leastForward(classes) {
  const chance = classes ? 100 / classes : CHANCE;
  return Math.min(2 * chance, chance + (100 - chance) / 4);
}

// For each point the reason why it is outside, or "": its FWD is near chance, or FWD or BWD is far from all others.
export function outsideReasons(points, classes) {
  const least = leastForward(classes), isNearChance = ({ fwd }) => fwd.mean < least;
  const rest = points.filter((point) => !isNearChance(point));
  const [fwd, bwd] = ["fwd", "bwd"].map((name) => fences(rest.map((point) => point[name].mean)));
  const isFar = (value, [low, high]) => value < low || value > high;
  return points.map((point) => {
    if (isNearChance(point)) return `collapsed: FWD is below ${Number(least.toFixed(1))} %, near chance`;
    return isFar(point.fwd.mean, fwd) || isFar(point.bwd.mean, bwd) ? "far from the other configurations" : "";
  });
}

function fences(values) {
  const known = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (known.length < FEWEST) return [-Infinity, Infinity];
  const [low, high] = [0.25, 0.75].map((share) => quantileOf(known, share));
  const reach = FARTHEST * Math.max(high - low, LEAST_RANGE);
  return [low - reach, high + reach];
}

function quantileOf(sorted, share) {
  const place = share * (sorted.length - 1), i = Math.floor(place), next = sorted[Math.min(i + 1, sorted.length - 1)];
  return sorted[i] + (place - i) * (next - sorted[i]);
}
