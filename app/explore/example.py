"""The example that comes with the tool, so that the workbench can be used before anything is trained."""

from collections import Counter
from functools import cache

from explore.header import Message
from explore.layout import lay_out
from explore.live_source import run_item
from explore.recording_files import recording_messages
from explore.sources import EXAMPLE_KEY, Source
from explore.trained_verdicts import compare_runs
from mgem_core.paper.presets import EXAMPLE, PRESETS
from mgem_core.paper.published import example
from mgem_core.text import recordings_and_runs

SOURCE = -1  # the example has a layout like a sweep, but is in no store


def example_source() -> Source:
    spec = PRESETS[EXAMPLE].spec
    recordings = len(spec.recordings())
    runs = recordings_and_runs(recordings, len(spec.runs()) - recordings)
    return Source(EXAMPLE_KEY, f"Example: {PRESETS[EXAMPLE].title.lower()} · {runs}")


@cache
def example_messages() -> list[Message]:
    """Return all messages about the example. All callers share them and must not change them."""
    source, (runs, measured) = example_source(), example.runs()
    layout = lay_out(Source(source.key, source.title, SOURCE), runs)
    _, *steps = recording_messages(example.recordings(), source.title, source.key)
    items = [
        run_item(layout, run, status, 1.0, measured[run])
        for run, status in zip(runs["id"], runs["status"], strict=True)
        if run in layout.configuration_of
    ]
    recorded = len(layout.recordings)
    speed = dict.fromkeys(("secondsLeft", "msPerStep", "runsPerMinute"))
    return [
        layout.header,
        *steps,
        layout.configurations,
        {"kind": "runs", "items": items},
        {
            **{"kind": "progress", "counts": dict(Counter(runs["status"])), "share": 1.0, **speed},
            **{"recordings": [recorded, recorded], "isActive": False, "notes": []},
        },
    ]


@cache
def example_verdicts() -> Message:
    """Compare the trained lines of the example with GEM."""
    return {**compare_runs(*example.runs()), "seedsToAdd": 0}  # the example belongs to no sweep


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
