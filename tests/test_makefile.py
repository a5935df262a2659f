"""The installation by `make`, with a fake Python that only records its arguments."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHON = """#!/bin/sh
echo "$*" >> asked
if [ "$2" = venv ]; then
    [ "$3" = --clear ] && rm -rf .venv && [ -e stuck ] && exit 1
    mkdir -p .venv/bin
    for name in python ruff mypy; do cp "$PYTHON" .venv/bin/$name; done
fi
case "$*" in *--editable*) [ ! -e broken ];; esac
"""


@pytest.fixture
def make(tmp_path):
    """Run make in a copy of the project; return its exit code, its output and the recorded calls of Python."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o755)

    def run(target):
        (tmp_path / "asked").write_text("")
        # The variables of `make test` itself must not reach this make.
        outer = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        environment = {**outer, "PYTHON": str(tmp_path / "python")}
        done = subprocess.run(["make", target], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, (tmp_path / "asked").read_text().splitlines()

    return run


def installed(asked):
    return [line.split("--editable ")[1] for line in asked if "--editable" in line]


def test_run_installs_only_what_the_dashboard_needs(make):
    code, out, asked = make("run")
    assert code == 0
    assert out.startswith("Setting up .venv. The first time, this takes 2 to 4 minutes")
    assert installed(asked) == ["."]
    assert not any("--quiet" in line for line in asked if "--editable" in line)
    assert asked[-1] == "-m mgem_core dashboard"


def test_nothing_is_installed_twice(make):
    make("run")
    assert installed(make("run")[2]) == []
    make("lint")
    assert installed(make("lint")[2]) == []
    assert installed(make("run")[2]) == []


@pytest.mark.parametrize("target", ["test", "slow", "lint", "perf"])
def test_development_tools_are_added(make, target):
    make("run")
    code, _, asked = make(target)
    assert code == 0
    assert installed(asked) == [".[dev]"]
    assert not any("--clear" in line for line in asked)


def test_changed_dependencies_are_installed(make, tmp_path):
    make("lint")
    later = (tmp_path / ".venv" / "installed-dev").stat().st_mtime + 10
    os.utime(tmp_path / "pyproject.toml", (later, later))
    assert installed(make("run")[2]) == ["."]
    for stamp in (tmp_path / ".venv").glob("installed*"):
        os.utime(stamp, (later + 10, later + 10))
    assert installed(make("lint")[2]) == [".[dev]"]


@pytest.mark.parametrize("interrupted", ["run", "lint"])
@pytest.mark.parametrize("after", ["run", "lint"])
def test_interrupted_installation_is_repaired(make, tmp_path, interrupted, after):
    if interrupted == "lint":
        make("run")
    (tmp_path / "broken").touch()
    assert make(interrupted)[0] != 0
    (tmp_path / "broken").unlink()
    code, _, asked = make(after)
    assert code == 0
    assert any("--clear" in line for line in asked)
    assert installed(asked) == ["."] if after == "run" else [".", ".[dev]"]
    assert installed(make(after)[2]) == []


def test_interrupted_repair_is_repaired(make, tmp_path):
    for obstacle in ("broken", "stuck"):  # the installation fails, then its removal
        (tmp_path / obstacle).touch()
        assert make("run")[0] != 0
        (tmp_path / obstacle).unlink()
    code, _, asked = make("run")
    assert code == 0
    assert "-m venv --clear .venv" in asked


def test_foreign_environment_is_not_emptied(make, tmp_path):
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "theirs").touch()
    assert make("run")[0] == 0
    assert (tmp_path / ".venv" / "theirs").exists()
