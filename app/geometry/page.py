"""The page Geometry: Figure 1 of the paper to play with."""

from typing import Any

import session
import streamlit as st

from geometry.component import show_geometry
from geometry.examples import PRESETS, methods
from geometry.link import read_link
from mgem_core import UsageError

INTRODUCTION = (
    "A network with two or three parameters, and one past task whose memory has two splits: so small that all can be seen. "
    "The gradient g of the batch becomes a direction z that agrees with gradients on the memory: GEM's with their mean ĝₛ, "
    "d-mGEM's with each of them, p-mGEM's with ĝₛ in each module. approx-GEM corrects g row by row, with a closed form, as "
    "if each row were alone."
)


def read_start() -> dict[str, Any]:
    """What the URL asks for; nothing, and a message, if it cannot be read."""
    try:
        return read_link(st.query_params.to_dict())
    except UsageError as error:
        st.warning(f"This link cannot be read, so the picture starts with its first example: {error}.")
        return {}


def show_page() -> None:
    session.show_toast()
    session.show_notices()
    st.title("The geometry of gradient restriction")
    st.markdown(INTRODUCTION)
    show_geometry(methods(), [preset._asdict() for preset in PRESETS], read_start(), "geometry")


show_page()
