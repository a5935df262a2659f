"""The workbench as a person uses it: read, drag, compare, train, watch, share, take away as a file."""

import re

import chaos
import pytest
from chaos import until
from people import check_accessibility, offline_page, open_address, wait_until_still
from playwright.sync_api import Page, expect

from mgem_core.config.sweeps import SweepSpec
from mgem_core.paper.published import example
from mgem_core.store import Store

pytestmark = pytest.mark.slow
LENS = "document.querySelector('.lens')?.lens"
STATE = f"{LENS}?.state"
IS_DRAWN = f"""() => {{
    const lens = {LENS};
    return lens?.state && !lens.frame && document.querySelector('.lens path.chosen').getAttribute('d');
}}"""
HAS_HEADLINE = "() => document.querySelector('.lens .headline')?.textContent"
SMALL = {"tasks": 3, "iterations": 20, "memory": 24, "probe_every": 10}
SPEC = SweepSpec(base=SMALL, grid={"splits": [1, 2], "strength": [0.3, 1.0], "seed": [0, 1, 2, 3]}).with_default_record()
# While the page is watched: the least opacity of the workbench and all around it, and how far parts of the page moved.
WATCH = """() => {
    window.watched = { opacity: 1, moved: 0, frames: 0 };
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
        if (!entry.hadRecentInput) window.watched.moved += entry.value;
    })).observe({ type: 'layout-shift' });
    const look = () => {
        for (let part = document.querySelector('.lens'); part; part = part.parentElement)
            window.watched.opacity = Math.min(window.watched.opacity, Number(getComputedStyle(part).opacity));
        window.watched.frames++;
        requestAnimationFrame(look);
    };
    look();
}"""


def drawn(page: Page) -> Page:
    page.wait_for_function(IS_DRAWN)
    page.wait_for_function(HAS_HEADLINE)
    return page


@pytest.fixture
def bench(page, server):
    drawn(open_address(page, f"{server}/?of=example"))
    return wait_until_still(page)


def marker(page: Page) -> str:
    return page.locator(".lens circle.marker").get_attribute("transform")


def drag_slider(page: Page, name: str, moves: int) -> set[str]:
    """Drag it to and fro with the mouse; return all places of the marker."""
    box = page.get_by_role("slider", name=name, exact=True).bounding_box()
    y, places = box["y"] + box["height"] / 2, set()
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    for i in range(moves):
        page.mouse.move(box["x"] + 8 + abs((i / 20) % 2 - 1) * (box["width"] - 16), y)
        page.wait_for_timeout(50)
        places.add(marker(page))
    page.mouse.up()
    return places


def test_first_page_is_full_and_movable(bench):
    expect(bench.locator(".lens .headline")).to_contain_text("at equal retention")
    expect(bench.locator(".lens .answers")).to_contain_text("d-mGEM(6) +3.8 points ACC at the best strength: significant.")
    expect(bench.locator(".lens .answers")).to_contain_text("95 % CI")
    names = {one["name"] for one in bench.evaluate(f"{LENS}.data.lines.map(({{ name }}) => ({{ name }}))")}
    assert names == {"GEM", "p-mGEM(2)", "p-mGEM(4)", "p-mGEM(6)", "d-mGEM(2)", "d-mGEM(3)", "d-mGEM(6)"}
    assert bench.locator(".lens .lines .line").count() == len(names)
    expect(bench.locator(".lens .run-table, .lens table").first.locator("tbody tr").first).to_be_visible()
    for panel in bench.locator(".lens .first > .panel").all():
        box = panel.bounding_box()
        assert box["y"] + box["height"] < 800, "the panels are above the fold"
    curve = bench.locator(".lens path.chosen").first.get_attribute("d")
    bench.evaluate("() => { document.querySelector('.lens').send = () => { window.hasSent = true; }; }")
    assert len(drag_slider(bench, "Strength", 40)) > 10
    assert bench.locator(".lens path.chosen").first.get_attribute("d") == curve
    drag_slider(bench, "Splits", 10)
    bench.get_by_role("slider", name="Splits", exact=True).press("End")
    bench.get_by_role("slider", name="Modules", exact=True).press("ArrowRight")
    assert bench.locator(".lens path.chosen").first.get_attribute("d") != curve
    strength, q = bench.get_by_role("slider", name="Strength", exact=True), 1
    bench.evaluate(f"{LENS}.change({{ q: {q} }})")  # a strength of the sweep, to which the slider snaps
    bench.wait_for_function(f"document.querySelector('[aria-label=Strength]').getAttribute('aria-valuetext') === '{q}'")
    for _ in range(3):
        strength.press("ArrowRight")
        bench.wait_for_timeout(100)
    assert bench.evaluate(f"{STATE}.q") > q
    assert not bench.evaluate("window.hasSent"), "dragging sends nothing to the server"


