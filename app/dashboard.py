"""The script that Streamlit runs for every page: page set-up and navigation. The server is in main.py.

Streamlit puts this folder first on sys.path, so its modules are imported by their names alone (`session`, `runs.run_list`).
"""

from pathlib import Path

import boundary
import components
import session
import streamlit as st
from streamlit import config  # AppTest patches config.get_option, not st.get_option

# Rules for Streamlit's own markup, where it has no option. If they stop matching, only the appearance suffers.
STYLE = """
/* Two plots side by side need the full width; Streamlit has options only for the space above and below the page. */
.stMainBlockContainer { padding-inline: min(2rem, 5vw) }
/* At the top, a toast would cover the buttons Stop, Share and Export. */
.stToastContainer { top: auto !important; bottom: 1rem }
"""
DARK_STYLE = """
/* The text of selected pills. No primaryColor has enough contrast both there and behind the white text of buttons. */
button[data-variant][data-selected=true] p { color: #E8ECF1 }
"""

st.set_page_config(page_title="mGEM Explorer", page_icon="🧭", layout="wide", initial_sidebar_state="auto")
st.html(f"<style>{STYLE}{DARK_STYLE if st.context.theme.type == 'dark' else ''}</style>")
if not (boundary.is_in_place() or config.get_option("global.appTest")):
    commands = "`mgem dashboard` or `streamlit run app/main.py`"
    st.error(f"Start the dashboard with {commands}: this script alone has no network protection.")
    st.stop()
components.provide_plotly()
st.logo(Path(__file__).with_name("logo.svg"), size="large")


def redirect_to_lens() -> None:
    """Redirect links to /lens, because Streamlit serves the default page only at /."""
    st.switch_page(session.LENS_PAGE, query_params=session.url_parameters())


pages = [
    st.Page(session.LENS_PAGE, title="Lens", url_path="", default=True),
    st.Page(session.EXPLORE_PAGE, title="Explore", url_path="explore"),
    st.Page("runs/page.py", title="Runs", url_path="runs"),
    st.Page("paper/page.py", title="Paper", url_path="paper"),
    st.Page("geometry/page.py", title="Geometry", url_path="geometry"),
    st.Page(redirect_to_lens, title="Lens", url_path="lens", visibility="hidden"),
]
page = st.navigation(pages, position="top")
if page is pages[0] and "sweep" in st.query_params:  # an old link to Explore, from when it was the default page
    st.switch_page(session.EXPLORE_PAGE, query_params=session.url_parameters())
session.note_page(page.title)
page.run()
