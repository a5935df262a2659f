"""What all commands have in common."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mgem_core.cli import main

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("arguments", [["run", "--modules", "99"], ["fly"], [], ["run", "--lr"]])
def test_the_installed_command_reports_bad_input_in_one_sentence(arguments):
    command = [Path(sys.executable).with_name("mgem"), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 2
    assert process.stdout == ""
    assert process.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["runs", "\x1b[2J"], ["data", "fetch", "\x1b[2J"], ["cancel", "\x1b[2J"]])
def test_arguments_in_error_messages_cannot_control_the_terminal(home, arguments, capsys):
    with contextlib.suppress(SystemExit):  # argparse's own way out
        main(arguments)
    err = capsys.readouterr().err
    assert err.endswith("\n")
    assert err[:-1].isprintable()
