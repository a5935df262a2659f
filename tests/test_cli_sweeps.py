"""The commands about many runs, where they need no worker."""

import contextlib
import json

import pytest

from mgem_core import cli_sweeps
from mgem_core.cli import main
from mgem_core.store import Store
from mgem_core.sweeps import SweepSpec


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    started = []
    monkeypatch.setattr(cli_sweeps, "ensure_runner", lambda *options: started.append(options))
    return tmp_path, started


BAD = [
    (["sweep", "--modules", "1,99"], "modules is 99; it must be from 1 to 6"),
    (["sweep", "--preset", "everything"], "preset is 'everything'; it must be one of quick-look"),
    (["sweep", "--workers", "0"], "workers is 0; it must be from 1 to 256"),
    (["sweep", "--seeds", "0,,1"], "seed is ''; it must be a valid integer"),
    (["sweep", "--idle", "-1"], "idle is -1.0; it must be a number of at least 0"),
    (["cancel", "x7"], "'x7' is neither a run like r12 nor a sweep like s3"),
    (["cancel", "r7"], "there is no 'r7'"),
    (["resume", "s1"], "there is no 's1'"),
    (["data", "fetch"], "the following arguments are required: NAME"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_exits_2_with_one_sentence_and_leaves_no_sweep(home, arguments, sentence, capsys):
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1
    folder, started = home
    assert not started
    assert not (folder / "runs.db").exists() or not Store(folder / "runs.db").database.rows("SELECT 1 FROM sweeps")


def test_a_sweep_is_launched_with_every_field_as_a_list(home, capsys):
    folder, started = home
    grid = ["--strengths", "0,0.5", "--lr", "0.05", "--seeds", "0,1"]
    assert main(["sweep", *grid, "--modules", "fc1=0,fc2=0,fc3=1;4", "--workers", "3", "--detach"]) == 0
    assert "sweep s1: 8 runs" in capsys.readouterr().err
    assert started[0][-2:] == ("--workers", "3")
    configs = [json.loads(row["config"]) for row in Store(folder / "runs.db").database.rows("SELECT config FROM runs")]
    assert {config["lr"] for config in configs} == {0.05}
    assert sum(config["modules"] == {"fc1": 0, "fc2": 0, "fc3": 1} for config in configs) == 4


def test_a_preset_may_be_changed(home):
    folder, _ = home
    assert main(["sweep", "--preset", "quick-look", "--seeds", "7", "--tasks", "2", "--detach"]) == 0
    configs = [json.loads(row["config"]) for row in Store(folder / "runs.db").database.rows("SELECT config FROM runs")]
    assert len(configs) == 12
    assert {(config["seed"], config["tasks"]) for config in configs} == {(7, 2)}


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
    told = json.loads(capsys.readouterr().out)
    assert told["sweeps"][0]["counts"]["cancelled"] == 1
    assert [run["status"] for run in told["runs"]] == ["cancelled", "queued"]


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


@pytest.mark.parametrize("arguments", [["runs", "\x1b[2J"], ["data", "fetch", "\x1b[2J"], ["cancel", "\x1b[2J"]])
def test_what_was_typed_cannot_control_the_terminal(home, arguments, capsys):
    with contextlib.suppress(SystemExit):  # argparse's own way out
        main(arguments)
    err = capsys.readouterr().err
    assert err.endswith("\n")
    assert err[:-1].isprintable()


def test_cancel_and_resume_take_runs_and_sweeps(home, capsys):
    folder, started = home
    store = Store(folder / "runs.db")
    store.submit(SweepSpec(grid={"seed": [0, 1, 2]}))
    assert main(["cancel", "s1"]) == 0
    assert store.counts()["cancelled"] == 3
    assert main(["resume", "r1", "r3"]) == 0
    assert "2 runs queued again" in capsys.readouterr().out
    assert started


def test_presets_and_data_are_listed(home, capsys):
    assert main(["presets"]) == 0
    assert main(["data", "list"]) == 0
    out = capsys.readouterr().out
    assert "quick-look" in out
    assert "mnist5k-split" in out


def test_a_damaged_store_is_one_sentence(home, capsys):
    folder, _ = home
    (folder / "runs.db").write_text("no database at all" * 100)
    assert main(["runs"]) == 2
    assert "is damaged or no store of mgem" in capsys.readouterr().err


def test_without_ray_its_flag_is_one_sentence(home, capsys, monkeypatch):
    monkeypatch.setattr(cli_sweeps.importlib.util, "find_spec", lambda name: None)
    assert main(["sweep", "--ray", "auto"]) == 2
    assert "ray is not installed; install it with: pip install" in capsys.readouterr().err
