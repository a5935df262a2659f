"""Runs seen from outside: their events, numbers and end, and that measuring does not change them."""

import gc
import math
import weakref
from functools import cache

import numpy as np
import pytest
import torch

from mgem_core import RunConfig, UsageError, learners, run
from mgem_core.events import Finished, Probed, Snapped, Started, Stepped, TaskLearned
from mgem_core.gradients.rows import flatten
from mgem_core.learners.gem import GEM
from mgem_core.metrics import acc_fwd_bwd
from mgem_core.restriction.dual import solve_module
from mgem_core.training.engine import RunCancelledError, _Run
from mgem_core.training.evaluation import Evaluation, stratified_sample

SHORT = {"tasks": 3, "iterations": 20, "memory": 40, "mer_replays": 1, "probe_samples": 500}
METHODS = {
    **{name: {"method": name} for name in learners.METHODS},
    "p-mGEM": {"modules": 4},
    "d-mGEM": {"splits": 2},
    "md-GEM": {"modules": 4, "splits": 2},
    "approx-GEM": {"modules": 4, "splits": 2, "solver": "approx", "strength": 0.0},
    "margin": {"strength_kind": "margin", "trigger": "always", "split_by": "class", "splits": 3},
    "GEM with batch norm": {"benchmark": "mnist5k-split", "modules": 5, "splits": 2},
    "MER with batch norm": {"benchmark": "mnist5k-split", "method": "mer", "iterations": 10},
}


def events(**fields):
    return list(run(RunConfig(**{**SHORT, **fields})))


@cache
def whole(name):
    """Return the result of an uninterrupted run of a method."""
    return events(**METHODS[name])[-1]


def of(kind, all_events):
    return [event for event in all_events if isinstance(event, kind)]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_reproducible(name):
    one, two = whole(name), events(**METHODS[name])[-1]
    assert one.status == "finished"
    assert one.fingerprint == two.fingerprint
    np.testing.assert_array_equal(one.R, two.R)


@pytest.mark.parametrize("name", ["GEM with batch norm", "MER with batch norm", "md-GEM"])
def test_probes_and_snapshots_do_not_change_the_run(name):
    unprobed = events(**METHODS[name], probe_every=0)[-1]
    watched = events(**METHODS[name], probe_every=3, snap_every=4, snap_splits=3)[-1]
    assert watched.fingerprint == unprobed.fingerprint


def test_events_are_in_order():
    got = events(probe_every=5)
    assert isinstance(got[0], Started)
    assert got[0].label == "GEM"
    assert got[0].parameters == 89_610
    assert isinstance(got[-1], Finished)
    assert [event.task for event in of(TaskLearned, got)] == [0, 1, 2]
    assert [event.task for event in got[1:-1]] == sorted(event.task for event in got[1:-1])
    assert [(event.task, event.step) for event in of(Probed, got)] == [(t, s) for t in (1, 2) for s in (1, 6, 11, 16)]


def test_stepped_events_are_throttled_means():
    fine, coarse = (of(Stepped, events(method="single", iterations=n, tasks=1)) for n in (20, 200))
    assert len(fine) == len(coarse) == 20
    assert coarse[-1].step == 200
    assert coarse[-1].loss < coarse[0].loss
    assert 0 < coarse[-1].seconds_per_step < 1


def test_rows_of_r_match_events_and_give_the_metrics():
    got = events(probe_every=0)
    finished = got[-1]
    np.testing.assert_array_equal(finished.R, [event.row for event in of(TaskLearned, got)])
    assert (finished.acc, finished.fwd, finished.bwd) == acc_fwd_bwd(finished.R)
    assert 0 <= finished.R.min() <= finished.R.max() <= 100


def test_independent_networks_have_acc_only():
    finished = events(method="independent")[-1]
    assert finished.acc > 0
    assert math.isnan(finished.fwd)
    assert math.isnan(finished.bwd)


def test_plain_sgd_moves_along_its_gradient():
    for probe in of(Probed, events(method="single", probe_every=4)):
        assert probe.batch_z == pytest.approx(probe.norm_g**2, rel=1e-5)
        assert probe.norm_z == pytest.approx(probe.norm_g, rel=1e-5)
        assert abs(probe.gt_z) <= probe.norm_gt * probe.norm_z * (1 + 1e-5)
        assert np.isnan(probe.memory_z).all()
        assert (np.abs(probe.gs_z) <= probe.norm_gs * probe.norm_z * (1 + 1e-5)).all()


