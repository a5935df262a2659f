"""Choose what the workbench shows: a sweep, recorded runs, the example, or recordings from files."""

import session
import streamlit as st
from text import escape_markdown, quote

from explore.example import example_source
from explore.header import Message
from explore.recording_files import open_files
from explore.selection import clear_selection
from explore.sources import EXAMPLE_KEY, Source, key_of_run, recorded_sources, sweep_sources
from mgem_core.store import Store

FILES = "files"  # the key of opened files
MOST_OFFERED = 200  # sources in the list; the page Runs has them all
HOW_TO_RECORD = (
    "Record your own PyTorch loop with `mgem_core.Recorder`, as `docs/lens.md` shows, and open one file per seed."
)


def read_sources(store: Store) -> dict[str, Source]:
    """Return all sources by key: sweeps, the newest first, recorded runs that belong to no sweep, and the example."""
    recorded = session.read_once("recorded sources", store, None, lambda: recorded_sources(store))
    sources = [*sweep_sources(session.read_sweeps(store)), *recorded, example_source()]
    return {source.key: source for source in sources}


def chosen_source(store: Store, sources: dict[str, Source]) -> Source:
    """Return the source in the URL, or the newest."""
    wanted, missing = find_wanted(store, sources)
    key = wanted or next(iter(sources))
    if missing:
        st.warning(f"There is no {missing} in this store; this is {escape_markdown(sources[key].title)}.")
    if wanted or missing or key != EXAMPLE_KEY:  # without a choice, the example gives way to the first sweep
        session.put_source_in_url(key)
    return sources[key]


def choose_source(store: Store, key: str) -> None:
    """Show another source, or this one instead of files."""
    if key in read_sources(store):  # it may have been deleted since
        session.put_source_in_url(key)
        st.session_state.pop("opened files", None)
        clear_selection()


def offered_sources(sources: dict[str, Source], chosen: str) -> list[tuple[str, str]]:
    """Return key and title of the chosen source and the newest ones; the page Runs has the others."""
    offered = [key for number, key in enumerate(sources) if number < MOST_OFFERED or key in (chosen, EXAMPLE_KEY)]
    return [(key, sources[key].title) for key in offered]


def find_wanted(store: Store, sources: dict[str, Source]) -> tuple[str, str]:
    """Return the key of the source in the URL, or what it names if the store does not have that; both may be empty."""
    sweep, of = st.query_params.get("sweep", ""), st.query_params.get("of", "")
    if sweep:
        key = f"s{session.parse_id(sweep, 's')}"
        return (key, "") if key in sources else ("", f"sweep {quote(sweep)}")
    if not of or of == EXAMPLE_KEY:
        return of, ""
    run = session.parse_id(of, "r")
    key = "" if run is None else key_of_run(store, run)
    return (key, "") if key in sources else ("", f"recorded run {quote(of)}")


def opened_files(source: Source) -> list[Message]:
    """Return the messages about files that were opened while this source was shown; empty if there are none."""
    key, messages = st.session_state.get("opened files", ("", []))
    return messages if key == source.key else []


def ask_for_files() -> None:
    st.session_state["is opening"] = True


def forget_question() -> None:
    st.session_state.pop("is opening", None)


def show_file_dialog(source: Source) -> None:
    """Show the dialog that opens files, if `ask_for_files` was called on this page."""
    if session.came_from_another_page():
        forget_question()
    if st.session_state.get("is opening"):
        _open_files(source)


@st.dialog("Open recordings", on_dismiss=forget_question)
def _open_files(source: Source) -> None:
    files = st.file_uploader("Recordings of your own loop, one per seed", type="lens", accept_multiple_files=True)
    st.caption(HOW_TO_RECORD)
    if not files:
        return
    messages, problems = open_files([(file.name, file.getvalue()) for file in files])
    if messages:
        st.session_state["opened files"] = source.key, messages
        for problem in problems:
            session.queue_notice(escape_markdown(problem))
        forget_question()
        st.rerun()
    for problem in problems:
        st.error(escape_markdown(problem))
