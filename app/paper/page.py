"""The page Paper: its claims with our verdicts, then its tables, then its figures, each with what tests it."""

import session
import streamlit as st

from mgem_core.paper.tables import TABLES
from mgem_core.store import Store
from paper.claim_experiments import ask_to_test, show_test
from paper.claims_table import count_verdicts, read_unfolded, show_claims
from paper.paper_figures import TAB_NAMES, open_figure, show_figures
from paper.paper_table import open_table, show_tables
from paper.run_this import show_question

ABOUT = (
    "“Fine-Grained Gradient Restriction”, by Bo Liu, Mao Ye, Peter Stone and Qiang Liu "
    "([arXiv 2410.00868](https://arxiv.org/abs/2410.00868), 2024)"
)


def show_place(store: Store, name: str) -> None:
    """Show the table or figure that a claim links to; a callback."""
    if name in TABLES:
        open_table(store, name)
    elif name in TAB_NAMES.values():
        open_figure(name)


@session.explain_errors
def show_page() -> None:
    store = session.get_store()
    session.show_toast()
    unfolded = read_unfolded()
    session.show_notices()
    show_test(store)
    st.title("The paper's claims, and what we find")
    st.markdown(f"{ABOUT}. {count_verdicts()}.")
    show_claims(unfolded, ask_to_test, lambda name: show_place(store, name))
    st.header("Tables", anchor="tables")
    show_tables(store)
    st.header("Figures", anchor="figures")
    show_figures()
    show_question(store)
    session.rerun_when_changed(store, "finished runs", lambda: store.counts()["finished"])


show_page()
