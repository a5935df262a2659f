// How far the runs of a source are, in words. No DOM here.
import { plural } from "./words.js";

// ["98 of 264 runs · 1 min 50 s left", "6 of 6 recordings · 58 runs/min · 2.1 ms/step"]; recordings count separately, as
// above the button Launch.
export function progressInWords({ progress, title }) {
  if (!progress) return [title, ""];
  const { counts, isActive, secondsLeft, msPerStep, runsPerMinute, recordings } = progress;
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0), [recorded, toRecord] = recordings ?? [0, 0];
  const recordingText = `${recorded} of ${plural(toRecord, "recording")}`, isOnlyRecording = toRecord === total;
  const runText = `${(counts.finished ?? 0) - recorded} of ${plural(total - toRecord, "run")}`;
  const first = [isOnlyRecording ? recordingText : runText], more = toRecord && !isOnlyRecording ? [recordingText] : [];
  if (isActive) {
    if (secondsLeft !== null) first.push(`${durationText(secondsLeft)} left`);
    else first.push(counts.running ? `${counts.running} training` : "starting workers …");
    if (runsPerMinute) more.push(`${Math.round(runsPerMinute)} runs/min`);
  }
  if (msPerStep) more.push(`${msPerStep < 10 ? msPerStep.toFixed(1) : msPerStep.toFixed(0)} ms/step`);
  for (const status of ["failed", "diverged", "cancelled"]) if (counts[status]) first.push(`${counts[status]} ${status}`);
  return [first, more].map((phrases) => phrases.join(" · "));
}

export function durationText(seconds) {
  const whole = Math.max(1, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.round((whole % 3600) / 60)} min`;
}
