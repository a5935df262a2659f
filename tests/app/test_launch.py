"""Launching from the form: finished runs, long sweeps, and the contents of the form."""

import json

from explore import example, form, launch
from pages import open_page, texts
from test_explore_page import SPEC, button, open_explore, train
from text import escape_markdown
from trained_store import trained_store

from mgem_core.analysis.estimate import Estimate
from mgem_core.config.snapshot_cost import snapshot_cost
from mgem_core.config.sweeps import SweepSpec
from mgem_core.paper.presets import PRESETS, Preset
from mgem_core.store import Store


def choose(page, spec: SweepSpec):
    page.session_state["spec for form"] = spec
    return page.run()


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


def test_long_sweep_shows_a_warning(store, monkeypatch):
    monkeypatch.setattr(launch, "estimate", lasting(3))
    page = open_explore()
    assert "This takes about 3.0 h." in texts(page)
    assert not button(page, "Launch").disabled


def test_very_long_sweep_must_be_confirmed(store, monkeypatch):
    monkeypatch.setattr(launch, "estimate", lasting(75))
    page = open_explore()
    assert button(page, "Launch").disabled
    page.checkbox[0].check().run()
    assert "3 days" in page.checkbox[0].label
    button(page, "Launch").click().run()
    assert store.counts(1)["queued"] == 52


def test_simultaneous_change_needs_confirmation(store, monkeypatch):
    page = open_explore()
    page.multiselect(key="run seeds").set_value([3])
    monkeypatch.setattr(launch, "estimate", lasting(75))
    button(page, "Launch").click().run()
    assert page.toast[0].value == "This may take about 3 days; confirm it above Launch first."
    assert not store.sweeps()


def test_implausible_number_of_steps_is_rejected(store):
    page = open_explore()
    page.number_input(key="run iterations").set_value(10**9).run()
    assert "Steps per task is 1000000000; it must be less than or equal to 1000000." in texts(page)
    assert button(page, "Launch").disabled


def test_snapshot_cost_is_shown_before_launch(store):
    page = open_explore()
    assert "for the lens" not in texts(page)
    assert page.number_input(key="run snap_splits").disabled
    page.number_input(key="run snap_every").set_value(20).run()
    page.number_input(key="run snap_splits").set_value(6).run()
    configs = form_state_runs(page)
    assert {(config.snap_every, config.snap_splits) for config in configs if config.method == "gem"} == {(20, 6)}
    assert escape_markdown(snapshot_cost(configs, {}, 1).sentence) in texts(page)
    button(page, "Launch").click().run()
    spec = SweepSpec.model_validate(store.sweep(1)["spec"])
    assert set(spec.runs()) == set(configs)


def form_state_runs(page):
    names = {name: page.session_state[f"run {name}"] for name in form.DEFAULTS}
    return form.expand_form(names)[1]


def test_recorded_sweep_links_to_the_lens(store):
    trained_store(store.path, SweepSpec(base={**SPEC.base, "snap_every": 10}, grid={"seed": [1, 0]}))
    store.submit(SPEC)
    store.cancel(store.run_ids(2))
    [link] = links_to_lens(open_explore(sweep="s1"))
    assert link.query_string == "of=r1"
    lens = open_page("lens", of="r1")  # the run of seed 1; that of seed 0 is shown with it
    assert "2 seeds (r1 … r2)" in lens.selectbox(key="lens of").options[0]
    assert lens.selectbox(key="lens of").value == lens.query_params["of"] == "r2"
    assert links_to_lens(open_explore(sweep="s2")) == []


def links_to_lens(page):
    return [one.proto for one in page.get("page_link") if one.proto.label.startswith("Open in Lens")]


