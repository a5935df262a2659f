"""The dashboard never imports torch, so that it starts quickly and needs little memory."""

import subprocess
import sys

import torch_free
from filled_store import is_gem, known_store


def test_dashboard_does_not_import_torch(tmp_path):
    (tmp_path / "empty").mkdir()
    known_store(tmp_path / "small" / "runs.db", records=is_gem).close()
    command = [sys.executable, torch_free.__file__, str(tmp_path / "empty"), str(tmp_path / "small")]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr[-3000:]


def test_all_modules_of_the_dashboard_are_checked():
    assert {"components", "explore.form", "runs.run_list", "session"} <= set(torch_free.app_modules())
    assert {"mgem_core.cli.run", "mgem_core.cli.work"} <= set(torch_free.ALSO)
    assert {"mgem_core.figures.files", "mgem_core.runner.work", "mgem_core.streams"} <= set(torch_free.imported_modules())
    assert [page.parent.name for page in torch_free.PAGES] == ["explore", "geometry", "paper", "runs"]
