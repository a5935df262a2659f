"""The dashboard, which `mgem dashboard` starts."""

from pathlib import Path

import parts
import streamlit as st

st.set_page_config(page_title="mGEM Explorer", page_icon="🧭", layout="wide", initial_sidebar_state="auto")
parts.provide_plotly()
st.logo(Path(__file__).with_name("logo.svg"), size="large")
STYLE = """
.stMainBlockContainer { padding: 4.25rem 2rem 2rem; container-type: inline-size }
@container (max-width: 45rem) { .stColumn { min-width: 100% } }  /* beside an open sidebar, too */
.stSidebar [data-testid=stSidebarUserContent] { padding-top: 0 }
.stToastContainer { top: auto !important; bottom: 1rem }  /* not over the buttons */
"""
DARK = "button[data-variant][data-selected=true] p { color: #E8ECF1 }"  # the theme's own is too faint there
st.html(f"<style>{STYLE}{DARK if st.context.theme.type == 'dark' else ''}</style>")
pages = [
    st.Page("views/explore.py", title="Explore", default=True),
    st.Page("views/runs.py", title="Runs"),
]
st.navigation(pages, position="top").run()
