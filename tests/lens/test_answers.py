"""The lens: what it says of steps that were never taken is what they would have been."""

import numpy as np
import pytest
import torch
from recorded import record

from mgem_core import UsageError, run
from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Probed, Snapped
from mgem_core.lens import recordings
from mgem_core.lens.answers import answers
from mgem_core.lens.steps import Steps, steps_of
from mgem_core.networks._layer import Layer
from mgem_core.restriction import partition
from mgem_core.restriction.direction import module_slices, project
from mgem_core.restriction.restriction import Restriction
from mgem_core.store import Store

recorded = {}


def recorded_steps(network):
    if network not in recorded:
        recorded[network] = record(network)
    return recorded[network], steps_of(recorded[network].recording, 2)


def random_settings(layers, count, seed=0):
    """Of all modules, splits, kinds of strength, solvers and triggers."""
    rng = np.random.default_rng(seed)
    tensors = [name for layer in layers for name in layer.tensors]
    for _ in range(count):
        mapping = {name: int(module) for name, module in zip(tensors, rng.integers(0, 4, len(tensors)), strict=True)}
        kind = str(rng.choice(["dual-floor", "margin"]))
        strength = (10 ** rng.uniform(-2, 1, 2)) * rng.integers(0, 2) * (1 if kind == "dual-floor" else 0.01)
        yield Restriction(
            modules=[1, 2, int(rng.integers(1, len(tensors) + 1)), "layers", "tensors", mapping][rng.integers(6)],
            splits=int(rng.choice([1, 2, 3, 6])),
            strength=float(strength[0]) if rng.integers(2) else tuple(strength.tolist()),
            strength_kind=kind,
            strength_per=str(rng.choice(["split", "task"])),
            solver=str(rng.choice(["exact", "approx"], p=[0.7, 0.3])),
            trigger=str(rng.choice(["violation", "always"])),
            step_length=str(rng.choice(["free", "gradient"])),
        )


def projected(one, n, setting):
    """What `project` does with the whole vectors: ⟨g,z⟩, ⟨g_t,z⟩, ⟨g_s,z⟩ and ⟨ĝ_s,z⟩ as cosines with z, and ‖z‖."""
    vectors, sizes = torch.stack(one.vectors[n]), one.recording.snapshots[n].sizes
    S, K = sizes.shape
    rows = vectors[2 + S :].view(S, setting.splits, K // setting.splits, -1)
    weights = torch.from_numpy(sizes).double().view(S, setting.splits, -1, 1)
    rows = ((rows * weights).sum(2) / weights.sum(2)).flatten(0, 1)
    strength = np.repeat(np.broadcast_to(setting.strength, (S,)), setting.splits)
    strength = strength / (setting.splits if setting.strength_per == "task" else 1)
    modules = module_slices(one.sizes, partition.modules(one.recording.layers, setting.modules))
    knobs = {name: getattr(setting, name) for name in ("strength_kind", "solver", "trigger")}
    z = project(vectors[0], rows, modules, strength.tolist(), **knobs).z
    if setting.step_length == "gradient":
        z = z * vectors[0].norm() / z.norm()
    whole = (vectors[2 + S :] * weights.view(-1, 1)).view(S, K, -1).sum(1) / torch.from_numpy(sizes).sum(1)[:, None]
    with_z = torch.cat([vectors[: 2 + S], whole])
    return (with_z @ z / with_z.norm(dim=1) / z.norm()).numpy(), float(z.norm()), with_z.norm(dim=1).numpy()


@pytest.mark.parametrize("network", ["mlp", "conv5"])
def test_lens_equals_computation_with_full_vectors(network):
    one, steps = recorded_steps(network)
    settings = list(random_settings(one.recording.layers, 200))
    found = answers(steps, settings)
    for i, setting in enumerate(settings):
        n = i % len(steps.gram)
        cosines, norm_z, norms = projected(one, n, setting)
        products = np.array([found.batch_z[i, n], found.gt_z[i, n], *found.gs_z[i, n], *found.memory_z[i, n]])
        np.testing.assert_allclose(products / norms / found.norm_z[i, n], cosines, rtol=0, atol=1e-5, err_msg=str(setting))
        assert found.norm_z[i, n] == pytest.approx(norm_z, rel=1e-5), setting


def trained(tmp_path, **fields):
    """The recording of a run with probes and snapshots at the same steps, as the store returns it, and the probes."""
    base = {"tasks": 3, "iterations": 20, "memory": 24, "probe_every": 5, "snap_every": 5, "strength": 0.7, **fields}
    store = Store(tmp_path / "runs.db")
    store.submit(SweepSpec(base=base, grid={"seed": [0]}))
    number, config = store.claim()
    events = list(run(config))
    store.record([(number, event) for event in events])
    return recordings.of_run(store, number), [event for event in events if isinstance(event, Probed)]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"modules": "layers", "splits": 2, "trigger": "always", "snap_splits": 6, "split_by": "order"},
        {"modules": 2, "splits": 3, "solver": "approx", "step_length": "gradient", "strength": "0.5,0.1"},
        {"strength_kind": "margin", "strength": 0.05, "strength_per": "task", "splits": 2},
        {"benchmark": "mnist5k-split", "modules": "tensors", "splits": 2, "trigger": "always"},
    ],
)
def test_lens_equals_probes_for_the_configuration_of_the_run(tmp_path, fields):
    recording, probes = trained(tmp_path, **fields)
    for task in (1, 2):
        found = answers(steps_of(recording, task), [Restriction.of(recording.used)])
        for n, probe in enumerate(probe for probe in probes if probe.task == task):
            got = np.array([found.batch_z[0, n], found.gt_z[0, n], *found.gs_z[0, n], *found.memory_z[0, n]])
            of_probe = np.array([probe.batch_z, probe.gt_z, *probe.gs_z, *probe.memory_z])
            scale = probe.norm_z * max(probe.norm_g, probe.norm_gt, *probe.norm_gs)
            np.testing.assert_allclose(got / scale, of_probe / scale, rtol=0, atol=1e-5)
            norms = [found.norm_z[0, n], found.norm_g[n], found.norm_gt[n], *found.norm_gs[n]]
            np.testing.assert_allclose(norms, [probe.norm_z, probe.norm_g, probe.norm_gt, *probe.norm_gs], rtol=1e-5)


