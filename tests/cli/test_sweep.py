"""`mgem sweep` and `mgem presets`, without workers."""

import io
import json
import re

import pytest
from filled_store import known_store

from mgem_core.analysis.estimate import Estimate
from mgem_core.cli import main
from mgem_core.paper.presets import PRESETS
from mgem_core.store import Store

BAD = [
    (["sweep", "--record", "--method", "single"], "nothing can be recorded: these runs have no method of the GEM family."),
    (["sweep", "--record", "--tasks", "1"], "nothing can be recorded: tasks is 1; curves need 2 to 5 tasks."),
    (["sweep", "--modules", "1,99"], "modules is 99; it must be from 1 to 6"),
    (["sweep", "--preset", "everything"], "preset is 'everything'; it must be one of rotated-digits, quick-look"),
    (["sweep", "--workers", "0"], "workers is 0; it must be from 1 to 256"),
    (["sweep", "--seeds", "0,x"], "seeds are '0,x', but “x” is not a whole number or a range such as 0-9."),
    (["sweep", "--seeds", ","], "seeds are empty; give some, such as 0-5."),
    (["sweep", "--idle", "-1"], "idle is -1.0; it must be a number of at least 0"),
    (
        ["sweep", "--benchmark", "mnist5k-split,mnist5k-rotations", "--domains", "uci+mnist"],
        "domains is 'uci+mnist', but mnist5k-split and mnist5k-rotations have none; leave it out, or take one of the "
        "benchmarks digits-domains, digit-five, domainnet, pacs.",
    ),
    (["cancel", "x7"], "'x7' is neither a run like r12 nor a sweep like s3"),
    (["cancel", "r7"], "there is no 'r7'"),
    (["resume", "s1"], "there is no 's1'"),
    (["data", "fetch"], "the following arguments are required: NAME"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_invalid_input_exits_2_and_leaves_no_sweep(home, arguments, sentence, capsys):
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


def test_every_field_accepts_a_list(home, capsys):
    folder, started = home
    grid = ["--strengths", "0,0.5", "--lr", "0.05", "--seeds", "0-1"]
    assert main(["sweep", *grid, "--modules", "fc1=0,fc2=0,fc3=1;4", "--workers", "3", "--detach"]) == 0
    assert "sweep s1: 8 runs" in capsys.readouterr().err
    assert started[0][-2:] == ("--workers", "3")
    configs = [json.loads(row["config"]) for row in Store(folder / "runs.db").database.rows("SELECT config FROM runs")]
    assert {config["lr"] for config in configs} == {0.05}
    assert sum(config["modules"] == {"fc1": 0, "fc2": 0, "fc3": 1} for config in configs) == 4


def test_domains_apply_only_to_benchmarks_with_domains(home):
    benchmarks = ["--benchmark", "mnist5k-split,digits-domains", "--domains", "uci+mnist,mnist+uci"]
    assert main(["sweep", *benchmarks, "--seeds", "0", "--detach"]) == 0
    folder, _ = home
    configs = [record["config"] for record in Store(folder / "runs.db").run_records()]
    assert sorted((config["benchmark"], config.get("domains", "")) for config in configs) == [
        ("digits-domains", "mnist+uci"),
        ("digits-domains", "uci+mnist"),
        ("mnist5k-split", ""),
    ]


def test_snapshot_cost_is_reported_at_launch(home, capsys):
    grid = ["--tasks", "3", "--iterations", "100", "--snap-every", "10", "--seeds", "0,1"]
    assert main(["sweep", *grid, "--detach"]) == 0
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("sweep s1: 2 runs")
    assert second.startswith("40 snapshots for the lens: about 33 KiB in the store, and about ")
    assert main(["sweep", "--seeds", "0,1", "--detach"]) == 0
    assert "snapshot" not in capsys.readouterr().err


def test_preset_fields_can_be_overridden(home):
    folder, _ = home
    assert main(["sweep", "--preset", "quick-look", "--seeds", "7", "--tasks", "2", "--detach"]) == 0
    configs = [json.loads(row["config"]) for row in Store(folder / "runs.db").database.rows("SELECT config FROM runs")]
    assert len(configs) == 1 + 13  # a recording and the other runs
    assert {(config["seed"], config["tasks"]) for config in configs} == {(7, 2)}


RECORDED = ["sweep", "--tasks", "3", "--iterations", "40", "--modules", "1,4", "--strengths", "0,1", "--seeds", "0,1"]


def configs_of(home):
    return [record["config"] for record in Store(home[0] / "runs.db").run_records(sweep=1)]


def test_recordings_are_off_without_a_preset(home, capsys):
    assert main([*RECORDED, "--detach"]) == 0
    assert "sweep s1: 8 runs," in capsys.readouterr().err
    assert {config.get("snap_every", 0) for config in configs_of(home)} == {0}


def test_recordings_are_announced_and_counted_separately(home, capsys):
    assert main([*RECORDED, "--trigger", "always", "--record", "--detach", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "sweep s1: 2 recordings + 8 runs," in err
    assert "160 snapshots for the lens" in err
    document = json.loads(out)
    assert document["recordings"] == ["r1", "r2"]
    assert len(document["runs"]) == 2 + 8
    first = document["runs"][0]["config"]
    fields = ("modules", "strength", "trigger", "snap_every", "snap_splits")
    assert [first[name] for name in fields] == [1, 0.5, "always", 1, 6]


def test_recorded_presets_can_be_trained_without_recordings(home, capsys):
    quick_look = ["sweep", "--preset", "quick-look", "--detach"]
    assert main([*quick_look, "--no-record"]) == 0
    assert main(quick_look) == 0
    err = capsys.readouterr().err
    assert "sweep s1: 52 runs," in err
    assert "sweep s2: 4 recordings + 52 runs," in err
    assert {config.get("snap_every", 0) for config in configs_of(home)} == {0}


def test_recordings_follow_the_options_given_with_a_preset(home, capsys):
    options = ["--splits", "1,4", "--iterations", "200", "--trigger", "always"]
    assert main(["sweep", "--preset", "quick-look", *options, "--seeds", "0", "--detach"]) == 0
    [recording] = [config for config in configs_of(home) if config.get("snap_every")]
    assert [recording[name] for name in ("snap_every", "snap_splits", "trigger")] == [8, 4, "always"]


def test_preset_with_unsuitable_options_is_trained_without_recordings(home, capsys):
    assert main(["sweep", "--preset", "quick-look", "--tasks", "6", "--seeds", "0", "--detach"]) == 0
    err = capsys.readouterr().err
    assert "mgem: nothing can be recorded: tasks is 6; curves need 2 to 5 tasks.\n" in err
    assert "sweep s1: 13 runs," in err


def test_finished_sweep_prints_a_table_with_legend(home, capsys):
    folder, _ = home
    known_store(folder / "runs.db")
    grid = ["--benchmark", "mnist5k-permutations,mnist5k-rotations", "--modules", "1,4"]
    assert main(["sweep", "--tasks", "2", "--iterations", "10", "--memory", "20", *grid]) == 0
    out = capsys.readouterr().out
    header, *rows = [line.split() for line in out.splitlines()[2:7]]
    assert header == ["benchmark", "method", "q", "finished", "ACC", "FWD", "BWD", "Forgetting", "seconds"]
    assert [row[:2] for row in rows] == [
        [name, label] for name in ("mnist5k-permutations", "mnist5k-rotations") for label in ("GEM", "p-mGEM(4)")
    ]
    assert all(row[2:] == ["0.5", "1", "of", "1", "77.50", "87.50", "−10.00", "20.00", "2.0"] for row in rows)
    assert "ACC = FWD + BWD" in out
    assert "mgem export s1" in out  # known_store has made exactly these runs


def test_presets_and_data_are_listed(home, capsys):
    assert main(["presets"]) == 0
    assert main(["data", "list"]) == 0
    out = capsys.readouterr().out
    assert "quick-look" in out
    assert "6 recordings + 216 runs  GEM and p-mGEM with two to six modules" in out
    assert "  72 runs  The paper's methods on all built-in benchmarks" in out
    assert "mnist5k-split" in out


def test_presets_as_json(home, capsys):
    assert main(["presets", "--json"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert list(found) == list(PRESETS)
    assert (found["quick-look"]["recordings"], found["quick-look"]["runs"]) == (4, 52)
    assert (found["built-in-digits"]["recordings"], found["built-in-digits"]["runs"]) == (0, 72)


def test_missing_ray_is_reported(home, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["sweep", "--ray", "auto"]) == 2
    assert "ray is not installed; install it with: pip install" in capsys.readouterr().err


def test_equal_sweep_is_reused(home, capsys):
    command = ["sweep", "--tasks", "2", "--iterations", "5", "--memory", "20", "--seeds", "0,1", "--detach"]
    assert main(command) == 0
    store = Store(home[0] / "runs.db")
    store.cancel(store.run_ids(1))
    capsys.readouterr()
    assert main(command) == 0
    assert "sweep s1 has exactly these runs already: 2 runs" in capsys.readouterr().err
    assert store.counts(1)["queued"] == 2
    assert main([*command, "--again"]) == 0
    assert len(store.sweeps()) == 2


@pytest.fixture
def many(monkeypatch):
    """Count ten runs as a huge sweep."""
    for module in ("sweep", "_launch"):
        monkeypatch.setattr(f"mgem_core.cli.{module}.MANY_RUNS", 10)
    return ["sweep", "--tasks", "1", "--seeds", ",".join(map(str, range(10))), "--detach"]


def test_huge_sweep_needs_confirmation(home, many, capsys):
    folder, started = home
    assert main(many) == 2
    sentence = "this is a sweep of up to 10 runs; add --yes to launch it anyway, or choose fewer values."
    assert capsys.readouterr().err == f"mgem: {sentence}\n"
    assert not started
    assert not (folder / "runs.db").exists()
    assert main([*many, "--yes"]) == 0
    assert Store(folder / "runs.db").counts(1)["queued"] == 10
    err = capsys.readouterr().err
    for doing in ("checking settings", "computing keys", "writing"):
        assert f"{doing}: 10 of 10 runs\n" in err


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("Yes\n", 0), ("\n", 2), ("no\n", 2), ("", 2)])
def test_huge_sweep_asks_on_a_terminal(home, many, answer, code, capsys, monkeypatch):
    folder, _ = home
    terminal = io.StringIO(answer)
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", terminal)
    assert main(many) == code
    assert "This is a sweep of up to 10 runs. Launch it? [y/N] " in capsys.readouterr().err
    assert (folder / "runs.db").exists() == (code == 0)


def test_sweep_of_an_hour_needs_confirmation(home, capsys, monkeypatch):
    folder, started = home
    monkeypatch.setattr("mgem_core.cli.sweep.estimate", lambda *arguments: Estimate(1, 0, 3600.0))
    assert main(["sweep", "--tasks", "1", "--detach"]) == 2
    assert capsys.readouterr().err.startswith("mgem: this may take about 60 min; add --yes to launch it anyway")
    assert not started
    assert not Store(folder / "runs.db").sweeps()
    assert main(["sweep", "--tasks", "1", "--detach", "--yes"]) == 0
    assert len(Store(folder / "runs.db").sweeps()) == 1


def test_time_is_estimated_on_an_empty_store(home, capsys):
    assert main(["sweep", "--tasks", "1", "--seeds", "0,1", "--workers", "2", "--detach"]) == 0
    assert re.search(
        r"^sweep s1: 2 runs, about \S+ s \(estimate for mlp on 2 cores\)$", capsys.readouterr().err, re.MULTILINE
    )


def test_sweep_whose_code_was_edited_ends_with_message(home, capsys, monkeypatch):
    """The code was edited while the command waited for its runs."""

    def edit(*options, wanted):
        monkeypatch.setattr("mgem_core.config.keys.code_version", lambda *run: "newer")

    monkeypatch.setattr("mgem_core.cli.sweep.ensure_runner", edit)
    assert main(["sweep", "--tasks", "1", "--seeds", "0,1"]) == 2
    sentence = "in sweep s1, 2 runs wait: they were requested with other code, libraries or data than are installed here"
    assert f"mgem: {sentence}; mgem resume s1 requests them again" in capsys.readouterr().err
