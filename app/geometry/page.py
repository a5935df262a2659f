"""The page Geometry: Figure 1 of the paper to play with."""

from typing import Any

import components
import session
import streamlit as st

from geometry.examples import PRESETS, methods
from geometry.link import read_link
from mgem_core import UsageError

INTRODUCTION = (
    "A network with two or three parameters, and one past task whose memory has two splits: so small that all can be seen. "
    "Each method turns the gradient g of the batch into a direction z that agrees with gradients on the memory: GEM with "
    "their mean ĝₛ, d-mGEM with each of them, p-mGEM with ĝₛ in each module; approx-GEM corrects row by row, with a closed "
    "form."
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
    components.show_geometry(methods(), [preset._asdict() for preset in PRESETS], read_start(), "geometry")


show_page()
