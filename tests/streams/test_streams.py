from dataclasses import replace

import numpy as np
import pytest
import torch

from mgem_core import RunConfig, run, streams
from mgem_core.streams import BENCHMARKS
from mgem_core.streams._views import rotated
from mgem_core.streams.mnist5k import load_digits


def is_standardised(x):
    return abs(x.mean()) < 1e-3 and abs(x.std() - 1) < 1e-3


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_description_matches_its_stream(name):
    benchmark = BENCHMARKS[name]
    if missing := benchmark.missing():
        pytest.skip(missing)
    stream = RunConfig(benchmark=name).open_stream()
    assert len(stream.tasks) == benchmark.defaults["tasks"]
    train, test = ([len(part) for part in parts] for parts in zip(*((t.train, t.test) for t in stream.tasks), strict=True))
    if benchmark.largest_task is None:
        assert (min(train), max(test)) == (benchmark.train_per_task, benchmark.test_per_task)
    else:
        assert benchmark.train_per_task <= min(train) <= max(train) <= benchmark.largest_task
        assert max(test) <= benchmark.test_per_task
    for t, task in enumerate(stream.tasks):
        batch = stream.batch(t, task.train[:20])
        assert batch.x.shape == (20, *stream.shape) == (20, *benchmark.shape)
        assert batch.x.dtype == torch.float32
        assert 0 <= batch.x.min() <= batch.x.max() <= 1 or is_standardised(stream.batch(t, task.train).x)
        labels = stream.labels[task.train].unique().tolist()
        assert len(labels) == benchmark.classes_per_task
        assert not set(task.train) & set(task.test)
        if task.classes is not None:
            assert batch.mask.nonzero().flatten().tolist() == labels == list(task.classes)


def test_digits_are_real_and_the_split_is_fixed():
    images, labels, train, test = load_digits()
    assert images.shape == (5000, 784)
    assert images.dtype == np.uint8
    assert np.bincount(labels).tolist() == [500] * 10
    assert np.bincount(labels[train]).tolist() == [400] * 10
    assert sorted([*train, *test]) == list(range(5000))


@pytest.mark.parametrize("name", ["mnist5k-permutations", "mnist5k-rotations"])
def test_tasks_share_one_copy_of_the_images(name):
    stream = BENCHMARKS[name].open(20, 0)
    assert stream.images.dtype == torch.uint8
    assert stream.images.data_ptr() == torch.from_numpy(load_digits().images).data_ptr()


def test_permutation_keeps_all_pixels():
    stream = BENCHMARKS["mnist5k-permutations"].open(2, 0)
    one, two = (stream.batch(t, np.array([7])).x.flatten() for t in (0, 1))
    assert not torch.equal(one, two)
    assert torch.equal(one.sort().values, two.sort().values)


def test_tasks_follow_the_seed():
    a, same, other = (BENCHMARKS["mnist5k-permutations"].open(1, seed).batch(0, np.array([7])).x for seed in (3, 3, 4))
    assert torch.equal(a, same)
    assert not torch.equal(a, other)


def test_quarter_turn_equals_numpy():
    image = torch.rand(1, 784)
    turned = rotated(90, 28)(image).view(28, 28)
    np.testing.assert_allclose(turned, np.rot90(image.view(28, 28).numpy()), atol=1e-5)


def test_shuffled_tasks_are_the_same_tasks_in_an_order_of_the_seed():
    def names(order, seed=0):
        config = RunConfig(benchmark="mnist5k-rotations", tasks=12, order=order, seed=seed)
        return [task.name for task in config.open_stream().tasks]

    assert names("shuffled") == names("shuffled") != names("sorted")
    assert sorted(names("shuffled")) == sorted(names("sorted"))
    places = [[names("sorted", seed).index(name) for name in names("shuffled", seed)] for seed in (0, 1)]
    assert places[0] != places[1]


def test_domains_stay_in_the_order_in_which_they_are_named():
    configs = [RunConfig(benchmark="digits-domains", domains="uci+mnist", order=order) for order in ("sorted", "shuffled")]
    names = [[task.name for task in config.open_stream().tasks] for config in configs]
    assert names[0] == names[1]
    assert configs[0].canonical() == configs[1].canonical()


def test_rotations_lie_in_disjoint_intervals():
    names = [task.name for task in BENCHMARKS["mnist5k-rotations"].open(6, 0).tasks]
    angles = [float(name.rstrip("°")) for name in names]
    assert all(30 * t - 0.5 <= angle <= 30 * (t + 1) + 0.5 for t, angle in enumerate(angles))


def test_new_benchmark_needs_one_registration():
    known = BENCHMARKS["mnist5k-split"]
    streams.register(replace(known, name="mine", defaults={**known.defaults, "tasks": 2, "iterations": 5}))
    try:
        *_, finished = run(RunConfig(benchmark="mine", method="single"))
        assert finished.R.shape == (2, 2)
    finally:
        del BENCHMARKS["mine"]


def whole(stream, task, part, indices, size=70):
    batches = list(stream.passes(task, part, indices, size))
    assert all(len(batch.y) <= size for batch in batches)
    return torch.cat([batch.x for batch in batches]), torch.cat([batch.y for batch in batches]), batches[0].mask


@pytest.mark.parametrize("cache_bytes", [0, 1_000_000, 10**9], ids=["none cached", "some cached", "all cached"])
@pytest.mark.parametrize("benchmark", ["mnist5k-rotations", "mnist5k-split"])
def test_passes_are_equal_with_and_without_cache(benchmark, cache_bytes, monkeypatch):
    monkeypatch.setattr("mgem_core.streams._stream.CACHE_BYTES", cache_bytes)
    stream = BENCHMARKS[benchmark].open(3, 0)
    for _ in range(2):
        for task, of_task in enumerate(stream.tasks):
            for part, indices in (("test", of_task.test), ("train", of_task.train[:200])):
                expected, (x, y, mask) = stream.batch(task, indices), whole(stream, task, part, indices)
                assert torch.equal(x, expected.x)
                assert torch.equal(y, expected.y)
                assert mask is expected.mask is None or torch.equal(mask, expected.mask)
    cached = sum(batch.x.numel() * batch.x.element_size() for batch in stream._cache.values())
    assert cached <= cache_bytes
    assert (len(stream._cache) == 6) == (cache_bytes == 10**9)


def test_interrupted_pass_is_not_cached():
    stream = BENCHMARKS["mnist5k-permutations"].open(1, 0)
    test = stream.tasks[0].test
    next(stream.passes(0, "test", test, 100))
    assert torch.equal(whole(stream, 0, "test", test)[0], stream.batch(0, test).x)
