"""MNIST in torchvision's layout, with a few random digits, and with the real ones if MGEM_DATA has them."""

import gzip
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from file_server import serve
from torchvision.datasets import MNIST

from mgem_core import RunConfig, UsageError, run
from mgem_core.cli import main
from mgem_core.runner import Ended
from mgem_core.runner.worker import train
from mgem_core.streams import BENCHMARKS, mnist

BOTH = ["mnist-permutations", "mnist-rotations"]
SHORT = {"tasks": 2, "iterations": 5, "memory": 20}
real = pytest.mark.skipif(
    not os.environ.get("MGEM_DATA") or bool(mnist.find_problem()), reason="MGEM_DATA names no folder with MNIST/raw in it"
)


def tiny_files() -> dict[str, bytes]:
    """Return files of random digits in the idx format; every label occurs."""
    draw = np.random.default_rng(0)
    content = {
        name: draw.integers(0, 256, shape) if len(shape) == 3 else np.arange(shape[0]) % 10
        for name, shape in mnist.files().items()
    }
    return {name: mnist.header(shape) + content[name].astype(np.uint8).tobytes() for name, shape in mnist.files().items()}


def write_digits(raw: Path) -> None:
    raw.mkdir(parents=True, exist_ok=True)
    for name, content in tiny_files().items():
        (raw / name).write_bytes(content)


def expect_tiny_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the expected MNIST by 120 + 40 random digits."""
    monkeypatch.setattr(mnist, "TRAIN", 120)
    monkeypatch.setattr(mnist, "TEST", 40)
    sums = {name: hashlib.md5(content).hexdigest() for name, content in tiny_files().items()}
    monkeypatch.setattr(mnist, "MD5", sums)


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A data root without data, where 120 + 40 digits are expected as MNIST."""
    monkeypatch.setenv("MGEM_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MGEM_HOME", str(tmp_path / "home"))
    expect_tiny_files(monkeypatch)
    return mnist.folder()


