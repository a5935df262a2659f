"""The page Paper: the paper's tables and figures next to our results and the user's, with a button to run each."""

import session
import streamlit as st
from text import escape_markdown

from mgem_core.paper import claims
from mgem_core.paper.tables import FIGURES
from paper.paper_figures import show_figure
from paper.paper_table import choose_table, show_table
from paper.run_this import show_question

PLOT_WIDTH = 320  # pixels below which the figures are stacked
ABOUT = (
    "“Fine-Grained Gradient Restriction: A Simple Approach for Mitigating Catastrophic Forgetting”, by Bo Liu, Mao Ye, "
    "Peter Stone and Qiang Liu ([arXiv 2410.00868](https://arxiv.org/abs/2410.00868), 2024): its tables and figures, "
    "next to the results that come with this tool and those of your own runs."
)


def show_claims() -> None:
    st.subheader("The paper's claims, and what we find")
    for claim, finding in claims.findings():
        with st.expander(f"{escape_markdown(claim.claim)} **{finding.verdict.capitalize()}.**"):
            points = [f"- {escape_markdown(sentence)}" for sentence in finding.sentences]
            st.markdown("\n".join([f"**The paper:** {escape_markdown(claim.evidence)}\n\n**We find:**\n", *points]))


@session.explain_errors
def show_page() -> None:
    store = session.get_store()
    session.show_toast()
    session.show_notices()
    st.title("The paper, and what we measure")
    st.markdown(ABOUT)
    table, scale = choose_table()
    show_table(store, table, scale)
    show_claims()
    grid = st.grid(2, min_column_width=PLOT_WIDTH)
    for name in FIGURES:
        with grid.cell():
            show_figure(name)
    show_question(store)
    session.rerun_when_changed(store, "finished runs", lambda: store.counts()["finished"])


show_page()
