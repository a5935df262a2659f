"""Results that come with the tool, as figures take the runs of a store."""

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
    """What the data of a figure, and its files, need of a Selection; there is no store."""

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
    """The runs of a file of `mgem_core.paper.published`; only `data` and `export` can take it, not `is_available`."""
    return cast("Selection", _PublishedSelection(file, view))
