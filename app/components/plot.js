// A plotly figure that is updated in place: zoom, pan and selection stay while points arrive.
function loadPlotly() {
  window.mgemPlotly ??= new Promise((resolve) => {
    const script = document.createElement("script");
    // A server that cannot provide the file sends plotly.js with the page, perhaps later than this.
    const wait = () => (window.Plotly ? resolve(window.Plotly) : setTimeout(wait, 100));
    const src = new URL("app/static/plotly.min.js", document.baseURI).href;
    Object.assign(script, { src, onload: wait, onerror: wait });
    document.head.append(script);
  });
  return window.mgemPlotly;
}

// On a touch screen, a finger scrolls the page instead of zooming, and no buttons cover the plot.
const isTouchScreen = () => matchMedia("(hover: none)").matches;

// The figure in the colours of the current theme, with its selected points.
function prepareFigure(data, host) {
  const figure = JSON.parse(data.figure);
  const style = getComputedStyle(host);
  const text = style.getPropertyValue("--st-text-color") || "#1A2027";
  const line = style.getPropertyValue("--st-border-color-light") || "rgba(128,128,128,0.25)";
  const layout = figure.layout;
  Object.assign(layout, {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    height: data.height,
    autosize: true,
    ...(isTouchScreen() && { dragmode: false }),
  });
  layout.font = { ...layout.font, color: text, family: style.fontFamily };
  layout.uirevision = data.revision;
  layout.modebar = { ...layout.modebar, bgcolor: "rgba(0,0,0,0)", color: "#808080", activecolor: text };
  for (const name of Object.keys(layout).filter((name) => /^[xy]axis/.test(name))) {
    Object.assign(layout[name], { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true });
  }
  if (host.zoom?.revision === data.revision) {
    for (const [name, range] of Object.entries(host.zoom.ranges)) layout[name] && (layout[name].range = range);
  }
  const selected = new Set(data.selected);
  for (const trace of figure.data) {
    if (!trace.customdata) continue;
    const keys = Array.from(trace.customdata);
    trace.selectedpoints = selected.size ? keys.flatMap((key, i) => (selected.has(key) ? [i] : [])) : null;
    trace.unselected = { marker: { opacity: 0.25 } };
  }
  return figure;
}

// Remember the ranges that the user chose. Plotly forgets them when the figure brings new ranges for new points.
function rememberZoom(host, change) {
  const names = Object.keys(change).filter((name) => /^[xy]axis.*\.range/.test(name)).map((name) => name.split(".")[0]);
  if (!names.length) return;
  const ranges = Object.fromEntries(names.map((name) => [name, [...host._fullLayout[name].range]]));
  const before = host.zoom?.revision === host.revision ? host.zoom.ranges : {};
  host.zoom = { revision: host.revision, ranges: { ...before, ...ranges } };
}

// A plot without point traces, such as a plot of curves, counts as having points in view.
function hasPointsInView(host) {
  const { xaxis, yaxis } = host._fullLayout;
  const traces = host._fullData.filter((trace) => trace.visible === true && trace.mode?.includes("markers"));
  const isInside = (axis, value) => {
    const [low, high] = axis.range.map((end) => axis.r2l(end)).sort((a, b) => a - b);
    return low <= axis.d2l(value) && axis.d2l(value) <= high;
  };
  const hasPoint = ({ x, y }) => Array.from(x ?? []).some((value, i) => isInside(xaxis, value) && isInside(yaxis, y[i]));
  return !traces.length || traces.some(hasPoint);
}

// A sentence over the plot, perhaps with a button.
function showNote(host, text, label, onclick) {
  const children = text ? [Object.assign(document.createElement("p"), { textContent: text })] : [];
  if (label)
    children.push(Object.assign(document.createElement("button"), { type: "button", textContent: label, onclick }));
  host.note.replaceChildren(...children);
}

function explainEmptyView(host) {
  const isEmpty = host.zoom?.revision === host.revision && !hasPointsInView(host);
  if (isEmpty) showNote(host, "No point is in view.", "Show all points", () => host.resetZoom());
  else showNote(host, "");
}

function addListeners(host, parent, Plotly) {
  host.on("plotly_relayout", (change) => {
    rememberZoom(host, change);
    explainEmptyView(host);
  });
  host.on("plotly_doubleclick", () => host.resetZoom());
  // The sidebar changes the width, too, not only the window.
  new ResizeObserver(() => host.clientWidth && Plotly.Plots.resize(host)).observe(parent);
  host.addEventListener("pointerdown", () => (host.isPressed = true), true);
  window.addEventListener("pointerup", () => setTimeout(() => {
    const draw = host.pendingDraw;
    host.isPressed = host.pendingDraw = null;
    draw?.();
  }, 100), true);
  const keysOf = (event) => [...new Set(event.points.map((point) => point.customdata).filter(Boolean))];
  host.on("plotly_selected", (event) => event && host.sendSelection(keysOf(event)));
  host.on("plotly_deselect", () => host.sendSelection([]));
  host.on("plotly_click", (event) => {
    const [key] = keysOf(event);
    if (!key) return;
    const others = host.selected.filter((other) => other !== key);
    const wasSelected = others.length < host.selected.length;
    host.sendSelection(wasSelected ? others : event.event.shiftKey ? [...others, key] : [key]);
  });
}

export default function ({ parentElement, data, setStateValue }) {
  if (!data) return void setTimeout(loadPlotly, 1000); // only preload it, once this page has been shown
  const host = parentElement.querySelector(".plot");
  host.setAttribute("aria-label", data.description);
  host.style.minHeight = `${data.height}px`;
  host.note = parentElement.querySelector(".plot-note");
  if (!host.hasListeners) showNote(host, "Loading the plot …");
  host.sendSelection = (keys) => setStateValue("selected", { keys, at: Date.now() });
  const state = JSON.stringify([data, getComputedStyle(host).color]); // the text colour identifies the theme
  if (host.state === state) return;
  host.state = state;
  host.selected = data.selected;
  host.revision = data.revision;
  const draw = (Plotly) => {
    if (host.isPressed) return (host.pendingDraw = () => draw(Plotly)); // new points wait while the user drags
    const figure = prepareFigure(data, host);
    host.resetZoom = () => ((host.zoom = null), draw(Plotly));
    const reset = { name: "resetZoom", title: "Show all points", icon: Plotly.Icons.home, click: () => host.resetZoom() };
    const buttons = [["zoom2d", "pan2d", "select2d", "lasso2d"], [reset]];
    const displayModeBar = isTouchScreen() ? false : "hover";
    const config = { displaylogo: false, doubleClick: false, modeBarButtons: buttons, displayModeBar };
    const wasCleared = host.drawnSelection?.length && !data.selected.length; // plotly alone would keep the selection box
    host.drawnSelection = data.selected;
    Plotly.react(host, figure.data, figure.layout, config).then(() => {
      if (wasCleared) Plotly.update(host, { selectedpoints: [null] }, { selections: [] });
      explainEmptyView(host);
    });
    if (host.hasListeners) return;
    host.hasListeners = true;
    addListeners(host, parentElement, Plotly);
  };
  loadPlotly().then(draw);
}
