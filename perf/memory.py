"""Peak memory of whole runs, each in its own process. With a file name, write the runs of Figure 4 to that file."""

import json
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mgem_core import RunConfig, run
from mgem_core.config.sweeps import SweepSpec
from mgem_core.paper.presets import PRESETS
from mgem_core.paper.published import append, pack
from mgem_core.store import Store
from perf.timing import save

MNIST = {"benchmark": "mnist-permutations", "tasks": 20, "iterations": 30, "probe_every": 0}
CONV5 = {"benchmark": "split-cifar100", "tasks": 4, "iterations": 3, "memory": 64, "probe_every": 0}
P = 11_400_000  # approximate number of parameters of conv5


def peak_megabytes(fields: dict[str, Any], store: Path) -> float:
    """Train in a new process that records the run in this store; return its peak memory."""
    done = subprocess.run([sys.executable, "-m", __spec__.name, "--child", json.dumps(fields), store], capture_output=True)
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    return float(done.stdout)


def train(fields: dict[str, Any], path: Path) -> None:
    """Train one run into a store, and print the peak memory of this process."""
    store = Store(path)
    store.submit(SweepSpec(base=fields))
    store.record([(1, event) for event in run(RunConfig(**fields))])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    with TemporaryDirectory() as folder:
        store = Path(folder) / "runs.db"

        def peak(**fields: Any) -> float:
            store.unlink(missing_ok=True)
            return peak_megabytes(fields, store)

        mnist = peak(**MNIST)
        print(f"20 tasks of mnist-permutations: {mnist:.0f} MB")
        passes = peak(**CONV5, method="er", er_replays=64)  # the passes alone, without rows
        rows = {splits: peak(**CONV5, splits=splits) for splits in (1, 2)}
        for splits, megabytes in rows.items():
            C = 3 * splits
            allowed = (C + 3) * P * 4 / 2**20
            print(f"conv5, {C} rows: {megabytes - passes:.0f} MB more than its passes, allowed {allowed:.0f}", flush=True)
        save("memory", {"mnist": mnist, "conv5 passes": passes, "conv5 rows": rows})


def publish_figure_4(file: Path) -> None:
    for config in PRESETS["figure-4-short"].spec.runs():
        with TemporaryDirectory() as folder:
            path = Path(folder) / "runs.db"
            megabytes = peak_megabytes(config.model_dump(mode="json", include=set(config.relevant_fields())), path)
            store = Store(path)
            append(file, [{**line, "peak_memory_mb": round(megabytes)} for line in pack(store)])
            store.close()
            print(f"{config.network} {config.label}: {megabytes:.0f} MB", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        train(json.loads(sys.argv[2]), Path(sys.argv[3]))
    elif sys.argv[1:]:
        publish_figure_4(Path(sys.argv[1]))
    else:
        main()
