import pytest


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty MGEM_HOME, and a list of the options of each runner that a command would start."""
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    started = []
    for command in ("sweep", "resume"):
        monkeypatch.setattr(f"mgem_core.cli.{command}.ensure_runner", lambda *options, wanted: started.append(options))
    return tmp_path, started
