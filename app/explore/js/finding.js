// The finding in sentences, from the comparison of each line with GEM at equal retention. No DOM here.
import { signedText } from "../../components/svg.js";
import { joinNames } from "./lines.js";

// The kinds of lines: the topic of their sentences, and what the headline calls those that it names.
const KINDS = {
  "d-mGEM": { topic: "Splits", what: "memory splits" },
  "p-mGEM": { topic: "Modules", what: "parameter modules" },
  "md-GEM": { topic: "Both" },
  "approx-GEM": { topic: "Approximate" },
  replay: { topic: "Replay" },
};

// compared: [{ name, found, reach }], with `found` of differenceOverSeeds and `reach` of reachOverSeeds; points: of trained
// runs. Returns { headline, answers }, with answers [{ topic, text }] on the memory, the parameters, other lines, what
// strength costs, and the trained runs.
export function findingOf({ data, state, isRecorded }, compared, points = []) {
  const { rule, seeds, progress, summary } = data, [done, total] = progress?.recordings ?? [seeds.length, seeds.length];
  if (!compared.length) return { headline: emptyHeadline(data), answers: [] };
  const waiting = (text) => ({
    headline: "Each curve is one way to restrict the updates, at the same recorded steps.",
    answers: [{ topic: "Seeds", text }],
  });
  if (!isRecorded) {
    const count = `${done} of ${total} seeds recorded so far`;
    return waiting(`${count}. The curves sharpen as steps arrive; differences are judged when all seeds are recorded.`);
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
    return { topic, text: [...describeGroup(members, ordered, rule), ...reach].join(" ") };
  });
  answers.push({ topic: "Strength", text: describeCost(points) }, { topic: "Trained runs", text: summary });
  const headline = headlineOf(groups.filter(({ what }) => what));
  return { headline, answers: answers.filter(({ text }) => text) };
}

function emptyHeadline({ seeds, progress }) {
  if (progress?.isActive && seeds.length) return "Recording the first steps …";
  if (progress?.isActive) return "Training …";
  return progress?.counts.finished ? "What the trained runs show" : "Nothing has been trained yet.";
}

function headlineOf(groups) {
  const effects = groups.map(({ what, members }) => [what, effectOf(members)]);
  const text = ([what, effect]) => `${what} ${effect ? `learn ${effect} than` : "do not differ significantly from"} GEM`;
  if (!effects.length) return "At equal retention, there is nothing to compare with GEM yet.";
  const where = "In single steps at equal retention,";
  if (effects.length === 2 && effects.every(([, effect]) => !effect)) {
    return `${where} neither memory splits nor parameter modules differ significantly from GEM.`;
  }
  return `${where} ${effects.map(text).join("; ")}.`;
}

// "more", "less", "partly more, partly less", or "" if no difference is significant.
function effectOf(members) {
  const signs = new Set(members.filter(({ found }) => found.isSignificant).map(({ found }) => Math.sign(found.mean)));
  return signs.size > 1 ? "partly more, partly less" : signs.has(1) ? "more" : signs.has(-1) ? "less" : "";
}

// The significant differences one by one, and the others as one sentence with the range of their intervals.
function describeGroup(members, ordered, { comparisons }) {
  const known = members.filter(({ found }) => found.seeds), significant = known.filter(({ found }) => found.isSignificant);
  const others = known.filter(({ found }) => !found.isSignificant), unknown = members.filter(({ found }) => !found.seeds);
  const seedsOf = (some) => joinUnique(some.map(({ found }) => found.seeds)), sentences = [];
  if (significant.length) {
    sentences.push(`${significant.map(describeOne).join(", ")}: significant (${seedsOf(significant)} seeds).`);
  }
  const isDoubtful = others.some(({ found: { low, high } }) => low > 0 || high < 0);
  const verdict = isDoubtful ? `not significant after correction for ${comparisons} comparisons` : "not significant";
  if (others.length === 1) sentences.push(`${describeOne(others[0])}: ${verdict}.`);
  if (others.length > 1) {
    const low = Math.min(...others.map(({ found }) => found.low));
    const high = Math.max(...others.map(({ found }) => found.high));
    const names = joinNames(others.map(({ name }) => name), ordered);
    const digits = Math.max(Math.abs(low), Math.abs(high)) < 0.1 ? 2 : 1;
    const intervals = `the 95 % CIs allow ${signed(low, digits)} to ${signed(high, digits)} %`;
    sentences.push(`${names}: ${verdict}; ${intervals} (${seedsOf(others)} seeds).`);
  }
  if (unknown.length)
    sentences.push(`${joinNames(unknown.map(({ name }) => name), ordered)}: no range of retention in common with GEM.`);
  return sentences;
}

function describeOne({ name, found }) {
  return `${name} ${signed(found.mean)} % (${intervalOf(found)})`;
}

// How much further the line of the GEM family that reaches furthest can go, if it is one of these members, and whether runs
// at that end collapse.
function describeReach(members, compared, points) {
  const known = compared.filter(({ name, reach }) => name !== "replay" && Number.isFinite(reach.mean));
  const [best] = known.sort((a, b) => b.reach.mean - a.reach.mean);
  if (!members.includes(best) || best.reach.low <= 1) return []; // less than a percent more than GEM
  const more = `${best.reach.mean.toFixed(0)} % more than GEM (${intervalOf(best.reach, 0)})`;
  const own = points.filter(({ line, q }) => line === best.name && q !== null).sort((a, b) => a.q - b.q);
  const collapsed = own.filter(({ isCollapsed }) => isCollapsed).map(({ q }) => q);
  const limit = collapsed.length ? `; its trained runs collapse at q = ${collapsed.join(", ")}` : "";
  return [`${best.name} can retain ${more}${limit}.`];
}

// What strength does to trained GEM: its forgetting and learning without strength and at its best strength.
function describeCost(points) {
  const isKnown = ({ isComparable, isCollapsed, seeds, total }) => isComparable && !isCollapsed && seeds === total;
  const own = points.filter(({ line, q }) => line === "GEM" && q !== null).filter(isKnown);
  const first = own.find(({ q }) => q === 0), best = own.reduce((a, b) => (b.acc.mean > (a?.acc.mean ?? -1) ? b : a), null);
  if (!first || !best || best === first) return "";
  const change = (name) => [first, best].map((point) => signedText(point[name].mean, 1)).join(" → ");
  const means = `BWD ${change("bwd")}, FWD ${change("fwd")} (means of ${best.total} seeds)`;
  return `Trained GEM, q 0 → ${best.q}: ${means}.`;
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
