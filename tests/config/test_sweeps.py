import numpy as np
import pytest
from filled_store import SPEC, filled_store
from pydantic import ValidationError

from mgem_core import RunConfig
from mgem_core.analysis import frames
from mgem_core.analysis.estimate import estimate
from mgem_core.config.keys import run_key
from mgem_core.config.reference_speeds import evaluation_work, pass_work
from mgem_core.config.sweeps import SNAPSHOT, SweepSpec, estimate_seconds, relative_work
from mgem_core.paper.presets import PRESETS
from mgem_core.paper.tables import FIGURES, TABLES
from mgem_core.restriction.dual import solve_module
from mgem_core.restriction.restriction import Restriction
from mgem_core.store import Store
from mgem_core.text import duration


def test_a_grid_is_every_combination():
    spec = SweepSpec(base={"tasks": 3}, grid={"modules": [1, 4], "strength": [0.0, 0.5], "seed": [0, 1, 2]})
    runs = spec.runs()
    assert len(runs) == 12
    assert {run.tasks for run in runs} == {3}


def test_all_configurations_come_once_before_the_next_seed():
    runs = SweepSpec(grid=[{"modules": [1, 4], "seed": [5, 0]}, {"splits": [2], "seed": [5, 0]}]).runs()
    assert [run.seed for run in runs] == [5, 5, 5, 0, 0, 0]
    assert [run.label for run in runs[:3]] == ["GEM", "p-mGEM(4)", "d-mGEM(2)"]


def test_several_grids_follow_each_other_and_share_what_they_have_in_common():
    spec = SweepSpec(grid=[{"modules": [1, 4]}, {"splits": [1, 2]}])
    assert [run.label for run in spec.runs()] == ["GEM", "p-mGEM(4)", "d-mGEM(2)"]


def test_combinations_that_mean_the_same_run_are_one():
    grid = {"method": ["single", "ewc", "gem"], "splits": [1, 2], "strength": [0.0, 0.5], "ewc_lambda": [1.0, 10.0]}
    labels = [run.label for run in SweepSpec(grid=grid).runs()]
    assert sorted(labels) == ["EWC", "EWC", "GEM", "GEM", "Single", "d-mGEM(2)", "d-mGEM(2)"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"method": "single", "splits": 2}, {"method": "single", "modules": 4, "memory": 10}),
        ({"method": "ewc", "mer_beta": 0.5}, {"method": "ewc", "strength": 1.0}),
        ({"split_by": "order"}, {"split_by": "random"}),
        ({"strength": (0.5,) * 4}, {"strength": 0.5}),
        ({"solver": "approx", "ridge": 0.1}, {"solver": "approx"}),
        ({"strength": 0.0, "trigger": "always"}, {"strength": 0.0}),
        ({"strength": 0.3, "strength_kind": "margin", "trigger": "always"}, {"strength": 0.3, "strength_kind": "margin"}),
        ({"strength": 0.0, "strength_kind": "margin"}, {"strength": 0.0}),
        ({"strength": (0.0,) * 4, "strength_kind": "margin", "trigger": "always"}, {"strength": 0.0}),
        ({"strength": -0.0}, {"strength": 0.0}),
        ({"strength": (-0.0, 0.5, 0.5, 0.5)}, {"strength": (0.0, 0.5, 0.5, 0.5)}),
        ({"modules": {"fc1": 0, "fc2": 1, "fc3": 2}}, {"modules": 3}),
        ({"modules": "layers"}, {"modules": 3}),
        ({"modules": "tensors"}, {"modules": 6}),
        ({"modules": {"fc1": 7, "fc2": 3, "fc3": 3}}, {"modules": {"fc1": 0, "fc2": 1, "fc3.weight": 1, "fc3.bias": 1}}),
        ({"modules": {"fc1": 1, "fc2": 0, "fc3": 1}}, {"modules": {"fc1": 0, "fc2": 5, "fc3": 0}}),
        ({"ridge": 0.0, "ridge_kind": "absolute"}, {"ridge": 0.0}),
        ({"snap_splits": 4}, {}),
        ({"splits": 2, "snap_every": 5, "snap_splits": 2}, {"splits": 2, "snap_every": 5}),
    ],
)
def test_irrelevant_fields_do_not_distinguish_runs(one, other):
    assert run_key(RunConfig(**one), "cpu") == run_key(RunConfig(**other), "cpu")
    assert RunConfig(**one).canonical() == RunConfig(**other).canonical()
    assert len({*SweepSpec(base=one).runs(), *SweepSpec(base=other).runs()}) == 1


@pytest.mark.parametrize("modules", [{"fc1": 1, "fc2": 0, "fc3": 1}, {"fc1": 0, "fc2": 0, "fc3.weight": 0, "fc3.bias": 1}])
def test_the_canonical_form_is_the_same_partition(modules):
    config = RunConfig(modules=modules)
    assert config.canonical().module_of == config.module_of
    assert config.canonical().label == config.label


