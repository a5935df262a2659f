"""More figures of a sweep, during and after training: plots, comparisons in sentences, and the table."""

from dataclasses import replace

import components
import pandas as pd
import session
import streamlit as st
from text import escape_markdown

from explore.configuration_table import table_columns, table_rows
from explore.page_selection import PageSelection, select_sweep
from explore.selection import mark_rows, select_points
from explore.verdicts import show_verdicts
from mgem_core import UsageError
from mgem_core.analysis.aggregate import View
from mgem_core.figures import FIGURES, Figure, mark_points
from mgem_core.figures.style import line_styles
from mgem_core.learners import METHOD_OF_FAMILY, shares_network
from mgem_core.store import Store
from mgem_core.text import name_seeds

PLOT_HEIGHT = 420  # pixels, unless the figure sets its height
PLOT_WIDTH = 320  # pixels; narrower plots are stacked


def show_results(store: Store, sweep: int, view: View, plots: list[str]) -> None:
    selection = select_sweep(store, sweep, view)
    points = selection.points()
    if view.gradient == "full" and points["y"].isna().all() and points["x"].notna().any():
        st.info("An older version measured these runs on the batch alone, so the frontier shows the batch's gradient.")
        selection = select_sweep(store, sweep, replace(view, gradient="batch"))
        points = selection.points()
    selected, marked = (session.url_selection(name, set(points["key"])) for name in ("chosen", "marked"))
    grid = st.grid(2, min_column_width=PLOT_WIDTH)
    for name in plots:
        with grid.cell():
            show_plot(selection, FIGURES[name], selected, marked)
    show_lines_without_points(points)
    show_verdicts(selection)
    show_table(selection, points, selected, marked)


def show_lines_without_points(points: pd.DataFrame) -> None:
    """Explain why a method is in neither plot."""
    families = dict(zip(points["line"], points["family"], strict=True))
    lines = [line for line, family in families.items() if not shares_network(METHOD_OF_FAMILY.get(family, ""))]
    if lines:
        reason = "Tasks that share no network can neither keep nor lose anything; the table has the results."
        st.caption(f"Not in the plots: {', '.join(lines)}. {reason}")


def show_plot(selection: PageSelection, figure: Figure, selected: list[str], marked: list[str]) -> None:
    """Show a figure below its title and subtitle, or the reason why there is nothing to show yet."""
    view = selection.view
    try:
        subject = selection.sweep, view
        drawn = session.read_once(f"plot {figure.name}", selection.store, subject, lambda: figure.drawn(selection))
    except UsageError as error:
        st.markdown(f"**{figure.title}**")
        st.info(escape_markdown(f"{str(error)[:1].upper()}{str(error)[1:]}"))
        return
    content, subtitle = drawn
    st.markdown(f"**{figure.title}** · {escape_markdown(subtitle)}")
    x, y = (content["layout"][axis]["title"]["text"] for axis in ("xaxis", "yaxis"))
    description = f"{figure.title}: {f'{y} against {x}' if y else x}, {subtitle}"
    revision = " ".join([f"{selection.sweep}", view.benchmark, *figure.name_parts(view)])
    shown, height = mark_points(content, marked), content["layout"].get("height", PLOT_HEIGHT)
    components.show_plot(shown, figure.name, description, selected, select_points, revision, height)


def show_table(selection: PageSelection, points: pd.DataFrame, selected: list[str], marked: list[str]) -> None:
    """Show the selected configurations, or all; with the view's option, only the best of each line by validation."""
    shown = points
    if selection.view.strengths == "validation":
        shown, chosen_on = selection.best_points()
        if chosen_on:
            st.caption(
                f"Strengths are chosen on held-out images of {name_seeds(chosen_on)}; means are over the other seeds."
            )
    if selected:
        shown = shown[shown["key"].isin(selected)]
    if selected:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(shown)} of {len(points)} configurations, as selected in the plots.")
            st.button("Show all", type="tertiary", on_click=select_points, args=([],))
    description = "Accuracies of every configuration"
    components.show_table(
        table_columns(points), table_rows(shown, line_styles(points)), "table", description, marked, mark_rows
    )
