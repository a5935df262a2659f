// Sliders, choosers and saved files, which the lens and the page Geometry share.
import { element } from "./svg.js";

export function slider(name, attributes, oninput) {
  const output = element("output"), input = element("input", { type: "range", "aria-label": name, ...attributes });
  input.oninput = () => oninput(Number(input.value));
  return { input, output, row: element("label", { class: "slider" }, element("span", {}, name, output), input) };
}

export function chooser(name, options, value, onchange) {
  const select = element(
    "select",
    { "aria-label": name },
    ...options.map(([key, text]) => element("option", { value: key }, text)),
  );
  select.value = value;
  select.onchange = () => onchange(select.value);
  return element("label", { class: "chooser" }, element("span", {}, name), select);
}

export function show({ input, output }, value, text) {
  if (document.activeElement !== input || Number(input.value) !== value) input.value = value;
  output.textContent = text;
  input.setAttribute("aria-valuetext", text);
}

// Make the browser's own controls, such as sliders, light or dark like the page: the opposite of its text colour.
export function followTheme(host) {
  const [red, green, blue] = getComputedStyle(host).color.match(/[0-9.]+/g).map(Number);
  host.style.colorScheme = 0.3 * red + 0.6 * green + 0.1 * blue < 128 ? "light" : "dark";
}

export function saveFile(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// Write a value such that it can stand in a script within a page.
export function scriptLiteral(value) {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

// Save a component as one HTML file; `call` is the script that builds it in `host`.
export function saveStandalone(name, title, { js, css }, call) {
  const heading = element("p", {}, title).innerHTML,
    script = `${js}\nconst host = document.querySelector(".${name}");\n${call}`;
  saveFile(
    `${name}.html`,
    "text/html",
    `<!doctype html><html lang="en"><head><meta charset="utf-8">` +
      `<meta name="viewport" content="width=device-width, initial-scale=1">` +
      `<title>${heading}</title><style>${css}</style></head><body class="standalone">` +
      `<main><h1>${heading}</h1><div class="interactive ${name}"></div></main>` +
      `<script type="module">${script}</${"script"}></body></html>`,
  );
}
