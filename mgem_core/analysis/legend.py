"""Configurations → the lines of a plot that they belong to, as its legend names them."""

from functools import lru_cache

import pandas as pd
from pydantic import ValidationError

from mgem_core.config import RunConfig


def legend_entries(frame: pd.DataFrame) -> list[list[str]]:
    """The lines that each configuration belongs to, from one row per configuration of a frame of frames.runs.

    A line is named by the label and the fields (but the strength) in which the configurations of that label differ. A
    configuration to which such a field does not matter (the trigger, at strength 0) belongs to every line that it fits.
    """
    fields_apart = [name for name in RunConfig.model_fields if name not in ("benchmark", "strength", "seed")]
    rows = frame[["label", *fields_apart]].to_dict("records")
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
    """GEM · trigger always"""
    return " · ".join([line["label"], *(f"{name.replace('_', ' ')} {line[name]}" for name in line if name != "label")])


@lru_cache(maxsize=20_000)
def _relevant_fields(configuration: str) -> frozenset[str]:
    """The fields that matter to a configuration; none if this version does not know it."""
    try:
        return frozenset(RunConfig.model_validate_json(configuration).relevant_fields())
    except ValidationError:
        return frozenset()


def _is_missing(value: object) -> bool:
    """A run of an older version may lack a field."""
    return value is None or value != value


def _value(value: object) -> str:
    """A field's value as the command line takes it."""
    return ",".join(f"{name}={number}" for name, number in value.items()) if isinstance(value, dict) else str(value)
