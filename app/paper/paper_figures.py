"""The paper's figures on the page Paper, drawn from the results that come with the tool."""

from functools import lru_cache, partial
from itertools import groupby
from typing import Any, NamedTuple

import components
import pandas as pd
import streamlit as st
from explore.sweep_controls import AXES
from explore.verdicts import differences_table
from export_menu import Files, show_export_button, show_files
from text import benchmark_title, escape_markdown

from mgem_core import UsageError
from mgem_core.analysis import aggregate, paired
from mgem_core.analysis.aggregate import Axes, View
from mgem_core.analysis.paired import LEAST_SEEDS, Verdict
from mgem_core.config.sweeps import missing_data
from mgem_core.figures import FIGURES, PlainFigure, cones, samples
from mgem_core.figures.page import PICTURES, Page
from mgem_core.figures.paper_files import figure_file, figure_file_name, figure_formats, figure_has_legend
from mgem_core.figures.paper_findings import figure_finding
from mgem_core.figures.published_selection import select_published
from mgem_core.paper import published
from mgem_core.paper.presets import PRESETS
from mgem_core.paper.tables import FIGURES as PAPER_FIGURES
from mgem_core.text import pluralize
from paper.run_this import ask_to_run

PLOT_HEIGHT = 420  # pixels, unless a figure says otherwise
FIRST = "Figure 2"  # the tab that is open first
RESTRICTED = {"always": "every step restricted", "violation": "steps restricted only on conflict"}
AS_IN_PAPER: dict[Axes, str] = {"unit": AXES["unit"], "raw": "raw, as in the paper"}


TAB_NAMES = {about.title.partition(" · ")[0]: name for name, about in PAPER_FIGURES.items()}  # tab → figure


def show_figures() -> None:
    """Show a tab per figure; only the open one is drawn. It is in the URL."""
    tabs = st.tabs(list(TAB_NAMES), key="figure", default=FIRST, on_change="rerun", bind="query-params")
    for name, tab in zip(TAB_NAMES.values(), tabs, strict=True):
        if tab.open:
            with tab:
                show_figure(name)


def open_figure(name: str) -> None:
    """Open the tab of a figure; a callback."""
    st.session_state["figure"] = next(tab for tab, figure in TAB_NAMES.items() if figure == name)


def show_figure(name: str) -> None:
    """Show a figure of the paper: what it finds, the picture and its caption; or say that there are no results for it."""
    about = PAPER_FIGURES[name]
    st.markdown(f"**{escape_markdown(about.title.partition(' · ')[2])}.** {escape_markdown(figure_finding(name))}")
    if not about.shown_by:
        {"figure-1": show_cones, "figure-5": show_samples}[name](name)
    elif published.read(name)[0].empty:
        st.info("This version has no results for this figure.")
    else:
        show_published(name)
    st.caption(escape_markdown(f"The paper's figure: {about.caption}"))
    show_run_buttons(name)


def show_cones(name: str) -> None:
    drawn = cones.screen()
    components.show_plot(drawn, name, cones.in_words(), height=drawn["layout"]["height"])
    show_export_menu(name)


def show_samples(name: str) -> None:
    """Show the images after a button is pressed, because reading them takes seconds."""
    if not st.session_state.get("shows samples"):
        st.button("Show images", on_click=lambda: st.session_state.update({"shows samples": True}))
        return
    try:
        strips = samples.strips()
    except UsageError as error:
        st.info(escape_markdown(str(error)))
        return
    for benchmark, group in groupby(strips, key=lambda strip: strip.benchmark):
        st.markdown(f"**{escape_markdown(benchmark)}**")
        for strip in group:
            st.image(strip.pixels, escape_markdown(strip.domain), width="stretch", alt=f"Images of {strip.domain}")
    st.caption(
        "These are the original images; digits are converted to grey, 28 × 28 pixels, for training. `mgem data list` "
        "lists the other domains and how to get them."
    )
    show_export_menu(name)


class Drawn(NamedTuple):
    """A figure of published runs, and the comparisons of its lines with GEM."""

    plain: PlainFigure
    subtitle: str
    verdicts: list[Verdict]


@lru_cache(maxsize=16)
def draw(name: str, version: int, view: View) -> Drawn:
    """Draw the figure; `version` makes the cache draw it again after a change of the published file."""
    about, selection = PAPER_FIGURES[name], select_published(name, view)
    rows = selection.runs_to_compare()
    other_axes = aggregate.OTHER_AXES[view.axes]
    verdicts = paired.compare(rows, aggregate.default_baseline(rows), other_axes) if about.has_lines else []
    return Drawn(*FIGURES[about.shown_by].drawn(selection), verdicts)


