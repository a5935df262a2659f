"""The page Paper in a browser: read a table, run a row, export a file."""

import math
import re
import shutil

import pytest
from people import check_accessibility, open_address, press, wait_until_still
from playwright.sync_api import expect

from mgem_core.paper.claims import findings
from mgem_core.paper.tables import SHORT_SEEDS, TABLES
from mgem_core.store import Store
from mgem_core.streams import mnist

pytestmark = pytest.mark.slow


def test_table_is_shown_and_exported_and_missing_data_is_named(page, server):
    open_address(page, f"{server}/paper?scale=short")
    rows = page.locator(".configurations tbody tr")
    expect(rows.filter(has_text="80.54 ± 0.09")).to_have_count(1)
    expect(page.get_by_text("mgem data fetch mnist")).to_be_visible()
    expect(page.get_by_role("button", name="Run GEM", exact=True)).to_be_disabled()
    expect(page.get_by_role("button", name="Run this table", exact=True)).to_be_disabled()
    wait_until_still(page)
    page.get_by_role("button", name="Export").first.click()
    with page.expect_download() as download:
        page.get_by_role("button", name="LaTeX", exact=True).first.click()
    assert download.value.suggested_filename == "table-1-permutations_short.tex"
    assert r"$80.54 \pm 0.09$" in download.value.path().read_text()


@pytest.fixture
def mnist_files(home, monkeypatch):
    """Files of the right names, sizes and headers for the server: it takes them for MNIST. All digits are black zeros."""
    monkeypatch.setenv("MGEM_DATA", str(home / "no-data"))
    mnist.folder().mkdir(parents=True)
    for name, shape in mnist.files().items():
        with (mnist.folder() / name).open("wb") as file:
            file.write(mnist.header(shape))
            file.truncate(len(mnist.header(shape)) + math.prod(shape))
    yield
    shutil.rmtree(home / "no-data")


@pytest.mark.usefixtures("mnist_files")
def test_row_is_launched_after_confirmation_and_shown_on_explore(page, server, home):
    open_address(page, f"{server}/paper?scale=short")
    press(page, "Run Single")
    question = page.get_by_role("dialog")
    expect(question.get_by_text(re.compile(f"^{len(SHORT_SEEDS)} runs"))).to_be_visible()
    page.keyboard.press("Escape")
    expect(question).to_have_count(0)
    press(page, "Run Single")
    question.get_by_role("button", name="Launch", exact=True).click()
    expect(page.get_by_text("What to run")).to_be_visible()
    page.wait_for_function("location.search.includes('sweep=s1')")
    store = Store(home / "runs.db")
    store.cancel(store.run_ids(1))
    assert {record["config"]["method"] for record in store.run_records()} == {"single"}


def claim(page, name):
    return page.locator(f"tr[data-claim={name}]")


def test_reader_finds_the_evidence_of_a_claim(page, server):
    [finding] = [found for one, found in findings() if one.name == "mgem_beats_gem"]
    table = TABLES[finding.deciding.shown_in]
    [gem] = [one.acc for one in table.rows if one.label == "GEM"]
    open_address(page, f"{server}/paper")
    row = claim(page, "mgem_beats_gem")
    expect(row.locator(".verdict")).to_contain_text(finding.verdict)
    expect(row.locator(".number")).to_contain_text(finding.deciding.value)
    wait_until_still(page)
    row.locator(".claim").click()
    expect(page.locator("#claim-mgem_beats_gem")).to_contain_text("comparisons of this claim")
    row.get_by_role("button", name=re.compile(f"^{table.title}")).click()
    expect(page.locator(".configurations tbody tr").filter(has_text=f"{gem.mean:.2f} ± {gem.error:.2f}")).to_have_count(1)
    page.wait_for_function("Math.abs(document.getElementById('tables').getBoundingClientRect().top) < 200")
    expect(page.locator("#claim-mgem_beats_gem")).to_be_visible()
    claim(page, "architectures").get_by_role("button", name=re.compile("^Figure 4")).click()
    expect(page.get_by_role("tab", name="Figure 4")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text("No ACC is above chance")).to_be_visible()
    page.wait_for_function("location.search.includes('figure=')")


def test_link_unfolds_the_same_claims(page, server):
    open_address(page, f"{server}/paper?figure=Figure+3")
    for name in ("raises_acc", "architectures"):
        claim(page, name).locator(".claim").click()
    page.wait_for_function("new URLSearchParams(location.search).get('claim') === 'raises_acc,architectures'")
    page.get_by_role("tab", name="Figure 1").click()
    page.wait_for_function("location.search.includes('Figure+1')")
    claim(page, "raises_acc").locator(".claim").click()
    page.wait_for_function("location.search.includes('claim=architectures')")
    open_address(page, page.url)
    expect(page.locator("#claim-architectures")).to_be_in_viewport()
    expect(page.locator("#claim-raises_acc")).to_be_hidden()
    expect(page.get_by_role("tab", name="Figure 1")).to_have_attribute("aria-selected", "true")


def test_reader_tests_a_claim(page, server):
    open_address(page, f"{server}/paper")
    claim(page, "mgem_beats_gem").wait_for()
    wait_until_still(page)
    claim(page, "mgem_beats_gem").get_by_role("button", name=re.compile("^Test it")).click()
    question = page.get_by_role("dialog")
    expect(question.get_by_text(re.compile("^96 runs"))).to_be_visible()
    page.keyboard.press("Escape")
    expect(question).to_have_count(0)
    wait_until_still(page)
    claim(page, "proposition_2_splits").get_by_role("button", name=re.compile("^Test it")).click()
    expect(page.locator(".geometry .words")).to_contain_text("⟨ĝₛ,z⟩ is 0.50 with d-mGEM(2) and 1.50 with GEM")


def test_every_figure_is_a_tab_of_which_only_one_is_drawn(page, server):
    open_address(page, f"{server}/paper?figure=Figure+3")
    expect(page.get_by_role("tab", name="Figure 3")).to_have_attribute("aria-selected", "true")
    page.wait_for_function("document.querySelectorAll('.plot .main-svg').length > 0")
    wait_until_still(page)
    assert page.locator(".plot:has(.main-svg)").count() == 1
    page.get_by_role("tab", name="Figure 1").click()
    expect(page.get_by_text("Here GEM allows")).to_be_visible()


@pytest.mark.parametrize(("scheme", "width"), [("dark", 1280), ("light", 390)])
def test_accessibility(browser, server, scheme, width):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = open_address(context.new_page(), f"{server}/paper")
    page.locator(".configurations tbody tr").first.wait_for()
    wait_until_still(page)
    claim(page, "raises_acc").locator(".claim").click()
    check_accessibility(page)
    page.get_by_role("button", name="Export", exact=True).last.click()
    page.get_by_role("dialog").get_by_role("button", name="PDF", exact=True).wait_for()
    wait_until_still(page)
    check_accessibility(page)
    context.close()
