"""Take it along: one file of what the page shows."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import state
import streamlit as st

from mgem_core.figures import files
from mgem_core.figures.data import View
from mgem_core.learners import METHODS
from mgem_core.store import Store

WHATS = {"pareto": "Frontier", "transfer": "Transfer", "matrix": "R heat maps", "table": "Table", "configs": "Configs"}
FORMATS = {**{name: name.upper() for name in ("png", "svg", "pdf", "html", "csv", "json")}, "latex": "LaTeX"}


def offer(store: Store, sweep: int | None, view: View, runs: list[int] | None = None) -> None:
    """Choose what; a button for each format downloads it."""
    with st.popover("Export"):
        what = st.selectbox("What", list(WHATS), format_func=WHATS.__getitem__, key="export what")
        several = benchmarks(store, runs or []) if what != "configs" else []
        if len(several) > 1:
            view = replace(view, benchmark=st.selectbox("Benchmark", several, format_func=state.title, key="export on"))
        if not _ready(store, what, view, store.runs_of(sweep) if sweep is not None else runs or [], sweep is None):
            st.info("There is nothing of that to take along yet.")
            return
        of = files.name_of(store, sweep, runs)
        names = {format: files.filename(of, what, format, view) for format in files.WHATS[what]}
        st.caption(Path(next(iter(names.values()))).stem)
        with st.container(horizontal=True):
            for format, name in names.items():
                made = partial(_made, store.path, sweep, what, format, view, runs)  # plain values: for another thread
                st.download_button(FORMATS[format], made, name, on_click="ignore", key=f"export {what} {format}")


def _ready(store: Store, what: str, view: View, runs: list[int], each: bool) -> bool:
    """Has some run told what it takes? Asked at every rerun, so by one look into the store."""
    marks = ",".join(map(str, runs))
    which = f"run IN ({marks}) AND run IN (SELECT id FROM runs WHERE json_extract(config, '$.benchmark') = ?)"
    apart = ",".join(f"'{name}'" for name, method in METHODS.items() if not method.shares_network)
    sharing = f"json_extract(config, '$.method') NOT IN ({apart})"
    needed = {
        "pareto": f"kind = 'Probed' AND task >= {view.pair[1] if view.pair else 1}",
        "transfer": f"kind = 'TaskLearned' AND run IN (SELECT id FROM runs WHERE {sharing})",
        "matrix": "kind = 'TaskLearned'" + ("" if each else " AND run IN (SELECT id FROM runs WHERE status = 'finished')"),
        "table": "kind = 'TaskLearned'",
    }
    benchmark = view.benchmark or next(iter(benchmarks(store, runs)), "")
    return what == "configs" or bool(
        store.rows(f"SELECT 1 FROM events WHERE {which} AND {needed[what]} LIMIT 1", benchmark)
    )


def benchmarks(store: Store, runs: list[int]) -> list[str]:
    marks = ",".join("?" * len(runs))
    rows = store.rows(f"SELECT DISTINCT json_extract(config, '$.benchmark') AS name FROM runs WHERE id IN ({marks})", *runs)
    return [row["name"] for row in rows]


def _made(path: Path, sweep: int | None, what: str, format: str, view: View, runs: list[int] | None) -> bytes:
    store = Store(path)
    try:
        return files.export(store, sweep, what, format, view, runs)
    finally:
        store.close()
