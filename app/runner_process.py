"""The runner that this server starts to train the runs that a page launches."""

import threading
import time
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Literal, TypeVar

import session
import streamlit as st
from text import escape_markdown

from mgem_core import UsageError
from mgem_core.fingerprints import code_has_changed
from mgem_core.runner.status import current_problem
from mgem_core.runner.work import ensure_runner, reason_to_wait, refusal, wanted_runner
from mgem_core.store import Store

IDLE_SECONDS = "900"  # for which a runner without work keeps its workers ready for the next sweep
T = TypeVar("T")
Level = Literal["error", "warning", "info"]
_starting = threading.Lock()  # pages and feeds may call at the same time


@cache
def _started_runner() -> dict[str, Any]:
    """Return the runner process that this server started last, and the reason if it could not work."""
    return {"process": None, "refusal": ""}


def _once_a_second(read: Callable[[], T]) -> Callable[[], T]:
    """Share a result between all sessions for a second, because computing it reads all code."""
    cached = lru_cache(maxsize=1)(lambda second: read())
    return lambda: cached(int(time.monotonic()))


_wanted_runner = _once_a_second(wanted_runner)
_code_has_changed = _once_a_second(code_has_changed)


def wake_runner() -> None:
    """Make sure that there is a runner, even if the last one could not work."""
    _started_runner()["refusal"] = ""
    _start(_started_runner(), session.get_store())


def keep_runner_alive() -> None:
    """Replace a runner that died, and show what prevents it from working; called while runs wait."""
    if found := check_runner(session.get_store()):
        level, sentence = found
        {"error": st.error, "warning": st.warning, "info": st.info}[level](escape_markdown(sentence))


def check_runner(store: Store) -> tuple[Level, str] | None:
    """Replace a runner that died; return what prevents it from working, and how serious that is. Any thread may call this.

    A runner that could not work is not started again until `wake_runner` is called.
    """
    runner = _started_runner()
    runner["refusal"] = runner["refusal"] or refusal(runner["process"])
    if not runner["refusal"]:
        _start(runner, store)
    if runner["refusal"]:
        return "error", f"{runner['refusal']} No run can start until this is fixed; then press Launch or Resume."
    if _code_has_changed():
        edited = "The code was edited after this dashboard started."
        return "warning", f"{edited} Restart the dashboard before you launch more runs."
    if store.has_current_requests() and (reason := reason_to_wait(_wanted_runner())):
        return "info", f"{reason} {current_problem()}".strip()
    problem = current_problem()
    return ("error", problem) if problem else None


def _start(runner: dict[str, Any], store: Store) -> None:
    """Start a runner unless the last one is alive; it needs a second until it holds its lock.

    A runner of another version is only replaced when runs wait for the code of this server.
    """
    with _starting:
        if runner["process"] is None or runner["process"].poll() is not None:
            try:
                wanted, is_needed = _wanted_runner(), store.has_current_requests
                started = ensure_runner("--idle", IDLE_SECONDS, wanted=wanted, is_needed=is_needed)
                runner["process"] = started or runner["process"]
            except UsageError as error:
                runner["refusal"] = str(error)
