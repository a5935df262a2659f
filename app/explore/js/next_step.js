// What to do next, from what has been compared and trained so far. No DOM here.
import { signedText } from "../../components/svg.js";
import { joinNames } from "./lines.js";
import { plural } from "./words.js";

const MOST_ADDED = 24; // seeds that one click adds at most, as in app/explore/trained_verdicts.py

// Returns { text, seeds }: a sentence, and how many seeds a button should offer to add (0: none); null if there is nothing
// to recommend. compared and points: as in finding.js.
export function nextStep({ data, isRecorded, options }, compared, points) {
  const { rule, source, seeds, progress, seedsToAdd } = data;
  if (!options.send || !data.canTrain) return null;
  if (source === "example") {
    return { text: bestMeans(points) ?? "Choose settings with the sliders; “Train this” measures them.", seeds: 0 };
  }
  if (progress?.isActive || !source?.startsWith("s")) return null;
  const count = seeds.length || Math.max(0, ...points.map(({ total }) => total)), missing = rule.leastSeeds - count;
  if (missing > 0) return { text: `${plural(count, "seed")} cannot be compared.`, seeds: Math.max(missing, seedsToAdd) };
  if (!seeds.length && new Set(points.map(({ line }) => line)).size === 1) {
    return { text: "To compare it, choose other modules or splits with the sliders, and “Train this”.", seeds: 0 };
  }
  const edge = linesBestAtEdge(points);
  if (edge) {
    return { text: `${edge.names} had the best mean ACC at the largest strength, ${edge.q}: try larger ones.`, seeds: 0 };
  }
  return isRecorded && compared.length ? moreSeeds(compared, seeds.length, seedsToAdd) : null;
}

// The lines whose best mean ACC is above that of GEM, which other seeds could confirm; null if there is none.
function bestMeans(points) {
  const isWhole = ({ acc, isCollapsed, seeds, total }) => Number.isFinite(acc.mean) && !isCollapsed && seeds === total;
  const best = new Map();
  for (const point of points.filter(isWhole))
    if (!(best.get(point.line)?.acc.mean >= point.acc.mean)) best.set(point.line, point);
  const gem = best.get("GEM"), above = [...best.values()].filter(({ acc }) => acc.mean > gem?.acc.mean);
  const [first] = above.sort((one, other) => other.acc.mean - one.acc.mean);
  if (!first) return null;
  const where = ({ line, q }) => (q === null ? line : `${line} at q = ${q}`), text = ({ acc }) => acc.mean.toFixed(1);
  const seen = `${where(first)} has the highest mean ACC, ${text(first)} % (GEM ${text(gem)} %)`;
  return `${seen}: launch both with other seeds to see whether that holds.`;
}

// The lines whose largest strength is their best, with that strength; null if there is none.
function linesBestAtEdge(points) {
  const family = points.filter(({ q }) => q !== null), largest = Math.max(...family.map(({ q }) => q));
  const isBest = (name) => {
    const own = family.filter(({ line }) => line === name), known = own.filter(({ acc }) => Number.isFinite(acc.mean));
    const best = known.reduce((one, other) => (one && one.acc.mean >= other.acc.mean ? one : other), null);
    return known.length > 2 && best.q === largest && !best.isCollapsed;
  };
  const ordered = [...new Set(family.map(({ line }) => line))], names = ordered.filter(isBest);
  return names.length ? { names: joinNames(names, ordered), q: largest } : null;
}

function isUndecided({ seeds, isSignificant, isNarrow }) {
  return seeds && !isSignificant && !isNarrow;
}

// The seeds with which the seen difference that is nearest to significance would be found, if it is real.
function moreSeeds(compared, count, seedsToAdd) {
  const open = compared.filter(({ found }) => isUndecided(found) && found.needed > count);
  const [nearest] = open.sort((one, other) => one.found.needed - other.found.needed);
  const more = nearest ? nearest.found.needed - count : Infinity;
  if (more <= MOST_ADDED) {
    const { mean, needed } = nearest.found, seen = `${signedText(mean, 1)} % of ${nearest.name}`;
    return { text: `If the difference of ${seen} is real, ${needed} seeds would probably show it.`, seeds: more };
  }
  if (seedsToAdd) return { text: "More seeds may show whether the trained lines differ.", seeds: seedsToAdd };
  const isOpen = compared.some(({ found }) => isUndecided(found));
  if (!isOpen) return null;
  return { text: `Showing differences as small as these would take more than ${MOST_ADDED} further seeds.`, seeds: 0 };
}
