import itertools
import time

import numpy as np
import pytest

from mgem_core import networks
from mgem_core.networks._layer import Layer
from mgem_core.restriction.partition import _balance, modules, simplest_modules, splits

MLP, CONV = networks.layers("mlp", (1, 28, 28), 10), networks.layers("conv-small", (1, 28, 28), 10)
RESNET = networks.layers("resnet18", (3, 32, 32), 100)


def test_one_module_per_layer():
    assert modules(MLP, 3) == (0, 0, 1, 1, 2, 2)
    assert modules(CONV, 5) == (0, 1, 1, 2, 3, 3, 4, 4)  # convolutions have no bias


def test_fewer_modules_are_contiguous_groups_balanced_by_parameter_count():
    assert modules(MLP, 1) == (0,) * 6
    assert modules(MLP, 2) == (0, 0, 1, 1, 1, 1)  # 78,500 | 10,100 + 1,010
    sizes = [layer.size for layer in CONV]  # 200, 16, 3200, 32, 2570
    assert sizes == [200, 16, 3200, 32, 2570]
    assert modules(CONV, 2) == (0, 0, 0, 0, 1, 1, 1, 1)  # 3416 | 2602
    assert modules(CONV, 3) == (0, 0, 0, 1, 2, 2, 2, 2)


def every_division(sizes, groups):
    """The group of each element, for all divisions into contiguous groups; the last group begins early in the first."""
    n = len(sizes)
    cuts = sorted(itertools.combinations(range(1, n), groups - 1), key=lambda cut: cut[::-1])
    return [[sum(start <= i for start in cut) for i in range(n)] for cut in cuts]


def test_balance_minimises_squared_group_sizes_and_resolves_ties_consistently():
    generator = np.random.default_rng(0)
    for largest in (1, 3, 1000, 10**7):  # small numbers have many ties; the sums of all squares are exact
        for _ in range(60):
            sizes = generator.integers(0, largest + 1, generator.integers(1, 9)).tolist()
            groups = int(generator.integers(1, len(sizes) + 1))
            divisions = every_division(sizes, groups)
            costs = [sum(np.bincount(one, sizes) ** 2) for one in divisions]
            assert _balance(sizes, groups) == divisions[int(np.argmin(costs))]


def slow_balance(sizes, groups):
    """The definition that stored configs were made with: every start of every group, one after the other."""
    n, total = len(sizes), np.concatenate([[0], np.cumsum(sizes)])
    best, cut = np.full((groups + 1, n + 1), np.inf), np.zeros((groups + 1, n + 1), int)
    best[0, 0] = 0
    for g in range(1, groups + 1):
        for end in range(g, n + 1):
            cost = [best[g - 1, start] + float(total[end] - total[start]) ** 2 for start in range(end)]
            cut[g, end] = int(np.argmin(cost))
            best[g, end] = cost[cut[g, end]]
    group, end = [0] * n, n
    for g in range(groups, 0, -1):
        group[cut[g, end] : end] = [g - 1] * (end - cut[g, end])
        end = cut[g, end]
    return group


def test_partitions_of_large_networks_are_stable_under_rounding():
    generator = np.random.default_rng(0)
    for i in range(200):
        sizes = generator.integers(0, 10 ** generator.integers(7, 13), generator.integers(1, 15))
        sizes = (np.tile(sizes, 3)[:14] if i % 2 else sizes).tolist()  # equal blocks have equally good divisions
        groups = int(generator.integers(1, len(sizes) + 1))
        assert _balance(sizes, groups) == slow_balance(sizes, groups)


def test_partition_of_a_thousand_layers_is_fast():
    layers = [Layer(f"block{i}", {"weight": (i % 37 + 1, i % 11 + 1), "bias": (i % 37 + 1,)}) for i in range(1000)]
    start = time.process_time()
    for wanted in (2, 8, 500, "layers", 1500, "tensors"):
        simplest_modules(layers, modules(layers, wanted))
    assert time.process_time() - start < 30  # about two seconds; it was many minutes


def test_more_modules_break_the_largest_layers_into_tensors():
    assert modules(MLP, 4) == (0, 1, 2, 2, 3, 3)
    assert modules(MLP, 5) == (0, 1, 2, 3, 4, 4)
    assert modules(MLP, 6) == (0, 1, 2, 3, 4, 5)


@pytest.mark.parametrize("layers", [MLP, CONV, RESNET])
def test_every_count_up_to_the_tensors_gives_that_many_modules(layers):
    tensors = [name for layer in layers for name in layer.tensors]
    for wanted in range(1, len(tensors) + 1):
        module_of = modules(layers, wanted)
        assert len(module_of) == len(tensors)
        assert sorted(set(module_of)) == list(range(wanted))


