"""The runner that this server starts, so that what a page launches is trained."""

from typing import Any

import streamlit as st

from mgem_core import UsageError
from mgem_core.runner.status import current_problem
from mgem_core.runner.work import ensure_runner, refusal

IDLE_SECONDS = "900"  # for which a runner without work keeps its workers warm for the next sweep


@st.cache_resource
def _started_runner() -> dict[str, Any]:
    """The process that this server started last, and why it could not work if so."""
    return {"process": None, "refusal": ""}


def wake_runner() -> None:
    """Make sure that there is a runner, even if the last one could not work."""
    _started_runner()["refusal"] = ""
    _start(_started_runner())


def keep_runner_alive() -> str:
    """While runs wait, replace a runner that died; return what prevents it from working, in one sentence.

    A runner that could not work is not started again until `wake_runner` is called.
    """
    runner = _started_runner()
    runner["refusal"] = runner["refusal"] or refusal(runner["process"])
    if not runner["refusal"]:
        _start(runner)
    if runner["refusal"]:
        return f"{runner['refusal']} No run can start until this is fixed; then press Launch or Resume."
    return current_problem()


def _start(runner: dict[str, Any]) -> None:
    """Start a runner unless the last one is alive; it takes a second until it holds its lock."""
    if runner["process"] is None or runner["process"].poll() is not None:
        try:
            runner["process"] = ensure_runner("--idle", IDLE_SECONDS) or runner["process"]
        except UsageError as error:
            runner["refusal"] = str(error)
