"""What a page needs to know: the store, the runner, and what the URL says."""

import re
from collections.abc import Callable, Container
from functools import wraps
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
from listing import plain

from mgem_core import UsageError, frames
from mgem_core.measurements import MeasurementCache
from mgem_core.runner.status import current_problem
from mgem_core.runner.work import ensure_runner, refusal, store_path
from mgem_core.store import ENDED, Store
from mgem_core.streams import BENCHMARKS

IDLE = "900"  # seconds a runner stays warm for the next sweep
LARGEST_ID = 2**63 - 1  # the largest integer that SQLite can hold
LONGEST_QUOTE = 60  # characters of a text from a URL in a message


def store() -> Store:
    """This session's own connection; a store that cannot be used stops the page with its reason.

    A store whose file was replaced gives way to the new one. The page then starts anew: what was clicked was meant for
    runs of the old store.
    """
    path = store_path()
    before: Store | None = st.session_state.get("store")
    if before is None or before.path != path or not before.is_current():
        st.session_state["store"] = _opened(path)
        if before is not None and before.path == path:
            st.session_state["store notice"] = f"The store at {path} was replaced; this page now shows the new one."
            st.rerun()
    if message := st.session_state.pop("store notice", ""):
        st.warning(plain(message))
    return st.session_state["store"]  # type: ignore[no-any-return]


def _opened(path: Path) -> Store:
    try:
        return Store(path)
    except UsageError as error:
        st.error(plain(str(error)))
        st.stop()


def explain_errors(action: Callable[..., None]) -> Callable[..., None]:
    """Have a page, a part of it or a button say in one sentence what could not be done: no room, a locked store."""

    @wraps(action)
    def explained(*values: Any) -> None:
        try:
            action(*values)
        except UsageError as error:
            st.error(plain(str(error)))

    return explained


def rerun_if_replaced(store: Store) -> None:
    """For a part of a page that runs by itself: have the whole page notice that the store was replaced."""
    if not store.is_current():
        st.rerun()


@st.cache_resource
def watch() -> MeasurementCache:
    return MeasurementCache()


def _unless_changed(name: str, store: Store, of: Any, make: Callable[[], Any]) -> Any:
    """What `make` gave last time, unless the store has changed since, or is another one."""
    now = (of, store.version())
    if st.session_state.get(name, (None,))[0] != now:
        st.session_state[name] = now, make()
    return st.session_state[name][1]


def runs(store: Store, sweep: int) -> pd.DataFrame:
    """The frame of a sweep's runs."""
    return _unless_changed("runs frame", store, sweep, lambda: frames.runs(store, sweep))


@st.cache_resource
def _runner() -> dict[str, Any]:
    """The runner that this server started last, and why it could not work if so."""
    return {"process": None, "refused": ""}


def wake_runner() -> None:
    """See that there is a runner; one that is warm trains the moment it is asked to."""
    _runner()["refused"] = ""
    _start(_runner())


def keep_runner() -> str:
    """While runs wait, replace a runner that died; what keeps it from working, in one sentence.

    A runner that could not work is not started again until somebody asks for it.
    """
    mine = _runner()
    mine["refused"] = mine["refused"] or refusal(mine["process"])
    if not mine["refused"]:
        _start(mine)
    if mine["refused"]:
        return f"{mine['refused']} No run can start until this is fixed; then press Launch or Resume."
    return current_problem()


def _start(mine: dict[str, Any]) -> None:
    """Unless the last one lives, or is about to: it takes a second until it holds its lock."""
    if mine["process"] is None or mine["process"].poll() is not None:
        try:
            mine["process"] = ensure_runner("--idle", IDLE) or mine["process"]
        except UsageError as error:
            mine["refused"] = str(error)


def sweeps(store: Store) -> dict[int, dict[str, Any]]:
    """Every sweep by its id, the newest first; see `Store.sweeps`."""
    return {row["id"]: row for row in _unless_changed("sweeps", store, None, store.sweeps)}


def over(counts: dict[str, int]) -> bool:
    """Has every one of these runs ended?"""
    return not any(count for status, count in counts.items() if status not in ENDED)


def parse_id(text: str, letter: str) -> int | None:
    """The number in an id such as r3 or s12; None for any other text, and for a number too large for the store."""
    match = re.fullmatch(f"{letter}([0-9]{{1,19}})", text)
    number = int(match[1]) if match else LARGEST_ID + 1
    return number if number <= LARGEST_ID else None


def ids_in_url(name: str, letter: str) -> list[int]:
    """?runs=r3,r5 → [3, 5]; what is not an id is left out."""
    parts = (parse_id(part, letter) for part in st.query_params.get(name, "").split(","))
    return [number for number in parts if number is not None]


def quote(text: str) -> str:
    """A text from a URL as part of a message: escaped, on one line, and not longer than can be read at a glance."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return plain(line if len(line) <= LONGEST_QUOTE else line[:LONGEST_QUOTE] + " …")


def put_in_url(name: str, values: list[str]) -> None:
    if values:
        st.query_params[name] = ",".join(values)
    else:
        st.query_params.pop(name, None)


def kept(name: str, known: Container[str]) -> list[str]:
    """A selection that lives in the session and is told in the URL, from which it starts."""
    told = st.query_params.get(name, "")
    chosen = [key for key in st.session_state.setdefault(name, told.split(",")) if key in known]
    if told != ",".join(chosen):
        put_in_url(name, chosen)
    return chosen


def later(message: str) -> None:
    """Say it on the next run of the page, which is about to come."""
    st.session_state["flash"] = message


def say() -> None:
    if message := st.session_state.pop("flash", ""):
        st.toast(message)


def speeds(store: Store) -> dict[str, float]:
    """Seconds per sample with each network, as measured on this machine."""
    return dict(_unless_changed("speeds", store, None, lambda: frames.speeds(store)))


def scope(store: Store, sweep: int) -> dict[str, int]:
    """The benchmarks of a sweep, each with its largest number of tasks."""
    frame = runs(store, sweep)
    return {name: int(tasks) for name, tasks in frame.groupby("benchmark", sort=False)["tasks"].max().items()}


def title(benchmark: str) -> str:
    return BENCHMARKS[benchmark].title if benchmark in BENCHMARKS else benchmark
