"""Compare a whole run of GEM, with evaluation and default probes, with the bare loop of its steps.

The bare loop of each task is timed between the tasks of the run, so that both see the same load of the machine. The shares
of the run's parts and its peak memory are printed, too.
"""

import argparse
import resource
from collections.abc import Callable
from dataclasses import asdict
from statistics import median
from time import process_time
from typing import Any

from mgem_core import RunConfig, run
from mgem_core.events import Finished, Stepped, TaskLearned
from mgem_core.learners.gem import GEM
from mgem_core.training import probes
from mgem_core.training.evaluation import Evaluation
from perf.setting import DIGITS, bare_loop, gem
from perf.timing import Ratio, ratio, save, show, take_turns


def accumulate(owner: Any, name: str, total: dict[str, float], part: str) -> None:
    """Patch a function so that it adds the CPU time of its calls to a part of the total, once if they are nested."""
    call: Callable[..., Any] = getattr(owner, name)

    def timed(*arguments: Any, **options: Any) -> Any:
        before, start = total[part], process_time()
        try:
            return call(*arguments, **options)
        finally:
            total[part] = before + process_time() - start

    setattr(owner, name, timed)


def bare_seconds(past: int, rounds: int) -> float:
    return median(take_turns(rounds, {"bare": bare_loop(gem(past))})["bare"])


def measure(config: RunConfig, rounds: int) -> tuple[dict[str, float], list[float], float]:
    """Return CPU seconds of the run's parts and of a bare step of each task, and the share of steps with a violation."""
    parts = dict.fromkeys(("whole run", "steps", "evaluation", "probes"), 0.0)
    accumulate(GEM, "observe", parts, "steps")
    accumulate(Evaluation, "accuracy", parts, "evaluation")
    accumulate(probes, "prepare", parts, "probes")
    accumulate(probes.Measurement, "_probed", parts, "probes")
    bare, violated = [bare_seconds(0, rounds)], []
    events = run(config)
    while True:
        start = process_time()
        event = next(events)
        parts["whole run"] += process_time() - start
        if isinstance(event, Stepped) and event.task:
            violated.append(event.violated)
        if isinstance(event, TaskLearned):
            print(f"task {event.task + 1} of {config.tasks}: {parts['whole run']:.0f} s", flush=True)
            if event.task + 1 < config.tasks:
                bare.append(bare_seconds(event.task + 1, rounds))
        if isinstance(event, Finished):
            return parts, bare, sum(violated) / len(violated)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    config = RunConfig(benchmark=DIGITS, tasks=options.tasks, iterations=options.iterations, memory=256)
    parts, bare, violated = measure(config, options.rounds)
    loop, whole = config.iterations * sum(bare), parts["whole run"]

    def against_loop(name: str, seconds: float, target: float | None = None) -> Ratio:
        return ratio(f"{name} / bare loop of the steps", [seconds], [loop], target)

    found = [
        against_loop("average GEM step, trigger violation", parts["steps"], 0.85),
        against_loop("whole run, without probes", whole - parts["probes"], 1.0),
        against_loop("whole run, default probes", whole, 1.25),
    ]
    title = f"GEM on {config.benchmark}, {config.tasks} × {config.iterations} steps, {100 * violated:.0f} % restricted"
    show(title, found)
    shares = {name: seconds / whole for name, seconds in parts.items() if name != "whole run"}
    print("Share of the run: " + ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items()))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"Largest memory of the process: {memory:.2f} GB")
    content = {"title": title, "ratios": [asdict(one) for one in found], "shares": shares, "gigabytes": memory}
    save("run", {**content, "seconds": parts, "bare step": bare})


if __name__ == "__main__":
    main()
