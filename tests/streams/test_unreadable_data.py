"""Data that cannot be read, or whose name is not UTF-8, is reported in one sentence and harms nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from explore.form_state import widget_key
from pages import open_page, texts
from PIL import Image

from mgem_core import RunConfig, UsageError, run
from mgem_core.cli import main
from mgem_core.config.keys import expected_keys
from mgem_core.figures import samples
from mgem_core.runner.worker import explain_error, train
from mgem_core.streams import BENCHMARKS, domainnet
from mgem_core.text import without_surrogates

NOT_UTF8 = b"caf\xe9"


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Two domains of PACS with six classes each."""
    monkeypatch.setenv("MGEM_DATA", str(tmp_path))
    monkeypatch.setenv("MGEM_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(domainnet, "FEWEST", 5)
    domainnet.read_task.cache_clear()
    domainnet._hash_names.cache_clear()
    for domain in ("photo", "sketch"):
        for c in range(6):
            folder = tmp_path / "pacs" / domain / f"class{c}"
            folder.mkdir(parents=True)
            for i in range(6):
                Image.new("RGB", (12, 8), (20 * c, 0, 255)).save(folder / f"{i:03}.png")
    return tmp_path


@pytest.fixture(params=["photo", "photo/class0", "photo/class5"])
def denied(root, request, monkeypatch):
    """A folder that this user may not list, as after chmod 000; root may list every folder."""
    folder, scandir = root / "pacs" / request.param, os.scandir

    def refuse(path="."):
        if Path(os.fsdecode(path)) == folder:
            raise PermissionError(13, "Permission denied", str(folder))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder)
    return folder


def config(**fields):
    return RunConfig(benchmark="pacs", domains="photo+sketch", network="conv-small", iterations=2, memory=8, **fields)


def test_unreadable_folder_is_reported(denied):
    assert f"whose folder {denied} cannot be read (Permission denied);" in config().missing_data()
    sentence = f"The folder {denied} cannot be read (Permission denied); allow this user to read it, or name other domains."
    photo = next(path for path in (denied, denied.parent) if path.name == "photo")
    sketch = photo.with_name("sketch")
    for ask in (
        lambda: domainnet.version(photo),
        lambda: domainnet.draw_classes([photo, sketch], 0),
        lambda: domainnet.sample(photo, 3),
        lambda: expected_keys([config()]),
        lambda: list(run(config())),
    ):
        with pytest.raises(UsageError) as raised:
            ask()
        assert str(denied) in str(raised.value)
        assert "cannot be read (Permission denied)" in str(raised.value)
    with pytest.raises(UsageError) as raised:
        domainnet.version(photo)
    assert str(raised.value) == sentence
    assert domainnet.find_bad_image(photo) == f"whose folder {denied} cannot be read (Permission denied)"
    assert domainnet.version(sketch)
    assert not BENCHMARKS["pacs"].missing(["sketch"])


@pytest.mark.parametrize("images", [[], ["--images"]])
def test_list_reports_an_unreadable_folder_and_continues(denied, capsys, images):
    assert main(["data", "list", *images]) == 0
    lines = capsys.readouterr().out.partition("\npacs ")[2].splitlines()
    [photo] = [line for line in lines if line.startswith("  photo ")]
    assert f"unusable: its folder {denied} cannot be read (Permission denied); allow this user to read it (" in photo
    assert any(line.startswith("  sketch ") and " available in " in line for line in lines)


def test_figure_5_omits_an_unreadable_domain(denied, monkeypatch):
    monkeypatch.setattr(samples, "BENCHMARKS", {"pacs": BENCHMARKS["pacs"]})  # the other domains take long to draw
    assert [strip.domain for strip in samples.strips()] == ["PACS sketch"]


def test_pages_work_with_unreadable_data(denied, monkeypatch):
    monkeypatch.setattr("runner_process.ensure_runner", lambda *options, **named: None)
    Path(os.environ["MGEM_HOME"]).mkdir()
    for page in ("explore", "paper"):
        assert not open_page(page).exception
    explore = open_page("explore")
    explore.session_state[widget_key("benchmarks")] = ["pacs"]
    explore.session_state[widget_key("tasks")] = 2
    explore.session_state[widget_key("memory")] = 8
    explore.session_state[widget_key("domains")] = "photo+sketch"
    assert not explore.run().exception
    assert "cannot be read (Permission denied)" in texts(explore).replace("\\", "")


def test_unreadable_folders_offer_no_other_domains(root, monkeypatch):
    (root / "pacs" / "mine").mkdir()
    assert BENCHMARKS["pacs"].other_domains() == ["mine"]

    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert BENCHMARKS["pacs"].other_domains() == []


def test_too_long_domain_name_is_rejected(root):
    long = RunConfig(benchmark="pacs", domains=f"photo+{'a' * 300}")
    assert "cannot be read (File name too long)" in long.missing_data()


def as_bytes(path):
    return os.fsencode(path)


