// Moving the tips of vectors and turning the view, by pointer and keyboard.

const KEY_STEP = 0.1; // by which an arrow key moves a tip; a tenth of it with the shift key
const KEYS = {
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
  ArrowUp: [1, 1],
  ArrowDown: [1, -1],
  PageUp: [2, 1],
  PageDown: [2, -1],
};

export function listenToTips(geometry) {
  const { parts: { picture } } = geometry;
  for (const [name, handle] of Object.entries(picture.tipOf)) {
    let from = null;
    handle.onpointerdown = (event) => {
      handle.setPointerCapture(event.pointerId);
      from = { x: event.clientX, y: event.clientY, vector: geometry.state[name].slice(0, geometry.state.dimensions) };
    };
    handle.onpointermove = (event) => {
      if (!from || !handle.hasPointerCapture(event.pointerId)) return;
      const box = picture.svg.getBoundingClientRect(), inside = (value, low, high) => Math.min(high, Math.max(low, value));
      const [x, y] = [inside(event.clientX, box.left, box.right), inside(event.clientY, box.top, box.bottom)];
      geometry.moveTip(name, picture.moved(from.vector, x - from.x, y - from.y));
    };
    handle.onlostpointercapture = () => {
      from = null;
      geometry.settle();
    };
    handle.onkeydown = (event) => {
      const [axis, sign] = KEYS[event.key] ?? [3];
      if (axis >= geometry.state.dimensions) return;
      event.preventDefault();
      geometry.moveTip(
        name,
        geometry.state[name].with(axis, geometry.state[name][axis] + sign * (event.shiftKey ? KEY_STEP / 10 : KEY_STEP)),
      );
      geometry.settle();
    };
  }
}

// In space, the background turns the view. A finger turns it sideways; up and down, it scrolls the page.
export function turnByBackground(geometry) {
  const { svg } = geometry.parts.picture;
  svg.onpointerdown = (event) => {
    if (geometry.state.dimensions === 3 && !event.target.closest(".tip")) svg.setPointerCapture(event.pointerId);
  };
  svg.onpointermove = (event) => {
    if (!svg.hasPointerCapture(event.pointerId)) return;
    const [turn, tilt] = geometry.state.turn,
      wrapped = turn - 0.5 * event.movementX;
    geometry.change({
      turn: [
        Math.round(wrapped - 360 * Math.round(wrapped / 360)),
        Math.round(Math.min(90, Math.max(0, tilt + 0.5 * event.movementY))),
      ],
    });
  };
  svg.onlostpointercapture = (event) => event.target === svg && geometry.settle();
}
