"""Whatever is in a file, the lens shows it or refuses it with one sentence, quickly and in little memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import hostile_recordings
import pytest
from explore.recording_files import recording_messages

from mgem_core import UsageError
from mgem_core.cli import main
from mgem_core.lens import recordings

PROGRAM = Path(hostile_recordings.__file__)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """What happened to each file, by the name of its damage."""
    folder, names = tmp_path_factory.mktemp("hostile"), []
    for number, (name, content) in enumerate(hostile_recordings.all_files()):
        (folder / f"{number}.lens").write_bytes(content)
        names.append(name)
    environment = {**os.environ, "PYTHONPATH": str(PROGRAM.parents[1])}
    done = subprocess.run([sys.executable, str(PROGRAM), str(folder)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {**found, "outcomes": {names[int(number)]: text for number, text in found["outcomes"].items()}}


def test_malformed_file_is_shown_or_rejected(opened):
    outcomes = opened["outcomes"]
    assert len(outcomes) > 400
    wrong = {name: text for name, text in outcomes.items() if text != "shown" and not text.startswith("UsageError: ")}
    assert not wrong
    assert all(len(text.splitlines()) == 1 and text.isprintable() and len(text) < 600 for text in outcomes.values())
    assert outcomes["good"] == outcomes["as large as allowed"] == outcomes["1000 layers"] == "shown"


def test_malformed_file_uses_limited_memory_and_time(opened):
    assert opened["peak_mb"] is None or opened["peak_mb"] < 600  # 256 MB of factors are allowed, and importing takes 60
    assert opened["longest"] < 30  # seconds of CPU time; about two


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("20,000 splits", "has 20,003 rows in a Gram matrix, and at most 1,000 can be opened; record fewer splits."),
        ("1001 layers", "has 1,001 layers, and at most 1,000 can be opened; record fewer of them."),
        ("header of 300 MB", "has a header of 300,000,000 bytes, and at most 8,000,000 can be opened; record fewer steps."),
        ("100,001 snapshots", "has 100,001 snapshots, and at most 100,000 can be opened; record fewer steps."),
        ("nan at 0", "has a gradient that is not finite in task 2: its training diverged."),
        ("one large step", "at most 30,000,000 can be sent to a browser; open fewer of them, or record fewer splits."),
    ],
)
def test_exceeded_limit_is_named(opened, name, reason):
    assert opened["outcomes"][name].endswith(reason)


def test_older_file_formats_can_be_read():
    recording = recordings.read(PROGRAM.with_name("version-1.lens"))
    assert len(recording.snapshots) == 34
    assert recording_messages([recording], "version-1.lens", "files")[0]["used"]["strength"] == [0.5]


def test_total_size_of_several_files_is_limited():
    content = hostile_recordings.packed()
    assert recordings.parse(content, "a.lens", 360).numbers == 360
    with pytest.raises(UsageError, match=r"'a\.lens' has 360 numbers, and at most 359 can be opened"):
        recordings.parse(content, "a.lens", 359)


def test_command_rejects_a_malformed_file(tmp_path, capsys):
    (tmp_path / "bad.lens").write_bytes(hostile_recordings.packed(b"[" * 100_000))
    assert main(["lens", str(tmp_path / "bad.lens")]) == 2
    assert capsys.readouterr().err == (
        f"mgem: '{tmp_path}/bad.lens' is no recording of mgem, or it is damaged; record it again.\n"
    )
