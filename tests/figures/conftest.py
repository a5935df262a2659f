import pytest
from filled_store import filled_store, is_gem

from mgem_core.analysis import frames, measurements
from mgem_core.analysis.aggregate import View


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    return filled_store(tmp_path_factory.mktemp("store") / "runs.db", records=is_gem)


@pytest.fixture(scope="session")
def points(store):
    return measurements.points(store, frames.runs(store, 1), View())