def test_violated_rows_are_counted_per_module():
    _, steps = recorded_steps("mlp")
    found = answers(steps, [Restriction(modules="tensors", splits=6), Restriction(splits=6)])
    for n in range(len(steps.gram)):
        b = steps.gram[n, :, 4:, 0]  # [L, C]
        assert found.violated[0, n] == pytest.approx((b < 0).mean())
        assert found.violated[1, n] == pytest.approx((b.sum(0) < 0).mean())


def test_normalised_axes_divide_by_norms():
    _, steps = recorded_steps("mlp")
    found = answers(steps, [Restriction(), Restriction(strength=3.0, trigger="always")])
    raw, unit, cosine = (np.array(found.on_axes(axes, 1)) for axes in ("raw", "unit", "cosine"))
    np.testing.assert_allclose(unit * found.norm_z, raw)
    norms = np.stack([found.norm_gs[:, 1], found.norm_gt, found.norm_g])
    np.testing.assert_allclose(cosine * norms[:, None], unit)
    assert (np.abs(cosine) <= 1 + 1e-9).all()


def test_cancelling_rows_have_no_effect():
    """The mean of opposite rows is rounding noise, which must not become a direction of its own."""
    rng = np.random.default_rng(0)
    g, row = rng.normal(size=(2, 40)).astype(np.float32)
    vectors = np.stack([g, g, g, row, -row - np.float32(1e-6) * g]).astype(float)
    snapshot = Snapped(1, 0, (vectors @ vectors.T)[None], np.array([[5, 5]]))
    steps = steps_of(recordings.Recording("r", (Layer("a", {"weight": (40,)}),), (snapshot,)), 1)
    found = answers(steps, [Restriction(splits=1, strength=0.0)])
    assert found.norm_z[0, 0] == pytest.approx(np.linalg.norm(g), rel=1e-6)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        (
            Restriction(splits=7),
            "splits is 7; noise recorded 6 memory splits of each past task, so it must be from 1 to 6.",
        ),
        (
            Restriction(splits=4),
            "splits is 4; noise recorded 6 memory splits of each past task, which can be joined to 1, 2, 3, 6.",
        ),
        (Restriction(splits=2, split_by="class"), "split_by is 'class'; noise recorded splits by random."),
        (Restriction(modules=99), "modules is 99; it must be from 1 to 6, the number of this network's parameter tensors."),
        (Restriction(modules={"conv9": 0}), "modules is {'conv9': 0}; 'conv9' is no layer or tensor of this network"),
        (Restriction(rule="magic"), "rule is 'magic'; it must be one of agem, pcgrad, mgda, cagrad, upgrad, replay."),
    ],
)
def test_unanswerable_setting_is_rejected(setting, sentence):
    _, steps = recorded_steps("mlp")
    with pytest.raises(UsageError) as raised:
        answers(steps, [setting])
    assert str(raised.value).startswith(sentence)
    assert str(raised.value).endswith(".")


def test_too_few_strengths_are_rejected():
    _, steps = recorded_steps("mlp")
    more = Steps(**{**vars(steps), "sizes": np.ones((2, 3, 6), int)})
    with pytest.raises(UsageError, match=r"strength is \(0.1, 0.2\); there are 3 past tasks, so it must be that many\."):
        answers(more, [Restriction(strength=(0.1, 0.2))])


def test_task_without_snapshots_is_rejected():
    one, _ = recorded_steps("mlp")
    with pytest.raises(UsageError, match=r"noise has no snapshots of task 2; it has those of task 3\."):
        steps_of(one.recording, 1)
