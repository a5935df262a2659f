import weakref

import pytest
import torch

from mgem_core import RunConfig
from mgem_core.events import Probed
from mgem_core.runner import Ended
from mgem_core.runner.worker import train
from mgem_core.training.engine import run
from mgem_core.training.kept_stream import KeptStream

CPU = torch.device("cpu")
SHORT = {"tasks": 3, "iterations": 12, "batch_size": 8, "memory": 16, "probe_every": 5, "probe_samples": 50}


def numbers(config, **options):
    """Return the fingerprint of the weights, and everything that was measured except times."""
    events = list(run(config, **options))
    probes = [(e.gs_z.tolist(), e.gt_z, e.batch_z, e.norm_z, e.norm_gs.tolist()) for e in events if isinstance(e, Probed)]
    return events[-1].fingerprint, events[-1].R.tolist(), events[-1].validation_acc, probes


def test_runs_that_share_a_stream_give_the_same_numbers():
    kept = KeptStream()
    for benchmark, validation in (("mnist5k-rotations", 0.1), ("mnist5k-permutations", 0.1), ("mnist5k-split", 0.1)):
        streams = set()
        for fields in ({"method": "gem"}, {"method": "gem", "splits": 2}, {"method": "agem"}, {"method": "single"}):
            config = RunConfig(benchmark=benchmark, validation=validation, **fields, **SHORT)
            assert numbers(config, open_stream=kept.open) == numbers(config)
            streams.add(id(kept.stream))
        assert len(streams) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"tasks": 2},
        {"order": "shuffled"},
        {"validation": 0.2},
        {"benchmark": "mnist5k-permutations"},
    ],
    ids=str,
)
def test_run_with_other_images_opens_another_stream(change):
    fields = {"benchmark": "mnist5k-rotations", **SHORT}
    kept, changed = KeptStream(), RunConfig(**{**fields, **change})
    before = kept.open(RunConfig(**fields), CPU)
    assert kept.open(changed, CPU) is not before


def test_only_one_stream_is_kept():
    kept = KeptStream()
    first = weakref.ref(kept.open(RunConfig(), CPU))
    kept.open(RunConfig(seed=1), CPU)
    assert first() is None


def test_domains_decide_which_stream_is_kept():
    kept = KeptStream()
    for names in ("uci,rendered", "rendered,uci"):
        config = RunConfig(benchmark="digits-domains", domains=names)
        expected = [task.name for task in config.open_stream().tasks]
        assert [task.name for task in kept.open(config, CPU).tasks] == expected


def test_worker_keeps_the_stream(monkeypatch):
    opened = []
    open_stream = RunConfig.open_stream
    monkeypatch.setattr(RunConfig, "open_stream", lambda config: opened.append(config.seed) or open_stream(config))
    for method in ("gem", "single", "gem"):
        *_, ended = train(RunConfig(seed=77, method=method, **SHORT).model_dump_json(), None)
        assert ended == Ended("done")
    assert opened == [77]
