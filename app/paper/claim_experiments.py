"""What *Test it* does for a claim: open the picture that tests it, or a dialog with the sweeps that do."""

from urllib.parse import parse_qsl

import session
import streamlit as st
from text import escape_markdown

from mgem_core.paper import claims
from mgem_core.paper.claims import Claim, Experiment
from mgem_core.store import Store
from paper.run_this import show_launch

ASKED = "claim to test"
PAGES = {"": session.EXPLORE_PAGE, "geometry": "geometry/page.py"}


def ask_to_test(name: str) -> None:
    """Show what tests the claim with this name, in the next run of the page; a callback of the table of claims."""
    st.session_state[ASKED] = name


def _forget() -> None:
    st.session_state.pop(ASKED, None)


def show_test(store: Store) -> None:
    """Open the picture that tests the claim, if that is all, or the dialog; it stays open until it is dismissed."""
    if session.came_from_another_page():
        _forget()
    known = {claim.name: (number, claim) for number, (claim, _) in enumerate(claims.findings(), 1)}
    if (asked := st.session_state.get(ASKED)) not in known:
        return
    number, claim = known[asked]
    experiments = claim.experiments()
    if len(experiments) == 1 and experiments[0].address:
        _open(experiments[0])
    _ask(store, number, claim, experiments)


@st.dialog("Test it", on_dismiss=_forget)
def _ask(store: Store, number: int, claim: Claim, experiments: tuple[Experiment, ...]) -> None:
    st.markdown(f"**Claim {number}:** {escape_markdown(claim.claim)}")
    options = {experiment.title: experiment for experiment in experiments}
    captions = [escape_markdown(experiment.about) for experiment in experiments]
    title = st.radio("With", list(options), captions=captions, key=f"experiment for {claim.name}")
    chosen = options.get(title or "", experiments[0])
    if chosen.look:
        st.markdown(escape_markdown(chosen.look))
    if chosen.spec is not None:
        show_launch(store, f"Claim {number} · {chosen.title}", chosen.spec, None, _forget)
    elif st.button("Open", type="primary"):
        _open(chosen)


def _open(experiment: Experiment) -> None:
    """Open the address of an experiment."""
    _forget()
    page, _, query = experiment.address.partition("?")
    st.switch_page(PAGES[page], query_params=dict(parse_qsl(query)))
