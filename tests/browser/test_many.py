"""Concurrent users, and problems that occur while a page is open."""

import json
import re
import resource
import shutil

import chaos
import pytest
from chaos import until
from people import open_address
from playwright.sync_api import expect

from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store

pytestmark = pytest.mark.slow
SHORT = ["--tasks", "2", "--iterations", "30", "--memory", "20", "--probe-every", "10"]


@pytest.fixture(autouse=True)
def data_of_server(monkeypatch, home):
    """Give commands the data folder of the server: another one is another version, with its own runner."""
    monkeypatch.setenv("MGEM_DATA", str(home / "no-data"))


def test_concurrent_commands_and_dashboard(page, server, home):
    open_address(page, f"{server}/explore")
    seeds = ("0,1,2,3", "2,3,4,5", "4,5,6,7", "6,7,0,1")
    commands = [chaos.mgem(home, "sweep", *SHORT, "--seeds", some, "--json") for some in seeds]
    page.reload()
    documents = [json.loads(command.communicate(timeout=180)[0]) for command in commands]
    assert [command.returncode for command in commands] == [0] * 4
    assert [document["counts"]["finished"] for document in documents] == [4] * 4
    runs = Store(home / "runs.db").run_records()
    assert sorted(run["config"]["seed"] for run in runs) == list(range(8))
    assert {(run["status"], run["attempts"]) for run in runs} == {("finished", 1)}
    open_address(page, f"{server}/explore")
    expect(page.get_by_text("4 of 4 runs")).to_be_visible()


def test_runner_problem_is_shown_until_it_is_solved(page, server, home):
    store = Store(home / "runs.db")
    open_address(page, f"{server}/explore")
    runner = until(lambda: chaos.runner_of(home))
    until(lambda: chaos.workers(runner))
    log = home / "runs.db-wal"  # SQLite overwrites a long log from its beginning; only a short one grows
    until(lambda: store.database.compact() or not log.stat().st_size)
    limit = 20_000
    resource.prlimit(runner, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    sweep = store.submit(SweepSpec(base={"tasks": 3, "iterations": 400, "memory": 20, "probe_every": 5}))
    open_address(page, f"{server}/explore?sweep=s{sweep}")
    problem = page.get_by_text("No run can continue until this is fixed")
    expect(problem).to_be_visible()
    expect(page.get_by_text("runs.db could not be written")).to_be_visible()
    open_address(page, f"{server}/runs")
    expect(problem).to_be_visible()
    resource.prlimit(runner, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    expect(problem).to_have_count(0)
    until(lambda: store.counts(sweep)["finished"] == 1)


def test_store_replaced_under_a_live_server_and_runner(page, server, home, tmp_path):
    """Runner, server and page continue with the new store."""
    other = Store(tmp_path / "runs.db")
    other.submit(SweepSpec(base={"tasks": 2, "iterations": 20, "memory": 20}), "the other one")
    other.compact()
    other.close()
    open_address(page, f"{server}/explore")
    for file in home.glob("runs.db*"):
        file.unlink()
    shutil.move(tmp_path / "runs.db", home / "runs.db")
    page.reload()
    expect(page.get_by_label("Results to show").locator("option:checked")).to_have_text(re.compile("the other one"))
    store = Store(home / "runs.db")
    until(lambda: store.counts()["finished"] == 1)
