// A plotly figure that is updated in place: zoom, pan and selection stay while points arrive.
const SOURCE = new URL("app/static/plotly.min.js", document.baseURI).href;

function plotly() {
  window.mgemPlotly ??= new Promise((resolve) => {
    const script = document.createElement("script");
    // a server that cannot provide the file sends plotly.js with the page, perhaps after this
    const wait = () => (window.Plotly ? resolve(window.Plotly) : setTimeout(wait, 100));
    Object.assign(script, { src: SOURCE, onload: wait, onerror: wait });
    document.head.append(script);
  });
  return window.mgemPlotly;
}

function dressed(figure, data, host) {
  const look = getComputedStyle(host);
  const text = look.getPropertyValue("--st-text-color") || "#1A2027";
  const line = look.getPropertyValue("--st-border-color-light") || "rgba(128,128,128,0.25)";
  const layout = figure.layout;
  Object.assign(layout, { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", height: data.height, autosize: true });
  layout.font = { ...layout.font, color: text, family: look.fontFamily };
  layout.uirevision = data.revision;
  layout.modebar = { ...layout.modebar, color: "#808080", activecolor: text };
  for (const name of Object.keys(layout).filter((name) => /^[xy]axis/.test(name))) {
    Object.assign(layout[name], { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true });
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

export default function ({ parentElement, data, setStateValue }) {
  if (!data) return void setTimeout(plotly, 1000); // load it for plots to come, after this page
  const host = parentElement.querySelector(".plot");
  host.setAttribute("aria-label", data.about);
  host.style.minHeight = `${data.height}px`;
  host.tell = (keys) => setStateValue("selected", { keys, at: Date.now() });
  const told = JSON.stringify([data, getComputedStyle(host).color]); // the colour tells the theme
  if (host.told === told) return;
  host.told = told;
  host.chosen = data.selected;
  const draw = (Plotly) => {
    if (host.held) return (host.waiting = () => draw(Plotly)); // new points wait while somebody drags
    const figure = dressed(JSON.parse(data.figure), data, host);
    const buttons = [["zoom2d", "pan2d", "select2d", "lasso2d"], ["resetScale2d"]];
    const config = { displaylogo: false, modeBarButtons: buttons };
    const emptied = host.shown?.length && !data.selected.length; // plotly itself would keep a box that was drawn
    host.shown = data.selected;
    Plotly.react(host, figure.data, figure.layout, config).then(
      () => emptied && Plotly.update(host, { selectedpoints: [null] }, { selections: [] }));
    if (host.bound) return;
    host.bound = true;
    // not only the window changes its width: the sidebar opens and closes
    new ResizeObserver(() => host.clientWidth && Plotly.Plots.resize(host)).observe(parentElement);
    host.addEventListener("pointerdown", () => (host.held = true), true);
    window.addEventListener("pointerup", () => setTimeout(() => {
      const waiting = host.waiting;
      host.held = host.waiting = null;
      waiting?.();
    }, 100), true);
    const keys = (event) => [...new Set(event.points.map((point) => point.customdata).filter(Boolean))];
    host.on("plotly_selected", (event) => event && host.tell(keys(event)));
    host.on("plotly_deselect", () => host.tell([]));
    host.on("plotly_click", (event) => {
      const [key] = keys(event);
      if (!key) return;
      const rest = host.chosen.filter((one) => one !== key);
      host.tell(rest.length < host.chosen.length ? rest : event.event.shiftKey ? [...rest, key] : [key]);
    });
  };
  plotly().then(draw);
}