def test_link_fills_the_form(store):
    store.submit(SweepSpec(base={**SPEC.base, "benchmark": "mnist5k-permutations", "method": "ewc"}, grid={"seed": [7]}))
    store.submit(PRESETS["modules-against-strength"].spec)
    page = open_explore(sweep="s1")
    assert page.selectbox(key="preset").value == "Custom"
    assert page.session_state["run families"] == ["EWC"]
    assert page.session_state["run seeds"] == [7]
    assert open_explore(sweep="s2").selectbox(key="preset").value == "modules-against-strength"


def test_unreadable_sweep_leaves_the_first_preset(store):
    store.submit(SPEC)
    with store.database.transaction() as db:
        db.execute("UPDATE sweeps SET spec = ?", (json.dumps({"base": {"benchmark": "of tomorrow"}, "grid": {}}),))
    assert open_explore().selectbox(key="preset").value == "quick-look"


def test_stored_form_drops_invalid_values():
    values = {**form.DEFAULTS, "families": ["EWC"], "seeds": [3], "iterations": 20, "lr": 0.5}
    assert form.offered_values(json.dumps(values)) == values
    wrong = {
        **{"benchmarks": ["of tomorrow"], "families": "GEM", "modules": ["many"], "strengths": [None], "seeds": 3},
        **{"iterations": -1, "tasks": 2.5, "lr": "fast", "network": "of tomorrow", "partition": 3, "unknown": 1},
        **{"trigger": ["sometimes"], "split_by": None},
    }
    assert form.offered_values(json.dumps(wrong)) == {}
    assert form.offered_values("no JSON") == form.offered_values("[]") == {}


def test_invalid_partition_is_explained_once(store):
    page = open_explore()
    page.text_input(key="run partition").set_value("fc1=0,fc9=1").run()
    assert texts(page).count("'fc9' is no layer or tensor of this network") == 1


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
    assert button(page, "Resume")
    assert not any(one.label == "Stop" for one in page.button)


def test_finished_sweep_has_no_stop_or_resume_button(store):
    store.submit(SPEC)
    for _ in range(4):
        train(store)
    page = open_explore()
    assert not {"Stop", "Resume", "Finished"} & {one.label for one in page.button}
    assert "Finished" in [one.value for one in page.markdown]


def test_methods_without_points_are_named(store):
    store.submit(SweepSpec(base=SPEC.base, grid={"method": ["gem", "independent"]}))
    assert "Not in the plots: Independent." in texts(open_explore())
    store.submit(SPEC)
    assert "Not in the plots" not in texts(open_explore())


def test_welcome_shows_an_example_picture(store):
    assert "An example of what will appear" in str(open_explore().get("image")[0].proto)


def test_example_picture_in_dark_mode():
    light, dark = (example.example_picture(is_dark) for is_dark in (False, True))
    assert all(ink in light and ink not in dark for ink in example.DARK_INK)
    assert len(light) < 60_000


def test_unchanged_preset_is_launched_completely(store, monkeypatch):
    uneven = SweepSpec(base=SPEC.base, grid=[{"modules": [1], "strength": [0.0]}, {"modules": [4], "strength": [1.0]}])
    monkeypatch.setitem(PRESETS, "uneven", Preset("Uneven", "Other strengths with four modules", uneven))
    page = open_explore()
    page.selectbox(key="preset").select("uneven").run()
    assert "The settings below show only a part of it. Unchanged, all of it is launched." in texts(page)
    button(page, "Launch").click().run()
    assert SweepSpec.model_validate(store.sweep(1)["spec"]) == uneven
    assert open_explore(sweep="s1").selectbox(key="preset").value == "uneven"
    page.multiselect(key="run seeds").set_value([3]).run()
    assert page.selectbox(key="preset").value == "Custom"
    assert "show only a part" not in texts(page)


def test_preset_is_stored_with_the_form():
    assert form.remembered_preset('{"preset": "quick-look", "seeds": [1]}') == "quick-look"
    assert form.remembered_preset("[]") == form.remembered_preset("{") == form.remembered_preset('{"preset": 3}') == ""
