"""Errors are one sentence, on the command line and on every page; failed runs store their traceback."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from filled_store import finish
from pages import PAGES, open_page

from mgem_core.cli import main
from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Started
from mgem_core.metrics import MEASURES
from mgem_core.runner import Ended
from mgem_core.runner.runner import Runner
from mgem_core.runner.worker import train
from mgem_core.store import Store

COMMANDS = [["runs"], ["sweep", "--tasks", "1", "--detach"], ["work", "--idle", "0"], ["export", "s1", "--what", "table"]]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("MGEM_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def a_folder(home):
    (home / "runs.db").mkdir()
    return "is a folder, but it should be the file with all runs"


def another_program(home):
    with sqlite3.connect(home / "runs.db") as db:
        db.execute("CREATE TABLE contacts (name TEXT)")
    return "is a database of another program"


def another_program_with_a_version(home):
    with sqlite3.connect(home / "runs.db") as db:
        db.execute("CREATE TABLE runs (distance REAL)")
        db.execute("PRAGMA user_version = 2")
    return "is a database of another program"


def no_database(home):
    (home / "runs.db").write_bytes(b"this is no database" * 1000)
    return "is damaged or not a store of mgem"


def a_store_restored_from_a_dump(home):
    store = Store(home / "runs.db")
    with store.database.transaction() as db:
        db.execute("PRAGMA user_version = 0")
    store.compact()
    store.close()
    return "has the tables of a store but no schema version"


def a_file_as_home(home):
    home.rmdir()
    home.touch()
    return "set MGEM_HOME to a folder that can be written"


FAULTS = [
    a_folder,
    another_program,
    another_program_with_a_version,
    no_database,
    a_file_as_home,
    a_store_restored_from_a_dump,
]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_unusable_home_on_the_command_line(home, fault, command, capsys):
    sentence = fault(home)
    before = (home / "runs.db").read_bytes() if (home / "runs.db").is_file() else None
    format_ = ["--format", "csv"] if command[0] == "export" else []
    assert main([*command, *format_]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert len(error.splitlines()) == 1
    assert ((home / "runs.db").read_bytes() if (home / "runs.db").is_file() else None) == before


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("page", PAGES)
def test_unusable_home_on_every_page(home, fault, page, monkeypatch):
    monkeypatch.setattr("runner_process.ensure_runner", lambda *options, **named: None)
    sentence = fault(home)
    shown = open_page(page)
    assert not shown.exception
    assert sentence in shown.error[0].value.replace("\\", "")


def drop_root_rights(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Drop root's capability to write everywhere, so that file permissions apply."""
    if os.getuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("setpriv is not installed")
        arguments = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search", *arguments)
    return subprocess.run(arguments, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("rights", [0o000, 0o555])
@pytest.mark.parametrize("command", COMMANDS[:3], ids=" ".join)
def test_unreadable_or_read_only_home(home, rights, command):
    Store(home / "runs.db").close()
    for file in home.iterdir():
        file.chmod(0o444 & rights)
    home.chmod(rights)
    try:
        done = drop_root_rights(sys.executable, "-m", "mgem_core", *command)
    finally:
        home.chmod(0o755)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert str(home) in done.stderr


def test_full_disk_when_a_sweep_is_launched(home, monkeypatch, capsys):
    def refuse(self, *_):
        raise full

    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    monkeypatch.setattr(Store, "_find_equal_run", refuse)
    assert main(["sweep", "--tasks", "1"]) == 2
    assert capsys.readouterr().err == f"mgem: {home / 'runs.db'} could not be written: database or disk is full.\n"
    monkeypatch.setattr("runner_process.ensure_runner", lambda *options, **named: None)
    shown = open_page("explore")
    next(button for button in shown.button if button.label == "Launch").click().run()
    assert not shown.exception
    assert "could not be written: database or disk is full" in shown.error[0].value.replace("\\", "")


class FailingPool:
    """A pool whose runs end with an unexpected error."""

    problem = ""

    def __init__(self):
        self.messages = []

    def free(self):
        return 1

    def start(self, run, config, state):
        self.messages = [(run, message) for message in train("{", None)]

    def poll(self, seconds):
        messages, self.messages = self.messages, []
        return messages

    def cancel(self, run):
        pass


@pytest.fixture
def failed(home):
    store = Store(home / "runs.db")
    store.submit(SweepSpec(base={"tasks": 2}))
    assert Runner(store, FailingPool()).work(0) == "idle"
    return store


def test_failed_run_has_its_traceback(failed, capsys):
    run = failed.run_records()[0]
    assert run["status"] == "failed"
    assert run["traceback"].startswith("Traceback (most recent call last):")
    assert "model_validate_json" in run["traceback"]
    assert main(["runs", "r1"]) == 0
    printed = capsys.readouterr().out
    assert "Traceback (most recent call last):" in printed
    assert "model_validate_json" in printed
    assert main(["runs"]) == 0
    assert "Traceback" not in capsys.readouterr().out


def page_of_run(run):
    return open_page("runs", runs=f"r{run}")


def test_page_of_a_failed_run_shows_the_traceback(failed):
    page = page_of_run(1)
    assert not page.exception
    assert any(code.value.startswith("Traceback (most recent call last):") for code in page.code)


def test_retried_run_has_no_traceback(failed):
    failed.resume([1])
    run = failed.run_records()[0]
    assert (run["status"], run["error"], run["traceback"]) == ("queued", None, None)


def test_page_of_a_run_says_why_it_started_again(home, monkeypatch):
    monkeypatch.setattr("runner_process.ensure_runner", lambda *options, **named: None)
    store = Store(home / "runs.db")
    store.submit(SweepSpec(base={"tasks": 2}))
    store.claim()
    store.record([(1, Started("GEM", ("a", "b"), 5, 1, 0, 0))])
    store.set_notice(1, "The run started again from the beginning: its checkpoint is damaged.")
    page = page_of_run(1)
    assert any("started again from the beginning" in info.value.replace("\\", "") for info in page.info)


def test_json_of_runs_has_no_nan(home, capsys):
    store = Store(home / "runs.db")
    store.submit(SweepSpec(base={"tasks": 2}, grid={"seed": [0, 1]}))
    store.claim()
    R = np.array([[90.0, 10.0], [80.0, 80.0]])
    finish(store, 1, R=R)
    assert main(["runs"]) == 0
    assert "nan" not in capsys.readouterr().out
    assert main(["runs", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["runs"]
    assert first["config"]["tasks"] == 2
    assert first["matrix"] == R.tolist()
    wanted = {"run", "label", "config", *MEASURES, "matrix", "seconds", "seconds_per_step", "status"}
    assert wanted <= first.keys()
    assert (first["forgetting"], second["forgetting"]) == (10, None)
    assert "configuration" not in first
    assert (first["run"], first["error"], second["acc"]) == ("r1", None, None)


def test_reason_and_traceback_are_separate():
    (end,) = train("{", None)
    assert isinstance(end, Ended)
    assert end.how == "failed"
    assert "\n" not in end.reason
    assert "\n" in end.traceback