def show_published(name: str) -> None:
    """Show the figure, the comparisons of its lines, and the export menu."""
    about = PAPER_FIGURES[name]
    figure, picture = FIGURES[about.shown_by], st.container()  # the picture is above its control
    view = View(axes=_choose_axes(name)) if about.has_axes else View()
    try:
        plain, subtitle, verdicts = draw(name, published.version(name), view)
    except UsageError as error:
        st.info(escape_markdown(f"{str(error)[:1].upper()}{str(error)[1:]}"))
        return
    height = plain["layout"].get("height", PLOT_HEIGHT)
    with picture:
        components.show_plot(plain, name, f"{figure.title}: {subtitle}", revision=view.axes, height=height)
    st.caption(escape_markdown(f"{subtitle}. Ours: {scale_in_words(published.read(name)[0])}."))
    show_export_menu(name, view.axes)
    show_verdicts(verdicts, view.axes)


def show_export_menu(name: str, axes: Axes = "unit") -> None:
    file_name, make = partial(figure_file_name, name, axes), partial(figure_file, name, axes)
    preview = partial(_preview, name, published.version(name), axes)
    files = Files(name, figure_formats(name), figure_has_legend(name), file_name, make, preview)
    show_export_button(name, partial(show_files, files))


@lru_cache(maxsize=16)
def _preview(name: str, version: int, axes: Axes, page: Page) -> tuple[bytes, str]:
    """Draw the figure as it will be printed; `version` is that of the published file."""
    return figure_file(name, axes, PICTURES[0], page), PAPER_FIGURES[name].caption


def scale_in_words(runs: pd.DataFrame) -> str:
    """Describe what was trained, which may be less than in the paper: "…, 2 tasks × 20 steps × 25 images, memory 32".

    For answers of the lens, name the run whose steps were recorded.
    """

    def values(name: str) -> str:
        return " or ".join(f"{value:g}" for value in sorted(runs[name].dropna().unique()))

    benchmarks = ", ".join(benchmark_title(name) for name in aggregate.benchmarks(runs))
    steps = f"{values('tasks')} tasks × {values('iterations')} steps × {values('batch_size')} images"
    triggers = runs.loc[runs["strength"] > 0, "trigger"].unique()  # at strength 0, both triggers give the same steps
    restricted = [RESTRICTED[trigger] for trigger in triggers]
    of_lens = [f"solved at {where}, not trained" for where in runs[published.STEPS_OF].dropna().unique()]
    parts = [benchmarks, steps, f"memory {values('memory')}", f"learning rate {values('lr')}", *restricted, *of_lens]
    return ", ".join(parts)


def _choose_axes(name: str) -> Axes:
    options: dict[str, Any] = {"format_func": AS_IN_PAPER.__getitem__, "default": "unit", "required": True}
    axes: Axes | None = st.segmented_control("Axes", list(AS_IN_PAPER), key=f"axes of {name}", **options)
    return axes or "unit"


def show_verdicts(verdicts: list[Verdict], axes: Axes) -> None:
    """Show a sentence and a row of a table for each comparison with GEM."""
    if not verdicts:
        return
    if (seeds := len(verdicts[0].seeds)) < LEAST_SEEDS:
        shared = pluralize(seeds, "seed") if seeds else "no seed"
        st.markdown(f"All configurations share {shared}; at least {LEAST_SEEDS} are needed to compare them.")
        return
    with st.expander("All differences"):
        st.markdown("\n".join(f"- {escape_markdown(paired.in_words(verdict))}" for verdict in verdicts))
        st.markdown(differences_table(verdicts, axes))


def show_run_buttons(name: str) -> None:
    """Show a button for each preset of the figure: one per scale, or none."""
    presets = {key: preset for key, preset in PRESETS.items() if key == name or key.startswith(f"{name}-")}
    missing = next(filter(None, (missing_data(preset.spec.runs()) for preset in presets.values())), "")
    if missing:
        st.warning(escape_markdown(missing))
    with st.container(horizontal=True):
        for key, preset in presets.items():
            label = "Run this" if len(presets) == 1 else f"Run this: {preset.title}"
            options: dict[str, Any] = {
                "args": (preset.title, preset.spec),
                "disabled": bool(missing),
                "help": preset.description,
            }
            st.button(label, on_click=ask_to_run, key=f"run {key}", **options)
