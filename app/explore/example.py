"""A picture of real results, shown while there are none yet."""

from pathlib import Path

import streamlit as st

# Made with: mgem sweep --preset quick-look; mgem export s1 --what frontier --format svg -o example.svg
EXAMPLE = Path(__file__).with_name("example.svg")
EXAMPLE_WIDTH = 560  # pixels
EXAMPLE_SETTINGS = (
    "An example of what will appear: GEM and d-mGEM(2) at memory strengths from 0 to 10, and plain SGD, on tasks 1 and 2 "
    "of three tasks of rotated digits, 60 steps each, mean of four seeds. To the right, more of the old task is kept; "
    "upwards, more of the new one is learned. Larger markers are larger strengths."
)
DARK_INK = {  # text in the printed figure → its replacement on a dark page
    '<g id="figure_1">': '<g id="figure_1" fill="#E8ECF1">',  # text
    "fill: #ffffff": "fill: none",
    "stroke: #ececec": "stroke: #303842",
    "stroke: #404040": "stroke: #808080",
    "stroke: #000000": "stroke: #808080",
}


def show_example() -> None:
    picture = example_picture(is_dark=st.context.theme.type == "dark")
    with st.container(width=EXAMPLE_WIDTH):  # it shrinks on a narrow screen
        st.image(picture, EXAMPLE_SETTINGS, "stretch", alt="Frontier: learning the new against keeping the old")


def example_picture(is_dark: bool) -> str:
    """Return the picture as SVG, in colours that are visible on a dark or light page."""
    picture = EXAMPLE.read_text()
    for printed, dark in DARK_INK.items() if is_dark else ():
        picture = picture.replace(printed, dark)
    return picture
