// The bar above the workbench: what it shows, how far the runs are, and the menus and buttons.
import { element } from "../../components/svg.js";
import { setText } from "./marks.js";
import { progressInWords } from "./progress.js";

const OPEN = "open"; // the choice that opens files instead of a source

// The bar stays while its data change; drawBar adds what the server knows, and fillBar the menus of a source.
export function buildBar(lens) {
  const { send } = lens.options, parts = lens.parts;
  parts.source = element("select", { class: "source", "aria-label": "Results to show" });
  parts.source.onchange = () => {
    send(parts.source.value === OPEN ? OPEN : "source", parts.source.value);
    parts.source.value = lens.host.bar.source; // until the server shows another one
  };
  parts.progressText = element("span", { class: "progress-text", role: "status" });
  parts.progressMore = element("span", { class: "progress-more" });
  parts.progressShare = element("span");
  parts.progressBar = element("span", { class: "progress-bar", "aria-hidden": "true" }, parts.progressShare);
  const progress = element("div", { class: "progress" }, parts.progressText, parts.progressBar, parts.progressMore);
  parts.live = button("Run it live", () => send("live", "run"));
  parts.live.classList.add("primary");
  parts.live.title = "Train this example again on this computer, and watch the curves and tables grow";
  parts.stop = button("Stop", () => send("runs", lens.host.bar.action.name));
  parts.export = button("Export", () => send("export", "figure"));
  parts.progressNotes = element("p", { class: "progress-notes", role: "alert" });
  parts.top = element("div", { class: "top" }, ...(send ? [parts.source] : []), progress, parts.live, parts.stop);
  drawBar(lens);
  return [parts.top, parts.progressNotes];
}

export function fillBar(lens, menus) {
  const { parts, options } = lens;
  parts.top.append(...menus, ...(options.send ? [parts.export] : []));
  drawBar(lens);
}

function button(text, onclick) {
  return element("button", { type: "button", onclick }, text);
}

// Draw what the server knows: { sources: [[key, title]], source, action: { name, title, help } or null, canExport }.
export function drawBar({ parts, host, data, options }) {
  const { sources = [], source = "", action = null, canExport = false } = host.bar ?? {}, text = JSON.stringify(sources);
  if (parts.source.drawn !== text) {
    parts.source.drawn = text;
    const choices = [...sources, [OPEN, "Open recording…"]];
    parts.source.replaceChildren(...choices.map(([key, title]) => element("option", { value: key }, title)));
  }
  parts.source.value = source;
  parts.source.title = sources.find(([key]) => key === source)?.[1] ?? "";
  parts.stop.hidden = !action;
  setText(parts.stop, action?.title ?? "");
  parts.stop.title = action?.help ?? "";
  parts.export.hidden = !canExport;
  parts.live.hidden = data.source !== "example" || !options.send;
}

export function drawProgress({ parts, data, isCut }) {
  const { progress } = data, [first, more] = progressInWords(data);
  setText(parts.progressText, isCut ? "The connection to the server was lost; trying again …" : first);
  setText(parts.progressMore, isCut ? "" : more);
  parts.progressBar.hidden = !progress?.isActive;
  parts.progressShare.style.width = `${(100 * (progress?.share ?? 0)).toFixed(1)}%`;
  setText(parts.progressNotes, (progress?.notes ?? []).join(" "));
  parts.progressNotes.hidden = !progress?.notes?.length;
}
