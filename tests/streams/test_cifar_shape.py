"""Whole runs of the larger networks, on random images of CIFAR's shape."""

import math
from dataclasses import replace

import numpy as np
import pytest

from mgem_core import RunConfig, networks, run
from mgem_core.events import Finished, Probed, TaskLearned
from mgem_core.gradients.rows import flatten
from mgem_core.networks import NETWORKS
from mgem_core.streams import BENCHMARKS, Benchmark
from mgem_core.streams._stream import Stream, Task
from mgem_core.training import engine, evaluation

SHAPE, TRAIN, TEST = (3, 32, 32), 20, 4  # few, because probes and tests pass all of them through the networks


def open_stream(tasks, seed):
    """Return a stream whose tasks have different images and two different classes each."""
    draw, each = np.random.default_rng(seed), TRAIN + TEST
    images = draw.integers(0, 256, (tasks * each, math.prod(SHAPE)), dtype=np.uint8)
    labels = np.repeat(2 * np.arange(tasks), each) + np.tile([0, 1], tasks * each // 2)
    starts = [task * each for task in range(tasks)]
    parts = [(np.arange(start, start + TRAIN), np.arange(start + TRAIN, start + each)) for start in starts]
    return Stream(
        images, labels, SHAPE, 10, [Task(f"{t}", *part, classes=(2 * t, 2 * t + 1)) for t, part in enumerate(parts)]
    )


@pytest.fixture(autouse=True)
def benchmark(monkeypatch):
    defaults = {"network": "conv5", "tasks": 2, "iterations": 2, "batch_size": 8, "memory": 4, "probe_every": 2}
    benchmark = Benchmark("noise", "Noise", SHAPE, 10, TRAIN, TEST, 2, 5, defaults, open_stream, {"gem": 0.01})
    monkeypatch.setitem(BENCHMARKS, "noise", benchmark)
    monkeypatch.setattr(engine, "run_key", lambda config, device: "noise")  # the key contains the code of this file


def finished(**fields):
    events = list(run(RunConfig(benchmark="noise", **fields)))
    *before, last = events
    assert isinstance(last, Finished)
    assert (last.status, last.message) == ("finished", "")
    assert sum(isinstance(event, TaskLearned) for event in before) == 2
    return last, before


STAGES = "conv1=0,bn1=0,layer1=0,layer2=1,layer3=2,layer4=3,fc=3"


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({"network": "conv5", "modules": "layers", "trigger": "always"}, "p-mGEM(9)"),
        ({"network": "resnet18", "iterations": 1}, "GEM"),
        pytest.param({"network": "conv5", "splits": 2}, "d-mGEM(2)", marks=pytest.mark.slow),
        pytest.param({"network": "resnet18", "modules": STAGES, "splits": 2}, "md-GEM(4*,2)", marks=pytest.mark.slow),
        pytest.param({"network": "resnet18", "modules": "tensors"}, "p-mGEM(62)", marks=pytest.mark.slow),
        pytest.param({"network": "alexnet", "modules": "layers"}, "p-mGEM(8)", marks=pytest.mark.slow),
        pytest.param({"network": "vgg11-bn", "modules": "layers", "splits": 2}, "md-GEM(19,2)", marks=pytest.mark.slow),
    ],
)
def test_two_tasks_of_gem(fields, label):
    assert RunConfig(benchmark="noise", **fields).label == label
    probes = [event for event in finished(**fields)[1] if isinstance(event, Probed)]
    assert probes
    assert all(np.isfinite([*probe.gs_z, *probe.memory_z, probe.norm_z]).all() for probe in probes)


@pytest.mark.slow
@pytest.mark.parametrize("network", ["conv5", "resnet18"])
@pytest.mark.parametrize("method", ["independent", "ewc", "mer"])
def test_two_tasks_of_other_methods(network, method):
    finished(network=network, method=method, iterations=1, batch_size=2, ewc_samples=2, lr=0.001)


@pytest.mark.slow
def test_resnet18_run_is_reproducible():
    one, same = (finished(network="resnet18", iterations=1)[0].fingerprint for _ in range(2))
    assert one == same


def test_network_sets_the_images_per_pass(monkeypatch):
    passes, batch = [], Stream.batch

    def counted(stream, task, indices):
        passes.append(len(indices))
        return batch(stream, task, indices)

    monkeypatch.setattr(Stream, "batch", counted)
    monkeypatch.setitem(NETWORKS, "mlp", replace(NETWORKS["mlp"], images_per_pass=16))
    finished(network="mlp")
    assert max(passes) == 16


def true_gradient(network, monkeypatch, images_per_pass=64, seed=0, task=0):
    monkeypatch.setitem(NETWORKS, network, replace(NETWORKS[network], images_per_pass=images_per_pass))
    module = networks.build(network, SHAPE, 10, seed=0, width=1 / 16)
    config = RunConfig(benchmark="noise", network=network, seed=seed)
    return flatten(evaluation.Evaluation(config, open_stream(2, 0)).true_gradient(module, task, 1, 0))


@pytest.mark.parametrize("network", ["conv5", "resnet18", "alexnet"])
def test_true_gradients_do_not_depend_on_the_images_per_pass(network, monkeypatch):
    few, many = (true_gradient(network, monkeypatch, images_per_pass=size) for size in (3, 64))
    assert float((few - many).norm() / many.norm()) < 1e-5


def test_batch_norm_normalises_passes_of_equal_size_in_random_order(monkeypatch):
    sizes, build = [], evaluation.full_gradient

    def measured(network, chunks, samples):
        batches = list(chunks)
        sizes.append([len(batch.y) for batch in batches])
        assert all(len(batch.y.unique()) == 2 for batch in batches)
        return build(network, batches, samples)

    monkeypatch.setattr(evaluation, "full_gradient", measured)
    monkeypatch.setattr(evaluation, "NORMALISED_TOGETHER", 8)  # of 20 images
    one, again, other = (true_gradient("conv5", monkeypatch, seed=seed) for seed in (0, 0, 1))
    assert sizes == [[7, 7, 6]] * 3
    assert (one == again).all()
    assert not (one - other).norm() < 1e-3 * one.norm()
