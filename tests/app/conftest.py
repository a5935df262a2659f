import pytest
import state

from mgem_core.store import Store


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store without a runner."""
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    monkeypatch.setattr(state, "ensure_runner", lambda *options: None)
    state._runner.clear()
    state.speeds.clear()
    return Store(tmp_path / "runs.db")
