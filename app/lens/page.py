"""The page Lens: drag modules, splits and strength, and see what they would have done at recorded steps."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import runner_process
import session
import streamlit as st
from paper.run_this import ask_to_run, show_question
from pydantic import ValidationError
from text import abbreviate, escape_markdown

from lens.component import send_trained_runs, show_lens
from lens.example_runs import example_recordings
from lens.payload import payload
from lens.sources import Source, example, recorded_sources, train_settings
from lens.trained import is_training, trained_as
from mgem_core import UsageError
from mgem_core.config import explain
from mgem_core.lens import recordings
from mgem_core.lens.header import MOST_NUMBERS
from mgem_core.lens.recordings import Recording
from mgem_core.networks._layer import Layer
from mgem_core.store import Store

MOST_NAMES = 6  # number of file names in the title of the lens
INTRODUCTION = """
- **Each point is one way to restrict the updates of a network** that learns a new task: the further right, the better a
  step keeps the old task, and the higher, the more it learns of the new one.
- **Drag** a slider, or the marker along its curve: from recorded gradients, your browser computes what other modules,
  splits and memory strengths would have done at the same steps, and nothing is trained.
- **It cannot tell** where a whole run with other settings would end, because that run would come to other parameters:
  train it to know.
"""
HOW_TO_RECORD = (
    "To look at your own runs, train them with snapshots: on Explore under *More settings*, or with "
    "`mgem sweep --snap-every 10 --snap-splits 6 --seeds 0,1,2,3`. Any PyTorch loop can be recorded with "
    "`mgem_core.lens.recorder`; `docs/lens.md` shows how."
)


@cache
def example_payload() -> dict[str, Any]:
    return payload(example_recordings(), example().title, example().key)


def choose_source(sources: dict[str, Source]) -> Source:
    """Let the user choose a source; the default is the one in the URL, the newest recorded runs, or the example."""
    wanted = st.query_params.get("of", "")
    keys, key_of = list(sources), {f"r{run}": one.key for one in sources.values() for run in (*one.runs, *one.replaced)}
    wanted = key_of.get(wanted, wanted)
    index = keys.index(wanted) if wanted in keys else 0
    key = st.selectbox("Recorded runs", keys, index=index, format_func=lambda one: sources[one].title, key="lens of")
    session.put_in_url("of", [key])
    return sources[key]


def read_files() -> dict[str, Any] | None:
    """Return the lens's content for uploaded files, computed once; None if no file can be shown."""
    files = st.file_uploader("Or recordings of your own loop, one per seed", type="lens", accept_multiple_files=True)
    ids = [file.file_id for file in files]
    if st.session_state.get("lens files", (None,))[0] != ids:
        st.session_state["lens files"] = ids, *open_files([(file.name, file.getvalue()) for file in files])
    _, content, problems = st.session_state["lens files"]
    for problem in problems:
        st.error(escape_markdown(problem))
    return content  # type: ignore[no-any-return]


def open_files(files: Sequence[tuple[str, bytes]]) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the lens's content for files (name, content), and a sentence about each file that cannot be shown."""
    found: list[Recording] = []
    problems: list[str] = []
    numbers_left = MOST_NUMBERS  # for all files together, because all are in memory at once
    for name, content in files:
        try:
            recording = recordings.parse(content, name, numbers_left)
        except UsageError as error:
            problems.append(str(error))
        else:
            found.append(recording)
            numbers_left -= recording.numbers
    try:
        return (payload(found, abbreviate([one.name for one in found], MOST_NAMES)) if found else None), problems
    except UsageError as error:
        return None, [*problems, str(error)]


def read_source(store: Store, source: Source) -> tuple[tuple[Layer, ...], dict[str, Any]]:
    """Return the layers of the network and the lens's content."""
    found = [recordings.of_run(store, run) for run in source.runs]
    return found[0].layers, payload(found, source.title, source.key)


def ask_to_train(source: Source, layers: tuple[Layer, ...], wanted: dict[str, Any]) -> None:
    """Handle the lens's button to train settings: the page then asks for confirmation, as for the paper's tables."""
    spec = source.spec(train_settings(layers, wanted))
    try:
        configs = spec.runs()
    except ValidationError as error:
        session.queue_toast(explain(error))
        return
    ask_to_run(f"{configs[0].label} with strength {configs[0].strength:g}", spec)


@session.explain_errors
def show_page() -> None:
    store = session.get_store()
    session.show_toast()
    session.show_notices()
    st.title("The lens: what other settings would have done")
    st.markdown(INTRODUCTION)
    if st.button("Train your own: Explore"):
        st.switch_page(session.EXPLORE_PAGE)
    show_source(store)
    st.caption(HOW_TO_RECORD)
    show_question(store, goes_to_explore=False)  # the lens itself shows the results


def show_source(store: Store) -> None:
    found = session.read_once("lens sources", store, None, lambda: recorded_sources(store))
    source = choose_source({one.key: one for one in [*found, example()]})
    with st.expander("Open files"):
        of_files = read_files()
    if of_files:
        show_thinning(of_files)
        show_lens(of_files, "lens", None)
        return
    if source.runs:
        layers, content = session.read_once("lens recordings", store, source, lambda: read_source(store, source))
    else:
        layers, content = example_recordings()[0].layers, example_payload()
    show_thinning(content)
    show_lens(content, "lens", lambda wanted: ask_to_train(source, layers, wanted))
    show_trained(store, source)


def show_thinning(content: dict[str, Any]) -> None:
    if content["every"] > 1:
        st.caption(f"The recording is long: one of every {content['every']} recorded steps is shown.")


def show_trained(store: Store, source: Source) -> None:
    """Send the runs that were trained with settings of the lens to the lens, and update them while they train."""
    probes = st.session_state.setdefault("lens probes", {})

    def read() -> dict[str, Any]:
        return session.read_once("lens trained", store, source, lambda: trained_as(store, source, probes))  # type: ignore[no-any-return]

    is_active = is_training(read())

    @session.explain_errors
    def show_current() -> None:
        session.rerun_if_replaced(store)
        trained = read()
        send_trained_runs(trained, "lens trained component")
        if trained["left_out"]:
            st.caption(f"The lens knows the newest trained settings; {trained['left_out']} older ones were not read.")
        if is_active:
            runner_process.keep_runner_alive()
        if is_active and not is_training(trained):
            session.queue_toast("The training has ended.")
            st.rerun()

    st.fragment(show_current, run_every=1.0 if is_active else None)()


show_page()