@pytest.mark.parametrize("fields", [{}, {"modules": 4}, {"splits": 2}, {"benchmark": "mnist5k-split"}])
def test_gem_at_strength_zero_does_not_increase_memory_loss(fields):
    probes = of(Probed, events(strength=0.0, probe_every=2, **fields))
    worst = min((probe.memory_z / probe.norm_z).min() for probe in probes)
    assert worst > -1e-4
    assert len(probes[-1].gs_z) == len(probes[-1].norm_gs) == 2


@pytest.mark.parametrize("knobs", [{}, {"modules": 4}, {"splits": 2}, {"modules": 4, "splits": 2, "solver": "approx"}])
def test_snapshot_reproduces_the_step(knobs):
    """⟨g_s,z⟩, ⟨g_t,z⟩ and ‖z‖ from the Gram matrices equal those of the probe; the lens relies on this."""
    fields = {**SHORT, "strength": 0.3, "probe_every": 5, "snap_every": 5, **knobs}
    config, got = RunConfig(**fields), events(**fields)
    assert of(Snapped, got)
    for probe, snap in zip(of(Probed, got), of(Snapped, got), strict=True):
        S = len(probe.gs_z)
        assert snap.sizes.shape == (S, config.splits)
        rows = [0, *range(2 + S, snap.gram.shape[1])]  # the batch and the memory
        of_modules = np.zeros((max(config.module_of) + 1, len(rows), len(rows)))
        np.add.at(of_modules, list(config.module_of), snap.gram[:, rows][:, :, rows])  # inner products add up over tensors
        v = [solve_module(gram[1:, 1:], gram[1:, 0], gram[0, 0], config.restriction).v for gram in of_modules]
        products, zz = 0.0, 0.0  # of z with g, g_t and every g_s
        for gram, d in zip(snap.gram, config.module_of, strict=True):
            weights = np.concatenate([[1.0], np.zeros(1 + S), v[d]])
            products, zz = products + (gram @ weights)[: 2 + S], zz + weights @ gram @ weights
        expected = [probe.batch_z, probe.gt_z, *probe.gs_z]
        np.testing.assert_allclose(products, expected, rtol=1e-3, atol=1e-4)
        assert zz**0.5 == pytest.approx(probe.norm_z, rel=1e-3)


def test_finer_snapshots_average_to_coarser_ones():
    fine, coarse = (of(Snapped, events(snap_every=10, snap_splits=k, split_by="order"))[-1] for k in (3, 1))
    S, K = fine.sizes.shape
    shares = fine.sizes / fine.sizes.sum(axis=1, keepdims=True)
    merge = np.zeros((2 + 2 * S, 2 + S + S * K))
    merge[: 2 + S, : 2 + S] = np.eye(2 + S)
    for s in range(S):
        merge[2 + S + s, 2 + S + s * K : 2 + S + (s + 1) * K] = shares[s]
    np.testing.assert_allclose(merge @ fine.gram @ merge.T, coarse.gram, rtol=1e-3, atol=1e-5)


def test_diverged_run_reports_where():
    finished = events(method="single", lr=1e6)[-1]
    assert finished.status == "diverged"
    assert "of task 1 with learning rate 1e+06; try a smaller" in finished.message
    assert math.isnan(finished.acc)


@pytest.mark.parametrize("fields", [{"iterations": 1, "tasks": 1, "lr": 1e30}, {"iterations": 1, "lr": 1e25}])
def test_divergence_in_the_last_step_is_detected(fields):
    got = events(**{**SHORT, "method": "single", **fields})
    assert got[-1].status == "diverged"
    assert not of(TaskLearned, got)


def engine_of(**fields):
    return _Run(RunConfig(**{**SHORT, **fields}), torch.device("cpu"))


def test_each_pass_has_its_own_order():
    one = engine_of(benchmark="mnist5k-split", tasks=2, iterations=400, batch_size=6)
    train = one.stream.tasks[1].train
    order = np.concatenate([one._images(1, step) for step in range(400)])
    passes = order.reshape(3, len(train))
    for images in passes:
        assert sorted(images) == sorted(train)
    assert (passes[0] != passes[1]).any()
    assert one._shown(1).tolist() == passes[0].tolist()


