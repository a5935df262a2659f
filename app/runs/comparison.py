"""Several runs side by side: their results, and the settings in which they differ."""

from collections.abc import Sequence

import components
import pandas as pd
import streamlit as st
from text import abbreviate, escape_markdown, field_title

from runs import run_list
from runs.run_list import MOST_CURVES, Row, run_colors, run_row, select_runs
from runs.selected_runs import format_value

MOST_ERRORS = 3
MEASURES = ("acc", "fwd", "bwd")


def show_comparison(runs: list[Row]) -> None:
    st.subheader(f"{len(runs):,} runs")
    show_errors(runs)
    differing, shared = compare_fields(runs)
    columns, rows = comparison_table(runs, differing)
    description = "Results of the selected runs, and the settings in which they differ. Select one to see its details."
    components.show_table(columns, rows, "comparison", description, (), lambda keys: select_runs(keys[-1:]))
    with st.expander(f"Settings that all runs share ({len(shared)})"):
        values = {name: next(run["config"][name] for run in runs if name in run["config"]) for name in shared}
        fields = [{"setting": field_title(n), "value": escape_markdown(format_value(v))} for n, v in values.items()]
        st.table(pd.DataFrame(fields), hide_index=True)
    which = f" of the first {MOST_CURVES} runs" if len(runs) > MOST_CURVES else ""
    st.markdown(f"Curves{which}, in the colours of the table:")


def show_errors(runs: list[Row]) -> None:
    failed: dict[str, list[str]] = {}
    for run in runs:
        if run["error"]:
            failed.setdefault(run["error"], []).append(f"r{run['id']}")
    for error, ids in list(failed.items())[:MOST_ERRORS]:
        st.error(escape_markdown(f"{abbreviate(ids, 8)}: {error}"))


def compare_fields(runs: Sequence[Row]) -> tuple[list[str], list[str]]:
    """Return the fields in which runs differ, and the fields that are equal in all runs that have them."""
    values: dict[str, set[str]] = {}
    for run in runs:
        for name, value in run["config"].items():
            values.setdefault(name, set()).add(repr(value))
    return [name for name in values if len(values[name]) > 1], [name for name in values if len(values[name]) == 1]


def comparison_table(runs: Sequence[Row], differing: Sequence[str]) -> tuple[list[Row], list[Row]]:
    """Return columns and rows: results, then differing fields; runs have the colours of their curves."""
    fields = [name for name in differing if name != "method"]  # the label contains the method
    results = [column for column in run_list.COLUMNS if column["name"] in ("run", "label", "status", "seconds", *MEASURES)]
    texts = {name for name in fields if any(isinstance(run["config"].get(name), str) for run in runs)}
    columns = results + [
        {"name": name, "title": field_title(name), "kind": "text" if name in texts else "number"} for name in fields
    ]
    rows, colors = [], run_colors([f"r{run['id']}" for run in runs])
    for run in runs:
        row = run_row(run, None, colors)
        cells = {column["name"]: row["cells"][column["name"]] for column in results}
        for name in fields:
            value = run["config"].get(name)
            cells[name] = {"text": format_value(value), "value": value if isinstance(value, int | float) else None}
        rows.append({**row, "cells": cells})
    return columns, rows
