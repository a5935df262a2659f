import pytest
import runner_process
from streamlit.components.v2 import manifest_scanner

from mgem_core.store import Store


@pytest.fixture(autouse=True)
def _no_search_for_components(monkeypatch):
    """Streamlit reads the metadata of every installed package in each AppTest; here nothing is to be found there."""
    monkeypatch.setattr(manifest_scanner, "scan_component_manifests", lambda *arguments, **options: [])


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store without a runner."""
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    monkeypatch.setattr(runner_process, "ensure_runner", lambda *options, **named: None)
    runner_process._started_runner.cache_clear()
    return Store(tmp_path / "runs.db")
