"""Show where the CPU time of a preset's sweep goes: steps, probes and snapshots, evaluation, opening its images, the rest.

All runs are trained in this process, one after the other, as a worker trains them.
"""

import argparse
from time import process_time

from mgem_core import run
from mgem_core.learners import METHODS
from mgem_core.paper.presets import PRESETS
from mgem_core.training import kept_stream, probes
from mgem_core.training.evaluation import Evaluation
from perf.runs import accumulate
from perf.timing import save

PARTS = ("steps", "probes", "evaluation", "images")


def measure(preset: str) -> dict[str, float]:
    """Return the CPU seconds of the whole sweep and of its parts."""
    parts = dict.fromkeys((*PARTS, "whole"), 0.0)
    learners = {owner for method in METHODS.values() for owner in method.learner.__mro__ if "observe" in vars(owner)}
    for learner in learners:
        accumulate(learner, "observe", parts, "steps")
    accumulate(probes, "prepare", parts, "probes")
    accumulate(probes.Measurement, "_probed", parts, "probes")
    accumulate(probes.direction, "grams", parts, "probes")
    accumulate(Evaluation, "accuracy", parts, "evaluation")
    accumulate(kept_stream, "open_stream", parts, "images")
    spec, stream = PRESETS[preset].spec, kept_stream.KeptStream()
    start = process_time()
    for config in spec.runs():
        for _ in run(config, open_stream=stream.open):
            pass
    parts["whole"] = process_time() - start
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset", nargs="?", default="quick-look", choices=PRESETS)
    preset = parser.parse_args().preset
    parts = measure(preset)
    whole = parts.pop("whole")
    shares = {**{name: seconds / whole for name, seconds in parts.items()}, "rest": 1 - sum(parts.values()) / whole}
    print(f"{preset}: {whole:.1f} s of CPU:", ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items()))
    save(f"sweep parts, {preset}", {"seconds": whole, "shares": shares})


if __name__ == "__main__":
    main()
