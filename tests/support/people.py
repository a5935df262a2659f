"""Actions of a user on a page."""

from collections.abc import Iterator
from contextlib import contextmanager

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page


def open_address(page: Page, address: str) -> Page:
    """Open an address and wait until its page is shown."""
    page.goto(address)
    page.wait_for_selector("[data-testid=stApp][data-test-connection-state=CONNECTED]")
    page.locator("[data-testid=stMain] button:visible, [data-testid=stMain] label:visible").first.wait_for()
    return page


STILL = """() => document.querySelector('[data-testid=stApp][data-test-script-state=notRunning]')
    && !document.querySelector('[data-stale=true]')
    && [...document.querySelectorAll('.plot')].every((plot) => plot._fullLayout)
    && document.getAnimations().every((one) => one.playState !== 'running' || one.effect.getTiming().iterations > 1e9)
"""


def wait_until_still(page: Page) -> Page:
    """Wait until the script has run, everything is drawn and no animation is left."""
    page.wait_for_function(STILL)
    return page


def press(page: Page, name: str) -> None:
    """Press a button once the page is still; no user would be faster."""
    button = page.get_by_role("button", name=name, exact=True)
    button.wait_for()
    wait_until_still(page)
    button.click()


def check_accessibility(page: Page) -> None:
    """Check that the page fits the screen and that axe-core finds no accessibility problem."""
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "the page is wider than the screen"
    found = Axe().run(page).response["violations"]
    grave = ("serious", "critical")
    assert not [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found if one["impact"] in grave]


@contextmanager
def offline_page(browser: Browser) -> Iterator[Page]:
    """Open a page without a network, in which no script may fail."""
    context = browser.new_context(viewport={"width": 1280, "height": 1250}, offline=True)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert not errors
    context.close()
