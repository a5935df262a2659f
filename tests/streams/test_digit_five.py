"""Digit-Five, with tiny files in the layouts of its datasets, and with the real digits if MGEM_DATA has them."""

import bz2
import hashlib
import os

import numpy as np
import pytest
import torch
from file_server import serve
from PIL import Image
from scipy.io import savemat
from test_mnist import expect_tiny_files, write_digits
from torchvision.datasets import SVHN, USPS

from mgem_core import RunConfig, UsageError, run
from mgem_core.cli import main
from mgem_core.config.keys import expected_keys
from mgem_core.streams import BENCHMARKS, _npz, digit_five, mnist, mnist_m, svhn, usps

BENCHMARK = BENCHMARKS["digit-five"]
real = pytest.mark.skipif(
    not os.environ.get("MGEM_DATA") or bool(BENCHMARK.missing()), reason="MGEM_DATA does not have all of Digit-Five"
)


def arrays(train, test, seed=0):
    draw = np.random.default_rng(seed)
    parts = {"train": train, "test": test}
    x = {f"x_{part}": draw.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8) for part, count in parts.items()}
    return {**x, **{f"y_{part}": np.arange(count, dtype=np.uint8) % 10 for part, count in parts.items()}}


def usps_text(count, labels=range(1, 11)):
    values = np.random.default_rng(count).uniform(-1, 1, (count, 256)).round(3)
    label_of = [labels[i % len(labels)] for i in range(count)]
    lines = [
        " ".join([f"{label}", *(f"{k}:{v}" for k, v in enumerate(row, start=1))])
        for label, row in zip(label_of, values, strict=True)
    ]
    return bz2.compress("\n".join(lines).encode() + b"\n")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A data root with a small version of each dataset."""
    monkeypatch.setenv("MGEM_DATA", str(tmp_path))
    expect_tiny_files(monkeypatch)
    monkeypatch.setattr(usps, "IMAGES", {"usps.bz2": 30, "usps.t.bz2": 20})
    monkeypatch.setattr(digit_five, "TRAIN", 50)
    monkeypatch.setattr(digit_five, "TEST", 20)
    monkeypatch.setattr("mgem_core.streams._npz.FEWEST", 40)
    write_digits(mnist.folder())
    (tmp_path / "digit-five").mkdir()
    np.savez_compressed(tmp_path / "digit-five" / "mnist_m.npz", **arrays(60, 30))
    np.savez_compressed(tmp_path / "digit-five" / "svhn.npz", **arrays(40, 30, seed=1))
    (tmp_path / "usps.bz2").write_bytes(usps_text(30))
    (tmp_path / "usps.t.bz2").write_bytes(usps_text(20))
    return tmp_path


def test_any_domains_in_any_order_are_tasks(root):
    stream = BENCHMARK.open(3, 0, ("usps", "mnist", "svhn"))
    assert [task.name for task in stream.tasks] == ["USPS (30 images)", "MNIST", "SVHN (40 images)"]
    assert [(len(task.train), len(task.test)) for task in stream.tasks] == [(30, 20), (50, 20), (40, 20)]
    assert stream.images.shape == (180, 784)
    assert stream.images.dtype == torch.uint8
    everything = [index for task in stream.tasks for part in (task.train, task.test) for index in part]
    assert sorted(everything) == list(range(180))


def test_the_seed_draws_the_images_and_the_order(root):
    a, same, other = (BENCHMARK.open(1, seed, ("mnist",)).images for seed in (1, 1, 2))
    assert torch.equal(a, same)
    assert not torch.equal(a, other)
    orders = {tuple(task.name for task in BENCHMARK.open(5, seed, ()).tasks) for seed in range(5)}
    assert len(orders) > 2
    assert all("Synthetic Digits (our rendering)" in order for order in orders)


def test_images_keep_their_labels(root):
    """Each image of the stream is an image of MNIST with the same label."""
    stream = BENCHMARK.open(1, 0, ("mnist",))
    images, labels = mnist.read_files(mnist.folder())
    label_of = {image.tobytes(): label for image, label in zip(images, labels, strict=True)}
    assert [label_of[image.numpy().tobytes()] for image in stream.images] == stream.labels.tolist()


def test_run_learns_from_the_files(root):
    fields = {"domains": "usps+svhn", "iterations": 2, "batch_size": 10, "memory": 10, "probe_every": 0}
    *_, finished = run(RunConfig(benchmark="digit-five", **fields))
    assert finished.status == "finished"


def test_torchvision_reads_the_same_usps_from_the_same_files(root):
    for part, is_train in zip(usps.read(), (True, False), strict=True):
        theirs = USPS(root, is_train)
        np.testing.assert_array_equal(part.pixels, theirs.data)
        np.testing.assert_array_equal(part.labels, theirs.targets)


def write_svhn(folder, monkeypatch):
    """Write SVHN in torchvision's files, where digit 0 has label 10; return names and checksums for torchvision."""
    folder.mkdir(exist_ok=True)
    sums = {}
    for name, count in (("train_32x32.mat", 60), ("test_32x32.mat", 30)):
        pixels = np.random.default_rng(count).integers(0, 256, (32, 32, 3, count), dtype=np.uint8)
        savemat(folder / name, {"X": pixels, "y": np.arange(count)[:, None] % 10 + 1})
        sums[name] = hashlib.md5((folder / name).read_bytes()).hexdigest()
    monkeypatch.setattr(svhn, "MD5", sums)
    return sums