def test_true_gradients_use_the_whole_training_set():
    """Compare ⟨g_s, z⟩ of the first probe with a gradient computed here, at the start of the second task."""
    fields = {"method": "single", "tasks": 2, "probe_every": 20, "probe_samples": 10_000}
    probe = of(Probed, events(**fields))[0]
    one = engine_of(**{**fields, "tasks": 2})
    for step in range(20):
        one.learner.observe(0, step, one._images(0, step))
    everything = one.stream.batch(0, one.stream.tasks[0].train)
    loss = torch.nn.functional.cross_entropy(one.learner.network(everything.x), everything.y)
    g_s = torch.autograd.grad(loss, list(one.learner.network.parameters()))
    z = one.learner.observe(1, 0, one._images(1, 0)).z
    assert probe.gs_z[0] == pytest.approx(sum(float((a * b).sum()) for a, b in zip(g_s, z, strict=True)), rel=1e-3)
    assert probe.norm_gs[0] == pytest.approx(sum(float(a.square().sum()) for a in g_s) ** 0.5, rel=1e-4)


def test_accuracy_uses_running_statistics_and_task_logits():
    one = engine_of(benchmark="mnist5k-split")
    network = one.learner.network
    one.learner.observe(2, 0, one._images(2, 0))
    batch = one.stream.batch(2, one.stream.tasks[2].test)
    network.eval()
    with torch.no_grad():
        right = (network(batch.x)[:, 4:6].argmax(1) + 4 == batch.y).float().mean()
    network.train()
    assert one._accuracy(2) == pytest.approx(100 * float(right))
    assert network.training


def test_stepped_event_is_the_mean_of_its_steps():
    fields = {"method": "single", "tasks": 1, "iterations": 40}
    one = engine_of(**fields)
    losses = [float(one.learner.observe(0, step, one._images(0, step)).loss) for step in range(40)]
    for event in of(Stepped, events(**fields)):
        assert event.loss == pytest.approx(np.mean(losses[event.step - 2 : event.step]), rel=1e-6)


def test_violation_share_is_recorded():
    first, *rest = of(Stepped, events(modules=6))
    assert first.violated == 0
    assert any(0 < event.violated < 1 for event in rest)


def test_unsaved_task_row_is_repeated_after_resume(tmp_path):
    """The run dies after it yielded the row and before it saved it."""
    config, path = RunConfig(**SHORT), tmp_path / "run.pt"
    dying = run(config, checkpoint=path, checkpoint_seconds=0)
    yielded = next(event for event in dying if isinstance(event, TaskLearned))
    dying.close()
    again = of(TaskLearned, list(run(config, resume=path)))
    assert [event.task for event in again] == [0, 1, 2]
    np.testing.assert_array_equal(again[0].row, yielded.row)


def test_too_many_class_splits_are_rejected_before_training():
    with pytest.raises(UsageError, match=r"splits is 5; splits by class must be at most the \d classes in the memory"):
        run(RunConfig(**{**SHORT, "memory": 5, "splits": 5, "split_by": "class"}))


def test_seeds_differ():
    assert len({events(method="single", seed=seed)[-1].fingerprint for seed in range(3)}) == 3


@pytest.mark.parametrize("name", METHODS)
def test_resumed_run_is_bit_identical(name, tmp_path):
    """The run is stopped in the second task, with a checkpoint after every step."""
    config, path = RunConfig(**{**SHORT, **METHODS[name]}), tmp_path / "run.pt"
    stopped = run(config, checkpoint=path, checkpoint_seconds=0)
    for event in stopped:
        if isinstance(event, Stepped) and (event.task, event.step) == (1, 7):
            break
    stopped.close()
    resumed = list(run(config, resume=path))
    assert resumed[0].task == 1
    assert 5 <= resumed[0].step <= 7
    assert resumed[-1].fingerprint == whole(name).fingerprint
    np.testing.assert_array_equal(resumed[-1].R, whole(name).R)


def test_resuming_a_finished_run_gives_its_result(tmp_path):
    config, path = RunConfig(**SHORT), tmp_path / "run.pt"
    whole = list(run(config, checkpoint=path))[-1]
    again = list(run(config, resume=path))
    assert [type(event) for event in again] == [Started, Finished]
    assert again[-1].fingerprint == whole.fingerprint


def test_no_partial_files_stay_behind(tmp_path):
    list(run(RunConfig(**SHORT), checkpoint=tmp_path / "run.pt", checkpoint_seconds=0))
    assert [path.name for path in tmp_path.iterdir()] == ["run.pt"]


def no_checkpoint(path):
    torch.save(torch.zeros(3), path)


