// The picture and the whole figure as files.
import { saveFile, saveStandalone, scriptLiteral } from "../../components/controls.js";
import { SVG, svgElement } from "../../components/svg.js";

const DRAWN = [
  ...["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linejoin"],
  ...["stroke-linecap", "opacity", "paint-order", "font-family", "font-size", "font-style", "font-weight"],
];

// Save the picture as a file that needs no style sheet.
export function savePicture({ svg, width, height }) {
  const copy = svg.cloneNode(true), copies = [...copy.querySelectorAll("*")];
  [...svg.querySelectorAll("*")].forEach((original, i) => {
    const style = getComputedStyle(original);
    copies[i].setAttribute("style", DRAWN.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
  });
  copy.querySelector(".tips").remove();
  copy.prepend(
    svgElement("rect", {
      width,
      height,
      fill: getComputedStyle(svg).getPropertyValue("--st-background-color") || "#FFFFFF",
    }),
  );
  copy.setAttribute("xmlns", SVG);
  saveFile("geometry.svg", "image/svg+xml", new XMLSerializer().serializeToString(copy));
}

// Save the whole figure as one file, with its current vectors and settings, that needs no server.
export function saveGeometry({ content, state, standalone }) {
  saveStandalone(
    "geometry",
    "The geometry of gradient restriction",
    standalone,
    `new Geometry(host, ${scriptLiteral(content)}, { start: ${scriptLiteral(state)} });`,
  );
}
