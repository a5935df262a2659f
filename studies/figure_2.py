"""Publish Figure 2 of the paper at its own scale, from recorded runs: `python -m studies.figure_2 STORE FILE`.

All configurations would take days on a CPU. So GEM alone is trained and recorded, and the lens solves every configuration
at its steps. A batch norm makes the mean of two memory rows another row than that of all samples, so every number of splits
is recorded by itself.
"""

import sys
from pathlib import Path

from mgem_core import RunConfig
from mgem_core.config.sweeps import SweepSpec
from mgem_core.lens import recordings
from mgem_core.paper.presets import PRESETS
from mgem_core.paper.published import append
from mgem_core.paper.published.recorded import ask_recording
from mgem_core.store import Store

STRENGTHS = [1.5, 2.0, 3.0, 4.5, 6.5, 10.0]  # besides those of the paper, which end at 1
RECORDED = {**PRESETS["figure-2"].spec.base, "strength": 0.5, "trigger": "violation", "probe_every": 0, "snap_every": 5}


def asked() -> list[RunConfig]:
    """Return the configurations of the preset, and each with larger strengths."""
    runs = PRESETS["figure-2"].spec.runs()
    more = [run.model_copy(update={"strength": q}) for run in runs if run.strength == 1.0 for q in STRENGTHS]
    return [*runs, *more]


def recorded(splits: int) -> SweepSpec:
    return SweepSpec(base={**RECORDED, "snap_splits": splits}, grid={"seed": [0, 1, 2, 3]})


def main(path: Path, file: Path) -> None:
    """Publish the recorded runs that the store has; `mgem work` trains the missing ones."""
    store, configs = Store(path), asked()
    for splits in (1, 2, 3):
        spec = recorded(splits)
        sweep = store.find_sweep(spec) or store.submit(spec, f"Figure 2, recorded with {splits} splits")
        for run in store.run_records(store.run_ids(sweep)):
            if run["status"] != "finished":
                print(f"r{run['id']}, seed {run['config']['seed']}, is {run['status']}; mgem resume s{sweep}")
                continue
            trained = RunConfig.model_validate(run["config"])
            mine = [one for one in configs if (one.splits, one.seed) == (splits, trained.seed)]
            lines = ask_recording(recordings.of_run(store, run["id"]), trained, mine)
            print(f"seed {trained.seed}, {splits} splits: {append(file, lines)} of {len(lines)} lines are new")
    store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
