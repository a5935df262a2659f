"""`mgem runs`, `mgem resume` and `mgem cancel`."""

import json

from filled_store import finish

from mgem_core.cli import main
from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Started
from mgem_core.store import Store


def test_runs_lists_sweeps_and_runs(home, capsys):
    folder, _ = home
    store = Store(folder / "runs.db")
    sweep = store.submit(SweepSpec(grid={"seed": [0, 1]}), "mine")
    store.cancel(store.run_ids(sweep)[:1])
    assert main(["runs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["s1", "mine", "1", "queued,", "1", "cancelled"]
    assert lines[1].split()[:5] == ["r1", "GEM", "seed", "0", "cancelled"]
    assert main(["runs", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["sweeps"][0]["counts"]["cancelled"] == 1
    assert [run["status"] for run in document["runs"]] == ["cancelled", "queued"]


def test_details_name_the_tasks_of_a_started_run(home, capsys):
    folder, _ = home
    store = Store(folder / "runs.db")
    store.submit(SweepSpec(grid={"seed": [0, 1]}))
    store.record([(store.claim()[0], Started("GEM", ("USPS", "SVHN (1,083 images)"), 10, 1, 0, 0))])
    assert main(["runs", "r1"]) == 0
    assert "Tasks in order: USPS · SVHN (1,083 images)" in capsys.readouterr().out
    assert main(["runs", "r2"]) == 0
    assert "Tasks in order" not in capsys.readouterr().out
    assert main(["runs", "s1", "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["task_names"] for run in runs] == [["USPS", "SVHN (1,083 images)"], None]


def test_stored_text_cannot_control_the_terminal(home, capsys):
    folder, _ = home
    store = Store(folder / "runs.db")
    sweep = store.submit(SweepSpec(grid={"seed": [0]}), "\x1b[2Jgone\x1b]0;title\x07\r\x9b31m\u202e é✓")
    (run,) = store.run_ids(sweep)
    store.claim()
    store.end(run, "failed", "first line\nsecond\tline \x1b[8mhidden")
    assert main(["runs"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines.pop() == ""
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)
    assert "�[2Jgone�]0;title� �31m� é✓" in lines[0]
    assert lines[1].endswith("first line second line �[8mhidden")


def test_cancel_and_resume_accept_runs_and_sweeps(home, capsys):
    folder, started = home
    store = Store(folder / "runs.db")
    store.submit(SweepSpec(grid={"seed": [0, 1, 2]}))
    assert main(["cancel", "s1"]) == 0
    assert store.counts()["cancelled"] == 3
    assert main(["resume", "r1", "r3"]) == 0
    assert "2 runs queued again" in capsys.readouterr().out
    assert started


def test_resume_reports_each_status(home, capsys):
    folder, started = home
    store = Store(folder / "runs.db")
    store.submit(SweepSpec(base={"tasks": 2}, grid={"seed": [0, 1, 2, 3]}))
    running, finished = store.claim()[0], store.claim()[0]
    finish(store, finished)
    store.cancel([4])
    assert main(["resume", "s1"]) == 0
    assert capsys.readouterr().out == "1 run queued again, 1 already queued, 1 running, 1 finished.\n"
    store.end(running, "cancelled", "")
    store.cancel([3, 4])
    started.clear()
    assert main(["resume", f"r{finished}"]) == 0
    assert capsys.readouterr().out == "1 finished.\n"
    assert not started


def test_runs_waiting_for_other_code_are_listed(home, capsys, monkeypatch):
    folder, _ = home
    Store(folder / "runs.db").submit(SweepSpec(grid={"seed": [0, 1]}))
    monkeypatch.setattr("mgem_core.config.keys.code_version", lambda *run: "newer")
    assert main(["runs"]) == 0
    out = capsys.readouterr().out
    assert out.count("requested with other code, libraries or data than are installed here") == 3
    assert out.endswith("mgem resume s1 requests them again with what is installed here.\n")
    assert main(["runs", "--json"]) == 0
    assert [run["waits_for_other_code"] for run in json.loads(capsys.readouterr().out)["runs"]] == [True, True]


def test_damaged_store_is_reported(home, capsys):
    folder, _ = home
    (folder / "runs.db").write_text("no database at all" * 100)
    assert main(["runs"]) == 2
    assert "is damaged or not a store of mgem" in capsys.readouterr().err