def test_svhn_files_take_precedence_over_the_sample(root, monkeypatch):
    config = RunConfig(benchmark="digit-five", domains="svhn")
    sample_key = expected_keys([config])
    sums = write_svhn(root, monkeypatch)
    assert not config.missing_data()
    assert expected_keys([config]) != sample_key
    for part, (split, name) in zip(svhn.read(), zip(("train", "test"), sums, strict=True), strict=True):
        monkeypatch.setitem(SVHN.split_list, split, ["", name, sums[name]])
        theirs = SVHN(root, split)
        np.testing.assert_array_equal(part.pixels.transpose(0, 3, 1, 2), theirs.data)
        np.testing.assert_array_equal(part.labels, theirs.labels)


def write_mnist_m(folder):
    """Write MNIST-M as packed by its authors; the green value of an image is ten times its label."""
    for part, count in (("mnist_m_train", 60), ("mnist_m_test", 30)):
        (folder / part).mkdir(parents=True)
        for i in range(count):
            Image.new("RGB", (32, 32), (0, 10 * (i % 10), 0)).save(folder / part / f"{i:08}.png")
        lines = [f"{i:08}.png {i % 10}\n" for i in range(count)]
        (folder / f"{part}_labels.txt").write_text("".join(lines))


def test_mnist_m_folder_takes_precedence_over_the_sample(root, monkeypatch):
    monkeypatch.setattr(mnist_m, "PARTS", {"mnist_m_train": 50, "mnist_m_test": 40})
    config = RunConfig(benchmark="digit-five", domains="mnist-m")
    sample_key = expected_keys([config])
    write_mnist_m(root / "mnist_m")
    assert not config.missing_data(thorough=True)
    assert expected_keys([config]) != sample_key
    for part, count in zip(mnist_m.read(), (50, 30), strict=True):
        assert part.pixels.shape == (count, 32, 32, 3)
        assert (part.pixels[:, 5, 5, 1] == 10 * part.labels).all()
    damaged = root / "mnist_m" / "mnist_m_test_labels.txt"
    damaged.write_text("00000000.png 5\n00000001.png")
    reason = "not every line has the name of an image and its digit"
    assert f"whose file {damaged} is damaged ({reason}); " in config.missing_data(thorough=True)
    damaged.unlink()
    assert "whose file mnist_m_test_labels.txt is not in" in config.missing_data()


def test_another_sample_changes_the_key(root):
    config = RunConfig(benchmark="digit-five", domains="mnist-m")
    before = expected_keys([config])
    np.savez_compressed(root / "digit-five" / "mnist_m.npz", **arrays(60, 30, seed=5))
    assert expected_keys([config]) != before


def test_only_the_chosen_domains_need_their_data(root):
    (root / "digit-five" / "mnist_m.npz").unlink()
    assert not RunConfig(benchmark="digit-five", domains="usps+svhn").missing_data()
    sentence = RunConfig(benchmark="digit-five", domains="usps+mnist-m").missing_data()
    assert sentence == f"digit-five needs MNIST-M, which is not in {root / 'mnist_m'}; {mnist_m.BY_HAND}."
    with pytest.raises(UsageError, match="digit-five needs MNIST-M"):
        run(RunConfig(benchmark="digit-five"))


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


def too_few(path):
    np.savez_compressed(path, **arrays(39, 30)) if path.suffix == ".npz" else path.write_bytes(usps_text(29))


@pytest.mark.parametrize("file", ["digit-five/mnist_m.npz", "digit-five/svhn.npz", "usps.bz2", "usps.t.bz2"])
@pytest.mark.parametrize("harm", [cut, flip, too_few])
def test_damaged_files_are_named(root, file, harm):
    config = RunConfig(benchmark="digit-five")
    assert not config.missing_data(thorough=True)
    harm(root / file)
    with pytest.raises(UsageError) as caught:
        run(config)
    assert f"whose file {root / file} is damaged (" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"y_train": None}, "it lacks an array: y_train is not a file in the archive"),
        ({"y_test": np.full(30, 10)}, "y_test has labels that are not from 0 to 9"),
        (
            {"x_train": np.zeros((60, 32, 32), np.uint8)},
            "x_train is not [N, height, width, 3] uint8 with a label for each image",
        ),
        (
            {"x_test": np.zeros((29, 32, 32, 3), np.uint8)},
            "x_test is not [N, height, width, 3] uint8 with a label for each image",
        ),
    ],
)
def test_files_with_wrong_arrays_are_rejected(root, change, reason):
    content = {name: array for name, array in {**arrays(60, 30), **change}.items() if array is not None}
    np.savez(root / "digit-five" / "mnist_m.npz", **content)
    assert mnist_m.DATASET.problem(True) == f"whose file {root}/digit-five/mnist_m.npz is damaged ({reason})"


