"""The runs that the page shows; this session reads their frames only once for all plots, until the store changes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import pandas as pd
import session

from mgem_core.analysis import View
from mgem_core.figures.selection import Selection
from mgem_core.store import Store


@dataclass(frozen=True)
class PageSelection(Selection):
    def all_runs(self) -> pd.DataFrame:
        assert self.sweep is not None, "the page shows sweeps"
        return session.read_runs(self.store, self.sweep)

    def points(self) -> pd.DataFrame:
        return self._read_once("points", super().points, self.view.errors)

    def runs_to_compare(self) -> pd.DataFrame:
        return self._read_once("runs to compare", super().runs_to_compare)

    def _read_once(self, name: str, read: Callable[[], pd.DataFrame], *more: object) -> pd.DataFrame:
        """Read it again only if the store has changed, or a field of the view on which it depends."""
        view = self.view
        subject = (self.sweep, view.benchmark, view.axes, view.pair, view.after, view.gradient, *more)
        return cast("pd.DataFrame", session.read_once(name, self.store, subject, read))


def select_sweep(store: Store, sweep: int, view: View) -> PageSelection:
    return PageSelection(store, sweep, None, view, session.measurement_cache())
