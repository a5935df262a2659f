"""Curves of single runs over their steps, and where their tasks begin; for the dashboard only, they are not exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from mgem_core.figures import _screen
from mgem_core.figures.style import RUNS

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_LABELS = 10  # of tasks in one plot
BOUNDARY = {"color": "#808080", "width": 1, "dash": "dot"}


def draw_curves(series: Mapping[str, pd.DataFrame], y: str, title: str, iterations: Mapping[str, int]) -> go.Figure:
    """Plot column y of each run over its steps, one task after the other; `iterations` holds the steps per task."""
    import plotly.graph_objects as go

    figure = go.Figure(_screen.figure([], "step", title)).update_layout(margin_r=16)
    for number, (name, frame) in enumerate(series.items()):
        if len(frame):
            steps = frame["task"] * iterations[name] + frame["step"]
            line = {"color": RUNS[number % len(RUNS)]}
            figure.add_scatter(x=steps, y=frame[y], name=name, uid=_screen.uid(name), line=line)
    return figure


def mark_tasks(figure: go.Figure, iterations: Sequence[int]) -> go.Figure:
    """Draw a line where each task begins that some run has reached; `iterations` are the steps per task of each run.

    Tasks have their numbers above the plot, unless the runs differ in the length of their tasks.
    """
    last = int(max((float(trace["x"][-1]) for trace in figure.data if len(trace["x"])), default=0))
    lengths = sorted(set(iterations))
    starts = {start for length in lengths for start in range(length, last, length)}
    for start in sorted(starts):
        figure.add_vline(start, line=BOUNDARY, layer="below")
    if len(lengths) == 1:
        every = -(-(len(starts) + 1) // MOST_LABELS)
        for task, start in list(enumerate([0, *sorted(starts)]))[::every]:
            label = {"text": f"{'' if task else 'task '}{task + 1}", "font": {"size": 10, "color": "#808080"}}
            place = {"x": start, "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom"}
            figure.add_annotation(**label, **place, showarrow=False, borderpad=0)
        figure.update_layout(margin_t=20)
    return figure
