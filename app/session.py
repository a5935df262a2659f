"""State of a browser session between reruns of a page: the store, data read from it, messages, and the URL."""

import re
import threading
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import tzinfo
from functools import wraps
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import garbage
import pandas as pd
import streamlit as st
from shared_results import SharedResults
from text import escape_markdown

from mgem_core import UsageError
from mgem_core.analysis import frames
from mgem_core.analysis.measurements import MeasurementCache
from mgem_core.runner.work import store_path
from mgem_core.store import ENDED, Store

EXPLORE_PAGE = "explore/page.py"
IDLE_SECONDS = 3.0  # between checks of a store without active runs
LARGEST_ID = 2**63 - 1  # the largest integer that SQLite can hold
_may_lag = ContextVar("may lag", default=False)


# The store


def get_store() -> Store:
    """Return the store, which all sessions share; if it cannot be used, show the reason and stop the page.

    If the file of the store was replaced, the new one is opened and the page starts again, because a click was meant for
    the old store.
    """
    path = store_path()
    before: Store | None = st.session_state.get("store")
    try:
        store = shared_store()
    except UsageError as error:
        st.error(escape_markdown(str(error)))
        st.stop()
    st.session_state["store"] = store
    if before is not None and before is not store and before.path == path:
        queue_notice(escape_markdown(f"The store at {path} was replaced; this page now shows the new one."))
        st.rerun()
    return store


class _OpenStore:
    """The store that all sessions share; a connection for each session would use up the file descriptors."""

    def __init__(self) -> None:
        self.store: Store | None = None
        self.opening = threading.Lock()

    def get(self, path: Path) -> Store:
        with self.opening:
            if self.store is None or self.store.path != path or not self.store.is_current():
                self.store = Store(path)
            return self.store


_open_store = _OpenStore()


def shared_store() -> Store:
    """Return the store that all sessions share; raise a UsageError if it cannot be used. Any thread may call this."""
    return _open_store.get(store_path())


def rerun_if_replaced(store: Store) -> None:
    """Run the whole page again, from a fragment, if the store was replaced."""
    if not store.is_current():
        st.rerun()


def explain_errors(action: Callable[..., None]) -> Callable[..., None]:
    """Decorate a page, fragment or callback so that it shows a UsageError, such as a locked store, as a message."""

    @wraps(action)
    def explained(*values: Any) -> None:
        try:
            action(*values)
        except UsageError as error:
            st.error(escape_markdown(str(error)))

    return explained


# Data read from the store


measurement_cache = MeasurementCache()  # this and the next are shared by all sessions
_shared_results = SharedResults()


def read_once(name: str, store: Store, subject: Any, read: Callable[[], Any]) -> Any:
    """Return the last result of `read` about this subject, for all sessions; read again if the store has changed since.

    Nobody may change the result. In a block `with lagging():`, it may be a bit older than the store.
    """
    return _shared_results.get(name, store, subject, read, _may_lag.get())


@contextmanager
def lagging(is_allowed: bool = True) -> Iterator[None]:
    """Let `read_once` return results that are a bit older than the store, in fragments that soon run again anyway."""
    token = _may_lag.set(is_allowed)
    try:
        yield
    finally:
        _may_lag.reset(token)


def read_runs(store: Store, sweep: int) -> pd.DataFrame:
    return read_once("runs frame", store, sweep, lambda: frames.runs(store, sweep))


def read_sweeps(store: Store) -> dict[int, dict[str, Any]]:
    """Return all sweeps by id, the newest first; see `Store.sweeps`."""
    return {row["id"]: row for row in read_once("sweeps", store, None, store.sweeps)}


def rerun_when_changed(store: Store, name: str, read: Callable[[], Any], shown: Any = None) -> None:
    """Call `read` every few seconds, and run the whole page again when its result differs from what the page shows.

    Another process may have launched or resumed a sweep. A check costs one short query if nothing was written.
    """
    before = read() if shown is None else shown

    def check() -> None:
        garbage.freeze_survivors()
        rerun_if_replaced(store)
        with lagging():
            current = read_once(name, store, before, read)  # `before` as subject: another sweep has other counts
        if current != before:
            st.rerun()

    st.fragment(explain_errors(check), run_every=IDLE_SECONDS)()


def all_ended(counts: dict[str, int]) -> bool:
    """Return whether every run has ended, given the number of runs with each status."""
    return not any(count for status, count in counts.items() if status not in ENDED)


# Messages


def queue_toast(message: str) -> None:
    """Show a toast in the next run of the page, because a rerun would hide a toast that is shown now."""
    st.session_state["toast"] = message


def show_toast() -> None:
    if message := st.session_state.pop("toast", ""):
        st.toast(message)


def queue_notice(sentence: str) -> None:
    """Show a sentence at the top of the page, in the next call of `show_notices`."""
    st.session_state.setdefault("notices", []).append(sentence)


def show_notices() -> None:
    if sentences := st.session_state.pop("notices", []):
        st.warning(" ".join(sentences))


# The URL


def parse_id(text: str, letter: str) -> int | None:
    """Return the number in an id such as r3 or s12; None for other text, or if the number is too large for the store."""
    match = re.fullmatch(f"{letter}([0-9]{{1,19}})", text)
    number = int(match[1]) if match else LARGEST_ID + 1
    return number if number <= LARGEST_ID else None


def put_in_url(name: str, values: list[str]) -> None:
    """Set a parameter of the URL if it differs; remove it if there are no values."""
    text = ",".join(values)
    if not text:
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != text:
        st.query_params[name] = text


def put_source_in_url(key: str) -> None:
    """Name the source that Explore shows: a sweep, a recorded run or the example. The browser owns all other parameters."""
    put_in_url("sweep", [key] if key.startswith("s") else [])
    put_in_url("of", [] if key.startswith("s") else [key])


def url_selection(name: str, known: Container[str]) -> list[str]:
    """Return the known keys of a selection, first read from the URL; the session holds it, and the URL is updated."""
    in_session = st.session_state.setdefault(name, st.query_params.get(name, "").split(","))
    selected = [key for key in in_session if key in known]
    put_in_url(name, selected)
    return selected


def url_parameters() -> dict[str, list[str]]:
    """Return all parameters of the URL; some have several values."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def note_page(title: str) -> None:
    """Remember which page is shown; called before a page runs."""
    st.session_state["page before"], st.session_state["page"] = st.session_state.get("page", title), title


def came_from_another_page() -> bool:
    """Return whether this session showed another page before this run."""
    return bool(st.session_state["page before"] != st.session_state["page"])


def browser_time_zone() -> tzinfo | None:
    try:
        return ZoneInfo(st.context.timezone or "")
    except (ValueError, ZoneInfoNotFoundError):
        return None
