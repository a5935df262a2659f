"""Launching from the form: finished runs, long sweeps, and the contents of the form."""

import json

from explore import form, form_check, launch
from pages import offered_action, texts
from test_explore_page import SPEC, button, open_explore, train, unescaped
from text import escape_markdown

from mgem_core.analysis.estimate import Estimate
from mgem_core.config.snapshot_cost import snapshot_cost
from mgem_core.config.sweeps import SweepSpec
from mgem_core.paper.presets import EXAMPLE, PRESETS, Preset
from mgem_core.store import Store


def choose(page, spec: SweepSpec):
    """Fill the form with the settings of a sweep, without recordings."""
    page.session_state["spec for form"] = spec
    page.run()
    return page.toggle(key="run record").set_value(False).run()


def test_estimate_excludes_finished_runs(store):
    store.submit(SPEC)
    for _ in range(4):
        train(store)
    more = SweepSpec(base={**SPEC.base, "strength": 0.5}, grid={**SPEC.grid, "seed": [0, 1, 2]})
    assert "**6 runs** · 4 already finished · about 2 s" in texts(choose(open_explore(), more))
    again = SweepSpec(base={**SPEC.base, "strength": 0.5}, grid=SPEC.grid)
    assert "**4 runs** · all finished already" in texts(choose(open_explore(), again))


def test_existing_sweep_is_shown_again(store):
    spec = SweepSpec(base={**SPEC.base, "strength": 0.5}, grid=SPEC.grid)
    store.submit(spec, "first")
    store.submit(SweepSpec(base=SPEC.base, grid={"seed": [5]}), "other")
    page = choose(open_explore(sweep="s2"), spec)
    button(page, "Launch").click().run()
    assert page.toast[0].value == "Sweep s1 has exactly these runs already: nothing was launched."
    assert page.query_params["sweep"] == "s1"
    assert len(store.sweeps()) == 2


def test_missing_runs_of_an_existing_sweep_are_queued(store):
    spec = SweepSpec(base={**SPEC.base, "strength": 0.5}, grid=SPEC.grid)
    store.submit(spec)
    train(store)
    store.cancel(store.run_ids(1))
    page = choose(open_explore(), spec)
    button(page, "Launch").click().run()
    assert page.toast[0].value == "Sweep s1 has exactly these runs already: 3 runs without a result queued again."
    assert store.counts(1)["queued"] == 3
    assert len(store.sweeps()) == 1


def lasting(hours: float):
    return lambda *arguments: Estimate(52, 0, 3600 * hours)


def test_sweep_of_less_than_an_hour_needs_no_confirmation(store, monkeypatch):
    monkeypatch.setattr(launch, "estimate", lasting(0.9))
    page = open_explore()
    assert "**52 runs** · about 54 min" in texts(page)
    assert not button(page, "Launch").disabled


def test_sweep_of_an_hour_must_be_confirmed(store, monkeypatch):
    monkeypatch.setattr(launch, "estimate", lasting(1))
    page = open_explore()
    assert button(page, "Launch").disabled
    page.toggle(key="run record").set_value(False).run()
    page.checkbox[0].check().run()
    assert "60 min" in page.checkbox[0].label
    button(page, "Launch").click().run()
    assert store.counts(1)["queued"] == len(PRESETS[EXAMPLE].spec.without_recordings().runs())


def test_simultaneous_change_needs_confirmation(store, monkeypatch):
    page = open_explore()
    page.text_input(key="run seeds").set_value("3")
    monkeypatch.setattr(launch, "estimate", lasting(75))
    button(page, "Launch").click().run()
    assert page.toast[0].value == "This may take about 3 days; confirm it above Launch first."
    assert not store.sweeps()


def test_implausible_number_of_steps_is_rejected(store):
    page = open_explore()
    page.number_input(key="run iterations").set_value(10**9).run()
    assert "Steps per task: 1,000,000,000 is not possible; it must be at most 1000000." in unescaped(page)
    assert button(page, "Launch").disabled


def test_snapshot_cost_is_shown_before_launch(store):
    page = choose(open_explore(), PRESETS["quick-look"].spec)
    assert "for the lens" not in texts(page)
    assert page.number_input(key="run snap_splits").disabled
    page.number_input(key="run snap_every").set_value(20).run()
    page.number_input(key="run snap_splits").set_value(6).run()
    configs = form_state_runs(page)
    assert {(config.snap_every, config.snap_splits) for config in configs if config.method == "gem"} == {(20, 6)}
    assert escape_markdown(snapshot_cost(configs, {}, 1).sentence.partition(", and ")[0]) in texts(page)
    button(page, "Launch").click().run()
    spec = SweepSpec.model_validate(store.sweep(1)["spec"])
    assert set(spec.runs()) == set(configs)


