"""Behaviour that all commands share."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from filled_store import known_store

from mgem_core.cli import COMMANDS, main

ROOT = Path(__file__).parents[2]
SLOW_TO_IMPORT = {"matplotlib", "pandas", "plotly", "scipy", "streamlit", "torch"}


@pytest.mark.parametrize("arguments", [["run", "--modules", "99"], ["fly"], [], ["run", "--lr"]])
def test_installed_command_reports_invalid_input(arguments):
    command = [Path(sys.executable).with_name("mgem"), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 2
    assert process.stdout == ""
    assert process.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["runs", "\x1b[2J"], ["data", "fetch", "\x1b[2J"], ["cancel", "\x1b[2J"]])
def test_arguments_in_errors_cannot_control_the_terminal(home, arguments, capsys):
    with contextlib.suppress(SystemExit):  # raised by argparse
        main(arguments)
    err = capsys.readouterr().err
    assert err.endswith("\n")
    assert err[:-1].isprintable()


def test_every_command_file_is_in_the_help(capsys):
    files = {path.stem for path in (ROOT / "mgem_core" / "cli").glob("*.py") if not path.stem.startswith("_")}
    assert set(COMMANDS) == files
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert all(f"{name} {line}" in shown for name, line in COMMANDS.items())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: mgem {command} ")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["work", "--help"], ["presets"], ["data", "list"], ["fly"]]
)
def test_simple_commands_import_nothing_slow(arguments, tmp_path):
    assert imported_by(arguments, tmp_path) & SLOW_TO_IMPORT == set()


@pytest.mark.parametrize("is_empty", [True, False])
def test_listing_runs_imports_nothing_slow(is_empty, tmp_path):
    if not is_empty:
        known_store(tmp_path / "runs.db").close()
    assert imported_by(["runs"], tmp_path) & SLOW_TO_IMPORT == set()


def test_import_check_finds_slow_imports(tmp_path):
    assert {"pandas", "numpy"} <= imported_by(["compare", "--help"], tmp_path)


def imported_by(arguments, home):
    """Return the packages that a command has imported when it ends."""
    code = "import atexit, sys; atexit.register(lambda: print('\\n', *sys.modules)); from mgem_core.cli import main; main()"
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, "MGEM_HOME": str(home)}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    names = process.stdout.splitlines()[-1].split()
    assert "mgem_core.cli" in names, process.stderr
    return {name.partition(".")[0] for name in names}
