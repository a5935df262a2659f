"""The first page in the browser: the lens, its link to Explore, and old addresses."""

import pytest
from filled_store import known_store
from people import open_address
from playwright.sync_api import Page, expect
from test_lens_drawn import IS_SOLVED, drag_slider

pytestmark = pytest.mark.slow


def path_of(page: Page) -> str:
    return str(page.evaluate("location.pathname"))


def test_lens_works_before_any_training(page, server):
    open_address(page, server)
    page.wait_for_function(IS_SOLVED)
    assert len(drag_slider(page, "Strength", 1)) > 5
    page.get_by_role("button", name="Train your own: Explore", exact=True).click()
    expect(page.get_by_role("button", name="Run the quick look")).to_be_visible()
    assert path_of(page) == "/explore"
    page.reload()
    expect(page.get_by_role("button", name="Run the quick look")).to_be_visible()
    expect(page.get_by_text("Page not found")).to_have_count(0)


def test_lens_address(page, server):
    open_address(page, f"{server}/lens?of=example")
    page.wait_for_function(IS_SOLVED)
    expect(page.get_by_text("Page not found")).to_have_count(0)
    assert page.get_by_test_id("stTopNavLink").all_inner_texts().count("Lens") == 1


def test_old_explore_link_opens_the_same_view(page, server, home):
    known_store(home / "runs.db")
    open_address(page, f"{server}/?sweep=s1&axes=cosine&plots=Transfer&plots=Map")
    page.wait_for_function("location.pathname === '/explore'")
    for name in ("Transfer", "Map"):
        expect(page.get_by_test_id("stMain").get_by_text(name, exact=True).last).to_be_visible()
    expect(page.get_by_role("radio", name="cosine").or_(page.get_by_role("button", name="cosine")).first).to_be_visible()
    query = page.evaluate("Object.fromEntries(new URLSearchParams(location.search))")
    assert (query["sweep"], query["axes"]) == ("s1", "cosine")
    page.get_by_role("button", name="Share", exact=True).click()
    shared = page.get_by_test_id("stPopoverBody").get_by_text("/explore?")
    expect(shared).to_contain_text("sweep=s1")
    expect(shared).to_contain_text("plots=Transfer&plots=Map")