@pytest.fixture
def tiny(empty):
    write_digits(empty)
    return empty


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A web server with the random digits, which replaces the servers that torchvision uses."""
    served = tmp_path / "served"
    write_digits(served)
    packed = {f"{name}.gz": gzip.compress((served / name).read_bytes()) for name in mnist.files()}
    for name, content in packed.items():
        (served / name).write_bytes(content)

    with serve(served, monkeypatch) as address:
        monkeypatch.setattr(MNIST, "mirrors", [address])
        sums = [(name, hashlib.md5(content).hexdigest()) for name, content in packed.items()]
        monkeypatch.setattr(MNIST, "resources", sums)
        yield served


@pytest.mark.parametrize("name", BOTH)
def test_a_run_learns_from_the_files(tiny, name):
    *_, finished = run(RunConfig(benchmark=name, **SHORT))
    assert finished.status == "finished"
    assert finished.R.shape == (2, 2)


@pytest.mark.parametrize("name", BOTH)
def test_tasks_are_views_of_one_copy(tiny, name):
    stream = BENCHMARKS[name].open(20, 0)
    images = mnist.load_digits().images
    assert stream.images.dtype == torch.uint8
    assert stream.images.shape == (160, 784)
    assert {len(stream.tasks), len({task.name for task in stream.tasks})} == {20}
    for again in (stream, BENCHMARKS[name].open(20, 1)):
        assert again.images.data_ptr() == torch.from_numpy(images).data_ptr()
        assert all(task.train is again.tasks[0].train and task.test is again.tasks[0].test for task in again.tasks)
    assert stream.batch(19, stream.tasks[19].test).x.shape == (40, 1, 28, 28)


def test_torchvision_reads_the_same_digits_from_the_same_files(tiny):
    images, labels, *parts = mnist.load_digits()
    for indices, train_part in zip(parts, (True, False), strict=True):
        expected = MNIST(tiny.parents[1], train=train_part)
        np.testing.assert_array_equal(images[indices], expected.data.flatten(1))
        np.testing.assert_array_equal(labels[indices], expected.targets)


def test_tasks_depend_on_the_seed_not_on_their_number(tiny):
    for name, others in ((BOTH[0], 5), (BOTH[1], 3)):  # angles depend on the number of tasks, which divide a half turn
        a, same, other = (BENCHMARKS[name].open(n, seed) for n, seed in ((3, 7), (others, 7), (3, 8)))
        for t in range(3):
            assert torch.equal(a.batch(t, np.arange(9)).x, same.batch(t, np.arange(9)).x)
            assert not torch.equal(a.batch(t, np.arange(9)).x, other.batch(t, np.arange(9)).x)


def gone(path):
    path.unlink()


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def other_header(path):
    path.write_bytes(b"\1" + path.read_bytes()[1:])


def folder_instead(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (gone, "mnist-rotations needs MNIST, whose file t10k-images-idx3-ubyte is not in {folder}; "),
        (cut, "whose file {folder}/t10k-images-idx3-ubyte is damaged (it has 31375 bytes, not 31376); "),
        (other_header, "is damaged (it does not begin with the header of 40 digits); "),
        (folder_instead, "whose file {folder}/t10k-images-idx3-ubyte cannot be read (Is a directory); "),
    ],
)
def test_damaged_files_are_reported(tiny, harm, sentence):
    harm(tiny / "t10k-images-idx3-ubyte")
    message = BENCHMARKS["mnist-rotations"].missing()
    assert sentence.format(folder=tiny) + "get it with: mgem data fetch mnist." in message
    with pytest.raises(UsageError) as caught:
        run(RunConfig(benchmark="mnist-rotations", **SHORT))
    assert str(caught.value) == message


def test_invalid_label_is_found_without_checksum(tiny):
    path = tiny / "train-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1] + bytes([200]))
    reason = f"whose file {path} is damaged (it has the label 200, but labels must be from 0 to 9)"
    assert mnist.find_problem() == reason
    with pytest.raises(UsageError) as caught:
        run(RunConfig(benchmark="mnist-rotations", **SHORT))
    assert str(caught.value) == f"mnist-rotations needs MNIST, {reason}; get it with: mgem data fetch mnist."


@pytest.mark.parametrize("name", list(mnist.MD5))
def test_file_with_one_changed_byte_is_rejected(tiny, name, capsys):
    path = tiny / name
    content = bytearray(path.read_bytes())
    content[-1] = (content[-1] + 1) % 10  # a label or a pixel
    path.write_bytes(content)
    reason = f"file {path} is damaged (its checksum is not the published one)"
    with pytest.raises(UsageError) as caught:
        run(RunConfig(benchmark="mnist-rotations", **SHORT))
    assert f"needs MNIST, whose {reason}; get it" in str(caught.value)
    assert main(["data", "list"]) == 0
    assert f"unusable: its {reason}; get it" in capsys.readouterr().out


def sentence_of(folder):
    return f"mnist-permutations needs MNIST, which is not in {folder}; get it with: mgem data fetch mnist."


@pytest.mark.parametrize(
    ("command", "benchmarks"),
    [("run", "mnist-permutations"), ("sweep", "mnist-permutations"), ("sweep", "mnist5k-split,mnist-permutations")],
)
def test_nothing_is_launched_without_data(empty, command, benchmarks, capsys, monkeypatch):
    monkeypatch.setattr("mgem_core.cli.sweep.ensure_runner", lambda *options: pytest.fail("a runner was started"))
    assert main([command, "--benchmark", benchmarks]) == 2
    assert capsys.readouterr() == ("", f"mgem: {sentence_of(empty)}\n")
    assert not Path(os.environ["MGEM_HOME"]).exists()


def test_worker_reports_missing_data(empty):
    config = RunConfig(benchmark=BOTH[0], **SHORT).model_dump_json()
    assert list(train(config, None)) == [Ended("failed", sentence_of(empty))]


def test_missing_data_is_found_without_torch(empty):
    code = (
        "import sys; from mgem_core.streams import BENCHMARKS; print(BENCHMARKS['mnist-permutations'].missing());"
        "sys.exit(bool({'torch', 'torchvision'} & set(sys.modules)))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout == f"{sentence_of(empty)}\n"


def test_list_shows_available_data(empty, capsys):
    def states():
        assert main(["data", "list"]) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
        return {line.split()[0]: line[62:] for line in lines}

    size = "(12 MB to download, 55 MB on disk)"
    assert list(states()) == list(BENCHMARKS)
    assert {states()[name] for name in BOTH} == {
        f"missing: it is not in {empty}; get it with: mgem data fetch mnist {size}"
    }
    write_digits(empty)
    assert {states()[name] for name in BOTH} == {f"available in {empty} {size}"}
    assert states()["mnist5k-split"] == "built in"
    cut(empty / "train-labels-idx1-ubyte")
    assert states()["mnist-rotations"].startswith(f"unusable: its file {empty}/train-labels-idx1-ubyte is damaged (")


@pytest.mark.parametrize("name", ["mnist", "mnist-rotations"])
@pytest.mark.parametrize("harm", [None, gone, cut])
def test_fetch_replaces_missing_or_damaged_files(empty, mirror, name, harm, capsys):
    if harm:
        write_digits(empty)
        harm(empty / "train-labels-idx1-ubyte")
    assert main(["data", "fetch", name]) == 0
    assert capsys.readouterr().out == f"MNIST has been downloaded to {empty}.\n"
    assert not mnist.find_problem()
    assert [path.name for path in empty.parents[1].iterdir()] == ["MNIST"]
    assert main(["data", "fetch", name]) == 0
    assert capsys.readouterr().out == f"MNIST is already in {empty}.\n"


def no_server(served, monkeypatch):
    monkeypatch.setattr(MNIST, "mirrors", ["http://127.0.0.1:9/", "http://127.0.0.1:9/again/"])


def half_a_file(served, monkeypatch):
    path = served / "train-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes()[:20])


def other_digits(served, monkeypatch):
    monkeypatch.setattr(mnist, "TRAIN", 130)


def no_disk(served, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(MNIST, "download", full)


@pytest.mark.parametrize("trouble", [no_server, half_a_file, other_digits, no_disk])
def test_failed_download_is_reported_and_leaves_no_data(empty, mirror, trouble, monkeypatch, capsys):
    trouble(mirror, monkeypatch)
    assert main(["data", "fetch", "mnist"]) == 1
    out, err = capsys.readouterr()
    sentence = err[err.index("mgem: ") :]  # progress comes before it
    assert out == ""
    assert sentence.startswith(f"mgem: MNIST could not be downloaded to {empty} (")
    assert sentence.endswith("or put its unpacked files there yourself.\n")
    assert sentence.count("\n") == 1
    assert mnist.find_problem()
    assert not list(empty.parents[1].glob("*.partial"))


def test_leftovers_of_a_killed_download_do_no_harm(empty, mirror):
    left = empty.parents[1] / "MNIST.partial" / "MNIST" / "raw"
    write_digits(left)
    cut(left / "train-images-idx3-ubyte")
    assert main(["data", "fetch", "mnist"]) == 0
    assert not mnist.find_problem()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["fetch", "mnist5k-split"], 0, "mnist5k-split is built in; nothing needs to be downloaded.\n"),
        (["fetch", "imagenet"], 2, "mgem: there is no data 'imagenet'; it must be one of "),
        (["fetch"], 2, "mgem: the following arguments are required: NAME; see mgem data fetch --help.\n"),
        (["eat"], 2, "mgem: argument list|fetch: invalid choice: 'eat'"),
    ],
)
def test_other_requests_are_one_sentence(empty, arguments, code, message, capsys):
    try:
        ended = main(["data", *arguments])
    except SystemExit as stop:
        ended = stop.code
    out, err = capsys.readouterr()
    assert ended == code
    assert (out + err).startswith(message)
    assert (out + err).count("\n") == 1


@real
@pytest.mark.parametrize("name", BOTH)
def test_real_digits_are_complete_and_unique(name):
    assert not mnist.find_problem(thorough=True)
    stream = BENCHMARKS[name].open(20, 0)
    images, labels = mnist.read_files(mnist.folder())
    assert images.shape == (70_000, 784)
    assert np.bincount(labels[:60_000]).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(labels[60_000:]).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert stream.images.data_ptr() == torch.from_numpy(images).data_ptr()
    assert all(task.train is stream.tasks[0].train for task in stream.tasks)


@real
@pytest.mark.parametrize("name", BOTH)
def test_hundred_steps_learn_most_real_digits(name):
    *_, finished = run(RunConfig(benchmark=name, tasks=1, iterations=100, probe_every=0))
    assert finished.acc > 65
