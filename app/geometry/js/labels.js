// Places for the names of arrows: next to their tips, away from other arrows and names if possible. No DOM here.
export const LINE_HEIGHT = 16;
const LETTER = 8.2; // pixels, the mean width of a letter
const ANGLES = 16; // directions from the tip that are tried

// labels: [{ at, away, lines, reach }], with `away` the direction of the arrow and `reach` the size of the mark at its tip.
// segments: [[x, y], [x, y]] of arrows. Returns the centre of each label, in pixels.
export function placeLabels(labels, segments, width, height) {
  const placed = [];
  return labels.map(({ at, away, lines, reach }) => {
    const half = [(Math.max(...lines.map((line) => line.length)) * LETTER) / 2, (lines.length * LINE_HEIGHT) / 2];
    let best = Infinity, chosen = at;
    for (let i = 0; i < ANGLES; i++) {
      for (const gap of [reach, reach + 8, reach + 18]) {
        const angle = Math.atan2(away[1], away[0]) + (2 * Math.PI * i) / ANGLES,
          [x, y] = [Math.cos(angle), Math.sin(angle)];
        const distance = gap + half[0] * Math.abs(x) + half[1] * Math.abs(y),
          centre = [at[0] + x * distance, at[1] + y * distance];
        const turned = Math.min(i, ANGLES - i),
          cost =
            0.5 * turned +
            0.5 * (gap - reach) +
            boxCost(
              centre,
              half,
              gap,
              placed,
              segments,
              labels.filter((other) => other.at !== at),
              width,
              height,
            );
        if (cost < best) [best, chosen] = [cost, centre];
      }
    }
    placed.push([chosen, half]);
    return chosen;
  });
}

function boxCost([x, y], [w, h], gap, placed, segments, others, width, height) {
  let cost = 0;
  if (x - w < 2 || x + w > width - 2 || y - h < 2 || y + h > height - 2) cost += 200;
  for (const [[px, py], [pw, ph]] of placed) if (Math.abs(x - px) < w + pw + 2 && Math.abs(y - py) < h + ph) cost += 60;
  for (const { at } of others) { // a name must not cover the tip of another arrow, nor seem to belong to it
    const distance = Math.hypot(Math.max(0, Math.abs(x - at[0]) - w), Math.max(0, Math.abs(y - at[1]) - h));
    if (distance < 8) cost += 30;
    else if (distance < 1.3 * gap) cost += 12;
  }
  for (const [one, other] of segments) if (crosses([x, y], [w, h], one, other)) cost += 14;
  return cost;
}

// Does a segment pass through a box?
export function crosses([x, y], [w, h], [x0, y0], [x1, y1]) {
  let low = 0, high = 1;
  for (const [from, to, centre, half] of [[x0, x1, x, w], [y0, y1, y, h]]) {
    const step = to - from;
    if (Math.abs(step) < 1e-9) {
      if (Math.abs(from - centre) > half) return false;
      continue;
    }
    const ends = [(centre - half - from) / step, (centre + half - from) / step];
    low = Math.max(low, Math.min(...ends));
    high = Math.min(high, Math.max(...ends));
  }
  return low <= high;
}
