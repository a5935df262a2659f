"""Which runs of a source the workbench shows, as which configurations, and which of them are recordings."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import pandas as pd
from pydantic import ValidationError
from text import benchmark_title

from explore.header import Message, Recorded, header, used_settings
from explore.recorded_steps import expected_lengths, thinning
from explore.sources import Source
from mgem_core import RunConfig, UsageError, networks
from mgem_core.analysis import aggregate
from mgem_core.analysis.legend import legend_entries
from mgem_core.figures import style
from mgem_core.learners import shares_network, uses
from mgem_core.networks._layer import Layer
from mgem_core.text import pluralize

BASELINE, BASELINE_STRENGTH = "GEM", 0.5  # of the recordings that are preferred
DASHES = {"solid": "", "dash": "6 4", "dot": "2 3", "dashdot": "6 3 2 3", "longdash": "10 4"}  # plotly → SVG


class Layout(NamedTuple):
    header: Message
    configurations: Message
    configuration_of: dict[int, int]  # run → index of its configuration; only runs that are shown
    seeds: dict[int, int]  # run → seed
    recordings: dict[int, int]  # recording run → its place among the recorded seeds
    notes: list[str]  # sentences about what is not shown


def lay_out(source: Source, runs: pd.DataFrame) -> Layout:
    """Lay out the runs of a source, a frame of frames.runs."""
    benchmarks = aggregate.benchmarks(runs)
    recorded, notes = _recordings(runs), list[str]()
    try:
        common = _describe_recordings(recorded)
    except UsageError as error:
        recorded, common, notes = recorded.iloc[:0], None, [str(error)]
    benchmark = recorded["benchmark"].iloc[0] if len(recorded) else benchmarks[0]
    shown = aggregate.one_per_seed(runs[runs["benchmark"] == benchmark])
    firsts = shown.drop_duplicates("configuration")
    configs = [_read(row) for row in firsts.to_dict("records")]
    order = {text: index for index, text in enumerate(firsts["configuration"])}
    seeds = sorted(int(seed) for seed in recorded["seed"])
    places = {int(run): seeds.index(seed) for run, seed in zip(recorded["id"], recorded["seed"], strict=True)}
    if len(benchmarks) > 1:
        notes.append(
            f"This sweep has {pluralize(len(benchmarks), 'benchmark')}; these panels show {benchmark_title(benchmark)}, "
            f"and *More figures* the others."
        )
    known = [config for config in configs if config]
    common = common or Recorded(_layers(next((one for one in known if uses(one.method, "snap_every")), None)))
    of_benchmark = benchmark, benchmark_title(benchmark)
    tasks, can_train = int(shown["tasks"].max()), bool(common.layers)
    lines_of = known if source.sweep is not None else []
    return Layout(
        header(source.key, source.title, common, seeds, lines_of, of_benchmark, tasks, can_train),
        {"kind": "configurations", "items": configuration_items(firsts, configs)},
        {int(run): order[text] for run, text in zip(shown["id"], shown["configuration"], strict=True)},
        {int(run): int(seed) for run, seed in zip(shown["id"], shown["seed"], strict=True)},
        places,
        notes,
    )


def _recordings(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that record one configuration, one per seed: GEM at strength 0.5, or else the first one."""
    recording = runs[(runs["snap_every"].fillna(0) > 0) & runs["method"].map(lambda method: uses(method, "snap_every"))]
    if recording.empty:
        return recording
    preferred = recording[(recording["label"] == BASELINE) & (recording["strength"] == BASELINE_STRENGTH)]
    chosen = (preferred if len(preferred) else recording)["configuration"].iloc[0]
    return aggregate.one_per_seed(recording[recording["configuration"] == chosen])


def _describe_recordings(recorded: pd.DataFrame) -> Recorded | None:
    """Return what the recordings have in common; None if there are none. Raise a UsageError if they are too large."""
    config = _read(recorded.iloc[0].to_dict()) if len(recorded) else None
    if config is None:
        return None
    every = thinning(expected_lengths(config) * len(recorded))
    return Recorded(_layers(config), config.snap_splits or config.splits, used_settings(config), every)


def _layers(config: RunConfig | None) -> Sequence[Layer]:
    if config is None:
        return ()
    return networks.layers(config.network, config.benchmark_info.shape, config.benchmark_info.classes)


def configuration_items(firsts: pd.DataFrame, configs: Sequence[RunConfig | None]) -> list[dict[str, Any]]:
    """Describe configurations, given a row of frames.runs for each; a config is None if this version cannot read it."""
    lines = legend_entries(firsts)
    families = [style.family(label) for label in firsts["label"]]
    names = pd.DataFrame({"lines": lines, "label": firsts["label"].to_list(), "family": families}).explode("lines")
    styles = style.line_styles(names.rename(columns={"lines": "line"}))
    items = []
    rows = firsts[["configuration", "label", "method", "strength"]].to_dict("records")
    for index, (row, config, of_lines, family) in enumerate(zip(rows, configs, lines, families, strict=True)):
        has_strength = uses(row["method"], "strength") and row["strength"] is not None
        color, dash, _ = styles[of_lines[0]]
        items.append(
            {
                **{"index": index, "key": aggregate.configuration_key(row["configuration"])},
                **{"line": of_lines[0], "lines": of_lines, "label": row["label"], "family": family},
                "q": aggregate.mean_strength(row["strength"]) if has_strength else None,
                **{"color": color, "dash": DASHES[dash], "symbol": style.of_family(family).symbol},
                "sharesNetwork": shares_network(row["method"]),
                **_settings(config),
            }
        )
    return items


def _settings(config: RunConfig | None) -> dict[str, Any]:
    """Return the settings that the workbench compares with its choices; None where they do not matter or are unknown."""
    fields = set(config.relevant_fields()) if config else set()
    return {
        "moduleOf": list(config.module_of) if config and "modules" in fields else None,
        **{name: getattr(config, name) if name in fields else None for name in ("splits", "solver", "trigger")},
    }


def _read(row: dict[Hashable, Any]) -> RunConfig | None:
    """Return the config in a row of frames.runs; None if it was stored by another version."""
    given = {
        name: row[name] for name in RunConfig.model_fields if isinstance(row[name], list | dict) or pd.notna(row[name])
    }
    try:
        return RunConfig.model_validate(given)
    except ValidationError:
        return None
