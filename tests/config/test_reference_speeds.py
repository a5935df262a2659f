"""The speeds that ship with the tool, and the work that is computed from them."""

import pytest

from mgem_core import RunConfig
from mgem_core.config.reference_speeds import ReferenceSpeed, pass_work, reference_speeds, sample_work
from mgem_core.config.sweeps import relative_work, step_work
from mgem_core.learners import METHODS
from mgem_core.networks import NETWORKS
from mgem_core.streams import BENCHMARKS


@pytest.mark.parametrize("network", NETWORKS)
def test_every_network_has_a_speed(network):
    speed = reference_speeds()[network]
    assert speed.benchmark in BENCHMARKS
    assert speed.seconds_per_sample > 0
    assert speed.seconds_per_pass >= 0
    assert 0 < speed.seconds_per_test < speed.seconds_per_sample  # no backward pass


def test_overhead_of_a_pass_is_counted_in_samples():
    assert ReferenceSpeed("mnist5k-split", 0.002, 0.010, 0.001).samples_per_pass == pytest.approx(5)
    assert pass_work("mlp") == reference_speeds()["mlp"].samples_per_pass
    assert pass_work("network of an extension") > 0


@pytest.mark.parametrize("network", NETWORKS)
def test_sample_of_the_reference_benchmark_is_the_unit(network):
    assert sample_work(RunConfig(benchmark=reference_speeds()[network].benchmark, network=network)) == pytest.approx(1)


def test_larger_images_cost_more():
    def work(benchmark: str, network: str) -> float:
        return sample_work(RunConfig(benchmark=benchmark, network=network))

    assert work("pacs", "resnet18") / work("split-cifar100", "resnet18") == pytest.approx(
        BENCHMARKS["pacs"].shape[1] ** 2 / 32**2
    )
    assert work("split-cifar100", "mlp") > work("mnist5k-rotations", "mlp")


def test_narrow_networks_of_independent_tasks_cost_less():
    def work(tasks: int) -> float:
        return sample_work(RunConfig(benchmark="split-cifar100", method="independent", tasks=tasks))

    assert work(1) == pytest.approx(1)
    assert 1 > work(2) > work(20) > 0


@pytest.mark.parametrize("network", ["mlp", "conv5"])
def test_every_pass_of_a_step_has_its_overhead(network):
    fields = {"benchmark": "split-cifar100", "network": network, "tasks": 5, "memory": 64, "batch_size": 10}
    single = RunConfig(method="single", **fields)
    sample, one_pass = sample_work(single), pass_work(network)
    assert step_work(single, 4) == pytest.approx(10 * sample + one_pass)
    gem = RunConfig(**fields)
    past = 1 if network == "mlp" else 3 * 4  # linear layers need one pass for all memories
    assert step_work(gem, 0) == pytest.approx(step_work(single, 0))
    assert step_work(gem, 4) == pytest.approx((10 + 4 * 64) * sample + (1 + past) * one_pass)
    mer = RunConfig(method="mer", mer_replays=10, **fields)
    assert step_work(mer, 0) == pytest.approx((10 + 110) * sample + (1 + 0.8 * 110) * one_pass)


@pytest.mark.parametrize("method", METHODS)
def test_longer_runs_are_more_work(method):
    short, long = (RunConfig(method=method, tasks=3, iterations=steps, memory=50) for steps in (10, 100))
    assert 0 < relative_work(short) < relative_work(long)
