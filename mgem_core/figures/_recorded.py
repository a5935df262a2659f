"""Code shared by the figures of recorded steps: the recordings of a selection, and the titles of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mgem_core.analysis.aggregate import View
from mgem_core.errors import UsageError, check_choice
from mgem_core.figures import PlainFigure, _points
from mgem_core.figures._bundles import bundles_of, join_names
from mgem_core.figures.page import Page
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import LineStyle, family
from mgem_core.lens.lines import GEM
from mgem_core.lens.recorded_sweep import RecordedSweep, read_recorded
from mgem_core.lens.seed_curves import mean_over_seeds
from mgem_core.text import pluralize

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

LINE_WIDTH = 1.5  # curves that are nowhere farther apart, in points, get one label
GREY = "#9A9A9A"  # differences that are not significant
Curves = Mapping[str, NDArray[np.float64]]  # line → its points [places, 2]


def has_data(selection: Selection) -> bool:
    runs, task = _points.runs_of_pair(selection), _points.new_task(selection.view)
    return bool(selection.store.runs_with_snapshots(runs, first_task=task))


def can_compare(selection: Selection) -> bool:
    """Test for recordings and, if the view names a baseline other than GEM, for a line with this name."""
    if not has_data(selection) or selection.view.baseline in ("", GEM.name):
        return has_data(selection)
    return selection.view.baseline in {line.name for line in read(selection).lines}


def read(selection: Selection) -> RecordedSweep:
    """Read the recordings of the view's pair of tasks; raise a UsageError if there are none."""
    runs, view = selection.runs(), selection.view
    _points.check_pair(view, int(runs["tasks"].max()))
    if view.after is not None and _points.new_task(view) >= view.after:
        raise UsageError(f"nothing to show after task {view.after}: no step of a later task is recorded by then.")
    if found := read_recorded(selection.store, runs, view.pair, view.after):
        return found
    task = "" if view.pair in (None, (0, 1)) else f" in task {view.pair[1] + 1}"
    remedy = "record some with mgem sweep --record"
    raise UsageError(f"nothing to show yet: no run has recorded steps{task}; {remedy}.")


def baseline_of(recorded: RecordedSweep, view: View) -> str:
    baseline = view.baseline or GEM.name
    check_choice("baseline", baseline, [line.name for line in recorded.lines])
    return baseline


def about(recorded: RecordedSweep, name: str) -> dict[str, Any]:
    """Return the columns that all rows of a line have: its names, and what was recorded."""
    label = name.partition(" · ")[0]
    return {
        **{"line": name, "label": label, "family": family(label)},
        **{"recorded": recorded.title, "recorded_seeds": len(recorded.recordings)},
    }


def over_strengths(
    recorded: RecordedSweep, view: View, strengths: NDArray[np.float64], measures: Mapping[str, int]
) -> pd.DataFrame:
    """Return a row per line and strength: the means over seeds of these measures, and their standard errors."""
    means, errors = mean_over_seeds(recorded.curves(view.axes, view.gradient, strengths.tolist()))
    frames = []
    for line, mean, error in zip(recorded.lines, means, errors, strict=True):
        columns = {"q": strengths}
        for name, place in measures.items():
            columns |= {name: mean[:, place], f"{name}_sem": error[:, place]}
        frames.append(pd.DataFrame(columns).assign(**about(recorded, line.name)))
    return pd.concat(frames, ignore_index=True)


def tidy(data: pd.DataFrame, view: View) -> pd.DataFrame:
    """Return the data for a file, with the axes and the pair of tasks; a single seed has no interval."""
    frame = data.drop(columns=["label", "family"], errors="ignore").rename(columns={"line": "method"})
    return frame.assign(axes=view.axes, pair=_points.pair_text(view)).replace([np.inf, -np.inf], np.nan)


def title(data: pd.DataFrame) -> str:
    """Describe the recorded steps, such as "at the recorded steps of GEM, strength 0.5 (6 seeds)".

    Differences are means over the seeds with a common range, "3 of 4 seeds".
    """
    recorded, every = data["recorded"].iloc[0], int(data["recorded_seeds"].iloc[0])
    fewest = int(data.get("seeds", data["recorded_seeds"]).min())
    some = f"{fewest} of " if 0 < fewest < every else ""
    return f"at the recorded steps of {recorded} ({some}{pluralize(every, 'seed')})"


def titled(figure: PlainFigure, words: str) -> PlainFigure:
    """Return the figure on the screen with a title."""
    layout = figure["layout"]
    margin = {**layout["margin"], "t": 34}
    look = {"text": words, "font": {"size": 12}, "x": 0.01, "xanchor": "left", "y": 0.99, "yanchor": "top"}
    return {**figure, "layout": {**layout, "margin": margin, "title": look}}


def curves_of(data: pd.DataFrame, at: Sequence[str]) -> Curves:
    """Return the known points of each line in these two columns, in the order of the rows."""
    return {str(line): rows[list(at)].dropna().to_numpy(float) for line, rows in data.groupby("line", sort=False)}


def legend_handles(curves: Curves, styles: Mapping[str, LineStyle], axes: Axes, page: Page) -> list[Line2D]:
    """Return an entry of the legend for each bundle of curves that coincide on these axes."""
    from matplotlib.lines import Line2D

    low, high = np.array([axes.get_xlim(), axes.get_ylim()]).T
    ordered = [line for line in styles if len(curves.get(line, ()))]
    on_page = [(curves[line] - low) / (high - low) * page.axes_size for line in ordered]
    handles = []
    for bundle in bundles_of(on_page, LINE_WIDTH):
        names = [ordered[i] for i in bundle]
        color, _, linestyle = styles[names[len(names) // 2]]
        handles.append(Line2D([], [], color=color, ls=linestyle, lw=1.1, label=join_names(names, ordered)))
    return handles
