"""The runs on the page. Their frames are read once for all plots and sessions, and again after a change of the store."""

from dataclasses import dataclass
from typing import Any, cast

import pandas as pd
import session

from mgem_core.analysis.aggregate import View
from mgem_core.figures.selection import Selection
from mgem_core.store import Store


@dataclass(frozen=True)
class PageSelection(Selection):
    def all_runs(self) -> pd.DataFrame:
        assert self.sweep is not None, "the page shows sweeps"
        return session.read_runs(self.store, self.sweep)

    @property
    def subject(self) -> tuple[Any, ...]:
        """The values, besides the store, on which the measures depend; other fields of the view only select from them."""
        view = self.view
        return self.sweep, view.benchmark, view.axes, view.pair, view.after, view.gradient

    def points(self) -> pd.DataFrame:
        subject = (*self.subject, self.view.errors)
        return cast("pd.DataFrame", session.read_once("points", self.store, subject, super().points))

    def best_points(self) -> tuple[pd.DataFrame, frozenset[int]]:
        subject = (*self.subject, self.view.errors)
        read = super().best_points
        return cast("tuple[pd.DataFrame, frozenset[int]]", session.read_once("best points", self.store, subject, read))

    def runs_to_compare(self) -> pd.DataFrame:
        read = super().runs_to_compare
        return cast("pd.DataFrame", session.read_once("runs to compare", self.store, self.subject, read))


def select_sweep(store: Store, sweep: int, view: View) -> PageSelection:
    return PageSelection(store, sweep, None, view, session.measurement_cache)
