"""What a step asks of a GPU, counted without one: dispatched operations, and transfers to the host."""

import numpy as np
import pytest
import torch

from mgem_core import RunConfig, learners, run
from mgem_core.events import Finished, Stepped
from perf.operations import count


def learner(past, **fields):
    config = RunConfig(**{"tasks": past + 1, "memory": 20, "iterations": 20, "trigger": "always", **fields})
    one = learners.create(config, config.benchmark_info.open(config.tasks, 0), torch.device("cpu"))
    for task in range(past):
        one.finish_task(task, one.stream.tasks[task].train[::20])
    return one


def counted(past, **fields):
    one = learner(past, **fields)
    images = one.stream.tasks[past].train[:10]
    return count(lambda: one.observe(past, 0, images))


@pytest.mark.parametrize("fields", [{}, {"modules": 4}, {"splits": 2}, {"trigger": "violation"}], ids=str)
def test_mlp_step_operations_do_not_depend_on_past_tasks(fields):
    counts = [counted(past, **fields) for past in (1, 4, 9, 19)]
    assert {one.transfers for one in counts} == {1}
    if "trigger" not in fields:  # a step that is not restricted has fewer
        assert len({one.operations for one in counts}) == 1
    assert max(one.operations for one in counts) <= 120


def test_convolution_step_operations_do_not_depend_on_past_tasks():
    counts = [counted(past, benchmark="mnist5k-split") for past in (2, 3, 4)]
    assert len({one.operations for one in counts}) == 1
    assert {one.transfers for one in counts} == {1}


@pytest.mark.parametrize("method", ["single", "independent", "ewc", "er", "mer"])
@pytest.mark.parametrize("benchmark", ["mnist5k-permutations", "mnist5k-split"])
def test_a_step_without_constraints_transfers_nothing(method, benchmark):
    assert counted(1, method=method, benchmark=benchmark).transfers == 0


@pytest.mark.parametrize("fields", [{"method": "agem"}, {"step_length": "gradient"}], ids=str)
def test_constrained_steps_transfer_only_inner_products(fields):
    assert counted(1, **fields).transfers == 1


def test_transfers_are_detected():
    t = torch.ones(3)
    for read in (
        lambda: t.sum().item(),
        lambda: float(t.sum()),
        lambda: t.tolist(),
        lambda: t.cpu(),
        lambda: bool(t.any()),
    ):
        assert count(read).transfers == 1


def test_losses_are_read_once_per_event(monkeypatch):
    reads, tolist = [], torch.Tensor.tolist
    monkeypatch.setattr(torch.Tensor, "tolist", lambda tensor: reads.append(len(tensor)) or tolist(tensor))
    events = list(run(RunConfig(method="single", tasks=1, iterations=200, probe_every=0)))
    assert reads[:-1] == [10] * 20  # and one for the accuracy
    assert sum(isinstance(event, Stepped) for event in events) == 20


def test_nonfinite_loss_is_detected_at_the_next_event(monkeypatch):
    observe, calls = learners._learner.Learner.observe, []

    def watch(one, task, step, indices):
        taken = observe(one, task, step, indices)
        calls.append(step)
        if step == 3:
            object.__setattr__(taken, "loss", torch.tensor(np.nan))
        return taken

    monkeypatch.setattr(learners._learner.Learner, "observe", watch)
    *events, last = run(RunConfig(method="single", tasks=1, iterations=200, probe_every=0))
    assert isinstance(last, Finished)
    assert last.status == "diverged"
    assert last.message.startswith("the loss is not finite, after 10 steps of task 1 with learning rate")
    assert calls[-1] == 9
    assert not any(isinstance(event, Stepped) for event in events)


def test_nonfinite_loss_is_detected_before_saving(monkeypatch):
    observe, saved = learners._learner.Learner.observe, []

    def watch(one, task, step, indices):
        taken = observe(one, task, step, indices)
        if step == 3:
            object.__setattr__(taken, "loss", torch.tensor(np.inf))
        return taken

    monkeypatch.setattr(learners._learner.Learner, "observe", watch)
    config = RunConfig(method="single", tasks=1, iterations=200, probe_every=0)
    *_, last = run(config, checkpoint=saved.append, checkpoint_seconds=0)
    assert last.message.startswith("the loss is not finite, after 4 steps")
    assert len(saved) == 3
