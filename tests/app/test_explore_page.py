"""The page Explore, without a browser."""

from dataclasses import replace
from typing import Any

import numpy as np
import runner_process
from explore.opened_sources import open_source
from filled_store import finish
from pages import offered_action, open_page, texts, workbench
from streamlit.testing.v1 import AppTest

from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import TaskLearned
from mgem_core.figures import FIGURES, sweep_plots
from mgem_core.store import Store

SPEC = SweepSpec(base={"tasks": 2, "iterations": 10, "memory": 20}, grid={"modules": [1, 4], "seed": [0, 1]})


def open_explore(**query) -> AppTest:
    """Open the page with its other figures."""
    page = open_page("explore", **{"more": "true", **query})
    assert not page.exception
    return page


def progress(store: Store, sweep: int = 1) -> dict[str, Any]:
    """Return what the feed of a sweep says about its progress."""
    live = open_source(f"s{sweep}")
    live.advance()
    return next(message for message in live.everything() if message["kind"] == "progress")


def train(store: Store, acc: float = 80.0) -> None:
    """Let the next queued run learn its two tasks."""
    run, config = store.claim()
    R = np.array([[90.0, 10.0], [acc, acc + config.modules]])
    finish(store, run, R=R)


def button(page: AppTest, label: str):
    return next(one for one in page.button if one.label.startswith(label))


def unescaped(page: AppTest) -> str:
    return texts(page).replace("\\", "")


def test_figures_are_drawn_only_on_request(store):
    store.submit(SPEC)
    page = open_explore(more="false")
    assert "plots" not in [one.key for one in page.button_group]
    assert plots(page) == []
    page.toggle(key="more").set_value(True).run()
    assert plots(page) == ["Frontier", "Transfer"]


def test_unsuitable_network_is_explained(store):
    page = open_explore()
    page.selectbox(key="run network").select("conv5").run()
    assert not page.exception
    assert "Network: conv5 is not possible; it needs images of at least 32 × 32, and MNIST Rotations" in unescaped(page)


def test_domains_can_be_chosen(store):
    page = open_explore()
    assert "Domains" not in [one.label for one in page.text_input]
    page.multiselect(key="run benchmarks").set_value(["digits-domains"]).run()
    page.text_input(key="run domains").input("uci+mnist").run()
    page.number_input(key="run tasks").set_value(None).run()
    assert not page.exception
    button(page, "Launch").click().run()
    assert {record["config"]["domains"] for record in store.run_records()} == {"uci+mnist"}
    assert {record["config"]["tasks"] for record in store.run_records()} == {2}


def test_custom_partition_by_prefix(store):
    page = open_explore()
    page.selectbox(key="run network").select("resnet18").run()
    page.text_input(key="run partition").input("conv1=0,bn1=0,layer1=0,layer2=0,layer3=0,layer4=1,fc=1").run()
    assert not page.exception
    assert not page.error
    page.text_input(key="run partition").input("layers").run()
    assert not page.exception
    assert not page.error
    page.text_input(key="run partition").input("layer5=0").run()
    assert "Custom partition: layer5=0 names no layer; a prefix ends at a dot" in unescaped(page)


def test_launch_queues_the_runs_of_the_form(store):
    page = open_explore()
    page.selectbox(key="preset").select("modules-against-strength").run()
    assert "**6 recordings + 216 runs**" in texts(page)
    page.toggle(key="run record").set_value(False).run()
    assert page.selectbox(key="preset").value == "modules-against-strength"
    assert "**216 runs**" in texts(page)
    page.text_input(key="run seeds").set_value("3").run()
    assert page.selectbox(key="preset").value == "Custom"
    assert "**36 runs**" in texts(page)
    button(page, "Launch").click().run()
    assert store.counts(1)["queued"] == 36
    assert store.database.rows("SELECT name FROM sweeps")[0]["name"] == "Custom sweep"


def test_invalid_form_cannot_be_launched(store):
    page = open_explore()
    page.text_input(key="run partition").set_value("fc1=0,fc2=x,fc3=1").run()
    assert any("it must map every layer or tensor to a module number" in one.value for one in page.error)
    assert button(page, "Launch").disabled


def test_finished_runs_and_waiting_sweeps_are_mentioned(store):
    store.submit(SPEC)
    for _ in range(3):
        train(store)
    store.claim()
    assert progress(store)["notes"] == []
    page = open_explore()
    page.session_state["spec for form"] = SweepSpec(base=SPEC.base, grid={**SPEC.grid, "strength": [0.5, 0.6]})
    page.run()
    page.toggle(key="run record").set_value(False).run()
    button(page, "Launch").click().run()
    assert page.toast[0].value == "Custom sweep launched: 8 runs, 3 of them already finished."
    with store.database.transaction() as db:  # the run that trains belongs only to another sweep
        db.execute("DELETE FROM members WHERE sweep = 2 AND run = 4")
    assert progress(store, 2)["notes"] == ["Waiting for a free worker: runs of other sweeps are training."]


