"""`mgem doctor`: what it prints, its exit code, and that it changes nothing."""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from filled_store import filled_store

from mgem_core.cli import main

ROOT = Path(__file__).parents[2]
WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; from mgem_core.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of results with a store that no process has open."""
    folder = tmp_path / "home"
    monkeypatch.setenv("MGEM_HOME", str(folder))
    monkeypatch.delenv("MGEM_DATA", raising=False)
    filled_store(folder / "runs.db").close()
    return folder


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def document(capsys, *options):
    """Return the exit code and the JSON document of `mgem doctor --quick`."""
    code = main(["doctor", "--quick", "--json", *options])
    return code, json.loads(capsys.readouterr().out)


def test_prints_a_line_per_check_and_one_of_advice(home, capsys):
    before = content(home)
    assert main(["doctor", "--quick"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[1] for line in lines if not line.startswith(" ")]
    expected = ["versions", "device", "folder", "disk", "descriptors", "store", "checkpoints", "runner", "data", "access"]
    assert list(dict.fromkeys(names)) == expected
    for line, following in pairwise(lines):
        assert line.startswith(("ok ", " ")) or following.startswith(" ")
    assert content(home) == before


def test_json_is_one_document(home, capsys):
    code, found = document(capsys)
    assert (code, found["level"] in ("ok", "advice"), found["comparison"]) == (0, True, None)
    assert all(set(check) == {"name", "level", "finding", "advice", "details"} for check in found["checks"])
    assert all("\n" not in check["finding"] + check["advice"] for check in found["checks"])


@pytest.mark.parametrize("damage", ["text", "page", "folder"])
def test_a_broken_store_ends_with_code_1_and_stays_as_it_is(damage, home, capsys):
    path = home / "runs.db"
    if damage == "page":
        path.write_bytes(path.read_bytes()[:-3000] + bytes(3000))
    else:
        path.unlink()
        path.mkdir() if damage == "folder" else path.write_text("no database at all" * 100)
    before = content(home)
    code, found = document(capsys)
    broken = [check["name"] for check in found["checks"] if check["level"] == "broken"]
    assert (code, found["level"], broken) == (1, "broken", ["store"])
    assert main(["doctor", "--quick"]) == 1
    out, err = capsys.readouterr()
    assert out.endswith("1 problem found.\n")
    assert "Traceback" not in out + err
    assert content(home) == before


def test_a_missing_data_folder_ends_with_code_1(home, capsys, monkeypatch):
    monkeypatch.setenv("MGEM_DATA", str(home / "nowhere"))
    code, found = document(capsys)
    assert code == 1
    assert [check["name"] for check in found["checks"] if check["level"] == "broken"] == ["data"]


def test_runs_in_an_empty_folder_without_creating_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MGEM_HOME", str(tmp_path / "new"))
    monkeypatch.delenv("MGEM_DATA", raising=False)
    assert document(capsys)[0] == 0
    assert not list(tmp_path.iterdir())


def test_quick_does_not_need_torch(home):
    command = [sys.executable, "-c", WITHOUT_TORCH, "doctor", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_torch_that_cannot_be_imported_is_one_line(home):
    command = [sys.executable, "-c", WITHOUT_TORCH, "doctor"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    broken = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("broken")]
    assert broken == ["torch", "speed"]
    assert "Traceback" not in done.stdout + done.stderr
    done = subprocess.run([*command, "--compare", "cpu,cpu"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "compare needs torch, which cannot be imported" in done.stderr


def test_compares_devices_and_writes_a_report(home, capsys, monkeypatch):
    from mgem_core.doctor import comparison, speed

    small = {"benchmark": "mnist5k-permutations", "tasks": 2, "memory": 20, "lr": 0.01}
    monkeypatch.setattr(speed, "SECONDS", 0.0)
    monkeypatch.setattr(comparison, "NETWORKS", {"mlp": small})
    monkeypatch.setattr(comparison, "STEPS", 2)
    report = home.parent / "report.json"
    assert main(["doctor", "--compare", "cpu,cpu", "-o", str(report), "--json"]) == 0
    out, err = capsys.readouterr()
    printed, written = json.loads(out), json.loads(report.read_text())
    assert printed["comparison"] == written["comparison"]
    assert len(written["comparison"]["cases"]) == 4
    names = {check["name"] for check in written["checks"]}
    assert names == {"versions", "device", "torch", "speed", "compare"}
    assert str(home.parent) not in report.read_text()
    assert "comparing cpu and cpu: GEM on mlp" in err
    assert "The report is in " in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--quick", "--compare", "cpu,cpu"], "leave out --quick or --compare"),
        (["--compare", "cpu"], "compare is 'cpu'; it must be two devices"),
        (["--compare", "cpu,cpu", "-o", os.sep], "which is a folder"),
        (["--compare", "cpu,cpu", "-o", "/nowhere/report.json"], "cannot be written"),
    ],
)
def test_invalid_requests_are_one_sentence(options, words, home, capsys):
    assert main(["doctor", *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert words in err
