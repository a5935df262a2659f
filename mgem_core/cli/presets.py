"""The command `mgem presets`, which lists the presets of `mgem sweep --preset`."""

import argparse
import json

from mgem_core.paper.presets import PRESETS
from mgem_core.text import recordings_and_runs


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_presets)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _presets(options: argparse.Namespace) -> int:
    found = {name: _count(name) for name in PRESETS}
    if options.json:
        documents = [
            {"name": name, "title": preset.title, "description": preset.description, "recordings": recorded, "runs": others}
            for (name, preset), (recorded, others) in zip(PRESETS.items(), found.values(), strict=True)
        ]
        print(json.dumps(documents, indent=2))
        return 0
    counts = {name: recordings_and_runs(*count) for name, count in found.items()}
    names, width = max(map(len, counts)), max(map(len, counts.values()))
    for name, preset in PRESETS.items():
        print(f"{name:<{names}}  {counts[name]:>{width}}  {preset.description}")
    return 0


def _count(name: str) -> tuple[int, int]:
    """Return the number of recordings of a preset, and of its other runs."""
    spec = PRESETS[name].spec
    recordings = len(spec.recordings())
    return recordings, len(spec.runs()) - recordings
