// The tensors in a row, coloured by module; the boundaries between modules can be dragged, or moved with the arrow keys.
import { element } from "../../components/svg.js";
import { boundariesOf, partitionOf } from "./partition.js";

export function drawPartition(lens) {
  const { parts: { bar }, state, T, data } = lens, cuts = boundariesOf(state.moduleOf);
  if (bar.drawn === state.moduleOf.join()) return;
  bar.drawn = state.moduleOf.join();
  if (!bar.cells) {
    const layers = data.layers.map(({ name, tensors }) =>
      element("span", { class: "layer", style: `flex:${tensors.length}`, title: name }, name),
    );
    bar.cells = data.layers
      .flatMap(({ tensors }) => tensors)
      .map((name) => element("span", { class: "cell", title: name }));
    bar.row = element("div", { class: "cells" }, ...bar.cells);
    bar.append(bar.row, element("div", { class: "layers", "aria-hidden": "true" }, ...layers));
    bar.handles = [];
  }
  bar.cells.forEach((cell, l) => (cell.dataset.module = state.moduleOf[l] % 2));
  if (bar.handles.length !== cuts.length) {
    bar.handles.forEach((handle) => handle.remove());
    bar.handles = cuts.map((_, i) => boundaryHandle(lens, i));
    bar.row.append(...bar.handles);
  }
  const names = data.layers.flatMap(({ tensors }) => tensors);
  cuts.forEach((at, i) => {
    const handle = bar.handles[i];
    handle.style.left = `${(100 * at) / T}%`;
    const limits = {
      "aria-valuemin": (cuts[i - 1] ?? 0) + 1,
      "aria-valuemax": (cuts[i + 1] ?? T) - 1,
      "aria-valuenow": at,
      "aria-valuetext": `before ${names[at]}`,
    };
    for (const [key, value] of Object.entries(limits)) handle.setAttribute(key, value);
  });
}

function boundaryHandle(lens, i) {
  const { bar } = lens.parts,
    handle = element("span", {
      class: "handle",
      role: "slider",
      tabindex: 0,
      "aria-label": `Boundary between modules ${i + 1} and ${i + 2}`,
    });
  const move = (wanted) => {
    const cuts = boundariesOf(lens.state.moduleOf), low = (cuts[i - 1] ?? 0) + 1, high = (cuts[i + 1] ?? lens.T) - 1;
    const at = Math.min(high, Math.max(low, wanted));
    if (at === cuts[i]) return;
    cuts[i] = at;
    lens.change({ moduleOf: partitionOf(cuts, lens.T) });
  };
  handle.onpointerdown = (event) => handle.setPointerCapture(event.pointerId);
  handle.onpointermove = (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const box = bar.row.getBoundingClientRect();
    move(Math.round(((event.clientX - box.left) / box.width) * lens.T));
  };
  handle.onkeydown = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    move(boundariesOf(lens.state.moduleOf)[i] + step);
  };
  return handle;
}