def form_state_runs(page):
    names = {name: page.session_state[f"run {name}"] for name in form.DEFAULTS}
    return form_check.expand_form(names)[1]


def test_link_fills_the_form(store):
    store.submit(SweepSpec(base={**SPEC.base, "benchmark": "mnist5k-permutations", "method": "ewc"}, grid={"seed": [7]}))
    store.submit(PRESETS["modules-against-strength"].spec)
    page = open_explore(sweep="s1")
    assert page.selectbox(key="preset").value == "Custom"
    assert page.session_state["run families"] == ["EWC"]
    assert page.session_state["run seeds"] == "7"
    assert open_explore(sweep="s2").selectbox(key="preset").value == "modules-against-strength"


def test_unreadable_sweep_leaves_the_first_preset(store):
    store.submit(SPEC)
    with store.database.transaction() as db:
        db.execute("UPDATE sweeps SET spec = ?", (json.dumps({"base": {"benchmark": "of tomorrow"}, "grid": {}}),))
    assert open_explore().selectbox(key="preset").value == EXAMPLE


def test_stored_form_drops_invalid_values():
    values = {**form.DEFAULTS, "families": ["EWC"], "seeds": "3", "iterations": 20, "lr": 0.5, "record": False}
    assert form_check.offered_values(json.dumps(values)) == values
    wrong = {
        **{
            "benchmarks": ["of tomorrow"],
            "families": "GEM",
            "modules": ["many"],
            "strengths": [None],
            "seeds": 3,
            "record": 1,
        },
        **{"iterations": -1, "tasks": 2.5, "lr": "fast", "network": "of tomorrow", "partition": 3, "unknown": 1},
        **{"trigger": ["sometimes"], "split_by": None},
    }
    assert form_check.offered_values(json.dumps(wrong)) == {}
    assert form_check.offered_values("no JSON") == form_check.offered_values("[]") == {}


def test_invalid_partition_is_explained_once(store):
    page = open_explore()
    page.text_input(key="run partition").set_value("fc1=0,fc9=1").run()
    assert unescaped(page).count("Custom partition: fc9=1 names no layer; a prefix ends at a dot") == 1
    assert "Correct **Custom partition** under More settings to launch." in texts(page)


def test_benchmarks_without_data_are_marked(store, monkeypatch, tmp_path):
    monkeypatch.setenv("MGEM_DATA", str(tmp_path))
    options = open_explore().multiselect(key="run benchmarks").options
    assert "MNIST Rotations (needs a download)" in options
    assert "MNIST Rotations (5,000 digits)" in options


def test_stop_button_disappears_after_the_last_run(store, monkeypatch):
    store.submit(SPEC)
    counts, ended = Store.counts, []

    def counts_before_the_end(self, sweep=None):
        before = counts(self, sweep)
        if not ended:
            ended.append(store.cancel(store.run_ids(1)))
        return before

    monkeypatch.setattr(Store, "counts", counts_before_the_end)
    page = open_explore()
    assert offered_action(page) == "Resume"


def test_finished_sweep_has_no_stop_or_resume_button(store):
    store.submit(SPEC)
    for _ in range(4):
        train(store)
    page = open_explore()
    assert offered_action(page) == ""


def test_methods_without_points_are_named(store):
    store.submit(SweepSpec(base=SPEC.base, grid={"method": ["gem", "independent"]}))
    assert "Not in the plots: Independent." in texts(open_explore(more="true"))
    store.submit(SPEC)
    assert "Not in the plots" not in texts(open_explore(more="true"))


def test_unchanged_preset_is_launched_completely(store, monkeypatch):
    uneven = SweepSpec(base=SPEC.base, grid=[{"modules": [1], "strength": [0.0]}, {"modules": [4], "strength": [1.0]}])
    monkeypatch.setitem(PRESETS, "uneven", Preset("Uneven", "Other strengths with four modules", uneven))
    page = open_explore()
    page.selectbox(key="preset").select("uneven").run()
    assert "The settings below show only a part of it. Unchanged, all of it is launched." in texts(page)
    page.toggle(key="run record").set_value(False).run()
    button(page, "Launch").click().run()
    assert SweepSpec.model_validate(store.sweep(1)["spec"]) == uneven
    assert open_explore(sweep="s1").selectbox(key="preset").value == "uneven"
    page.text_input(key="run seeds").set_value("3").run()
    assert page.selectbox(key="preset").value == "Custom"
    assert "show only a part" not in texts(page)


def test_preset_is_stored_with_the_form():
    assert form_check.remembered_text('{"preset": "quick-look", "seeds": "1"}', "preset") == "quick-look"
    assert {form_check.remembered_text(text, "preset") for text in ("[]", "{", '{"preset": 3}')} == {""}
