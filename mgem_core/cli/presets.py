"""The command `mgem presets`, which lists the presets of `mgem sweep --preset`."""

import argparse

from mgem_core.paper.presets import PRESETS


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_presets)


def _presets(options: argparse.Namespace) -> int:
    for name, (_, description, spec) in PRESETS.items():
        print(f"{name:<26} {len(spec.runs()):>4} runs  {description}")
    return 0
