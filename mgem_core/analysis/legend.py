"""Group configurations into the lines of a plot, and name these lines for the legend."""

from functools import lru_cache

import pandas as pd
from pydantic import ValidationError

from mgem_core.config import RunConfig

# Fields that no line is named by: it has all strengths and seeds of one benchmark, and snapshots change no result.
NOT_IN_LINES = ("benchmark", "strength", "seed", "snap_every", "snap_splits")


def legend_entries(frame: pd.DataFrame) -> list[list[str]]:
    """Return the names of the lines that each configuration belongs to, given one row of frames.runs per configuration.

    A line is named by its label and by the fields, except the strength, in which configurations of this label differ. A
    configuration to which such a field does not matter (such as the trigger at strength 0) belongs to every line that fits.
    """
    line_fields = [name for name in RunConfig.model_fields if name not in NOT_IN_LINES]
    rows = frame[["label", *line_fields]].to_dict("records")
    relevant = [_relevant_fields(text) for text in frame["configuration"]]
    known = [{name: _value(value) for name, value in row.items() if not _is_missing(value)} for row in rows]
    values: dict[str, dict[str, set[str]]] = {row["label"]: {} for row in rows}
    for row, fields in zip(known, relevant, strict=True):
        for name in row.keys() & (fields or row.keys()):
            values[row["label"]].setdefault(name, set()).add(row[name])
    differing = {label: [name for name in rows[0] if len(used.get(name, ())) > 1] for label, used in values.items()}
    lines: list[dict[str, str]] = []
    for row, fields in zip(known, relevant, strict=True):
        names = [name for name in differing[row["label"]] if name in row and (not fields or name in fields)]
        lines.append({"label": row["label"], **{name: row[name] for name in names}})
    entries = []
    for line, fields in zip(lines, relevant, strict=True):
        fitting = [other for other in lines if line.items() < other.items()] if fields else []
        entries.append(list(dict.fromkeys(map(_title, fitting or [line]))))
    return entries


def _title(line: dict[str, str]) -> str:
    """Name a line, such as "GEM · trigger always"."""
    return " · ".join([line["label"], *(f"{name.replace('_', ' ')} {line[name]}" for name in line if name != "label")])


@lru_cache(maxsize=20_000)
def _relevant_fields(configuration: str) -> frozenset[str]:
    """Return the fields that matter to a configuration; none if this version cannot read it."""
    try:
        return frozenset(RunConfig.model_validate_json(configuration).relevant_fields())
    except ValidationError:
        return frozenset()


def _is_missing(value: object) -> bool:
    """Test for None and NaN: runs of older versions may lack a field."""
    return value is None or value != value


def _value(value: object) -> str:
    """Write a field's value as the command line takes it."""
    return ",".join(f"{name}={number}" for name, number in value.items()) if isinstance(value, dict) else str(value)
