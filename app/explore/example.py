"""The example that comes with the tool, so that the workbench can be used before anything is trained."""

import json
from collections import Counter
from functools import cache

import numpy as np
import pandas as pd

from explore.header import Message
from explore.layout import lay_out
from explore.recording_files import recording_messages
from explore.sources import EXAMPLE_KEY, Source
from explore.trained_verdicts import compare_runs
from mgem_core.analysis import frames
from mgem_core.analysis.aggregate import Measurements
from mgem_core.analysis.measurements import measurements
from mgem_core.paper.presets import EXAMPLE, PRESETS
from mgem_core.paper.published import example
from mgem_core.text import recordings_and_runs

COLUMNS_OF_A_PAIR = 9  # of Measurements.pairs; the example has those in PAIR_COLUMNS
SOURCE = -1  # the example has a layout like a sweep, but is in no store


def example_source() -> Source:
    spec = PRESETS[EXAMPLE].spec
    recordings = len(spec.recordings())
    runs = recordings_and_runs(recordings, len(spec.runs()) - recordings)
    return Source(EXAMPLE_KEY, f"Example: {PRESETS[EXAMPLE].title.lower()} · {runs}")


@cache
def example_messages() -> list[Message]:
    """Return all messages about the example. All callers share them and must not change them."""
    source, runs = example_source(), example.runs()
    layout = lay_out(Source(source.key, source.title, SOURCE), _frame())
    _, *steps = recording_messages(example.recordings(), source.title, source.key)
    items = [
        {
            **{"id": number, "configuration": layout.configuration_of[number], "seed": run.seed, "status": run.status},
            **{"progress": 1.0, "R": run.matrix, "pairs": run.pairs, "isRecording": run.is_recording},
        }
        for number, run in enumerate(runs)
        if number in layout.configuration_of
    ]
    recorded = len(layout.recordings)
    speed = dict.fromkeys(("secondsLeft", "msPerStep", "runsPerMinute"))
    return [
        layout.header,
        *steps,
        layout.configurations,
        {"kind": "runs", "items": items},
        {
            **{"kind": "progress", "counts": dict(Counter(run.status for run in runs)), "share": 1.0, **speed},
            **{"recordings": [recorded, recorded], "isActive": False, "notes": []},
        },
    ]


@cache
def example_verdicts() -> Message:
    """Compare the trained lines of the example with GEM."""
    found = compare_runs(_frame(), {number: _measurements(run) for number, run in enumerate(example.runs())})
    return {**found, "seedsToAdd": 0}  # the example belongs to no sweep


def _frame() -> pd.DataFrame:
    runs = example.runs()
    columns = {"id": range(len(runs)), "label": [run.label for run in runs], "status": [run.status for run in runs]}
    configs = {"config": [json.dumps(run.config) for run in runs], "validation_acc": np.nan}
    return frames.with_fields(pd.DataFrame({**columns, **configs}))


def _measurements(run: example.ExampleRun) -> Measurements:
    pairs = {}
    for pair, values in run.pairs.items():
        s, t = map(int, pair.split(","))
        pairs[s, t] = np.full(COLUMNS_OF_A_PAIR, np.nan).tolist()
        for column, value in zip(example.PAIR_COLUMNS, values, strict=True):
            pairs[s, t][column] = np.nan if value is None else value
    return measurements(pairs, np.array(run.matrix, float))


class ExampleSource:
    """A source that never changes, but for its verdicts, which come after the rest; see `LiveSource`."""

    is_active = False

    def __init__(self) -> None:
        self.calls = 0

    def everything(self) -> list[Message]:
        return [*example_messages(), *([example_verdicts()] if self.calls > 1 else [])]

    def advance(self) -> list[Message]:
        self.calls += 1
        return [example_verdicts()] if self.calls == 2 else []
