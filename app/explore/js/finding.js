// The finding in sentences, from the comparison of each line with GEM at equal retention. No DOM here.
import { signedText } from "../../components/svg.js";
import { joinNames } from "./lines.js";

// The kinds of lines: the topic of their sentences, and what the headline calls those that it names.
const KINDS = {
  "d-mGEM": { topic: "Splits", what: "splits" },
  "p-mGEM": { topic: "Modules", what: "modules" },
  "md-GEM": { topic: "Both" },
  "approx-GEM": { topic: "Approximate" },
  replay: { topic: "Replay" },
};

// What the panels show, until there is a finding.
const HOW_TO_READ = [
  { topic: "Frontier", text: "Further right, a step keeps more of the old task; further up, it learns more of the new." },
  { topic: "Difference", text: "How much more a line learns than GEM where both keep the same." },
  { topic: "Trained runs", text: "They fill the right panel and the table as they finish." },
];

// compared: [{ name, found, reach }], with `found` of differenceOverSeeds and `reach` of reachOverSeeds; points: of trained
// runs. Returns { headline, answers }, with answers [{ topic, text }] on the memory, the parameters, other lines, what
// strength costs, and the trained runs.
export function findingOf({ data, state, isRecorded }, compared, points = []) {
  const { rule, seeds, progress, summary } = data, [done, total] = progress?.recordings ?? [seeds.length, seeds.length];
  const aboutRuns = [{ topic: "Strength", text: describeCost(points) }, { topic: "Trained runs", text: summary }];
  const trained = aboutRuns.filter(({ text }) => text);
  if (!compared.length) return { headline: emptyHeadline(data), answers: trained };
  const waiting = (text) => ({
    headline: "Each curve is one way to restrict the updates, at the same recorded steps.",
    answers: [...HOW_TO_READ, { topic: "Seeds", text }],
  });
  if (!isRecorded) {
    return waiting(`${done} of ${total} recordings are complete. Differences are judged when all are.`);
  }
  if (seeds.length < rule.leastSeeds) {
    const recorded = seeds.length === 1 ? "1 seed was" : `${seeds.length} seeds were`;
    return waiting(`${recorded} recorded. At least ${rule.leastSeeds} seeds are needed to compare the lines.`);
  }
  const ordered = compared.map(({ name }) => name);
  const kindOf = ({ name }) => name.split("(")[0], kinds = new Set([...Object.keys(KINDS), ...compared.map(kindOf)]);
  const groups = [...kinds]
    .map((kind) => ({ ...(KINDS[kind] ?? { topic: kind }), members: compared.filter((one) => kindOf(one) === kind) }))
    .filter(({ members }) => members.length);
  const answers = groups.map(({ topic, members }) => {
    const reach = state.axes === "raw" ? [] : describeReach(members, compared, points); // raw products grow with ‖z‖
    return { topic, text: [...describeGroup(members, ordered, rule, seeds.length), ...reach].join(" ") };
  });
  const best = state.axes === "raw" ? null : furthest(compared);
  const headline = headlineOf(groups.filter(({ what }) => what), best, ordered);
  return { headline, answers: [...answers.filter(({ text }) => text), ...trained] };
}

function emptyHeadline({ seeds, progress }) {
  if (progress?.isActive && seeds.length) return "Recording the first steps …";
  if (progress?.isActive) return "Training …";
  return progress?.counts.finished ? "What the trained runs show" : "Nothing has been trained yet.";
}

// best: the line that can retain the most, if that is more than GEM; it is named if no difference is significant.
function headlineOf(groups, best, ordered) {
  if (!groups.length) return "At equal retention, there is nothing to compare with GEM yet.";
  const effects = groups.map(({ members }) => effectOf(members, ordered));
  const text = (effect, i) => {
    if (effect) return `${effect}${i ? "" : " than GEM"}`;
    return `${groups[i].what} do not differ significantly${i ? "" : " from GEM"}`;
  };
  const areEqual = effects.length === 2 && !effects.some(Boolean);
  const found = areEqual ? "neither splits nor modules differ significantly from GEM" : effects.map(text).join("; ");
  const isNamed = !effects.some(Boolean) && groups.some(({ members }) => members.includes(best));
  const reach = isNamed ? `; ${best.name} can retain ${best.reach.mean.toFixed(0)} % more` : "";
  return `Single steps at equal retention: ${found}${reach}.`;
}

// "d-mGEM(2, 3) learn 0.8 to 1.2 % more, d-mGEM(6) learns 0.2 % less"; "" if no difference is significant.
function effectOf(members, ordered) {
  const parts = [1, -1].map((sign) => {
    const some = members.filter(({ found }) => found.isSignificant && Math.sign(found.mean) === sign);
    const sizes = joinUnique(some.map(({ found }) => Math.abs(found.mean).toFixed(Math.abs(found.mean) < 0.1 ? 2 : 1)));
    const verb = some.length > 1 ? "learn" : "learns", names = joinNames(some.map(({ name }) => name), ordered);
    return some.length ? `${names} ${verb} ${sizes} % ${sign > 0 ? "more" : "less"}` : "";
  });
  return parts.filter(Boolean).join(", ");
}

