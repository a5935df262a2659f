"""Train the runs whose recorded steps come with the tool, and write them to the files that the page Lens reads."""

import sys
from pathlib import Path

from mgem_core import networks, run
from mgem_core.events import Snapped
from mgem_core.lens import recordings
from mgem_core.lens.recordings import USED, Recording

sys.path.insert(0, str(Path(__file__).parents[1] / "app"))  # as Streamlit does
from lens.example_runs import SPEC, file_of


def main() -> None:
    for config in SPEC.runs():
        snapshots = tuple(event for event in run(config) if isinstance(event, Snapped))
        layers = tuple(networks.layers(config.network, config.benchmark_info.shape, config.benchmark_info.classes))
        used = {name: getattr(config, name) for name in USED}
        path = file_of(config.seed)
        recordings.write(Recording(path.name, layers, snapshots, config.split_by, config.lr, config.seed, used), path)
        print(f"{path.name}: {len(snapshots)} steps, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
