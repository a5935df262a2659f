"""CIFAR-100 in torchvision's layout, with random images, and with the real ones if MGEM_DATA has them."""

import hashlib
import io
import os
import pickle
import tarfile

import numpy as np
import pytest
import torch
from file_server import serve
from torchvision.datasets import CIFAR100

from mgem_core import RunConfig, UsageError, run
from mgem_core.cli import main
from mgem_core.streams import BENCHMARKS, split_cifar100

real = pytest.mark.skipif(
    not os.environ.get("MGEM_DATA") or bool(split_cifar100.find_problem()),
    reason="MGEM_DATA names no folder with CIFAR-100 in it",
)


def packed(per_class):
    """Return a file of random images, in which every class occurs `per_class` times."""
    draw, labels = np.random.default_rng(per_class), np.tile(np.arange(100), per_class)
    images = draw.integers(0, 256, (len(labels), 3072), dtype=np.uint8)
    return pickle.dumps({"data": images, "fine_labels": labels.tolist()})


@pytest.fixture
def contents(tmp_path, monkeypatch):
    """The files of a CIFAR-100 of 4 + 1 images per class, in an empty data root."""
    contents = {"train": packed(4), "test": packed(1), "meta": pickle.dumps({"fine_label_names": []})}
    md5 = {name: hashlib.md5(content).hexdigest() for name, content in contents.items()}
    monkeypatch.setenv("MGEM_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(split_cifar100, "MD5", {name: md5[name] for name in ("train", "test")})
    monkeypatch.setattr(split_cifar100, "SIZES", {name: len(contents[name]) for name in ("train", "test")})
    monkeypatch.setattr(CIFAR100, "train_list", [["train", md5["train"]]])
    monkeypatch.setattr(CIFAR100, "test_list", [["test", md5["test"]]])
    monkeypatch.setattr(CIFAR100, "meta", {**CIFAR100.meta, "md5": md5["meta"]})
    return contents


@pytest.fixture
def tiny(contents):
    split_cifar100.folder().mkdir(parents=True)
    for name, content in contents.items():
        (split_cifar100.folder() / name).write_bytes(content)
    return split_cifar100.folder()


@pytest.mark.parametrize(("name", "classes"), [("split-cifar100", 5), ("split-cifar100-10", 10)])
def test_each_task_has_its_own_classes_and_logits(tiny, name, classes):
    stream = BENCHMARKS[name].open(3, 0)
    assert stream.images.dtype == torch.uint8
    for t, task in enumerate(stream.tasks):
        expected = list(range(t * classes, (t + 1) * classes))
        for part, per_class in ((task.train, 4), (task.test, 1)):
            assert torch.bincount(stream.labels[part], minlength=100)[expected].tolist() == [per_class] * classes
            assert len(part) == per_class * classes
        assert task.train.max() < 400 <= task.test.min()
        assert stream.mask(t).nonzero().flatten().tolist() == expected
    assert stream.images.data_ptr() == torch.from_numpy(split_cifar100.read_files(tiny)[0]).data_ptr()


def test_torchvision_reads_the_same_images_from_the_same_files(tiny):
    images, labels, train = split_cifar100.read_files(tiny)
    for part, is_train in ((slice(train), True), (slice(train, None), False)):
        theirs = CIFAR100(tiny.parent, train=is_train)
        np.testing.assert_array_equal(images[part].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), theirs.data)
        np.testing.assert_array_equal(labels[part], theirs.targets)


def test_a_run_learns_from_the_files(tiny):
    fields = {"network": "conv-small", "tasks": 2, "iterations": 2, "batch_size": 5, "memory": 5}
    *_, finished = run(RunConfig(benchmark="split-cifar100", **fields))
    assert finished.status == "finished"
    assert finished.R.shape == (2, 2)


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (lambda content: content[:-1], "whose file {folder}/test is damaged (it has {cut} bytes, not {size}); "),
        (
            lambda content: content[:-1] + b"?",
            "whose file {folder}/test is damaged (its checksum is not the published one); ",
        ),
        (lambda content: None, "whose file test is not in {folder}; "),
    ],
)
def test_damaged_files_are_reported_and_not_unpickled(tiny, contents, harm, sentence):
    harmed = harm(contents["test"])
    (tiny / "test").unlink()
    if harmed:
        (tiny / "test").write_bytes(harmed)
    with pytest.raises(UsageError) as caught:
        run(RunConfig(benchmark="split-cifar100"))
    size = len(contents["test"])
    sentence = sentence.format(folder=tiny, size=size, cut=size - 1)
    expected = f"split-cifar100 needs CIFAR-100, {sentence}get it with: mgem data fetch cifar100."
    assert str(caught.value) == expected


def test_fetch_downloads_with_torchvision_and_checks_the_files(contents, tmp_path, monkeypatch, capsys):
    served = tmp_path / "served"
    served.mkdir()
    with tarfile.open(served / "cifar-100-python.tar.gz", "w:gz") as archive:
        for name, content in contents.items():
            entry = tarfile.TarInfo(f"cifar-100-python/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    packed = served / "cifar-100-python.tar.gz"
    monkeypatch.setattr(CIFAR100, "tgz_md5", hashlib.md5(packed.read_bytes()).hexdigest())
    with serve(served, monkeypatch) as address:
        monkeypatch.setattr(CIFAR100, "url", f"{address}{packed.name}")
        assert main(["data", "fetch", "split-cifar100-10"]) == 0
    assert capsys.readouterr().out == f"CIFAR-100 has been downloaded to {split_cifar100.folder()}.\n"
    assert not BENCHMARKS["split-cifar100"].missing()
    assert [path.name for path in split_cifar100.folder().parent.iterdir()] == ["cifar-100-python"]


@real
def test_real_images_are_complete():
    images, labels, train = split_cifar100.read_files(split_cifar100.folder())
    assert (images.shape, train) == ((60_000, 3072), 50_000)
    assert set(np.bincount(labels[:train])) == {500}
    assert set(np.bincount(labels[train:])) == {100}


@real
def test_a_few_steps_on_real_images_beat_chance():
    fields = {"network": "conv-small", "tasks": 1, "iterations": 60, "probe_every": 0, "lr": 0.03}
    *_, finished = run(RunConfig(benchmark="split-cifar100", method="single", **fields))
    assert finished.acc > 30