def of_another_run(path):
    list(run(RunConfig(**SHORT, seed=5), checkpoint=path))


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (no_checkpoint, "not a checkpoint, or was written by another version"),
        (of_another_run, "that run has seed 5, not 0; give the same settings"),
        (lambda path: path.unlink(), "there is no such file"),
    ],
)
def test_unusable_resume_file_is_rejected_before_training(harm, sentence, tmp_path):
    path = tmp_path / "run.pt"
    list(run(RunConfig(**SHORT), checkpoint=path))
    harm(path)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(UsageError, match=sentence):
        run(RunConfig(**SHORT), resume=path)
    assert (path.read_bytes() if path.exists() else None) == before


def test_cancelled_run_stops_during_a_measurement():
    """The first probe alone uses 4,000 images; the run must not finish it."""
    seen = []
    config = RunConfig(**{**SHORT, "probe_every": 1, "probe_samples": 10_000})
    with pytest.raises(RunCancelledError):
        seen.extend(run(config, is_cancelled=lambda: bool(of(TaskLearned, seen))))
    assert of(TaskLearned, seen)
    assert not of(Probed, seen)


def test_solver_failure_is_not_reported_as_divergence(monkeypatch):
    def fail(*_):
        raise ValueError("constraints are inconsistent, no solution")

    monkeypatch.setattr("quadprog.solve_qp", fail)
    finished = events(strength=0.5, trigger="always")[-1]
    assert finished.status == "failed"
    assert finished.message.startswith("the exact solver found no solution of a dual problem with 1 memory rows, after 0")
    assert "learning rate" not in finished.message


def test_torch_threads_of_the_caller_are_restored():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        list(run(RunConfig(**SHORT)))
        assert torch.get_num_threads() == 2
        one, other = (run(RunConfig(**SHORT, threads=threads)) for threads in (1, 3))
        for events_of in (one, other):
            next(events_of)
            assert torch.get_num_threads() == 2
        seen = []
        for event in one:
            assert torch.get_num_threads() == 2
            seen.append(event)
        assert seen[-1].fingerprint == events()[-1].fingerprint  # the other run changes nothing
        other.close()
        next(broken_off := run(RunConfig(**SHORT)))
        broken_off.close()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_probes_agree_with_gradients_computed_from_the_weights(monkeypatch):
    """Compute gs_z, gt_z, batch_z and the norms from the weights with autograd, on all images at once."""
    found = []

    def watch(learner, task, step, indices, observe=GEM.observe):
        if not task or step % 5:
            return observe(learner, task, step, indices)
        network, before = learner.network, [p.detach().clone() for p in learner.network.parameters()]
        sets = [*learner.stream.tasks[: task + 1], None]
        gradients = []
        for s, of_task in enumerate(sets):
            batch = learner.stream.batch(min(s, task), indices if of_task is None else of_task.train)
            loss = torch.nn.functional.cross_entropy(network(batch.x), batch.y)
            gradients.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(network.parameters()))]))
        taken = observe(learner, task, step, indices)
        after = learner.network.parameters()
        z = torch.cat([((old - new) / learner.config.lr).flatten() for old, new in zip(before, after, strict=True)])
        found.append((z.detach(), gradients))
        return taken

    monkeypatch.setattr(GEM, "observe", watch)
    fields = {"modules": 4, "strength": 0.3, "trigger": "always", "probe_every": 5, "probe_samples": 10_000}
    probes = of(Probed, events(**fields))
    assert len(probes) == len(found) > 3
    for probe, (z, (*past, current, batch)) in zip(probes, found, strict=True):
        got = [*probe.gs_z, probe.gt_z, probe.batch_z, *probe.norm_gs, probe.norm_gt, probe.norm_g]
        vectors = [*past, current, batch]
        expected = [*(float(g @ z) for g in vectors), *(float(g.norm()) for g in vectors)]
        scale = float(z.norm()) * max(float(g.norm()) for g in vectors)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5 * scale)


def test_true_gradients_can_use_a_sample():
    whole, part, same = (of(Probed, events(probe_every=10, probe_samples=samples))[0] for samples in (10_000, 400, 400))
    assert part.gt_z == same.gt_z != whole.gt_z
    assert part.batch_z == whole.batch_z
    assert part.gt_z == pytest.approx(whole.gt_z, rel=0.5)


def test_samples_are_drawn_at_each_step_and_their_mean_is_the_true_gradient():
    one = engine_of(probe_samples=50)

    def gradient(samples, step):
        evaluation = Evaluation(one.config.model_copy(update={"probe_samples": samples}), one.stream)
        return flatten(evaluation.true_gradient(one.learner.network, 0, 1, step))

    whole, drawn = gradient(4000, 0), torch.stack([gradient(50, step) for step in range(200)])
    errors = (drawn - whole).norm(dim=1)
    assert drawn[0].equal(gradient(50, 0))
    assert len(drawn.unique(dim=0)) == 200
    assert (drawn.mean(0) - whole).norm() < 1.3 * errors.square().mean().sqrt() / math.sqrt(200)