@pytest.mark.parametrize("label", [0, 11, 15, -1])
def test_usps_labels_out_of_range_are_rejected(root, label):
    (root / "usps.bz2").write_bytes(usps_text(30, labels=(1, label)))
    with pytest.raises(UsageError) as caught:
        run(RunConfig(benchmark="digit-five", domains="usps"))
    assert f"whose file {root}/usps.bz2 is damaged (it has labels that are not from 1 to 10); " in str(caught.value)


def test_other_usps_files_change_the_key(root):
    usps_run, other_run = (RunConfig(benchmark="digit-five", domains=name) for name in ("usps", "svhn"))
    before, others = expected_keys([usps_run]), expected_keys([other_run])
    (root / "usps.t.bz2").write_bytes(usps_text(20, labels=(3, 4)))
    assert not usps_run.missing_data(thorough=True)
    assert expected_keys([usps_run]) != before
    assert expected_keys([other_run]) == others


def test_fetch_downloads_usps_and_svhn_with_torchvision(root, tmp_path_factory, monkeypatch, capsys):
    served = tmp_path_factory.mktemp("served")
    for name in usps.IMAGES:
        (root / name).replace(served / name)
    sums = write_svhn(served, monkeypatch)
    (root / "digit-five" / "svhn.npz").unlink()
    with serve(served, monkeypatch) as address:
        for split, name in (("train", "usps.bz2"), ("test", "usps.t.bz2")):
            md5 = hashlib.md5((served / name).read_bytes()).hexdigest()
            monkeypatch.setitem(USPS.split_list, split, [f"{address}{name}", name, md5])
        for split, name in zip(("train", "test"), sums, strict=True):
            monkeypatch.setitem(SVHN.split_list, split, [f"{address}{name}", name, sums[name]])
        assert main(["data", "fetch", "usps"]) == 0
        assert main(["data", "fetch", "digit-five"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"USPS has been downloaded to {root}.",
        f"MNIST is already in {mnist.folder()}.",
        f"MNIST-M is already in {root / 'digit-five'}.",
        f"SVHN has been downloaded to {root}.",
        f"USPS is already in {root}.",
    ]
    assert not BENCHMARK.missing()


def test_data_without_download_has_instructions(root, capsys):
    (root / "digit-five" / "mnist_m.npz").unlink()
    assert main(["data", "fetch", "mnist-m"]) == 1
    sentence = capsys.readouterr().err
    assert sentence == f"mgem: there is no download of MNIST-M, which is not in {root / 'mnist_m'}; {mnist_m.BY_HAND}.\n"


def test_list_has_a_line_per_domain(root, capsys):
    (root / "usps.bz2").unlink()
    assert main(["data", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("digit-five"))
    assert lines[start].endswith("4 of 5 domains are available")
    states = {line.split()[0]: line[62:] for line in lines[start + 1 : start + 6]}
    assert list(states) == ["mnist", "mnist-m", "synthetic", "svhn", "usps"]
    assert states["synthetic"] == "built in"
    assert states["usps"].startswith(f"unusable: its file usps.bz2 is not in {root}; get it with: mgem data fetch usps (")
    assert states["svhn"] == f"available in {root / 'digit-five'} (a sample: 40 images to train on, 30 to test on)"
    assert states["mnist-m"] == f"available in {root / 'digit-five'} (a sample: 60 images to train on, 30 to test on)"


def test_list_does_not_call_full_svhn_a_sample(root, monkeypatch, capsys):
    write_svhn(root, monkeypatch)
    assert main(["data", "list"]) == 0
    assert f"available in {root} (246 MB to download and on disk)\n" in capsys.readouterr().out


@real
def test_real_digits_are_complete():
    stream = BENCHMARK.open(5, 0, tuple(digit_five.DOMAINS))
    for task, name in zip(stream.tasks, digit_five.DOMAINS.values(), strict=True):
        count = len(task.train)
        assert task.name == (name.title if count == 5000 else f"{name.title} ({count:,} images)")
        assert len(stream.labels[task.train].unique()) == 10


@real
def test_a_few_steps_on_real_digits_beat_chance():
    fields = {"network": "conv-small", "batch_size": 32, "iterations": 60, "probe_every": 0}
    *_, finished = run(RunConfig(benchmark="digit-five", domains="usps", method="single", **fields))
    assert finished.acc > 70


def test_replaced_sample_is_read_again(root):
    path = root / "digit-five" / "mnist_m.npz"
    before, version = _npz.read(path)[0].pixels, _npz.version(path)
    np.savez_compressed(path, **arrays(61, 30, seed=9))
    assert _npz.version(path) != version
    assert len(_npz.read(path)[0].pixels) == 61 != len(before)
