// The slider "After task" and the button that replays training task by task.
import { slider } from "../../components/controls.js";
import { element } from "../../components/svg.js";
import { setAttributes, setText } from "./marks.js";
import { nextTask } from "./transfer_layout.js";

const REPLAY_STEP = 700; // milliseconds per task

export function buildReplay(lens) {
  const after = slider("After task", { min: 1, step: 1 }, (task) => {
    stopReplay(lens);
    showAfter(lens, task);
  });
  const word = element("span", { class: "word" }, "After"); // left out where the panel is narrow
  after.row.firstChild.replaceChildren(word, "task", after.output);
  const play = element("button", { type: "button", class: "play", onclick: () => toggleReplay(lens) });
  const row = element("div", { class: "after-task" }, play, after.row);
  lens.parts.replay = { row, play, after, timer: null };
  drawPlay(lens);
  return row;
}

// The last task stands for the current state, in which a run that goes on is shown after the tasks that it has learned.
function showAfter(lens, task) {
  lens.change({ after: task >= lens.data.tasks ? null : task });
}

function toggleReplay(lens) {
  const { replay } = lens.parts, { tasks } = lens.data, first = nextTask(lens.state.after, tasks);
  if (replay.timer) return stopReplay(lens);
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) { // otherwise one task per press
    replay.timer = setInterval(() => {
      if (!replay.row.isConnected || (lens.state.after ?? tasks) >= tasks) return stopReplay(lens);
      showAfter(lens, lens.state.after + 1);
    }, REPLAY_STEP);
    drawPlay(lens);
  }
  showAfter(lens, first);
}

function stopReplay(lens) {
  const { replay } = lens.parts;
  if (!replay.timer) return;
  clearInterval(replay.timer);
  replay.timer = null;
  drawPlay(lens);
  lens.change({});
}

function drawPlay({ parts: { replay } }) {
  setText(replay.play, replay.timer ? "❚❚" : "▶");
  const label = replay.timer ? "Pause the replay" : "Replay training task by task";
  setAttributes(replay.play, { "aria-label": label, title: label });
}

export function drawReplay({ data, state, parts: { replay } }, points) {
  const { input, output } = replay.after, task = Math.min(state.after ?? data.tasks, data.tasks);
  const furthest = points.reduce((most, { learned }) => Math.max(most, learned), 0);
  const isBehind = furthest > 0 && furthest < task, text = isBehind ? `${furthest}/${task}` : `${task}`;
  replay.row.hidden = !(data.tasks > 1) || !data.configurations.length;
  setAttributes(input, { max: data.tasks, "aria-valuetext": isBehind ? `${text} so far` : text });
  if (Number(input.value) !== task) input.value = task;
  setText(output, text);
}
