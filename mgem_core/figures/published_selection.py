"""A selection of results that come with the tool, so that figures can show them like the runs of a store."""

from dataclasses import dataclass
from typing import cast

import pandas as pd

from mgem_core.analysis import aggregate
from mgem_core.analysis.aggregate import View
from mgem_core.figures.selection import Selection
from mgem_core.paper import published
from mgem_core.version import VERSION


@dataclass(frozen=True)
class _PublishedSelection:
    """The parts of a `Selection` that `data` and `export` of a figure use; there is no store."""

    file: str
    view: View

    def runs(self) -> pd.DataFrame:
        return published.read(self.file)[0]

    def points(self) -> pd.DataFrame:
        return aggregate.points(*published.read(self.file), self.view)

    def runs_to_compare(self) -> pd.DataFrame:
        return aggregate.runs_to_compare(*published.read(self.file), self.view)

    def source(self) -> str:
        return f"{self.file}, results that come with mgem {VERSION}"

    def name(self) -> str:
        return self.file


def select_published(file: str, view: View) -> Selection:
    """Select the runs of a file of `mgem_core.paper.published`; `data` and `export` accept it, `is_available` does not."""
    return cast("Selection", _PublishedSelection(file, view))