// The significant differences one by one, and the others as one sentence with the range of their intervals. Seeds are
// counted only if some are missing.
function describeGroup(members, ordered, { comparisons }, all) {
  const known = members.filter(({ found }) => found.seeds), significant = known.filter(({ found }) => found.isSignificant);
  const narrow = known.filter(({ found }) => found.isNarrow), unknown = members.filter(({ found }) => !found.seeds);
  const others = known.filter(({ found }) => !found.isSignificant && !found.isNarrow);
  const seedsOf = (some) => {
    const counts = joinUnique(some.map(({ found }) => found.seeds));
    return counts === `${all}` ? "" : ` (${counts} of ${all} seeds)`;
  };
  const sentences = [];
  if (significant.length) {
    sentences.push(`${significant.map(describeOne).join(", ")}: significant${seedsOf(significant)}.`);
  }
  const isDoubtful = others.some(({ found: { low, high } }) => low > 0 || high < 0);
  const verdict = isDoubtful ? `not significant after correction for ${comparisons} comparisons` : "not significant";
  if (others.length === 1) sentences.push(`${describeOne(others[0])}: ${verdict}.`);
  if (others.length > 1) {
    const low = Math.min(...others.map(({ found }) => found.low));
    const high = Math.max(...others.map(({ found }) => found.high));
    const names = joinNames(others.map(({ name }) => name), ordered), digits = decimalsOf({ low, high });
    const intervals = `95 % CIs within ${signed(low, digits)} to ${signed(high, digits)} %`;
    sentences.push(`${names}: ${verdict}, ${intervals}${seedsOf(others)}.`);
  }
  const about = (some, text) => {
    const names = joinNames(some.map(({ name }) => name), ordered);
    if (some.length) sentences.push(`${names === "replay" ? "" : `${names}: `}${text} in common with GEM.`);
  };
  about(narrow, "not tested, under half of the range");
  about(unknown, "no range");
  return sentences;
}

function describeOne({ name, found }) {
  const digits = decimalsOf(found);
  const subject = name === "replay" ? "" : `${name} `; // the topic says it
  return `${subject}${signed(found.mean, digits)} % (${intervalOf(found, digits)})`;
}

function decimalsOf({ low, high }) {
  return Math.max(Math.abs(low), Math.abs(high)) < 0.1 ? 2 : 1;
}

// The line of the GEM family that can retain the most; undefined if that is less than a percent more than GEM.
function furthest(compared) {
  const known = compared.filter(({ name, reach }) => name !== "replay" && Number.isFinite(reach.mean));
  const [best] = known.sort((a, b) => b.reach.mean - a.reach.mean);
  return best?.reach.low > 1 ? best : undefined;
}

// How much further the line that reaches furthest can go, if it is one of these members, and whether its runs collapse.
function describeReach(members, compared, points) {
  const best = furthest(compared);
  if (!best || !members.includes(best)) return [];
  const more = `${best.reach.mean.toFixed(0)} % more than GEM (${intervalOf(best.reach, 0)})`;
  const own = points.filter(({ line, q }) => line === best.name && q !== null).sort((a, b) => a.q - b.q);
  const collapsed = own.filter(({ isCollapsed }) => isCollapsed).map(({ q }) => q);
  const limit = collapsed.length ? `, but its trained runs collapse at q = ${collapsed.join(", ")}` : "";
  return [`${best.name} can retain ${more}${limit}.`];
}

// What strength does to trained GEM: ACC, BWD and FWD without strength, at its best and at its largest strength.
function describeCost(points) {
  const isKnown = ({ isComparable, isCollapsed, seeds, total }) => isComparable && !isCollapsed && seeds === total;
  const own = points.filter(({ line, q }) => line === "GEM" && q !== null).filter(isKnown);
  const first = own.find(({ q }) => q === 0), best = own.reduce((a, b) => (b.acc.mean > (a?.acc.mean ?? -1) ? b : a), null);
  if (!first || !best || best === first) return "";
  const last = own.reduce((a, b) => (b.q > a.q ? b : a)), shown = [...new Set([first, best, last])];
  const change = (name) => shown.map((point) => signedText(point[name].mean, 1)).join(" → ");
  const means = `ACC ${change("acc")}, BWD ${change("bwd")}, FWD ${change("fwd")}`;
  return `Trained GEM, q ${shown.map(({ q }) => q).join(" → ")}: ${means}.`;
}

function intervalOf({ low, high }, digits = 1) {
  return `95 % CI ${signed(low, digits)} to ${signed(high, digits)}`;
}

function joinUnique(values) {
  const unique = [...new Set(values)].sort((a, b) => a - b);
  return unique.length === 1 ? `${unique[0]}` : `${unique[0]} to ${unique[unique.length - 1]}`;
}

export function signed(value, digits = 1) {
  const text = Math.abs(value).toFixed(digits);
  return `${/[1-9]/.test(text) ? (value < 0 ? "−" : "+") : ""}${text}`;
}
