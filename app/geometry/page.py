"""The page Geometry: Figure 1 of the paper, interactive."""

from typing import Any

import session
import streamlit as st

from geometry.component import show_geometry
from geometry.examples import PRESETS, methods
from geometry.link import read_link
from mgem_core import UsageError

INTRODUCTION = (
    "This example is small enough to draw: a network with two or three parameters, and one past task whose memory has two "
    "splits, with the gradients ĝ₁ and ĝ₂. Each method replaces the gradient g of the batch by a direction z that does not "
    "conflict with memory gradients: GEM uses their mean ĝₛ, d-mGEM each of them, and p-mGEM ĝₛ in each module. approx-GEM "
    "uses a closed form, which corrects g for each memory gradient as if it were the only one."
)

# On a phone, the picture comes before the introduction.
STYLE = """
@media (max-width: 640px) {
  .st-key-geometry-page > [data-testid=stLayoutWrapper]:has(> .st-key-geometry-introduction) { order: 1 }
}
"""


def read_start() -> dict[str, Any]:
    """Read the state from the URL; if it is invalid, show a message and start with the defaults."""
    try:
        return read_link(st.query_params.to_dict())
    except UsageError as error:
        st.warning(f"This link cannot be read, so the picture starts with its first example: {error}.")
        return {}


def show_page() -> None:
    session.show_toast()
    session.show_notices()
    st.title("The geometry of gradient restriction")
    st.html(f"<style>{STYLE}</style>")
    with st.container(key="geometry-page"):
        with st.container(key="geometry-introduction"):
            st.markdown(INTRODUCTION)
        show_geometry(methods(), [preset._asdict() for preset in PRESETS], read_start(), "geometry")


show_page()
