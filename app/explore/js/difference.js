// The panel "Difference from GEM at equal retention": a row per line with its mean and interval, or the difference over the
// range of retention that both lines cover.
import { chooser } from "../../components/controls.js";
import { element, niceTicks, signedText, svgElement } from "../../components/svg.js";
import { Axes, MARGIN, PANEL_HEIGHT, pathOf, rangeOf } from "./charts.js";
import { signed } from "./finding.js";
import { placeLabels } from "./transfer_layout.js";

const NAMES = 92; // pixels for the names of lines
const AT_THE_RIGHT = [-4, 12, -18, 26].map((dy) => [-4, dy, "end"]); // places of a name, from the right end of its curve

export function buildDifference(lens) {
  const { parts, state } = lens;
  parts.forest = svgElement("svg", { role: "img", height: PANEL_HEIGHT });
  parts.profile = new Axes(PANEL_HEIGHT);
  parts.bands = svgElement("g", { class: "bands" });
  parts.profile.content.append(parts.bands);
  const shown = chooser(
    "Shown",
    [
      ["means", "means"],
      ["range", "over the range"],
    ],
    state.difference,
    (difference) => lens.change({ difference }),
  );
  parts.differenceNote = element("p", { class: "note" });
  const head = element("div", { class: "panel-head" }, element("h3", {}, "Difference from GEM"), shown);
  parts.difference = element("section", { class: "panel" }, head, parts.differenceNote, parts.forest, parts.profile.svg);
  return parts.difference;
}

// compared: [{ name, color, found, isChosen, choose }].
export function drawDifference(lens, compared, width) {
  const { parts, state, data } = lens, isRange = state.difference === "range";
  parts.forest.toggleAttribute("hidden", isRange);
  parts.profile.svg.toggleAttribute("hidden", !isRange);
  const grey = isRange ? "zero: GEM" : `grey: not significant (${data.rule?.comparisons} comparisons)`;
  const seeds = compared.reduce((most, { found }) => Math.max(most, found.seeds), 0);
  const hasEnough = seeds >= (data.rule?.leastSeeds ?? Infinity);
  const preliminary = lens.isRecorded ? "" : "preliminary, ";
  parts.differenceNote.textContent = hasEnough
    ? `${preliminary}at equal retention: ${isRange ? "95 % confidence bands" : "mean, 95 % CI"}, ${seeds} seeds; ${grey}`
    : `at equal retention; at least ${data.rule?.leastSeeds ?? 4} recorded seeds are needed`;
  parts.differenceNote.title = "Corrected for comparing each line, replay and the settings of the sliders with GEM.";
  if (isRange) drawProfiles(lens, hasEnough ? compared.filter(({ found }) => found.seeds) : [], width);
  else drawForest(lens, hasEnough ? compared : [], width);
}

function drawForest({ parts }, rows, width) {
  const { forest } = parts, base = PANEL_HEIGHT - MARGIN.bottom, room = base - MARGIN.top;
  const known = rows.filter(({ found }) => found.seeds);
  const range = rangeOf([0, ...known.flatMap(({ found }) => [found.low, found.high])], 0.08);
  const place = (value) => NAMES + ((value - range[0]) / (range[1] - range[0])) * (width - NAMES - MARGIN.right);
  const { ticks, digits } = niceTicks(...range, Math.max(2, width / 90)), drawn = [];
  for (const at of ticks) {
    const kind = Math.abs(at) < 1e-12 ? "zero" : "tick";
    drawn.push(svgElement("line", { class: kind, x1: place(at), x2: place(at), y1: MARGIN.top, y2: base }));
    drawn.push(svgElement("text", { x: place(at), y: base + 16, "text-anchor": "middle" }, signedText(at, digits)));
  }
  const size = Math.max(9, Math.min(12, (0.95 * room) / rows.length)); // of the names, in pixels
  rows.forEach((row, i) => {
    const { name, color, found } = row, y = MARGIN.top + ((i + 0.5) * room) / rows.length;
    const stroke = found.isSignificant ? color : "var(--lens-grey)";
    const text = found.seeds
      ? `${name}: ${signed(found.mean, 2)} %, 95 % CI ${signed(found.low, 2)} to ${signed(found.high, 2)}`
      : `${name}: no range of retention in common with GEM`;
    const verdict = found.isSignificant ? "significant" : "not significant";
    const marks = found.seeds
      ? [
          svgElement("line", { x1: place(found.low), x2: place(found.high), y1: y, y2: y, style: `stroke:${stroke}` }),
          svgElement("circle", { cx: place(found.mean), cy: y, r: 5, style: `fill:${stroke}` }),
        ]
      : [svgElement("text", { x: place(0) + 8, y: y + 4 }, "no common range")];
    const hit = { class: "hit", x: 0, y: y - room / rows.length / 2, width, height: room / rows.length };
    const attributes = { class: `row${row.isChosen ? " is-chosen" : ""}`, "data-line": name };
    const group = svgElement(
      "g",
      attributes,
      svgElement("title", {}, `${text}${found.seeds ? `; ${verdict}` : ""}`),
      svgElement("rect", hit),
      svgElement("text", { x: NAMES - 18, y: y + size / 3, "text-anchor": "end", style: `font-size:${size}px` }, name),
      svgElement("rect", { x: NAMES - 14, y: y - 4, width: 8, height: 8, style: `fill:${color}` }), // as in the frontier
      ...marks,
    );
    group.onclick = row.choose;
    drawn.push(group);
  });
  const title = "learns more (+) or less (−) than GEM, %";
  const below = { class: "title", x: (NAMES + width) / 2, y: PANEL_HEIGHT - 8, "text-anchor": "middle" };
  drawn.push(svgElement("text", below, title));
  forest.setAttribute("width", width);
  forest.setAttribute("viewBox", `0 0 ${width} ${PANEL_HEIGHT}`);
  forest.setAttribute("aria-label", `Mean difference from GEM at equal retention: ${rows.map(summarize).join("; ")}`);
  forest.replaceChildren(...drawn);
}

