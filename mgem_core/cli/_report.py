"""Output of the commands: error messages, the progress line, and the summary and JSON document of a run."""

import math
import shutil
import sys
from collections.abc import Sequence
from time import monotonic
from typing import Any, TextIO

import numpy as np

from mgem_core.config import RunConfig
from mgem_core.config.sweeps import step_work
from mgem_core.events import Event, Finished, Started, Stepped, TaskLearned, number
from mgem_core.learners import shares_network
from mgem_core.metrics import MEASURES, forgetting

INTERNAL = ("id", "wanted", "code", "place")  # columns of a run that only the store and the runner use


def result(config: RunConfig, task_names: Sequence[str], finished: Finished) -> dict[str, Any]:
    """Return the document that `--json` prints; NaN becomes null."""
    numbers = ("validation_acc", "seconds", "seconds_per_step")
    return {
        "label": config.label,
        "status": finished.status,
        "message": finished.message,
        **{name: number(value) for name, value in measures(config, finished).items()},
        **{name: number(getattr(finished, name)) for name in numbers},
        "task_names": list(task_names),
        "matrix": [[number(value) for value in row] for row in finished.R],
        "fingerprint": finished.fingerprint,
        "config": config.model_dump(mode="json"),
    }


def measures(config: RunConfig, finished: Finished) -> dict[str, float]:
    """Return the MEASURES of a run that has ended."""
    lost = forgetting(finished.R, shares_network(config.method))
    return {name: lost if name == "forgetting" else getattr(finished, name) for name in MEASURES}


def stored_run(record: dict[str, Any]) -> dict[str, Any]:
    """Return the document that `--json` prints for a run of the store (`Store.run_records`)."""
    first = {"run": f"r{record['id']}", "label": record["label"], "status": record["status"], "config": record["config"]}
    return {**first, **{name: value for name, value in record.items() if name not in (*INTERNAL, *first)}}


def summary(config: RunConfig, task_names: Sequence[str], finished: Finished) -> str:
    """Format the accuracy matrix R, with the name of each task at the end of its row, and the metrics."""
    T = config.tasks
    head = "after task │ " + " ".join(f"{j + 1:>6}" for j in range(T))
    rows = [
        f"{i + 1:>10} │ {' '.join(map(_percent, finished.R[i]))}   {printable(name)}" for i, name in enumerate(task_names)
    ]
    found = measures(config, finished)
    metrics = "   ".join(f"{title} {_percent(found[name]).strip()}" for name, title in MEASURES.items())
    time = f"{finished.seconds:.1f} s, {1000 * finished.seconds_per_step:.2f} ms per step"
    title = f"{config.label} on {config.benchmark_info.title}, seed {config.seed}: accuracy in percent on each task"
    return "\n".join([title, "", head, "───────────┼" + "─" * (7 * T), *rows, "", f"{metrics}   ({time})"])


class Progress:
    """A progress line that is updated in place on a terminal; elsewhere, one line per task."""

    def __init__(self, config: RunConfig, out: TextIO):
        self.config, self.out, self.is_terminal = config, out, out.isatty()
        self.start, self.done_before, self.acc = monotonic(), 0.0, math.nan

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()

    def show(self, event: Event) -> None:
        if isinstance(event, Started):
            if event.notice:
                print(f"mgem: {printable(event.notice)}", file=self.out, flush=True)
            self.start, self.done_before = monotonic(), self._work(event.task, event.step)
        elif isinstance(event, TaskLearned):
            self.acc = float(np.mean(event.row[: event.task + 1]))
            if not self.is_terminal:
                print(f"{self.config.label}: {self._line(event.task, self.config.iterations)}", file=self.out, flush=True)
        elif isinstance(event, Stepped) and self.is_terminal:
            self._draw(event.task, event.step)

    def _draw(self, task: int, step: int) -> None:
        share = self._work(task, step) / self._work(self.config.tasks, 0)
        bar = ("█" * round(20 * share)).ljust(20, "░")
        line = f"{self.config.label} {bar} {self._line(task, step)}"
        self._clear()
        self.out.write(line[: shutil.get_terminal_size().columns - 1])
        self.out.flush()

    def _line(self, task: int, step: int) -> str:
        config, acc = self.config, "" if math.isnan(self.acc) else f" · ACC {self.acc:.1f}"
        left = f"{self._seconds_left(task, step):.0f} s left"
        return f"task {task + 1}/{config.tasks} · step {step}/{config.iterations}{acc} · {left}"

    def _seconds_left(self, task: int, step: int) -> float:
        done = self._work(task, step)
        rate = (monotonic() - self.start) / max(done - self.done_before, 1)
        return rate * (self._work(self.config.tasks, 0) - done)

    def _work(self, task: int, step: int) -> float:
        """Return the cost of all steps up to `step` of `task`."""
        config = self.config
        before = config.iterations * sum(step_work(config, past) for past in range(task))
        return before + step * step_work(config, task)

    def _clear(self) -> None:
        if self.is_terminal:
            self.out.write("\r\033[K")
            self.out.flush()


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align the cells of all rows in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def print_error(message: str, exit_code: int) -> int:
    """Print the message on one line on stderr and return the exit code."""
    print(f"mgem: {printable(' '.join(message.split()))}", file=sys.stderr)
    return exit_code


def printable(text: str) -> str:
    """Make text safe for a terminal: � replaces characters that could move the cursor, change colours or hide text."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _percent(value: float) -> str:
    return f"{'—':>6}" if math.isnan(value) else f"{value:>6.2f}"
