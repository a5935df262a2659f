"""The script that Streamlit runs for every page: page set-up and navigation. The server is in main.py.

Streamlit puts this folder first on sys.path, so its modules are imported by their names alone (`session`, `runs.run_list`).
"""

from pathlib import Path

import boundary
import components
import downloads
import garbage
import session
import streamlit as st
from streamlit import config  # AppTest patches config.get_option, not st.get_option

# Rules for Streamlit's own markup, where it has no option. If they stop matching, only the appearance suffers.
STYLE = """
/* Two plots side by side need the full width; Streamlit has options only for the space above and below the page. */
.stMainBlockContainer { padding-inline: min(2rem, 5vw) }
/* A phone shows the picture of a page on its first screen. */
@media (max-width: 640px) { .stHeading h1 { font-size: 1.5rem; padding-block: 0.2rem } }
/* At the top, a toast would cover the buttons Stop, Share and Export. */
.stToastContainer { top: auto !important; bottom: 1rem }
/* The form is compact, and Launch stays in view below it. */
[data-testid=stSidebarUserContent] { padding-bottom: 0 }
.st-key-form button[data-variant] { height: 1.75rem; min-height: 0 }
.st-key-form [data-testid=stTextInputRootElement], .st-key-form .react-aria-ComboBox > [role=group] { min-height: 2.2rem;
  height: auto }
.st-key-form [data-testid=stAlertContainer] { padding: .3rem .6rem }
[data-testid=stLayoutWrapper]:has(> .st-key-launch) { position: sticky; bottom: 0; z-index: 2 }
.st-key-launch { padding-block: .5rem 1rem; background: #F3F5F8 }
[data-testid=stLayoutWrapper]:has(> .st-key-sidebar) { display: none }
.st-key-launch p { font-size: .875rem }
/* The estimate is drawn again every few seconds; Streamlit would fade it meanwhile. */
.st-key-launch [data-stale=true] { opacity: 1 !important; transition: none !important }
"""
DARK_STYLE = """
/* The text of selected pills. No primaryColor has enough contrast both there and behind the white text of buttons. */
button[data-variant][data-selected=true] p { color: #E8ECF1 }
.st-key-launch { background: #1B222B }
"""

garbage.freeze_survivors()
downloads.keep_downloads()
st.set_page_config(page_title="mGEM Explorer", page_icon="🧭", layout="wide", initial_sidebar_state="auto")
st.html(f"<style>{STYLE}{DARK_STYLE if st.context.theme.type == 'dark' else ''}</style>")
if not (boundary.is_in_place() or config.get_option("global.appTest")):
    commands = "`mgem dashboard` or `streamlit run app/main.py`"
    st.error(f"Start the dashboard with {commands}: this script alone has no network protection.")
    st.stop()
components.provide_plotly()
st.logo(Path(__file__).with_name("logo.svg"), size="large")


def redirect_to_explore() -> None:
    """Redirect links to /lens and /explore, because Streamlit serves the default page only at /."""
    st.switch_page(session.EXPLORE_PAGE, query_params=session.url_parameters())


pages = [
    st.Page(session.EXPLORE_PAGE, title="Explore", url_path="", default=True),
    st.Page("runs/page.py", title="Runs", url_path="runs"),
    st.Page("paper/page.py", title="Paper", url_path="paper"),
    st.Page("geometry/page.py", title="Geometry", url_path="geometry"),
    *(st.Page(redirect_to_explore, title="Explore", url_path=old, visibility="hidden") for old in ("explore", "lens")),
]
page = st.navigation(pages, position="top")
session.note_page(page.title)
page.run()
