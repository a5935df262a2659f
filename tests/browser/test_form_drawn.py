"""The form in a browser: messages at their fields, Launch in view, and a reload that shows no other values."""

import re
from contextlib import suppress

import numpy as np
import pytest
from filled_store import finish
from people import open_address
from playwright.sync_api import TimeoutError, expect

from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store

pytestmark = pytest.mark.slow
# Notes every text that the field Seeds shows, from the first moment of a page.
WATCH = """
window.seen = new Set();
const look = () => {
  const field = document.querySelector('input[aria-label="Seeds"]');
  if (field) window.seen.add(field.value);
  requestAnimationFrame(look);
};
look();
"""


@pytest.fixture
def form(browser, server):
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(60_000)
    page = open_address(context.new_page(), f"{server}/explore")
    expect(launch_button(page)).to_be_visible()
    settle(page)
    yield page
    context.close()


def settle(page):
    """Wait until the script has run; the form then accepts changes."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_function("!document.querySelector('[data-stale=true]')")


def launch_button(page):
    return page.get_by_role("button", name=re.compile("^Launch"))


def type_seeds(page, text):
    field = page.get_by_role("textbox", name="Seeds")
    field.fill(text)
    field.press("Enter")
    return field


def test_typed_word_stays_with_a_message_below_it(form):
    field = type_seeds(form, "abc")
    message = form.get_by_text("Seeds: “abc” is not a whole number or a range such as 0-9.")
    expect(message).to_be_in_viewport()
    expect(field).to_have_value("abc")
    space = message.bounding_box()["y"] - field.bounding_box()["y"] - field.bounding_box()["height"]
    assert 0 <= space < 40
    expect(form.get_by_text("Correct Seeds to launch.")).to_be_in_viewport()
    expect(launch_button(form)).to_be_disabled()
    type_seeds(form, "0-9")
    expect(message).to_have_count(0)
    expect(form.get_by_text("10 recordings + 430 runs")).to_be_in_viewport()  # 43 configurations
    expect(launch_button(form)).to_be_enabled()


def test_launch_is_in_view_without_scrolling(form):
    expect(launch_button(form)).to_be_in_viewport(ratio=1)
    form.get_by_text("More settings", exact=True).click()
    expect(form.get_by_text("Training", exact=True)).to_be_visible()
    expect(launch_button(form)).to_be_in_viewport(ratio=1)


def test_reload_shows_no_other_values(form):
    type_seeds(form, "0-9")
    form.wait_for_function("sessionStorage.getItem('mgem-form')?.includes('0-9')")
    form.add_init_script(WATCH)
    form.reload()
    expect(launch_button(form)).to_be_visible()
    settle(form)
    expect(form.get_by_role("textbox", name="Seeds")).to_have_value("0-9")
    assert set(form.evaluate("[...window.seen]")) - {""} == {"0-9"}  # Streamlit adds an empty field, then its value


def test_partitions_of_a_large_network_fit_into_the_form(form):
    form.get_by_text("More settings", exact=True).click()
    network, option = form.get_by_role("combobox", name="Network"), form.get_by_role("option", name="resnet18")
    for _ in range(5):  # a run of the page, such as that of the new estimate, closes the list
        network.fill("")
        network.fill("resnet18")
        with suppress(TimeoutError):
            option.click(timeout=5000)
            break
    bar = form.get_by_role("img", name=re.compile("^4 modules: conv1.weight"))
    expect(bar).to_be_attached()
    assert bar.locator("span").count() == 62
    assert bar.evaluate("bar => bar.scrollWidth <= bar.clientWidth + 1 && bar.clientWidth < 260")


def test_estimate_follows_runs_of_other_sweeps(form, server, home):
    store = Store(home / "runs.db")
    base = {"benchmark": "mnist5k-rotations", "tasks": 2, "iterations": 10, "memory": 20}
    shown = store.submit(SweepSpec(base=base, grid={"seed": [0]}))
    store.cancel(store.run_ids(shown))
    open_address(form, f"{server}/explore?sweep=s{shown}")
    expect(form.get_by_role("textbox", name="Seeds")).to_have_value("0")
    settle(form)
    type_seeds(form, "0-1")
    expect(form.get_by_text("2 runs · ")).to_be_visible()
    other = store.submit(SweepSpec(base=base, grid={"seed": [1]}))
    run = store.claim()
    if run is not None:  # otherwise the runner of the dashboard has it already
        finish(store, run[0], R=np.full((2, 2), 80.0))
    expect(form.get_by_text("1 already finished")).to_be_visible()
    assert store.counts(other)["finished"] == 1
    form.reload()
    expect(form.get_by_role("textbox", name="Seeds")).to_have_value("0-1")
