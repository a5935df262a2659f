"""The runner that this server starts to train the runs that a page launches."""

from typing import Any

import session
import streamlit as st
from text import escape_markdown

from mgem_core import UsageError
from mgem_core.fingerprints import code_has_changed
from mgem_core.runner.status import current_problem
from mgem_core.runner.work import WantedRunner, ensure_runner, reason_to_wait, refusal, wanted_runner

IDLE_SECONDS = "900"  # for which a runner without work keeps its workers ready for the next sweep


@st.cache_resource
def _started_runner() -> dict[str, Any]:
    """Return the runner process that this server started last, and the reason if it could not work."""
    return {"process": None, "refusal": ""}


@st.cache_data(ttl=1.0, show_spinner=False)
def _wanted_runner() -> WantedRunner:
    """Return the runner that this server needs; cached for all sessions, because it reads all code."""
    return wanted_runner()


@st.cache_data(ttl=1.0, show_spinner=False)
def _code_has_changed() -> bool:
    return code_has_changed()


def wake_runner() -> None:
    """Make sure that there is a runner, even if the last one could not work."""
    _started_runner()["refusal"] = ""
    _start(_started_runner())


def keep_runner_alive() -> None:
    """Replace a runner that died, and show what prevents it from working; called while runs wait.

    A runner that could not work is not started again until `wake_runner` is called.
    """
    runner = _started_runner()
    runner["refusal"] = runner["refusal"] or refusal(runner["process"])
    if not runner["refusal"]:
        _start(runner)
    if runner["refusal"]:
        st.error(escape_markdown(f"{runner['refusal']} No run can start until this is fixed; then press Launch or Resume."))
    elif _code_has_changed():
        st.warning("The code was edited after this dashboard started. Restart the dashboard before you launch more runs.")
    elif session.get_store().has_current_requests() and (reason := reason_to_wait(_wanted_runner())):
        st.info(escape_markdown(f"{reason} {current_problem()}"))
    elif problem := current_problem():
        st.error(escape_markdown(problem))


def _start(runner: dict[str, Any]) -> None:
    """Start a runner unless the last one is alive; it needs a second until it holds its lock.

    A runner of another version is only replaced when runs wait for the code of this server.
    """
    if runner["process"] is None or runner["process"].poll() is not None:
        try:
            wanted, is_needed = _wanted_runner(), session.get_store().has_current_requests
            started = ensure_runner("--idle", IDLE_SECONDS, wanted=wanted, is_needed=is_needed)
            runner["process"] = started or runner["process"]
        except UsageError as error:
            runner["refusal"] = str(error)