@pytest.mark.parametrize("wanted", [0, -1, 7])
def test_module_count_out_of_range_is_rejected(wanted):
    with pytest.raises(ValueError, match="from 1 to 6"):
        modules(MLP, wanted)


def test_mapping_accepts_layers_and_tensors():
    assert modules(MLP, {"fc1": 5, "fc2.weight": 5, "fc2.bias": 2, "fc3": 2}) == (0, 0, 0, 1, 1, 1)


def test_mapping_accepts_name_prefixes():
    stages = {"conv1": 0, "bn1": 0, "layer1": 0, "layer2": 1, "layer3": 2, "layer4": 3, "fc": 3}
    tensors = [name for layer in RESNET for name in layer.tensors]
    expected = tuple(stages[name.split(".")[0]] for name in tensors)
    assert modules(RESNET, stages) == expected
    assert simplest_modules(RESNET, expected) == stages


def test_longest_matching_name_wins():
    stages = {"conv1": 0, "bn1": 0, "layer1": 0, "layer2": 0, "layer3": 0, "layer4": 0, "fc": 0}
    finer = {"layer4.1.bn2.bias": 2, "layer4.1": 1, **stages}
    found = dict(zip((name for layer in RESNET for name in layer.tensors), modules(RESNET, finer), strict=True))
    assert {name for name, module in found.items() if module == 2} == {"layer4.1.bn2.bias"}
    ones = {name for name, module in found.items() if module == 1}
    assert ones == {name for name in found if name.startswith("layer4.1.")} - {"layer4.1.bn2.bias"}
    assert modules(RESNET, simplest_modules(RESNET, tuple(found.values()))) == tuple(found.values())


def test_prefixes_match_whole_name_parts_only():
    with pytest.raises(
        ValueError, match="'layer' is no layer or tensor of this network; its parts are conv1, bn1, layer1,"
    ):
        modules(RESNET, {"layer": 0, "conv1": 0, "bn1": 0, "fc": 0})


@pytest.mark.parametrize("layers", [MLP, CONV, RESNET])
def test_layers_and_tensors_equal_module_counts(layers):
    tensors = sum(len(layer.tensors) for layer in layers)
    assert modules(layers, "layers") == modules(layers, len(layers))
    assert modules(layers, "tensors") == tuple(range(tensors))
    assert simplest_modules(layers, modules(layers, "layers")) == len(layers)
    assert simplest_modules(layers, modules(layers, "tensors")) == tensors


@pytest.mark.parametrize(
    ("mapping", "sentence"), [({"fc1": 0, "fc2": 0}, "'fc3.weight' is in no module"), ({"fc9": 0}, "'fc9' is no layer")]
)
def test_invalid_mapping_is_rejected(mapping, sentence):
    with pytest.raises(ValueError, match=sentence):
        modules(MLP, mapping)


LABELS = np.repeat(np.arange(5), [9, 3, 4, 2, 6])


@pytest.mark.parametrize("by", ["random", "class", "order"])
@pytest.mark.parametrize("wanted", [1, 2, 3, 5])
def test_splits_contain_every_sample_once(by, wanted):
    parts = splits(LABELS, wanted, by, np.random.default_rng(0))
    assert len(parts) == wanted
    assert sorted(np.concatenate(parts)) == list(range(len(LABELS)))


@pytest.mark.parametrize("by", ["random", "order"])
def test_splits_differ_in_size_by_at_most_one(by):
    sizes = [len(part) for part in splits(LABELS, 5, by, np.random.default_rng(0))]
    assert max(sizes) - min(sizes) <= 1


def test_splits_by_class_keep_classes_whole():
    parts = splits(LABELS, 2, "class", np.random.default_rng(0))
    assert not set(LABELS[parts[0]]) & set(LABELS[parts[1]])
    assert [len(part) for part in parts] == [12, 12]


def test_random_splits_follow_the_generator():
    one, two, three = (splits(LABELS, 3, "random", np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert all((a == b).all() for a, b in zip(one, two, strict=True))
    assert any((a != b).any() for a, b in zip(one, three, strict=True))


@pytest.mark.parametrize(("wanted", "by"), [(25, "random"), (0, "order"), (6, "class")])
def test_too_many_splits_are_rejected(wanted, by):
    with pytest.raises(ValueError, match="must be"):
        splits(LABELS, wanted, by, np.random.default_rng(0))
