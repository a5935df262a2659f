// Where the panel "Forgetting and learning" draws lines of equal ACC, labels and points outside. No DOM here.
const STEPS = [0.5, 1, 2, 5, 10, 20, 50]; // distances between lines of equal ACC
const MOST_LINES = 6;
const CHARACTER = 7; // pixels, at a size of 12
const LINE = 13; // pixels
const AROUND = [[8, 4, "start"], [-8, 4, "end"], [0, -9, "middle"], [0, 17, "middle"]];
export const TO_THE_RIGHT = [4, -9, 17, -22, 30].map((dy) => [10, dy, "start"]);

// The task that follows in a replay of training; after the last one, the first.
export function nextTask(after, tasks) {
  return (after ?? tasks) >= tasks ? 1 : after + 1;
}

// Lines FWD = ACC − BWD within the axes for round values of ACC: [{ acc, ends: [[x, y], [x, y]] }]; none that only cuts off
// a corner.
export function equalAcc(xRange, yRange) {
  const least = xRange[0] + yRange[0], most = xRange[1] + yRange[1];
  const step = STEPS.find((one) => (most - least) / one <= MOST_LINES) ?? STEPS[STEPS.length - 1], lines = [];
  for (let i = Math.ceil(least / step); i * step <= most; i++) {
    const acc = i * step, start = Math.max(xRange[0], acc - yRange[1]), end = Math.min(xRange[1], acc - yRange[0]);
    if (end - start < 0.15 * (xRange[1] - xRange[0])) continue;
    lines.push({ acc, ends: [[start, acc - start], [end, acc - end]] });
  }
  return lines;
}

function overlapsBox(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

function boxAround(x, y, reach) {
  return { left: x - reach, right: x + reach, top: y - reach, bottom: y + reach };
}

function textBox(text, x, y, anchor, size = 12) {
  const width = (text.length * CHARACTER * size) / 12;
  const left = x - { start: 0, middle: 0.5, end: 1 }[anchor] * width;
  return { left, right: left + width, top: y - LINE * 0.75, bottom: y + LINE * 0.25 };
}

// Labels next to the ends of lines, in pixels: those that cover no other label, no mark and stay within the plot.
// ends: [{ name, x, y }] in the order of importance; marks: [[x, y]]; area: { left, right, top, bottom }; places: where a
// label may be, from its end, with its text-anchor.
export function placeLabels(ends, marks, area, places = AROUND) {
  const taken = [], placed = [];
  for (const { name, x, y } of ends) {
    const others = marks.filter((mark) => mark[0] !== x || mark[1] !== y).map((mark) => boxAround(...mark, 4));
    for (const [dx, dy, anchor] of places) {
      const box = textBox(name, x + dx, y + dy, anchor);
      const isOut = box.left < area.left || box.right > area.right || box.top < area.top || box.bottom > area.bottom;
      if (isOut || [...taken, ...others].some((other) => overlapsBox(box, other))) continue;
      taken.push(box);
      placed.push({ name, x: x + dx, y: y + dy, anchor });
      break;
    }
  }
  return { placed, taken };
}

// A place for the label of each line of equal ACC, in pixels, where it covers no mark or label; null if there is none.
export function placeAccLabels(lines, marks, taken, area) {
  const boxes = [...taken, ...marks.map(([x, y]) => boxAround(x, y, 4))];
  return lines.map(({ acc, ends: [[x0, y0], [x1, y1]] }) => {
    const text = `ACC ${Number(acc.toFixed(1))}`;
    for (const share of [0.93, 0.85, 0.75, 0.6, 0.45, 0.3, 0.15]) {
      const x = x0 + share * (x1 - x0), y = y0 + share * (y1 - y0) - 3, box = textBox(text, x + 2, y, "start", 10);
      if (box.right > area.right || box.top < area.top || box.bottom > area.bottom) continue;
      if (boxes.some((other) => overlapsBox(box, other))) continue;
      boxes.push(box);
      return { text, x: x + 2, y };
    }
    return null;
  });
}

// A point moved to the border of the area, and the direction, in degrees, of a triangle that points out of it.
export function atBorder([x, y], { left, right, top, bottom }) {
  const inside = [Math.min(right, Math.max(left, x)), Math.min(bottom, Math.max(top, y))];
  if (y > bottom) return { at: inside, angle: 180 };
  if (y < top) return { at: inside, angle: 0 };
  return { at: inside, angle: x < left ? -90 : x > right ? 90 : 180 };
}
