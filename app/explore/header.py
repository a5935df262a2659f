"""The header of a source: what the workbench needs to know before recorded steps and trained runs arrive."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from mgem_core import RunConfig
from mgem_core.analysis import curves, paired, significance
from mgem_core.figures import style
from mgem_core.learners import FAMILIES, uses
from mgem_core.lens.lines import count_comparisons, default_lines, module_counts
from mgem_core.lens.steps import CANCELLED
from mgem_core.networks._layer import Layer
from mgem_core.paper.presets import STRENGTHS
from mgem_core.restriction import partition
from mgem_core.restriction.restriction import Restriction

Message = dict[str, Any]


class Recorded(NamedTuple):
    """What all recordings of a source have in common."""

    layers: Sequence[Layer] = ()
    splits: int = 1  # recorded memory splits of each past task
    used: dict[str, Any] | None = None  # settings of the recorded runs; None if unknown
    every: int = 1  # one of this many recorded steps is sent


def header(
    source: str,
    title: str,
    recorded: Recorded,
    seeds: Sequence[int],
    configs: Sequence[RunConfig] = (),
    benchmark: tuple[str, str] = ("", ""),
    tasks: int = 0,
    can_train: bool = False,
) -> Message:
    """Return the first message of a source.

    Args:
        configs: one config of each configuration of a sweep; none if the source is no sweep.
        benchmark: its name and its title.
    """
    partitions = partitions_of(recorded.layers)
    lines, comparisons = _lines(recorded.layers, configs), 0
    if len(lines) < 2:
        lines = _all_lines(recorded.layers, recorded.splits)
        comparisons = count_comparisons(len(partitions), recorded.splits)  # any of them can be chosen
    return {
        "kind": "header",
        "source": source,
        "title": title,
        "benchmark": benchmark[0],
        "benchmarkTitle": benchmark[1],
        "tasks": tasks,
        "seeds": list(seeds),
        "strengths": strengths_of(configs) or STRENGTHS,
        "layers": [{"name": layer.name, "tensors": list(layer.tensors)} for layer in recorded.layers],
        "partitions": partitions,
        "lines": lines,
        "used": recorded.used,
        "defaults": Restriction().as_json(),
        "cancelled": CANCELLED,
        "rule": _rule(len(seeds), max(comparisons, len(lines) + 1)),  # without GEM, with replay and the chosen settings
        "canTrain": can_train,
        "every": recorded.every,
    }


def used_settings(config: RunConfig) -> dict[str, Any] | None:
    """Return the settings of a recorded run; None if its recorded splits cannot be joined to those that it used."""
    if (config.snap_splits or config.splits) % config.splits:
        return None
    strengths = config.strength if isinstance(config.strength, tuple) else (config.strength,)
    settings = {"moduleOf": list(config.module_of), "splits": config.splits, "strength": list(strengths)}
    return {**settings, "restriction": config.restriction.as_json()}


def partitions_of(layers: Sequence[Layer]) -> list[dict[str, Any]]:
    counts = module_counts(layers) if layers else []
    return [{"modules": count, "moduleOf": list(partition.modules(layers, count))} for count in counts]


def strengths_of(configs: Sequence[RunConfig]) -> list[float]:
    """Return the strengths of the GEM family, without strengths per task."""
    of_gem = [config.strength for config in configs if _is_restricted(config)]
    return sorted({float(strength) for strength in of_gem if not isinstance(strength, tuple)})


def _is_restricted(config: RunConfig) -> bool:
    """Return whether curves can show this configuration: whether its method could be recorded."""
    return uses(config.method, "snap_every")


def _lines(layers: Sequence[Layer], configs: Sequence[RunConfig]) -> list[dict[str, Any]]:
    """Return the lines of a sweep that curves can show, GEM first; none if there are fewer than two."""
    tensors = sum(len(layer.tensors) for layer in layers)
    found = {config.label: config for config in configs if _is_restricted(config) and len(config.module_of) == tensors}
    if len(found) < 2:
        return []
    whole: dict[str, Any] = {"name": "GEM", "moduleOf": [0] * tensors, "splits": 1, "solver": "exact"}
    lines = [whole] + [
        {"name": name, "moduleOf": list(config.module_of), "splits": config.splits, "solver": config.solver}
        for name, config in found.items()
        if name != whole["name"]
    ]
    families = list(FAMILIES)
    lines.sort(key=lambda line: (families.index(style.family(line["name"])), style.numbers_in(line["name"])))
    return _colored(lines)


def _all_lines(layers: Sequence[Layer], splits: int) -> list[dict[str, Any]]:
    """Return GEM, p-mGEM with each partition and d-mGEM with each number of splits."""
    return _colored(
        [
            {
                **{"name": line.name, "moduleOf": list(partition.modules(layers, line.modules))},
                **{"splits": line.splits, "solver": line.solver},
            }
            for line in (default_lines(layers, splits) if layers else ())
        ]
    )


def _colored(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the colours: those of the family, from light to dark, as `style.line_styles` assigns them to trained lines."""
    colored = []
    for line in lines:
        family = style.family(line["name"])
        members = [other["name"] for other in lines if style.family(other["name"]) == family]
        color = style.ramp(style.of_family(family).color, members.index(line["name"]), len(members))
        colored.append({**line, "color": color})
    return colored


def _rule(seeds: int, comparisons: int) -> dict[str, Any]:
    """Return the rule of significance for comparisons with GEM."""
    return {
        **significance.for_browser(seeds, comparisons),
        **{"places": curves.PLACES, "same": curves.SAME},
        **{"leastCommon": paired.LEAST_COMMON, "mostCommon": paired.MOST},
    }
