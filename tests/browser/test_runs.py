"""The page Runs in a browser: find, open, compare, rename, delete, and more like this."""

import re

import pytest
from filled_store import fill
from people import check_accessibility, open_address, press, wait_until_still
from playwright.sync_api import expect

from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store

pytestmark = pytest.mark.slow
SPEC = SweepSpec(
    base={"tasks": 3, "iterations": 50, "memory": 100},
    grid=[{"modules": [1, 4], "strength": [0.1, 0.5], "seed": [0, 1]}, {"method": ["single"], "seed": [0, 1]}],
)


@pytest.fixture(scope="module")
def store(home):
    """Two ended sweeps with ten runs, of which one failed."""
    store = Store(home / "runs.db")
    store.submit(SPEC, "The first")
    fill(store)
    store.submit(SweepSpec(base={"device": "cuda:7", "tasks": 2}), "No *such* device")
    store.end(store.claim()[0], "failed", "device is 'cuda:7', but this machine has 0 CUDA devices; use cpu or auto.")
    return store


def test_link_restores_search_run_and_comparison(page, server, store, browser):
    open_address(page, f"{server}/runs")
    rows = page.locator(".configurations").first.locator("tbody tr")
    expect(rows).to_have_count(11)
    page.get_by_role("searchbox").or_(page.get_by_role("textbox", name=re.compile("Find"))).first.fill("p-mGEM")
    page.keyboard.press("Enter")
    expect(rows).to_have_count(4)
    rows.nth(0).click()
    expect(page.get_by_role("heading", name=re.compile(r"p-mGEM\(4\)"))).to_be_visible()
    rows.nth(1).click()
    expect(page.get_by_role("heading", name="2 runs")).to_be_visible()
    page.wait_for_function("document.querySelectorAll('.plot').length >= 5")
    compared = page.locator(".configurations").nth(1)
    expect(compared.locator("tbody tr")).to_have_count(2)
    link = page.evaluate("location.href")
    assert "find=p-mGEM" in link

    other = browser.new_context(viewport={"width": 1280, "height": 1250}).new_page()
    open_address(other, link)
    expect(other.get_by_role("heading", name="2 runs")).to_be_visible()
    expect(other.locator(".configurations").nth(1).locator("tbody tr")).to_have_count(2)
    other.context.close()


def test_click_on_a_column_header_sorts(page, server, store):
    open_address(page, f"{server}/runs")
    head = page.locator(".configurations th", has_text="method")
    wait_until_still(page)
    head.click(position={"x": head.bounding_box()["width"] - 3, "y": 3})
    expect(head).to_have_attribute("aria-sort", "ascending")
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")


def test_filter_is_restored_on_return(page, server, store):
    open_address(page, f"{server}/runs")
    rows, failed = page.locator(".configurations tbody tr"), page.get_by_role("button", name="failed", exact=True)
    failed.click()
    expect(rows).to_have_count(1)
    page.get_by_role("link").get_by_text("Explore", exact=True).click()
    expect(page.get_by_text("What to run")).to_be_visible()
    page.wait_for_function("location.search.includes('sweep=')")
    wait_until_still(page)
    for _ in range(4):  # Streamlit has its own entries in the history
        if "/runs" in page.evaluate("location.pathname"):
            break
        page.go_back()
        page.wait_for_timeout(1000)
    expect(failed).to_have_attribute("aria-pressed", "true")
    expect(rows).to_have_count(1)


def test_more_like_this_fills_the_form(page, server, store):
    run = store.database.rows("SELECT id FROM runs WHERE label = 'p-mGEM(4)' ORDER BY id DESC LIMIT 1")[0][0]
    open_address(page, f"{server}/runs?runs=r{run}")
    press(page, "More like this")
    expect(page.get_by_text("What to run")).to_be_visible()
    panel = page.get_by_test_id("stSidebarUserContent")
    expect(panel.get_by_role("button", name="p-mGEM", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(panel.get_by_role("button", name="GEM", exact=True)).to_have_attribute("aria-pressed", "false")
    expect(panel.get_by_text("1 recording + 1 run")).to_be_visible()


def test_failed_run_shows_its_error_and_names_are_escaped(page, server, store):
    open_address(page, f"{server}/runs?runs=r11")
    expect(page.get_by_text("device is 'cuda:7', but this machine has 0 CUDA devices")).to_be_visible()
    open_address(page, f"{server}/runs?list=Sweeps")
    expect(page.get_by_text("No *such* device", exact=True)).to_be_visible()


def test_sweep_is_renamed_and_deleted_after_confirmation(page, server, store):
    sweep = store.submit(SweepSpec(base={"tasks": 2}, grid={"seed": [41, 42]}), "Short-lived")
    store.cancel(store.run_ids(sweep))
    open_address(page, f"{server}/runs?list=Sweeps")
    page.locator(f"tr[data-key=s{sweep}]").click()
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("textbox", name=re.compile("[Nn]ame")).last.fill("Renamed")
    page.keyboard.press("Enter")
    expect(page.locator(f"tr[data-key=s{sweep}]")).to_contain_text("Renamed")
    assert store.database.rows("SELECT name FROM sweeps WHERE id = ?", sweep)[0][0] == "Renamed"

    expect(page.get_by_role("textbox", name="New name")).to_have_count(0)  # the menu has closed
    wait_until_still(page)
    page.get_by_role("button", name="Delete").first.click()
    assert store.run_ids(sweep), "nothing may be deleted before the confirmation"
    page.get_by_test_id("stPopoverBody").get_by_role("button").last.click()
    expect(page.locator(f"tr[data-key=s{sweep}]")).to_have_count(0)
    assert not store.run_ids(sweep)
    assert store.counts()["finished"] == 10


@pytest.mark.parametrize(("scheme", "width"), [("dark", 1280), ("light", 390)])
@pytest.mark.parametrize("address", ["runs?runs=r1,r2", "runs?list=Sweeps"])
def test_accessibility(browser, server, store, address, scheme, width):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = open_address(context.new_page(), f"{server}/{address}")
    page.locator(".configurations tbody tr").first.wait_for()
    wait_until_still(page)
    check_accessibility(page)
    context.close()


def test_touch_scrolls_the_page_and_no_buttons_cover_a_plot(browser, server, store):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = open_address(context.new_page(), f"{server}/runs?runs=r1,r2")
    page.wait_for_function("document.querySelector('.plot')?._fullLayout")
    assert page.locator(".modebar-btn").count() == 0
    assert page.evaluate("document.querySelector('.plot')._fullLayout.dragmode") is False
    context.close()
