"""Train the example that comes with the tool and write its files: `python -m studies.example`.

It trains the preset "rotated-digits", 264 short runs, in a temporary folder, and takes a few minutes.
"""

import os
import tempfile
import time
from collections import Counter
from pathlib import Path

from mgem_core.lens import recordings
from mgem_core.paper import published
from mgem_core.paper.presets import EXAMPLE
from mgem_core.paper.published.example import FOLDER, RUNS, recording_file, spec
from mgem_core.store import Store
from studies.pictures import train

ENDED = ("finished", "diverged")


def write_files(store: Store, folder: Path = FOLDER) -> list[Path]:
    """Replace the files of the example by the runs of a store."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for run in store.runs_with_snapshots():
        recording = recordings.of_run(store, run)
        assert recording.seed is not None, "a run of the store has a seed"
        recordings.write(recording, recording_file(recording.seed, folder))
    published.append(folder / f"{RUNS}.jsonl", published.pack(store, statuses=ENDED))
    return sorted(folder.iterdir())


def main() -> None:
    os.nice(10)
    with tempfile.TemporaryDirectory(prefix="mgem-example-") as home:
        os.environ["MGEM_HOME"] = home
        start = time.monotonic()
        train(Path(home) / "runs.db", spec(), EXAMPLE)
        seconds = time.monotonic() - start
        store = Store(Path(home) / "runs.db")
        statuses = Counter(record["status"] for record in store.run_records())
        if unfinished := {status: count for status, count in statuses.items() if status not in ENDED}:
            raise SystemExit(f"Some runs have no result: {unfinished}; nothing was written.")
        files = write_files(store)
        store.close()
    print(f"{dict(statuses)} in {seconds:.0f} s")
    for path in files:
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
