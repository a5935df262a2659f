// Points measured along trained runs, in the panel "Frontier": those of the chosen configuration, or on request all.
import { signedText, svgElement } from "../../components/svg.js";
import { isChosen } from "./lines.js";
import { strengthText } from "./words.js";

const DIAMOND = "M0 -6L6 0L0 6L-6 0Z";
const AT_BORDER = "M-5 4L5 4L0 -5Z";

// The points to draw, each with its place `at`. Without recorded steps, all are drawn.
export function measuredInView(lens, points) {
  const { state, task } = lens, isAll = state.measured || !task;
  return points
    .filter((point) => point.x && point.y && Number.isFinite(point.x.mean + point.y.mean))
    .filter((point) => isAll || isChosen(state, point))
    .map((point) => ({ ...point, at: [point.x.mean, point.y.mean] }));
}

// What lies outside of the plot is marked at its border.
export function drawMeasured({ parts, state }, measured) {
  const { plot } = parts, [xLow, xHigh] = plot.xRange, [yLow, yHigh] = plot.yRange;
  const clip = (value, low, high) => Math.min(high, Math.max(low, value));
  parts.measuredPoints.replaceChildren(
    ...measured.map((point) => {
      const [x, y] = point.at, isInside = plot.contains(point.at);
      const [px, py] = plot.place([[clip(x, xLow, xHigh), clip(y, yLow, yHigh)]])[0];
      const strength = point.q === null ? "" : `, strength ${strengthText(point.q)}`;
      const where = `${signedText(x, 3)}, ${signedText(y, 3)}${isInside ? "" : " (outside of the plot)"}`;
      const seeds = point.seeds === 1 ? "1 seed" : `${point.seeds} seeds`;
      const title = `${point.line}${strength}, measured along its own run: ${where}; ${seeds}`;
      const mark = svgElement(
        "path",
        {
          class: isChosen(state, point) ? "is-chosen" : "",
          d: isInside ? DIAMOND : AT_BORDER,
          transform: `translate(${px.toFixed(2)} ${py.toFixed(2)})`,
          style: `stroke:${point.color}`,
          "data-line": point.line,
        },
        svgElement("title", {}, title),
      );
      return mark;
    }),
  );
}