def test_pair_that_is_not_learned_yet_is_explained(store):
    store.submit(SweepSpec(base={"tasks": 3, "iterations": 10, "memory": 20}))
    run, _ = store.claim()
    store.record([(run, TaskLearned(task, np.full(3, 80.0), 1.0)) for task in (0, 1)])
    assert "task 3 has not been learned; choose another pair." in texts(open_explore(pair="1 → 3", after="2"))


def test_stop_and_resume_are_offered(store):
    sweep = store.submit(SPEC)
    assert offered_action(open_explore()) == "Stop"
    store.cancel(store.run_ids(sweep))
    assert offered_action(open_explore()) == "Resume"
    store.resume(store.run_ids(sweep))
    assert offered_action(open_explore()) == "Stop"


def test_failures_are_shown(store):
    store.submit(SPEC)
    for _ in range(3):
        train(store)
    run, _ = store.claim()
    store.end(run, "failed", "it had no luck.")
    page = open_explore()
    assert not page.exception
    assert progress(store)["notes"] == ["it had no luck. (r4)"]
    assert "1 seed has finished in every configuration. At least 4 shared seeds are needed to compare them." in texts(page)
    assert offered_action(page) == "Resume"


def test_sweep_with_unequal_progress_is_shown(store):
    store.submit(SPEC)
    train(store)
    run, _ = store.claim()
    store.record([(run, TaskLearned(0, np.array([95.0, 10.0]), 1.0))])
    page = open_explore()
    assert "The lines are compared when all runs have ended." in texts(page)


def test_add_seeds_button(store):
    store.submit(SPEC)
    for _ in range(4):
        train(store)
    page = open_explore()
    button(page, "Add 3 seeds").click()
    page.run()
    assert not page.exception
    assert store.counts(1) == {**dict.fromkeys(store.counts(), 0), "finished": 4, "queued": 6}
    for _ in range(6):
        train(store)
    page = open_explore()
    assert "p-mGEM\\(4\\) ends with 1.5 points more ACC than GEM" in texts(page)
    page.selectbox(key="baseline").select("p-mGEM(4)")
    page.run()
    assert "GEM ends with 1.5 points less ACC than p-mGEM\\(4\\)" in texts(page)


def test_sweep_in_the_url(store):
    store.submit(SPEC, "first")
    store.submit(SPEC, "second")
    assert workbench(open_explore(sweep="s1"))["source"] == "s1"
    page = open_explore(sweep="s9")
    assert "There is no sweep s9 in this store" in texts(page)
    assert workbench(page)["source"] == "s2"


def test_damaged_store_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    monkeypatch.setattr(runner_process, "ensure_runner", lambda *options, **named: None)
    (tmp_path / "runs.db").write_bytes(b"no database" * 1000)
    page = open_explore()
    assert len(page.error) == 1
    assert "is damaged or not a store of mgem" in page.error[0].value


def test_runner_error_is_reported(store, monkeypatch):
    monkeypatch.setattr(runner_process, "refusal", lambda process: "no worker could be started.")
    store.submit(SPEC)
    assert any(note.startswith("no worker could be started.") for note in progress(store)["notes"])


def test_typed_strengths_and_seeds(store):
    page = open_explore()
    page.toggle(key="run record").set_value(False)
    page.text_input(key="run strengths").set_value("0, 0.25, much")
    page.text_input(key="run seeds").set_value("0, abc").run()
    assert not page.exception
    assert [one.value for one in page.error] == [
        "Strengths q\\: “much” is not a number.",
        "Seeds\\: “abc” is not a whole number or a range such as 0-9.",
    ]
    assert "Correct **Strengths q** and **Seeds** to launch." in texts(page)
    assert button(page, "Launch").disabled
    assert page.text_input(key="run seeds").value == "0, abc"
    page.text_input(key="run strengths").set_value("0, 0.25")
    page.text_input(key="run seeds").set_value("0, 5-7").run()
    assert not page.error
    assert "**60 runs**" in texts(page)


def test_launch_uses_a_simultaneous_change(store):
    page = open_explore()
    page.text_input(key="run seeds").set_value("3")
    button(page, "Launch").click().run()
    assert {row[0] for row in store.database.rows("SELECT json_extract(config, '$.seed') FROM runs")} == {3}


