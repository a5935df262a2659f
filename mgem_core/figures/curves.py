"""Curves of single runs over their steps, for the dashboard only; they are not exported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from mgem_core.figures import _screen
from mgem_core.figures.style import RUNS

if TYPE_CHECKING:
    import plotly.graph_objects as go


def draw_curves(series: Mapping[str, pd.DataFrame], y: str, title: str, iterations: Mapping[str, int]) -> go.Figure:
    """Plot column y of each run over its steps, one task after the other; `iterations` holds the steps per task."""
    import plotly.graph_objects as go

    figure = go.Figure(_screen.figure([], "step", title))
    for number, (name, frame) in enumerate(series.items()):
        if len(frame):
            steps = frame["task"] * iterations[name] + frame["step"]
            line = {"color": RUNS[number % len(RUNS)]}
            figure.add_scatter(x=steps, y=frame[y], name=name, uid=_screen.uid(name), line=line)
    return figure