def test_boundaries_of_modules_can_be_moved_by_mouse_and_keyboard(bench):
    bench.get_by_role("slider", name="Modules", exact=True).fill("2")
    bench.wait_for_function(f"{STATE}.moduleOf.join('') === '001122'")
    handle = bench.get_by_role("slider", name="Boundary between modules 1 and 2")
    box, cell = handle.bounding_box(), bench.locator(".lens .cell").first.bounding_box()["width"]
    bench.mouse.move(box["x"] + box["width"] / 2, box["y"] + 5)
    bench.mouse.down()
    bench.mouse.move(box["x"] - cell, box["y"] + 5, steps=4)
    bench.mouse.up()
    assert bench.evaluate(f"{STATE}.moduleOf.join('')") == "011122"
    expect(bench.get_by_text("3, cut by hand")).to_be_visible()
    handle.press("ArrowRight")
    assert bench.evaluate(f"{STATE}.moduleOf.join('')") == "001122"


def test_address_restores_the_view(bench, server):
    bench.locator(".lens .labels text").first.click()  # which also chooses its line
    bench.get_by_role("slider", name="Splits", exact=True).fill("1")
    bench.get_by_role("tab", name="Memory against truth").click()
    bench.wait_for_function("location.search.includes('view=')")
    before = bench.evaluate(STATE)
    bench.reload()
    drawn(bench)
    assert bench.evaluate(STATE) == before
    assert (before["splits"], before["tab"]) == (2, "memory")
    bench.get_by_text("Share", exact=True).click()
    expect(bench.get_by_label("Link")).to_have_value(bench.evaluate("location.href"))


def test_hovered_line_is_highlighted_in_every_panel(bench):
    bench.locator('.lens .row[data-line="d-mGEM(3)"]').hover()
    faded = bench.locator(".lens .is-faded")
    expect(faded.first).to_be_attached()
    assert bench.locator('.lens .is-faded[data-line="d-mGEM(3)"]').count() == 0
    assert {one.get_attribute("data-line") for one in faded.all()} >= {"GEM", "d-mGEM(2)"}
    bench.mouse.move(1, 1)
    expect(faded).to_have_count(0)


def test_recordings_of_other_loops_are_opened_from_files(bench, tmp_path):
    sources, chooser = bench.get_by_label("Results to show"), bench.locator("input[type=file]")
    sources.select_option("Open recording…")
    chooser.set_input_files([example.recording_file(0), example.recording_file(1)])
    expect(bench.locator(".lens .answers")).to_contain_text("2 seeds were recorded. At least 4 seeds are needed")
    expect(bench.get_by_role("button", name="Train this", exact=True)).to_have_count(0)
    expect(bench.get_by_role("dialog")).to_have_count(0)
    other = tmp_path / "other.lens"
    other.write_text("no recording")
    sources.select_option("Open recording…")
    chooser.set_input_files(other)
    expect(bench.get_by_text("no recording of mgem, or it is damaged")).to_be_visible()
    bench.keyboard.press("Escape")
    sources.select_option("example")
    expect(bench.get_by_role("button", name="Train this", exact=True)).to_be_visible()


def test_saved_html_works_offline(bench, browser, tmp_path):
    bench.get_by_role("slider", name="Splits", exact=True).fill("1")
    bench.get_by_text("View", exact=True).click()
    bench.get_by_role("button", name="UPGrad", exact=True).click()
    with bench.expect_download() as download:
        bench.get_by_role("button", name="Save as HTML", exact=True).click()
    file = tmp_path / "lens.html"
    download.value.save_as(file)
    requests = []
    with offline_page(browser) as alone:
        alone.on("request", lambda request: requests.append(request.url))
        alone.goto(file.as_uri())
        drawn(alone)
        assert alone.evaluate(STATE) == bench.evaluate(STATE)
        assert len(drag_slider(alone, "Strength", 20)) > 5
        assert requests == [file.as_uri()]


def test_train_this_trains_exactly_the_chosen_settings(bench, home):
    bench.get_by_role("slider", name="Splits", exact=True).fill("1")
    bench.get_by_role("slider", name="Strength", exact=True).fill("0.5")
    wanted = bench.evaluate(f"Number({STATE}.q.toPrecision(3))")
    bench.get_by_role("button", name="Train this", exact=True).click()
    store = Store(home / "runs.db")
    until(lambda: store.sweeps())
    sweep = store.sweeps()[0]["id"]
    configs = [record["config"] for record in store.run_records(sweep=sweep) if not record["config"].get("snap_every")]
    assert [(one["splits"], one["strength"], one["trigger"]) for one in configs] == [(2, wanted, "violation")] * 6
    bench.wait_for_function(f"{LENS}?.data.source === 's{sweep}'")
    store.cancel(store.run_ids(sweep))