def test_sample_has_each_class_in_proportion_and_each_image_equally_often():
    labels = np.repeat([3, 1, 7], [60, 30, 10])
    drawn = [stratified_sample(labels, 20, np.random.default_rng(seed)) for seed in range(2000)]
    assert all(len(set(places)) == 20 for places in drawn)
    assert {tuple(np.bincount(labels[places])[[3, 1, 7]]) for places in drawn} == {(12, 6, 2)}
    counts = np.bincount(np.concatenate(drawn), minlength=100)
    assert abs(counts - 400).max() < 5 * math.sqrt(2000 * 0.2 * 0.8)
    uneven = [int((labels[stratified_sample(labels, 7, np.random.default_rng(seed))] == 7).sum()) for seed in range(2000)]
    assert set(uneven) == {0, 1}
    assert np.mean(uneven) == pytest.approx(0.7, abs=0.05)


def test_whole_training_sets_have_one_configuration():
    assert RunConfig(probe_samples=5000).canonical() == RunConfig(probe_samples=99_999).canonical()
    assert RunConfig(probe_samples=5000).canonical() != RunConfig().canonical()
    assert RunConfig(probe_every=0, probe_samples=5).canonical() == RunConfig(probe_every=0).canonical()


def test_step_length_gradient_only_rescales_the_step():
    free, rescaled = (
        of(Probed, events(strength=3.0, trigger="always", probe_every=5, step_length=length))[0]
        for length in ("free", "gradient")
    )
    assert rescaled.norm_z == pytest.approx(rescaled.norm_g, rel=1e-5)
    assert free.norm_z > 2 * free.norm_g
    factor = rescaled.norm_z / free.norm_z
    np.testing.assert_allclose(rescaled.gs_z, factor * free.gs_z, rtol=1e-4)
    np.testing.assert_allclose(rescaled.memory_z, factor * free.memory_z, rtol=1e-4)


def test_splits_share_the_strength_of_a_task():
    """Both floors bind when the strength is large, so z = g + q ĝ in both cases."""
    fields = {"strength": 1000.0, "trigger": "always", "probe_every": 5, "iterations": 5, "lr": 1e-9}
    one, shared, each = (
        of(Probed, events(**fields, splits=splits, strength_per=per))[0]
        for splits, per in ((1, "split"), (2, "task"), (2, "split"))
    )
    np.testing.assert_allclose(shared.gs_z, one.gs_z, rtol=1e-2)
    np.testing.assert_allclose(each.gs_z, 2 * one.gs_z, rtol=1e-2)
    assert RunConfig(strength_per="task").canonical() == RunConfig().canonical()


def test_memory_is_freed_when_a_run_ends():
    """Memory is freed without the garbage collector, because a worker trains one run after another."""
    gc.collect()
    gc.disable()
    try:
        one = engine_of(tasks=2, iterations=2, memory=10, probe_every=1, snap_every=1)
        for _ in one.events():
            pass
        held = [weakref.ref(part) for part in (one, one.stream, one.learner, one.learner.network, one.evaluation)]
        del one
        assert [part() for part in held] == [None] * 5
    finally:
        gc.enable()


def test_held_out_images_are_used_for_validation_only():
    config = RunConfig(tasks=2, iterations=20, memory=40, validation=0.1, probe_every=0)
    *_, finished = run(config)
    assert isinstance(finished, Finished)
    stream = config.open_stream()
    for task in stream.tasks:
        assert len(task.validation) == 400
        assert not set(task.validation) & (set(task.train) | set(task.test))
    assert set(stream.tasks[0].validation) == set(stream.tasks[1].validation)  # other views of the same images
    assert finished.validation_acc == pytest.approx(finished.acc, abs=10)
    assert finished.validation_acc != finished.acc
    *_, without = run(RunConfig(tasks=2, iterations=20, memory=40, probe_every=0))
    assert isinstance(without, Finished)
    assert np.isnan(without.validation_acc)


def test_resume_after_last_task_keeps_validation_accuracy():
    config = RunConfig(tasks=2, iterations=10, memory=40, validation=0.2, probe_every=0)
    saved: list[bytes] = []
    *_, whole = run(config, checkpoint=saved.append)
    *_, resumed = run(config, resume=saved[-1])
    assert isinstance(whole, Finished)
    assert isinstance(resumed, Finished)
    assert resumed.validation_acc == whole.validation_acc