// The names of the curves at their right ends, as far as there is room; that of the chosen line comes first.
function profileNames(profile, curves) {
  const ends = curves.map(({ name, curve, isChosen, choose }) => {
    const { mean } = curve[curve.length - 1];
    return { name, isChosen, choose, x: profile.x(1), y: profile.y(mean) };
  });
  const { width, height } = profile, { left, right, top, bottom } = MARGIN;
  const area = { left, right: width - right, top, bottom: height - bottom };
  const { placed } = placeLabels(ends.sort((a, b) => b.isChosen - a.isChosen), [], area, AT_THE_RIGHT);
  return placed.map(({ name, x, y, anchor }) => {
    const { choose, isChosen } = ends.find((end) => end.name === name), kind = isChosen ? "name is-chosen" : "name";
    const label = svgElement("text", { class: kind, x, y, "text-anchor": anchor, "data-line": name }, name);
    label.onclick = choose;
    return label;
  });
}

function summarize({ name, found }) {
  if (!found.seeds) return `${name} unknown`;
  return `${name} ${signed(found.mean, 2)} percent${found.isSignificant ? "" : ", not significant"}`;
}

function drawProfiles({ parts }, rows, width) {
  const { profile, bands } = parts, places = (curve) => curve.map((_, i) => i / (curve.length - 1));
  const curves = rows.map((row) => ({ ...row, curve: row.found.profile }));
  const means = curves.flatMap(({ curve }) => curve.map(({ mean }) => mean));
  const limits = curves.flatMap(({ curve }) => curve.flatMap(({ low, high }) => [low, high])).sort((a, b) => a - b);
  // Bands may leave the plot.
  const within = limits.slice(Math.floor(0.02 * limits.length), Math.ceil(0.98 * limits.length));
  const titles = ["share of the common range of ⟨g_s,z⟩", "⟨g_t,z⟩ against GEM’s, %"];
  profile.resize(width, [0, 1], rangeOf([0, ...means, ...within]), titles);
  const [low, high] = profile.yRange, clip = (y) => Math.min(high, Math.max(low, y));
  const drawn = curves.flatMap(({ name, color, curve, isChosen, choose }) => {
    const at = places(curve), upper = curve.map((one, i) => [at[i], clip(one.high)]);
    const lower = curve.map((one, i) => [at[i], clip(one.low)]).reverse();
    const band = `${pathOf(profile.place([...upper, ...lower]))}Z`;
    const line = pathOf(profile.place(curve.map((one, i) => [at[i], one.mean])));
    const group = { class: `profile${isChosen ? " is-chosen" : ""}`, "data-line": name };
    const paths = [
      svgElement("path", { class: "band", d: band, style: `fill:${color}` }),
      svgElement("path", { class: "line", d: line, style: `stroke:${color}` }),
    ];
    const made = svgElement("g", group, svgElement("title", {}, name), ...paths);
    made.onclick = choose;
    return [made];
  });
  const ends = { x1: profile.x(0), x2: profile.x(1), y1: profile.y(0), y2: profile.y(0) };
  const zero = svgElement("line", { class: "zero", ...ends });
  bands.replaceChildren(zero, ...drawn, ...profileNames(profile, curves));
  const label = "Difference from GEM over the common range of retention";
  profile.svg.setAttribute("aria-label", `${label}: ${rows.map(summarize).join("; ")}`);
}