@pytest.fixture(scope="module")
def finished(server, home):
    """The id of a finished sweep with recordings."""
    store = Store(home / "runs.db")
    sweep = store.submit(SPEC, "Small")
    chaos.mgem(home, "work", "--idle", "5")
    until(lambda: store.counts(sweep)["finished"] == len(SPEC.runs()), 240)
    return sweep


def test_finished_sweep_has_curves_table_and_transfer(page, server, finished):
    drawn(open_address(page, f"{server}/?sweep=s{finished}"))
    expect(page.locator(".lens .progress-text")).to_have_text("16 of 16 runs")
    expect(page.locator(".lens .progress-more")).to_contain_text("4 of 4 recordings")
    assert page.evaluate(f"{LENS}.data.seeds") == [0, 1, 2, 3]
    expect(page.locator(".lens .headline")).to_contain_text("at equal retention")
    rows = page.locator(".lens .tab-panel tbody tr")
    expect(rows).to_have_count(5)  # GEM at 0.3, 0.5 and 1, d-mGEM(2) at 0.3 and 1
    expect(rows.first.locator("[data-column=forgetting]")).to_have_text(re.compile(r"\d ± \d"))
    rows.filter(has_text="d-mGEM(2)").last.click()
    page.wait_for_function(f"{STATE}.splits === 2 && {STATE}.q === 1")
    expect(page.locator(".lens .chosen-text")).to_contain_text("Trained with these settings: ACC")


def test_live_sweep_grows_without_flicker_and_can_be_stopped(page, server, home):
    """New data arrive by the feed: nothing fades, jumps or is reset, and a second run of the page is not needed."""
    store = Store(home / "runs.db")
    spec = SweepSpec(
        base={**SMALL, "iterations": 60}, grid={"splits": [1, 2, 3], "strength": [0.1, 1.0, 3.0], "seed": [0, 1, 2, 3, 4]}
    ).with_default_record()
    sweep = store.submit(spec, "Live")
    chaos.mgem(home, "work", "--idle", "5")
    open_address(page, f"{server}/?sweep=s{sweep}")
    page.wait_for_function(f"{LENS}?.task?.snapshots.length > 10", timeout=120_000)
    drawn(page)
    page.get_by_role("slider", name="Splits", exact=True).fill("1")
    page.get_by_text("View", exact=True).click()
    wait_until_still(page)
    page.evaluate(f"window.kept = {LENS}")
    page.evaluate(WATCH)
    steps = page.evaluate(f"{LENS}.data.runs.size + {LENS}.task.snapshots.length")
    page.wait_for_timeout(15_000)
    watched = page.evaluate("window.watched")
    assert page.evaluate(f"window.kept === {LENS}")
    assert page.evaluate(f"{LENS}.data.runs.size + {LENS}.task.snapshots.length") >= steps
    assert watched["opacity"] == 1
    assert watched["moved"] < 0.1
    assert watched["frames"] > 30
    assert page.evaluate(f"{STATE}.splits") == 2
    expect(page.locator(".lens .menu[open]")).to_have_count(1)
    page.keyboard.press("Escape")
    if store.counts(sweep)["queued"]:
        page.get_by_role("button", name="Stop", exact=True).click()
        until(lambda: not (store.counts(sweep)["queued"] or store.counts(sweep)["running"]))
        expect(page.locator(".lens .progress-text")).to_contain_text("cancelled")
        expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    store.cancel(store.run_ids(sweep))


@pytest.mark.parametrize("address", ["lens?of=example", "explore?of=example"])
def test_old_addresses_open_the_workbench(page, server, address):
    drawn(open_address(page, f"{server}/{address}"))
    expect(page.get_by_text("Page not found")).to_have_count(0)
    assert page.get_by_test_id("stTopNavLink").all_inner_texts() == ["Explore", "Runs", "Paper", "Geometry"]


@pytest.mark.parametrize("address", ["?sweep=s99", "?of=r99"])
def test_unknown_source_is_named(page, server, address):
    open_address(page, f"{server}/{address}")
    expect(page.get_by_text(re.compile(r"There is no .*(s99|r99)"))).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(browser, server, finished, scheme, width):
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 1000})
    page = drawn(open_address(context.new_page(), f"{server}/?sweep=s{finished}"))
    for name in ("Modules × strength", "Against strength", "Per seed", "Conflict by layer and step", "Table"):
        page.get_by_role("tab", name=name, exact=True).click()
        wait_until_still(page)
        check_accessibility(page)
    context.close()


def test_picture_is_above_the_sliders_on_a_phone(browser, server):
    page = drawn(open_address(browser.new_page(viewport={"width": 390, "height": 844}), f"{server}/?of=example"))
    picture, slider = (page.locator(f".lens {part}").first.bounding_box() for part in (".picture", ".strip .slider"))
    assert picture["y"] < slider["y"]
    page.close()
