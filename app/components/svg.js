// HTML and SVG elements, and numbers on axes, which all components share.
export const SVG = "http://www.w3.org/2000/svg";

export function svgElement(name, attributes = {}, ...children) {
  const created = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.append(...children);
  return created;
}

export function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    key.startsWith("on") ? (created[key] = value) : created.setAttribute(key, value);
  created.append(...children);
  return created;
}

// About `count` round numbers in a range, and the decimals that they need.
export function niceTicks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const steps = [0.2, 0.5, 1, 2, 5, 10].map((one) => one * power), largest = steps.findIndex((one) => one >= rough);
  const inside = (step) => [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  const hasTwo = (step) => inside(step)[1] > inside(step)[0];
  const step = steps.slice(0, largest + 1).findLast(hasTwo) ?? steps[largest], [first, last] = inside(step), ticks = [];
  for (let i = first; i <= last; i++) ticks.push(i * step);
  return { ticks, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

export function signedText(value, digits) {
  const text = value.toFixed(digits).replace("-", "−");
  return /[1-9]/.test(text) ? text : text.replace("−", "");
}
