// The data of the workbench, folded from the messages of the feed (app/feed.py). No DOM here.
import { addSnapshots, emptyTask } from "./snapshots.js";

// tasks: task → its recorded steps; runs: id → trained run; configurations, progress and verdicts: as sent last.
export function emptyData() {
  return {
    ...{ source: null, title: "", tasks: 0, seeds: [], strengths: [], layers: [], partitions: [], lines: [], used: null },
    ...{ recorded: new Map(), configurations: [], runs: new Map(), runChanges: 0 },
    ...{ progress: null, verdicts: [], summary: "", seedsToAdd: 0, gone: "" },
  };
}

// How each kind of message changes the data.
const FOLDS = {
  header: (data, { kind, ...fields }) => Object.assign(data, fields),
  snapshots: (data, message) => {
    if (!data.recorded.has(message.task)) data.recorded.set(message.task, emptyTask());
    addSnapshots(data.recorded.get(message.task), message, countTensors(data), data.cancelled);
  },
  configurations: (data, { items }) => Object.assign(data, { configurations: items }),
  runs: (data, { items }) => {
    for (const run of items) data.runs.set(run.id, run);
    data.runChanges++;
  },
  progress: (data, { kind, ...progress }) => Object.assign(data, { progress }),
  verdicts: (data, { sentences, summary = "", seedsToAdd = 0 }) =>
    Object.assign(data, { verdicts: sentences, summary, seedsToAdd }),
  gone: (data, { message }) => Object.assign(data, { gone: message }),
};

// Messages of a kind that this version does not know are passed over.
export function applyMessage(data, message) {
  FOLDS[message.kind]?.(data, message);
}

export function countTensors({ layers }) {
  return layers.reduce((count, { tensors }) => count + tensors.length, 0);
}

// Pairs of a past task s and a current task t, of which there are recorded steps or measurements.
export function pairsOf({ tasks, recorded }) {
  const most = Math.max(tasks, ...[...recorded.keys()].map((task) => task + 1));
  return Array.from({ length: most }, (_, t) => Array.from({ length: t }, (_, s) => ({ s, t }))).flat();
}

// The messages from which the same data can be made again, for a saved page.
export function messagesOf(data, snapshots) {
  const { recorded, configurations, runs, runChanges, progress, verdicts, summary, seedsToAdd, gone, ...header } = data;
  return [
    { kind: "header", ...header, canTrain: false },
    ...snapshots,
    { kind: "configurations", items: configurations },
    { kind: "runs", items: [...runs.values()] },
    ...(progress ? [{ kind: "progress", ...progress, isActive: false }] : []),
    { kind: "verdicts", sentences: verdicts, summary },
  ];
}
