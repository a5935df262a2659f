"""Two checkouts with different code share a store; each trains its own runs and shows their numbers."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import chaos
import pytest
from chaos import until

import mgem_core
from mgem_core.store import Store

LATER = ",".join(map(str, range(10, 50)))
SMALL = ["--method", "single", "--tasks", "2", "--probe-every", "0"]


class Checkout:
    """A copy of the code in a folder, which shares its store with others."""

    def __init__(self, folder: Path, home: Path, is_edited: bool = False):
        code = Path(mgem_core.__file__).parent
        shutil.copytree(code, folder / "mgem_core", ignore=shutil.ignore_patterns("__pycache__"))
        self.folder, self.home = folder, home
        self.edit("runner/runner.py", "TURN = 30.0", "TURN = 1.0")
        if is_edited:
            self.edit("learners/_learner.py", "step.z, -self.config.lr", "step.z, -0.5 * self.config.lr")

    def edit(self, name: str, old: str, new: str) -> None:
        file = self.folder / "mgem_core" / name
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    def start(self, *arguments: str, home: Path | None = None, cwd: Path | None = None) -> subprocess.Popen[str]:
        environment = {**os.environ, "MGEM_HOME": str(home or self.home), "PYTHONPATH": str(self.folder)}
        command = [sys.executable, "-m", "mgem_core", *arguments]
        options = {"cwd": cwd or self.folder, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, text=True, **options)

    def call(self, *arguments: str, home: Path | None = None, cwd: Path | None = None) -> tuple[int, str, str]:
        process = self.start(*arguments, home=home, cwd=cwd)
        out, err = process.communicate(timeout=240)
        return process.returncode, out, err

    def launch(self, *options: str) -> Store:
        """Launch a sweep on one worker and return the store once its first run is training."""
        assert self.call("sweep", *SMALL, *options, "--workers", "1", "--detach")[0] == 0
        store = Store(self.home / "runs.db")
        until(lambda: store.counts(1)["running"])
        return store

    def accuracies(self, seeds: str, home: Path | None = None) -> tuple[dict[int, float], str]:
        sweep = ["sweep", *SMALL, "--iterations", "100", "--seeds", seeds, "--idle", "1", "--json"]
        code, out, err = self.call(*sweep, home=home)
        assert code == 0, err
        return {run["config"]["seed"]: run["acc"] for run in json.loads(out)["runs"]}, err


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home"
    yield home
    for process in chaos.processes(home):
        os.kill(process, signal.SIGKILL)


@pytest.mark.slow
def test_sweep_is_trained_with_the_code_that_requested_it(tmp_path, home):
    one, other = Checkout(tmp_path / "one", home), Checkout(tmp_path / "other", home, is_edited=True)
    alone, _ = other.accuracies("0", home=tmp_path / "alone")
    store = one.launch("--iterations", "2000", "--seeds", LATER, "--idle", "30")
    found, messages = other.accuracies("0")
    assert found == alone
    assert "Waiting for another version to finish: process" in messages
    finished = store.counts(1)["finished"]
    assert finished < 40  # its runner ended before it had trained everything
    until(lambda: store.counts(1)["finished"] > finished, 120)  # and continued later
    assert one.accuracies("0")[0] != alone


@pytest.mark.slow
def test_runs_queued_before_an_update_resume_with_new_code(tmp_path, home):
    before = Checkout(tmp_path / "one", home)
    store = before.launch("--iterations", "20000", "--seeds", "0,1,2", "--idle", "1")
    for process in chaos.processes(home):
        os.kill(process, signal.SIGKILL)
    after = Checkout(tmp_path / "other", home, is_edited=True)
    assert after.call("work", "--idle", "0.5", "--workers", "1")[0] == 0
    assert store.counts(1)["queued"] == 3
    _, listed, _ = after.call("runs")
    assert listed.count("requested with other code, libraries or data than are installed here") == 4
    assert "mgem resume s1 requests them again with what is installed here." in listed
    code, out, _ = after.call("resume", "s1", "--idle", "0.5")
    assert (code, out) == (0, "3 runs queued again.\n")
    _, listed, _ = after.call("runs")
    assert "other code" not in listed


@pytest.mark.slow
def test_different_pool_request_is_reported(tmp_path, home):
    one = Checkout(tmp_path / "one", home)
    one.launch("--iterations", "30000", "--seeds", "5,6,7,8", "--idle", "30")  # longer than the command takes to start
    code, _, err = one.call("sweep", *SMALL, "--iterations", "50", "--seeds", "0", "--ray", "127.0.0.1:1")
    assert code == 2
    assert "Waiting for another runner to finish: process" in err
    assert "trains on 1 worker." in err
    assert "no Ray cluster answers there" in err