def test_simultaneous_invalid_change_is_not_launched(store):
    page = open_explore()
    page.text_input(key="run partition").set_value("fc1=0")
    button(page, "Launch").click().run()
    assert sum(store.counts().values()) == 0


def test_deleted_sweep_is_replaced_by_the_next(store):
    remaining, deleted = store.submit(SPEC, "a"), store.submit(SweepSpec(base=SPEC.base, grid={"seed": [5]}), "b")
    page = open_explore(sweep=f"s{deleted}")
    store.cancel(store.run_ids(deleted))
    store.delete_sweep(deleted)
    page.run()
    assert not page.exception
    assert workbench(page)["source"] == f"s{remaining}"


def test_slider_range_follows_the_benchmark(store):
    store.submit(SweepSpec(grid=[{"tasks": [3]}, {"benchmark": ["mnist5k-rotations"], "tasks": [2]}]))
    assert open_explore().slider(key="after").max == 3
    page = open_explore(on="MNIST Rotations (5,000 digits)")
    page.selectbox(key="on").select("mnist5k-rotations").run()
    assert page.slider(key="after").max == 2


def test_unusable_home_is_reported(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MGEM_HOME", str(tmp_path / "file" / "home"))
    monkeypatch.setattr(runner_process, "ensure_runner", lambda *options, **named: None)
    page = open_explore()
    assert "cannot be opened" in page.error[0].value


BY_ACC = {"difference": "ACC at equal strengths"}


def trained(store: Store) -> None:
    store.submit(SweepSpec(base=SPEC.base, grid={"modules": [1, 4], "strength": [0.0, 1.0], "seed": [0, 1, 2, 3]}))
    for _ in range(16):
        train(store)


def plots(page: AppTest) -> list[str]:
    """Return the titles above the plots."""
    titles = [figure.title for figure in sweep_plots().values()]
    return [one.value.split("**")[1] for one in page.markdown if one.value.startswith(tuple(f"**{t}" for t in titles))]


def test_only_chosen_plots_are_computed(store, monkeypatch):
    trained(store)
    drawn = []
    for name, figure in sweep_plots().items():
        watched = replace(figure, data=lambda selection, name=name, data=figure.data: drawn.append(name) or data(selection))
        monkeypatch.setitem(FIGURES, name, watched)
    assert plots(open_explore()) == ["Frontier", "Transfer"]
    assert set(drawn) == {"frontier", "transfer"}
    page = open_explore(plots=["Per seed", "Map"], **BY_ACC)
    assert plots(page) == ["Map", "Per seed"]
    assert plots(open_explore(plots=[figure.title for figure in sweep_plots().values()])) == [
        *("Frontier", "Transfer", "Against strength", "Map", "Per seed")
    ]
    drawn.clear()
    page.run()
    assert drawn == []  # nothing is drawn again without a change


def test_controls_follow_the_chosen_plots(store):
    trained(store)

    def keys(page):
        return {one.key for one in page.selectbox} & {"measure", "cells", "difference"}

    assert keys(open_explore()) == set()
    assert keys(open_explore(plots="Against strength")) == {"measure"}
    assert keys(open_explore(plots="Map")) == {"measure", "cells"}
    assert keys(open_explore(plots="Per seed")) == {"difference"}


def test_link_sets_baseline_and_view(store):
    trained(store)
    page = open_explore(plots=["Map", "Per seed"], baseline="p-mGEM(4)", measure="FWD", errors="every seed", **BY_ACC)
    assert "FWD minus that of p-mGEM\\(4\\) at the same q" in texts(page)
    assert "difference to p-mGEM\\(4\\) in each of 4 shared seeds" in texts(page)
    assert "than p-mGEM\\(4\\)" in texts(page)
    assert page.selectbox(key="errors").value == "seeds"
    assert page.selectbox(key="errors").options == ["over seeds", "within seeds", "every seed", "none"]


def test_unshared_seeds_are_counted(store):
    store.submit(SPEC)
    for _ in range(3):
        train(store)
    assert "1 shared seed, 1 more in some configurations" in texts(open_explore())


def test_switching_to_an_ended_sweep_stops_reruns(store):
    """A page that reran itself endlessly would time out here."""
    trained(store)
    store.submit(SweepSpec(base={**SPEC.base, "seed": 7}, grid={"modules": [1, 2]}), "another")
    while store.counts()["queued"]:
        train(store)
    page = open_explore(sweep="s1")
    page.query_params["sweep"] = "s2"
    page.run()
    assert not page.exception
    assert workbench(page)["source"] == "s2"
    assert button(page, "Launch")
