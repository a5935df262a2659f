// The paper's claims: a row per claim, which a press on the claim unfolds.
import { element } from "../../components/svg.js";

const TITLES = ["Claim", "Result", "The number that decides", "Shown in", ""];
const FOLLOWED = 3000; // milliseconds in which the page may still change
const SECTIONS = { table: "tables", figure: "figures" }; // anchors of the headings on the page

// Bring a section to the top and keep it there while the page changes, until the reader scrolls or presses something.
function scrollToSection(name) {
  const section = document.getElementById(SECTIONS[name.split("-")[0]]);
  const stopped = new AbortController();
  const end = performance.now() + FOLLOWED;
  const follow = () => {
    if (stopped.signal.aborted || performance.now() > end) return stopped.abort();
    section?.scrollIntoView();
    setTimeout(follow, 100);
  };
  for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"]) {
    window.addEventListener(kind, () => stopped.abort(), { signal: stopped.signal, passive: true });
  }
  follow();
}

// Put the unfolded claims into the address of the page, so that a link opens them, too.
function writeUnfolded(names) {
  const url = new URL(location.href);
  if (names.length) url.searchParams.set("claim", names.join(","));
  else url.searchParams.delete("claim");
  history.replaceState(history.state, "", url.href.replaceAll("%2C", ","));
}

function placeLink(host, { claim, shownIn, place }, unfold) {
  const link = (text, onclick) =>
    element("button", { type: "button", class: "link", "aria-label": `${text}: ${claim}`, onclick }, text);
  if (!shownIn) return link("Evidence", unfold);
  const show = () => {
    host.send("show", shownIn);
    scrollToSection(shownIn);
  };
  return link(place, show);
}

function details(row) {
  const sentences = row.sentences.map((sentence) => element("li", {}, sentence));
  const paper = element("p", {}, element("strong", {}, "The paper: "), row.evidence);
  const ours = element("p", {}, element("strong", {}, "We find:"));
  return element("td", { colspan: TITLES.length }, paper, ours, element("ul", {}, ...sentences));
}

function claimRows(host, row) {
  const id = `claim-${row.name}`;
  const isOpen = host.unfolded.has(row.name);
  const unfolded = element("tr", { id, class: "details" }, details(row));
  unfolded.hidden = !isOpen;
  const toggle = () => {
    unfolded.hidden = !unfolded.hidden;
    button.setAttribute("aria-expanded", String(!unfolded.hidden));
    host.unfolded[unfolded.hidden ? "delete" : "add"](row.name);
    writeUnfolded([...host.unfolded]);
  };
  const button = element(
    "button",
    { type: "button", class: "claim", "aria-expanded": String(isOpen), "aria-controls": id, onclick: toggle },
    row.claim,
  );
  const mark = element("span", { "aria-hidden": "true" }, `${row.mark} `);
  const badge = element("span", { class: "badge" }, mark, row.verdict);
  const test = element(
    "button",
    { type: "button", class: "test", "aria-label": `Test it: ${row.claim}`, onclick: () => host.send("test", row.name) },
    "Test it",
  );
  const cells = [
    element("th", { scope: "row" }, button),
    element("td", { class: "verdict", "data-verdict": row.verdict }, badge),
    element("td", { class: "number" }, element("strong", {}, row.value), element("span", {}, row.about)),
    element("td", { class: "place" }, placeLink(host, row, toggle)),
    element("td", { class: "action" }, test),
  ];
  return [element("tr", { "data-claim": row.name }, ...cells), unfolded];
}

function draw(host, rows) {
  const hidden = element("span", { class: "hidden" }, "Test");
  const head = TITLES.map((title) => element("th", { scope: "col" }, title || hidden));
  const table = element(
    "table",
    { "aria-label": "The paper’s claims, and what we find" },
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows.flatMap((row) => claimRows(host, row))),
  );
  host.style.minHeight = "";
  host.replaceChildren(table);
}

export default function ({ parentElement, data, setTriggerValue }) {
  const host = parentElement.querySelector(".claims");
  host.send = setTriggerValue;
  const isFirst = !host.unfolded;
  host.unfolded ??= new Set(data.unfolded);
  const text = JSON.stringify(data.rows);
  if (host.text === text) return;
  host.text = text;
  draw(host, data.rows);
  if (isFirst) host.querySelector("[aria-expanded=true]")?.closest("tr").scrollIntoView({ block: "center" });
}
