"""What was trained with settings of the lens appears beside what it predicts."""

import re

import numpy as np
import pytest
from people import open_address, wait_until_still
from playwright.sync_api import expect
from trained_store import trained_store

from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store

pytestmark = pytest.mark.slow
LENS = "document.querySelector('.lens').lens"
RECORDED = SweepSpec(
    base={"tasks": 2, "iterations": 6, "memory": 12, "probe_every": 2, "snap_every": 2, "snap_splits": 2, "strength": 0.5},
    grid={"seed": [0, 1]},
)
TRAINED = re.compile(r"Trained: (\S+), (\S+) \(2 seeds\); predicted at the recorded steps: (\S+), (\S+)\.")


@pytest.fixture(scope="module")
def recorded(home):
    store = trained_store(home / "runs.db", RECORDED)
    store.close()


@pytest.fixture
def lens(page, recorded, server):
    page.received = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: page.received.append(len(frame))))
    open_address(page, f"{server}/lens?of=r1")
    page.wait_for_function(f"document.querySelector('.lens')?.lens?.trained.length && !{LENS}.frame")
    return wait_until_still(page)


def numbers_in(text):
    return [float(number.replace("−", "-")) for number in TRAINED.search(text).groups()]


def star(page):
    return page.locator(".lens path.measured").get_attribute("transform")


def test_prediction_equals_measurement_for_the_recorded_settings(lens):
    lens.get_by_label("Splits", exact=True).fill("0")
    for axes in ("per ‖z‖", "raw", "cosine"):
        lens.get_by_role("button", name=axes, exact=True).click()
        lens.wait_for_function(f"!{LENS}.frame")
        x, y, predicted_x, predicted_y = numbers_in(lens.locator(".lens .words").inner_text())
        assert (x, y) == (predicted_x, predicted_y)
        assert star(lens) == lens.locator(".lens circle.marker").get_attribute("transform")
    lens.get_by_label("To step", exact=True).fill("0")
    lens.wait_for_function(f"!{LENS}.frame")
    again = numbers_in(lens.locator(".lens .words").inner_text())
    assert again[:2] == again[2:] != [x, y]
    lens.get_by_label("Strength", exact=True).fill("0.9")
    expect(lens.locator(".lens .words")).not_to_contain_text("Trained:")
    expect(lens.locator(".lens path.measured")).to_be_hidden()


def test_train_this_shows_progress_and_then_the_point(lens, home):
    words = lens.locator(".lens .words")
    lens.get_by_label("Splits", exact=True).fill("1")
    lens.get_by_label("Strength", exact=True).fill("0.6")
    lens.evaluate(f"window.kept = {LENS}, window.state = JSON.stringify({LENS}.state)")
    largest = max(lens.received)
    lens.received.clear()
    lens.get_by_role("button", name="Train this", exact=True).click()
    lens.get_by_role("dialog").get_by_role("button", name="Launch", exact=True).click()
    expect(words).to_contain_text(re.compile("of 2 seeds (waiting to be trained|still training) with these settings"))
    expect(words).to_contain_text("(2 seeds); predicted at the recorded steps", timeout=180_000)
    wait_until_still(lens)
    assert lens.evaluate(f"window.kept === {LENS} && window.state === JSON.stringify({LENS}.state)")
    assert max(lens.received) < largest / 4  # the recorded steps were not sent again

    store = Store(home / "runs.db")
    runs = [one["id"] for one in store.run_records() if one["config"].get("splits") == 2]
    probes = {run: [data for _, _, data in store.events([run], ["Probed"])] for run in runs}
    store.close()
    means = [
        np.mean([[p["gs_z"][0] / p["norm_z"], p["gt_z"] / p["norm_z"]] for p in one], axis=0) for one in probes.values()
    ]
    assert len(means) == 2
    np.testing.assert_allclose(numbers_in(words.inner_text())[:2], np.mean(means, axis=0), atol=6e-4)
    assert lens.locator(".lens .measured-seeds path").count() == 2
    before = star(lens)

    lens.reload()
    lens.wait_for_function(f"document.querySelector('.lens')?.lens?.trained.length && !{LENS}.frame")
    wait_until_still(lens)
    lens.get_by_label("Trained settings").select_option("0")
    expect(words).to_contain_text("(2 seeds); predicted at the recorded steps")
    assert star(lens) == before


def test_choosing_trained_settings_sets_every_control(lens):
    other = {"name": "other", "moduleOf": [0, 0, 1, 1, 1, 1], "splits": 2, "strength": 1.0, "solver": "approx"}
    runs = [{"seed": 0, "status": "finished", "tasks": []}]
    lens.evaluate(
        f"(one) => {LENS}.setTrained({{ source: {LENS}.data.source, configurations: [one] }})",
        {**other, "trigger": "always", "runs": runs},
    )
    lens.get_by_label("Trained settings").select_option("0")
    expect(lens.get_by_label("Solver", exact=True)).to_have_value("approx")
    expect(lens.get_by_label("Restrict", exact=True)).to_have_value("always")
    expect(lens.locator(".lens .words")).to_contain_text("2 modules, 2 splits")


def test_diverged_failed_and_running_seeds_are_counted(lens):
    words = lens.locator(".lens .words")
    tell = f"""(statuses) => {{
        const {{ moduleOf, splits, q, solver, trigger }} = {LENS}.state;
        const runs = statuses.map((status, seed) => ({{ seed, status, tasks: [] }}));
        const configurations = [{{ name: "these", moduleOf, splits, strength: q, solver, trigger, runs }}];
        {LENS}.setTrained({{ source: {LENS}.data.source, configurations }});
    }}"""
    lens.evaluate(tell, ["diverged", "failed"])
    expect(words).to_contain_text("1 of 2 trained seeds diverged. 1 of 2 trained seeds failed; the page Runs says why.")
    lens.evaluate(tell, ["running", "queued"])
    expect(words).to_contain_text("2 of 2 seeds still training with these settings.")
    expect(lens.locator(".lens path.measured")).to_be_hidden()
    lens.evaluate(f"{LENS}.setTrained({{ source: 'other recordings', configurations: [] }})")
    expect(words).to_contain_text("still training")