def test_image_with_non_utf8_name_is_read(root):
    folder = root / "pacs" / "photo"
    before = domainnet.version(folder)
    os.rename(as_bytes(folder / "class0" / "000.png"), as_bytes(folder / "class0") + b"/" + NOT_UTF8 + b".png")
    assert not config().missing_data()
    assert domainnet.version(folder) != before
    assert domainnet.sample(folder, 6).shape == (6, 96, 96, 3)
    assert len(config().open_stream().images) == 2 * 5 * 6
    assert not domainnet.find_bad_image(folder)
    (folder / "class0" / os.fsdecode(NOT_UTF8 + b".png")).write_text("no image")
    assert domainnet.find_bad_image(folder).startswith(f"whose image {folder}/class0/caf\\xe9.png cannot be read (")


def test_keys_of_utf8_folders_are_unchanged(root):
    for path in (root / "pacs" / "photo").rglob("*.png"):
        if path.parent.name != "class1":
            path.unlink()
    (root / "pacs" / "photo" / "class1" / "Größe.png").touch()
    assert domainnet.version(root / "pacs" / "photo") == "d4113a6021c1ebb6"  # computed before other names were allowed


def test_class_with_non_utf8_name_is_reported(root, capsys):
    os.rename(as_bytes(root / "pacs" / "photo" / "class0"), as_bytes(root / "pacs" / "photo") + b"/" + NOT_UTF8)
    shown = f"{root}/pacs/photo/caf\\xe9 cannot be read (its name is not UTF-8)"
    assert f"whose folder {shown};" in config().missing_data()
    with pytest.raises(UsageError) as raised:
        domainnet.version(root / "pacs" / "photo")
    assert str(raised.value) == f"The folder {shown}; rename it, or name other domains."
    assert main(["data", "list"]) == 0
    assert f"its folder {shown}" in capsys.readouterr().out


def test_non_utf8_names_are_not_stored(root):
    name = os.fsdecode(NOT_UTF8)
    for error in (OSError(5, "Input/output error", name), ValueError(name), UsageError(name)):
        explain_error_text = explain_error(raised(error))
        assert "caf\\xe9" in explain_error_text
        explain_error_text.encode()
    folder = root / "pacs" / "photo"
    for c in range(6):
        os.rename(as_bytes(folder / f"class{c}" / "000.png"), as_bytes(folder / f"class{c}") + b"/" + NOT_UTF8 + b".png")
        (folder / f"class{c}" / f"{name}.png").write_text("no image")
    [end] = list(train(config().model_dump_json(), None))
    assert "caf\\xe9.png is not an image that can be read" in end.reason
    (end.reason + end.traceback).encode()
    assert without_surrogates("\ud800é\udce9") == "\\ud800é\\xe9"


def raised(error):
    try:
        raise error
    except Exception as caught:
        return caught


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("usps", ["usps.bz2", "usps.t.bz2"]),
        ("mnist-m", ["mnist_m/mnist_m_train_labels.txt", "mnist_m/mnist_m_test_labels.txt"]),
        ("mnist-m", ["digit-five/mnist_m.npz"]),
        ("svhn", ["digit-five/svhn.npz"]),
        ("svhn", ["train_32x32.mat", "test_32x32.mat"]),
    ],
    ids=str,
)
@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv, which takes the rights of root away, is not installed")
def test_unreadable_files_and_folders_are_reported(tmp_path, name, files):
    for file in files:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(b"x")
    code = (
        "import sys; from mgem_core import UsageError; from mgem_core.streams import BENCHMARKS\n"
        f"one = {{d.name: d for b in BENCHMARKS.values() for d in b.datasets()}}[{name!r}]\n"
        "for ask in (lambda: one.problem(False), lambda: one.problem(True), one.version, lambda: str(one.folder())):\n"
        "    try: print(ask())\n"
        "    except UsageError as error: print(error)\n"
    )
    denied = [tmp_path / files[0], *({(tmp_path / files[0]).parent} - {tmp_path})]
    for path in denied:
        mode = path.stat().st_mode
        path.chmod(0)
        try:
            done = without_rights([sys.executable, "-c", code], MGEM_DATA=str(tmp_path))
        finally:
            path.chmod(mode)
        assert done.returncode == 0, done.stderr
        assert "cannot be read (Permission denied)" in done.stdout.splitlines()[1]


def without_rights(command, **environment):
    """Run a command as a user who may not read everything, as root may."""
    rights = "-dac_override,-dac_read_search"
    limited = ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}", *command]
    return subprocess.run(limited, env={**os.environ, **environment}, capture_output=True, text=True)


@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv, which takes the rights of root away, is not installed")
def test_unreadable_class_is_one_line_of_the_list(tmp_path):
    for c in range(6):
        (tmp_path / "pacs" / "photo" / f"class{c}").mkdir(parents=True)
    folder = tmp_path / "pacs" / "photo" / "class5"
    folder.chmod(0)
    try:
        done = without_rights([sys.executable, "-m", "mgem_core", "data", "list"], MGEM_DATA=str(tmp_path))
    finally:
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert f"unusable: its folder {folder} cannot be read (Permission denied);" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("  sketch ")
