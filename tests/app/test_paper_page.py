"""The page Paper, without a browser."""

import json
import shutil
from urllib.parse import parse_qsl

import numpy as np
import pytest
from pages import open_page, run_page, tables, texts
from paper import paper_figures
from streamlit.testing.v1 import AppTest
from trained_store import SPEC, trained_store

from mgem_core import RunConfig
from mgem_core.analysis.aggregate import View
from mgem_core.analysis.estimate import Estimate
from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures import samples
from mgem_core.figures.paper_findings import figure_finding
from mgem_core.paper import claims, published
from mgem_core.paper.claims import Claim, Deciding, Finding
from mgem_core.paper.claims.evidence import FOLDER
from mgem_core.paper.presets import PRESETS, Preset
from mgem_core.paper.tables import FIGURES, POST_HOC, SEEDS, STRENGTHS, TABLES, sweep_of
from mgem_core.streams import Benchmark

TABLE = TABLES["table-1-permutations"]
ROWS = {row.label: row for row in TABLE.rows}


@pytest.fixture(autouse=True)
def shipped(tmp_path, monkeypatch):
    """Use an empty folder for the published results, and treat all datasets as present."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    monkeypatch.setattr(published, "FOLDER", folder)
    monkeypatch.setattr(Benchmark, "missing", lambda self, domains=(), thorough=False: "")
    return folder


def open_paper(**query) -> AppTest:
    page = open_page("paper", **query)
    assert not page.exception
    return page


def result(label, seed, acc, scale="paper", **fields):
    """Return a line of a file of results."""
    config = RunConfig(**{**TABLE.scale(scale), **ROWS[label].fields, "seed": seed, **fields}).canonical()
    R = np.full((config.tasks, config.tasks), acc)
    R[-1, :-1] -= 4
    numbers = {"acc": acc, "fwd": acc + 5.0, "bwd": -5.0, "validation_acc": acc, "seconds": 1.0, "seconds_per_step": 0.1}
    stored = json.loads(config.stored())
    return {"label": config.label, "status": "finished", **numbers, "matrix": R.tolist(), "pairs": {}, "config": stored}


def shown(page) -> dict[str, dict[str, dict[str, object]]]:
    """Return the cells of the table by method."""
    (table,) = [one for one in page.get("bidi_component") if one.proto.component_name == "table"]
    return {row["key"]: row["cells"] for row in json.loads(json.loads(table.proto.json))["rows"]}


def claims_shown(page) -> list[dict[str, object]]:
    """Return the rows of the table of claims."""
    (table,) = [one for one in page.get("bidi_component") if one.proto.component_name == "claims"]
    return json.loads(table.proto.json)["rows"]


def finish(store, spec, acc) -> None:
    """Submit a sweep and finish its runs with this ACC plus their seed."""
    store.submit(spec)
    with store.database.transaction() as db:
        values = "status = 'finished', fwd = 85, bwd = 0, validation_acc = 50, matrix = '[[90, 9], [85, 8]]', seconds = 60"
        db.execute(f"UPDATE runs SET {values}, acc = ? + json_extract(config, '$.seed')", (acc,))


def test_paper_published_and_user_results_are_compared(store, shipped):
    published.append(shipped / f"{TABLE.name}.jsonl", [result("GEM", seed, 83.0 + 0.1 * seed) for seed in range(5)])
    finish(store, SweepSpec(base={**TABLE.paper, **ROWS["GEM"].fields, "strength": 1.0}, grid={"seed": [0, 1]}), 80.0)
    page = open_paper()
    ours = shown(page)
    assert list(ours) == [row.label for row in TABLE.rows]  # one row per method
    assert ours["GEM"]["acc_paper"]["text"] == "80.54 ± 0.09"
    assert ours["GEM"]["acc"]["text"] == "83.20 ± 0.07"
    assert ours["GEM"]["acc_difference"] == {"text": "+2.66 ± 0.11", "value": pytest.approx(2.66), "bold": True}
    assert ours["GEM"]["forgetting"] == {"text": "4.00 ± 0.00", "value": pytest.approx(4)}
    assert (ours["EWC"]["acc"]["text"], ours["EWC"]["forgetting"]["text"]) == ("—", "—")
    assert POST_HOC in words_of(page)
    assert "ACC differs significantly from the paper's in 1 of 1 row; differences are from +2.7 to +2.7" in words_of(page)
    yours = shown(open_paper(numbers="your runs"))
    assert yours["GEM"]["acc_paper"]["text"] == "80.54 ± 0.09"
    assert yours["GEM"]["acc"]["text"] == "80.50 ± 0.50"
    assert yours["GEM"]["acc_difference"]["bold"] is False
    assert yours["GEM"]["forgetting"]["text"] == "5.00 ± 0.00"
    assert yours["GEM"]["q"]["text"] == "1"


def test_page_opens_on_the_scale_that_has_results(store, shipped):
    assert scale_of(open_paper()) == "paper"  # there are none
    published.append(shipped / f"{TABLE.name}.jsonl", [result("GEM", 0, 83.0, "short")])
    assert scale_of(open_paper()) == "short"
    assert scale_of(open_paper(scale="paper")) == "paper"  # a link decides
    assert scale_of(open_paper(scale="nonsense")) == "short"
    page = open_paper()
    page.selectbox(key="table").set_value("table-2-digit-five").run()
    assert scale_of(page) == "paper"
    page.selectbox(key="table").set_value(TABLE.name).run()
    assert scale_of(page) == "short"


def test_page_opens_on_the_scale_of_the_users_runs_if_no_results_come_with_the_tool(store):
    finish(store, SweepSpec(base={**TABLE.short, **ROWS["GEM"].fields}, grid={"seed": [0]}), 80.0)
    page = open_paper()
    assert scale_of(page) == "short"
    assert shown(page)["GEM"]["acc"]["text"] == "80.00"


def scale_of(page) -> str:
    return next(one.value for one in page.button_group if one.key == "scale")


def words_of(page) -> str:
    return texts(page).replace("\\", "")


def test_single_seed_has_no_error_and_no_verdict(store, shipped):
    published.append(shipped / f"{TABLE.name}.jsonl", [result("GEM", 0, 10.0)])
    cell = shown(open_paper())["GEM"]["acc_difference"]
    assert (cell["text"], cell["bold"]) == ("−70.54", False)


def test_short_scale_is_explained_and_marks_no_difference(store, shipped):
    lines = [result("GEM", seed, 10.0 + seed, "short") for seed in (0, 1)]
    published.append(shipped / f"{TABLE.name}.jsonl", lines)
    words = texts(open_paper(scale="paper"))
    assert TABLE.cut not in words
    assert "This version has no results at this scale. There are some at the other scale." in words
    page = open_paper(scale="short")
    assert TABLE.cut in texts(page)
    assert shown(page)["GEM"]["acc_difference"]["bold"] is False
    assert "these differences are not tested" in texts(page)
    assert "no results at this scale" not in texts(page)


def test_rows_are_compared_with_gem_within_seeds(store, shipped):
    """All seeds have all strengths: the first chooses the strength, and the others are compared."""
    lines = [
        result(label, seed, 80.0 + 3 * seed + more + q, strength=q)
        for label, more in (("GEM", 0.0), ("d-GEM", 0.5))
        for seed in SEEDS
        for q in STRENGTHS
    ]
    published.append(shipped / f"{TABLE.name}.jsonl", lines)
    words = texts(open_paper()).replace("\\", "")
    assert "ACC minus that of GEM in the same seeds, ours; each row at the settings" in words
    assert "More ACC than GEM: d-GEM +0.50 (95 % CI +0.50 to +0.50, 4 seeds)." in words


def test_every_table_shows_its_printed_numbers(store):
    for table in TABLES.values():
        page = open_paper(table=table.title)
        assert list(shown(page)) == [row.label for row in table.rows]
        assert not table.rows[0].acc or f"{table.rows[0].acc.mean:.2f}" in tables(page)


def test_table_is_exported_without_choices_of_a_page(store):
    page = open_paper()
    page.button(key=f"export of {TABLE.name} paper").click()
    run_page(page)
    assert [one.proto.label for one in page.get("download_button")] == ["CSV", "LaTeX", "JSON", "Parquet"]
    assert not page.code
    assert not page.get("image")


def test_contradictory_numbers_are_marked_and_explained(store):
    page = open_paper()
    cells = shown(page)
    flagged = [key for key in cells if cells[key]["method"]["text"].endswith("†")]
    assert flagged == ["approx-GEM(4,1)", "approx-GEM(4,2)"]
    assert "81.17, but the paper prints" in texts(page)


def test_chosen_settings_and_validation_seeds_are_named(store, shipped):
    lines = [result("GEM", 0, acc, strength=q) for acc, q in ((70.0, 0.3), (80.0, 1.0))]
    published.append(shipped / f"{TABLE.name}.jsonl", [*lines, result("GEM", 1, 81.0, strength=1.0)])
    page = open_paper()
    sentence = "GEM, ours: strength 1, learning rate 0.1: chosen among 2 configurations by validation on seed 0"
    assert sentence in texts(page).replace("\\", "")
    assert shown(page)["GEM"]["seeds"]["text"] == "1"


def press(page, label):
    """Press the button of a row."""
    page.session_state["to run"] = f"{label} of a table", sweep_of(TABLE, "short", [ROWS[label]]), None
    return run_page(page)


def button(page, label):
    return next(one for one in page.button if one.label == label)


def test_every_method_has_one_run_button(store):
    assert [row["run"]["label"] for row in shown(open_paper()).values()] == [f"Run {row.label}" for row in TABLE.rows]


def test_run_button_launches_the_row_and_shows_it_on_explore(store):
    runs = len(sweep_of(TABLE, "short", [ROWS["GEM"]]).runs())
    page = press(open_paper(), "GEM")
    assert f"**{runs} runs**" in texts(page)
    assert not store.sweeps()
    button(page, "Launch").click().run()
    assert not page.exception
    assert store.counts(1)["queued"] == runs
    assert {run["config"]["benchmark"] for run in store.run_records()} == {"mnist-permutations"}
    assert page.query_params["sweep"] in ("s1", ["s1"])
    assert f"GEM of a table launched: {runs} runs" in page.toast[0].value


def test_existing_sweep_with_the_same_runs_is_shown(store):
    store.submit(sweep_of(TABLE, "short", [ROWS["GEM"]]))
    page = press(open_paper(), "GEM")
    button(page, "Launch").click().run()
    assert len(store.sweeps()) == 1
    assert "has exactly these runs already" in page.toast[0].value


def test_whole_table_can_be_launched(store):
    page = open_paper(scale="short")
    button(page, "Run this table").click().run()
    runs = len(sweep_of(TABLE, "short").runs())
    assert f"**{runs} runs**" in texts(page)


def test_runs_of_several_hours_must_be_confirmed(store, monkeypatch):
    monkeypatch.setattr("explore.launch.estimate", lambda *arguments: Estimate(20, 0, 2 * 3600.0))
    page = press(open_paper(), "GEM")
    assert button(page, "Launch").disabled
    page.checkbox[0].check().run()
    assert not button(page, "Launch").disabled


def test_missing_data_is_reported_and_disables_launching(store, monkeypatch):
    sentence = "mnist-permutations needs MNIST, which is not there; get it with: mgem data fetch mnist."
    monkeypatch.setattr(Benchmark, "missing", lambda self, domains=(), thorough=False: sentence)
    page = open_paper()
    assert [one.value.replace("\\", "") for one in page.warning][:1] == [sentence]
    assert button(page, "Run this table").disabled
    assert all(row["run"].get("disabled", True) for row in shown(page).values())
    assert button(press(page, "GEM"), "Launch").disabled


def test_figure_without_results_offers_its_preset(store, monkeypatch):
    monkeypatch.setitem(PRESETS, "figure-2", Preset("Figure 2", "its runs", SPEC))
    monkeypatch.delitem(PRESETS, "figure-3", raising=False)
    page = open_paper(figure="Figure 3")
    assert "This version has no results for this figure." in texts(page)
    assert "run figure-3" not in [one.key for one in page.button]
    page = open_paper(figure="Figure 2")
    assert "This version has no results for this figure." in texts(page)
    page.button(key="run figure-2").click().run()
    assert "**4 runs**" in texts(page)


def test_figures_are_drawn_from_published_results(store, shipped, tmp_path):
    trained = trained_store(tmp_path / "trained" / "runs.db")
    for name in ("figure-2", "figure-3", "figure-4"):
        published.append(shipped / f"{name}.jsonl", published.pack(trained))
    scale = "Ours: MNIST Permutations (5,000 digits), 2 tasks × 5 steps × 10 images, memory 20, learning rate 0.1, "
    scale += "steps restricted only on conflict."
    for name, figure in [*FIGURES.items()][:-1]:  # Figure 5 has images
        page = open_paper(figure=figure.title.partition(" · ")[0])
        assert len([one for one in page.get("bidi_component") if one.proto.component_name == "plot"]) == 1
        words = words_of(page)
        assert "no results for this figure" not in words
        assert words.count(scale) == (name != "figure-1")
        assert figure_finding(name) in words
        page.button(key=f"export of {name}").click()
        run_page(page)
        assert "PDF" in [one.proto.label for one in page.get("download_button")]
        assert page.get("image")
        assert rf"\label{{fig:{name}}}" in page.code[0].value
    page = open_paper(figure="Figure 2")
    assert "old task s = 1, new task t = 2" in words_of(page)
    raw = next(one for one in page.button_group if one.key == "axes of figure-2")
    raw.set_value("raw").run()
    assert not page.exception


def test_differences_of_figure_2_are_known_on_the_other_axes(shipped):
    shutil.copy(FOLDER / "figure-2.jsonl", shipped)
    unit, raw = (paper_figures.draw("figure-2", 0, View(axes=axes)).verdicts for axes in ("unit", "raw"))
    assert [one.other_axes for one in (*unit, *raw)] == ["raw"] * len(unit) + ["unit"] * len(unit)
    assert [one.at_equal_x for one in unit] == [one.at_equal_x_other for one in raw]


def test_images_of_domains_are_read_on_request(store, monkeypatch):
    strip = samples.Strip("Digit-Five", "MNIST", np.zeros((28, 28, 3), np.uint8))
    monkeypatch.setattr(samples, "strips", lambda: [strip])
    page = open_paper(figure="Figure 5")
    assert not page.get("image")
    next(one for one in page.button if one.label == "Show images").click().run()
    assert not page.exception
    assert "**Digit-Five**" in texts(page)
    assert page.get("image")


def test_restriction_at_every_step_is_mentioned(store, shipped, tmp_path):
    spec = SweepSpec(base={**SPEC.base, "trigger": "always", "strength": 1.0})
    published.append(shipped / "figure-2.jsonl", published.pack(trained_store(tmp_path / "trained" / "runs.db", spec)))
    assert "learning rate 0.1, every step restricted." in texts(open_paper()).replace("\\", "")


def test_figure_without_probes_is_explained(store, shipped, tmp_path):
    spec = SweepSpec(base={**SPEC.base, "probe_every": 0})
    published.append(shipped / "figure-2.jsonl", published.pack(trained_store(tmp_path / "trained" / "runs.db", spec)))
    assert "Nothing to show yet: no run has probed task 1 in task 2" in texts(open_paper()).replace("\\", "")


def test_claims_come_first_with_verdict_number_and_link(store, monkeypatch):
    finding = Finding("not tested", Deciding("+0.1", "points", "figure-3"), {"ACC": 0.1}, ("ACC +0.1 ± 0.2",))
    claim = Claim("Splits help.", "Table 1", lambda: finding, lambda: ())
    monkeypatch.setattr(claims, "findings", lambda: [(claim, finding)])
    page = open_paper()
    kinds = [one.proto.component_name for one in page.get("bidi_component")]
    assert kinds.index("claims") < kinds.index("table")
    [row] = claims_shown(page)
    assert (row["claim"], row["verdict"], row["value"], row["place"]) == (
        "1. Splits help.",
        "not tested",
        "+0.1",
        "Figure 3",
    )
    assert row["sentences"] == ["ACC +0.1 ± 0.2"]
    assert "1 claim: 1 not tested." in texts(page)


def test_all_claims_are_shown(store):
    rows = claims_shown(open_paper())
    assert [row["verdict"] for row in rows] == [finding.verdict for _, finding in claims.findings()]
    assert all(row["place"] for row in rows if row["shownIn"])


def open_test(name) -> AppTest:
    """Press *Test it* of a claim."""
    page = open_paper()
    page.session_state["claim to test"] = name
    return run_page(page)


def test_claim_is_tested_by_a_sweep(store):
    page = open_test("mgem_beats_gem")
    assert [experiment.title for experiment in by_name()["mgem_beats_gem"].experiments()] == page.radio[0].options
    spec = by_name()["mgem_beats_gem"].experiments()[0].spec
    assert f"**{len(spec.runs())} runs**" in texts(page)
    assert not store.sweeps()
    button(page, "Launch").click().run()
    assert not page.exception
    [sweep] = store.sweeps()
    assert (sweep["name"], sweep["queued"]) == ("Claim 4 · Built-in digits", len(spec.runs()))
    assert page.query_params["sweep"] in ("s1", ["s1"])


def test_claim_is_tested_by_the_finished_example(store):
    page = open_test("better_frontier")
    button(page, "Open").click().run()
    assert not page.exception
    assert page.query_params["of"] in ("example", ["example"])


@pytest.mark.parametrize("name", [claim.name for claim in claims.CLAIMS])
def test_every_claim_has_a_test_that_works(store, name):
    page = open_test(name)
    geometry = [one for one in page.get("bidi_component") if one.proto.component_name == "geometry"]
    if not geometry:
        title, (first, *_) = by_name()[name].claim, by_name()[name].experiments()
        assert title in words_of(page)
        assert not button(page, "Launch" if first.spec else "Open").disabled or page.checkbox  # to confirm hours
    else:
        assert not page.warning  # the link can be read
        [experiment] = by_name()[name].experiments()
        assert dict(parse_qsl(experiment.address.partition("?")[2])).items() <= dict(page.query_params).items()


def by_name() -> dict[str, Claim]:
    return {claim.name: claim for claim in claims.CLAIMS}


def test_figure_names_exist():
    assert all(figure.shown_by in paper_figures.FIGURES for figure in FIGURES.values() if figure.shown_by)