@pytest.mark.parametrize("knobs", [{"strength": 0.0}, {"strength": 0.2, "strength_kind": "margin"}])
@pytest.mark.parametrize("solver", ["exact", "approx"])
def test_without_a_floor_the_trigger_changes_nothing(knobs, solver):
    draw = np.random.default_rng(0)
    for _ in range(50):
        G, g = draw.normal(size=(3, 5)), draw.normal(size=5)
        v = [
            solve_module(G @ G.T, G @ g, g @ g, Restriction(**knobs, solver=solver, trigger=trigger)).v
            for trigger in ("violation", "always")
        ]
        np.testing.assert_allclose(*v, atol=1e-9)


@pytest.mark.parametrize(
    "fields",
    [{"splits": 2}, {"modules": 4}, {"seed": 1}, {"lr": 0.2}, {"memory": 10}, {"probe_every": 7}, {"snap_every": 7}],
)
def test_fields_that_matter_do(fields):
    assert run_key(RunConfig(**fields), "cpu") != run_key(RunConfig(), "cpu")


def test_a_bad_value_anywhere_in_the_grid_is_an_error():
    with pytest.raises(ValidationError, match="modules is 99"):
        SweepSpec(grid={"modules": [1, 99]}).runs()


def test_every_preset_has_its_runs():
    counts = {name: len(spec.without_recordings().runs()) for name, (_, _, spec) in PRESETS.items()}
    built_in = {
        **{"rotated-digits": 258, "quick-look": 52, "modules-against-strength": 216},
        **{"splits-against-strength": 144, "built-in-digits": 72},
    }
    assert built_in.items() <= counts.items()
    for name in (*TABLES, *(name for name, figure in FIGURES.items() if figure.shown_by)):  # the others need no runs
        assert 0 < counts[f"{name}-short"] < counts[name]


def test_no_preset_has_two_names():
    """Otherwise the form could not tell which one a sweep is."""
    specs = [preset.spec.model_dump_json() for preset in PRESETS.values()]
    assert len(set(specs)) == len(specs)


def test_time_is_estimated_from_measured_speeds():
    runs = SweepSpec(grid={"seed": list(range(4))}).runs()
    speed = {"mlp": 2.0 / relative_work(runs[0])}
    assert estimate_seconds(runs, speed, workers=1) == pytest.approx(8.0)
    assert estimate_seconds(runs, speed, workers=2) == pytest.approx(4.0)
    assert estimate_seconds(runs, speed, workers=16) == pytest.approx(2.0)
    assert estimate_seconds(runs, {}, workers=2) is None


def test_probes_snapshots_and_evaluations_cost_the_images_that_they_look_at():
    def work(**fields):
        return relative_work(RunConfig(**{"tasks": 3, "iterations": 100, "probe_every": 0, "memory": 100, **fields}))

    a_pass, sets = pass_work("mlp"), 2 + 3  # of images for each probe of the second task and of the third
    assert work(probe_every=50) - work() == pytest.approx(2 * sets * (a_pass + 400))
    assert work(probe_every=50, probe_samples=10_000) - work() == pytest.approx(2 * sets * (a_pass + 4000))
    recorded = 4 * (sets * (a_pass + 400) + (1 + 2) * (SNAPSHOT * a_pass + 100))  # with memory rows
    assert work(snap_every=25) - work() == pytest.approx(recorded)
    assert work(probe_every=50, snap_every=25) == work(snap_every=25)  # every probe is a snapshot, too
    assert work(method="independent", probe_every=50) == work(method="independent")
    steps = 100 * 3 * (pass_work("mlp") + 10)
    assert work(method="single") - steps == pytest.approx(9 * 1000 * evaluation_work("mlp"))  # forward passes alone


def test_an_estimate_is_made_of_what_has_no_result_yet(tmp_path):
    store = filled_store(tmp_path / "runs.db", finishes=lambda run: run <= 4)
    configs = SPEC.runs()
    expected = estimate(store, configs, workers=1)
    assert (expected.runs, expected.finished) == (len(configs), 4)
    rest = estimate_seconds(store.without_result(configs), frames.speeds(store), 1)
    assert expected.seconds == pytest.approx(rest)
    assert estimate(store, configs, workers=1, again=True).seconds > rest
    assert expected.phrases[:2] == [f"{len(configs)} runs", "4 already finished"]


def test_a_sweep_is_found_by_its_runs_alone(tmp_path):
    store = Store(tmp_path / "runs.db")
    spec = SweepSpec(base={"tasks": 2}, grid={"modules": [1, 4], "seed": [0, 1]})
    same = SweepSpec(base={"tasks": 2}, grid=[{"seed": [1, 0]}, {"modules": [4], "seed": [0, 1]}])
    assert store.find_sweep(spec) is None
    first = store.submit(spec)
    store.submit(SweepSpec(base={"tasks": 2}, grid={"modules": [1, 4, 2], "seed": [0, 1]}))
    store.submit(SweepSpec(base={"tasks": 2}, grid={"modules": [1, 4]}))
    assert store.find_sweep(same) == first
    assert store.find_sweep(SweepSpec(base={"tasks": 2}, grid={"modules": [1, 4], "seed": [0, 2]})) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 s"), (45, "45 s"), (700, "12 min"), (5400, "1.5 h"), (30 * 3600, "30 h"), (3 * 86400, "3 days")],
)
def test_durations_are_in_words_that_people_read(seconds, words):
    assert duration(seconds) == words
