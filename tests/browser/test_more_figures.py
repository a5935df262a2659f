"""More figures of the trained runs on the page Explore: select, zoom, earlier tasks, export."""

import csv
import io
import json
import re

import chaos
import pytest
from chaos import until
from people import open_address, press, wait_until_still
from playwright.sync_api import Page, expect

from mgem_core import text
from mgem_core.analysis import aggregate, frames, measurements
from mgem_core.figures import FIGURES
from mgem_core.paper.presets import PRESETS
from mgem_core.store import Store

pytestmark = pytest.mark.slow
SPEC = PRESETS["quick-look"].spec.without_recordings()
RUNS, CONFIGURATIONS = SPEC.runs(), 13
PLOT = "document.querySelectorAll('.plot')[{n}]"
COUNT = "({plot}?._fullData ?? []).reduce((sum, trace) => sum + (trace.customdata?.length ?? 0), 0)"


def points(page: Page, n: int = 0) -> int:
    """Return the number of points in a plot."""
    return page.evaluate(COUNT.format(plot=PLOT.format(n=n)))


def wait_for_points(page: Page, n: int = 0, at_least: int = 1, seconds: float = 60) -> None:
    page.wait_for_function(f"{COUNT.format(plot=PLOT.format(n=n))} >= {at_least}", timeout=1000 * seconds)


def wait_for_finished(page: Page, runs: int) -> None:
    """Wait until the points of the frontier have this many finished runs in total."""
    counts = "[...String(trace.text).matchAll(/([0-9]+) of [0-9]+ seeds/g)].reduce((sum, found) => sum + +found[1], 0)"
    page.wait_for_function(f"{PLOT.format(n=0)}._fullData.reduce((sum, trace) => sum + {counts}, 0) >= {runs}")


def zoomed(page: Page) -> list[float]:
    return page.evaluate(f"[...{PLOT.format(n=0)}._fullLayout.xaxis.range, ...{PLOT.format(n=0)}._fullLayout.yaxis.range]")


def zoom(page: Page) -> None:
    """Drag over the middle of the frontier, and wait until the zoom is complete."""
    # While the plot is drawn again, there is nothing to drag for a moment.
    page.wait_for_function("document.querySelector('.plot .nsewdrag')?.getBoundingClientRect().width > 100")
    whole, box = zoomed(page), until(page.locator(".plot .nsewdrag").first.bounding_box)
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.7 * box["height"], steps=5)
    page.mouse.up()
    page.wait_for_function(f"{PLOT.format(n=0)}._fullLayout.xaxis.range[0] > {whole[0]}")
    ranges = f"JSON.stringify([{PLOT.format(n=0)}._fullLayout.xaxis.range, {PLOT.format(n=0)}._fullLayout.yaxis.range])"
    page.wait_for_function(
        f"new Promise((next) => {{ const before = {ranges}; "
        f"requestAnimationFrame(() => requestAnimationFrame(() => next(before === {ranges}))); }})"
    )


@pytest.fixture(scope="module")
def store(home):
    return Store(home / "runs.db")


@pytest.fixture(scope="module")
def finished(server, home):
    """Return the address of a server with a finished sweep in its store."""
    store = Store(home / "runs.db")
    if not store.database.rows("SELECT 1 FROM sweeps"):
        store.submit(SPEC, "Quick look")
    if store.resume(store.run_ids(1)) or store.counts()["queued"]:  # left over from earlier tests
        chaos.mgem(home, "work", "--idle", "5")
    until(lambda: store.counts()["finished"] == len(RUNS), 180)
    return server


def test_selection_links_plot_and_table(page, finished, browser):
    open_address(page, f"{finished}/?sweep=s1&plots=Frontier&plots=Transfer")
    page.get_by_role("radio", name="cosine").or_(page.get_by_role("button", name="cosine")).first.click()
    wait_for_points(page, 0, CONFIGURATIONS)
    rows = page.locator(".configurations tbody tr")
    expect(rows).to_have_count(CONFIGURATIONS)
    rows.nth(2).click()
    rims = f"{PLOT.format(n=0)}._fullData.flatMap((trace) => trace.customdata ? trace.marker.line.width : [])"
    page.wait_for_function(f"{rims}.filter((width) => width === 3).length === 1")
    at = page.evaluate(
        f"""(() => {{ const plot = {PLOT.format(n=0)}, layout = plot._fullLayout, box = plot.getBoundingClientRect();
        const trace = plot._fullData.find((one) => one.name === "d-mGEM(2)");
        return [box.x + layout.xaxis._offset + layout.xaxis.c2p(trace.x[3]),
                box.y + layout.yaxis._offset + layout.yaxis.c2p(trace.y[3]), trace.customdata[3]]; }})()"""
    )
    page.mouse.move(*at[:2])
    page.mouse.click(*at[:2])
    expect(rows).to_have_count(1)
    expect(rows.first).to_have_attribute("data-key", at[2])
    page.wait_for_function("location.href.includes('chosen=')")

    link = page.evaluate("location.href")
    assert "axes=cosine" in link
    other = browser.new_context(viewport={"width": 1280, "height": 1250}).new_page()
    open_address(other, link)
    wait_for_points(other, 0, CONFIGURATIONS)
    expect(other.locator(".configurations tbody tr")).to_have_count(1)
    expect(other.locator(".configurations tbody tr").first).to_have_attribute("data-key", at[2])
    title = f"{PLOT.format(n=0)}._fullLayout.xaxis.title.text"
    assert other.evaluate(title) == page.evaluate(title)
    assert "cos" in other.evaluate(title)
    other.context.close()


def test_box_selection_filters_the_table(page, finished):
    open_address(page, f"{finished}/?sweep=s1&plots=Frontier&plots=Transfer")
    wait_for_points(page, 0, CONFIGURATIONS)
    page.locator(".plot").first.scroll_into_view_if_needed()
    wait_until_still(page)
    rows, plot = page.locator(".configurations tbody tr"), page.locator(".plot").first
    box = plot.locator(".nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    plot.locator(".modebar-btn[data-val=select]").click()
    right = max(page.evaluate(f"{PLOT.format(n=0)}._fullData.flatMap((trace) => trace.customdata ? trace.x : [])"))
    at = page.evaluate(f"{PLOT.format(n=0)}._fullLayout.xaxis.c2p({right})")
    page.mouse.move(box["x"] + at - 8, box["y"] + 2)
    page.mouse.down()
    page.mouse.move(box["x"] + at + 8, box["y"] + box["height"] - 2, steps=5)
    page.mouse.up()
    expect(rows).not_to_have_count(CONFIGURATIONS)
    assert rows.count() >= 1
    press(page, "Show all")
    expect(rows).to_have_count(CONFIGURATIONS)
    expect(plot.locator(".selectionlayer path")).to_have_count(0)


def accuracies(page: Page) -> list[str]:
    return page.locator(".configurations tbody tr td:nth-child(3)").all_inner_texts()


def expected_accuracies(store: Store, view: aggregate.View) -> list[str]:
    rows = measurements.points(store, frames.runs(store, 1), view).to_dict("records")
    return [text.mean_and_error(row["acc"], row["acc_sem"]) for row in rows]


def test_slider_shows_earlier_tasks(page, finished, store):
    open_address(page, f"{finished}/?sweep=s1&plots=Frontier&plots=Transfer&after=2")
    wait_for_points(page, 1, CONFIGURATIONS)
    earlier, current = (expected_accuracies(store, aggregate.View(after=after)) for after in (2, None))
    assert earlier != current
    assert accuracies(page) == earlier
    page.get_by_test_id("stSlider").get_by_role("slider").press("ArrowRight")
    page.wait_for_function(f"document.body.innerText.includes({current[0]!r})")
    assert accuracies(page) == current


def test_zoom_without_points_can_be_reset(page, finished):
    open_address(page, f"{finished}/?sweep=s1&plots=Frontier&plots=Transfer")
    wait_for_points(page, 0, CONFIGURATIONS)
    wait_until_still(page)
    whole, note = zoomed(page), page.locator(".plot-note").first
    expect(note).to_be_empty()
    far = "{'xaxis.range': [1e3, 2e3], 'yaxis.range': [1e3, 2e3]}"
    page.evaluate(f"void window.Plotly.relayout({PLOT.format(n=0)}, {far})")
    expect(note).to_contain_text("No point is in view.")
    note.get_by_role("button", name="Show all points").click()
    expect(note).to_be_empty()
    assert zoomed(page) == whole


def test_loading_placeholder_has_the_size_of_the_plot(page, finished):
    requests = []
    page.route("**/plotly.min.js", lambda route: requests.append(route))
    page.goto(f"{finished}/?sweep=s1&plots=Frontier&plots=Transfer")
    expect(page.get_by_text("Loading the plot …").first).to_be_visible()
    plot = page.locator(".plot").first
    before = plot.bounding_box()
    for request in requests:
        request.continue_()
    wait_for_points(page, 0, CONFIGURATIONS)
    expect(page.get_by_text("Loading the plot …")).to_have_count(0)
    assert plot.bounding_box() == before


FRONTIER = FIGURES["frontier"].export_title
FILES = {
    **{
        key: ["PNG", "SVG", "PDF", "HTML", "CSV", "LaTeX", "JSON", "Parquet"]
        for key in [FRONTIER, "Transfer", "Against strength", "Map", "Per seed", "R heat maps"]
    },
    "Table": ["CSV", "LaTeX", "JSON", "Parquet"],
    "Configs": ["JSON"],
}
HOLDS = {
    **{FRONTIER: "frontier", "Transfer": "transfer", "Against strength": "strength", "Map": "map", "Per seed": "seeds"},
    **{"R heat maps": "matrix", "Table": "table", "Configs": "configs"},
}
BOTH = {"fwd": "fwd", "bwd": "bwd"}
MOST_BUTTONS = """() => {  // counts the buttons of the dialog whenever the page changes
  const count = () => document.querySelectorAll("[role=dialog] [data-testid=stDownloadButton]").length;
  window.mostButtons = 0;
  const watch = () => { window.mostButtons = Math.max(window.mostButtons, count()); };
  new MutationObserver(watch).observe(document.body, { childList: true, subtree: true });
}"""
STARTS = {"PNG": b"\x89PNG", "SVG": b"<?xml", "PDF": b"%PDF", "HTML": b"<!doctype html>", "Parquet": b"PAR1"}


def test_export_in_every_format(page, finished, store):
    by_seed = "plots=Per+seed&difference=ACC+at+equal+strengths"  # the others have nothing in common with GEM here
    open_address(page, f"{finished}/?sweep=s1&plots=Frontier&plots=Transfer&{by_seed}")
    wait_for_points(page, 0, CONFIGURATIONS)
    expected = measurements.points(store, frames.runs(store, 1), aggregate.View())
    got: dict[tuple[str, str], bytes] = {}
    page.evaluate(MOST_BUTTONS)
    page.get_by_role("button", name="Export", exact=True).click()
    for what, formats in FILES.items():
        wait_until_still(page)
        page.get_by_role("combobox", name=re.compile("Content")).click()
        page.get_by_role("option", name=what, exact=True).click()
        body = page.get_by_role("dialog")
        expect(body.get_by_text(re.compile(rf"s1_{HOLDS[what]}")).first).to_be_visible()
        expect(body.get_by_test_id("stDownloadButton")).to_have_count(len(formats))
        wait_until_still(page)
        for format in formats:
            ending = {"LaTeX": "tex"}.get(format, format.lower())
            with page.expect_download() as download:
                body.get_by_role("button", name=format, exact=True).click()
            assert download.value.suggested_filename.endswith(f".{ending}")
            assert download.value.suggested_filename.startswith(f"Quick-look-s1_{HOLDS[what]}")
            got[what, format] = download.value.path().read_bytes()
    assert page.evaluate("window.mostButtons") == 8  # never next to those of the previous figure
    for (what, format), content in got.items():
        assert content.startswith(STARTS.get(format, b"")), (what, format)
        assert len(content) > 200, (what, format)
    for what, columns in {
        FRONTIER: {"x": "gs_z", "y": "gt_z"},
        "Transfer": BOTH,
        "Table": {"acc": "acc", **BOTH},
    }.items():
        table = list(csv.DictReader(io.StringIO(got[what, "CSV"].decode())))
        for name, column in columns.items():
            assert [float(row[column]) for row in table] == pytest.approx(expected[name].tolist(), abs=1e-12), (what, name)
    R = list(csv.DictReader(io.StringIO(got["R heat maps", "CSV"].decode())))
    first = [float(row["accuracy"]) for row in R[:9]]
    seeds = [frames.matrix(store, run).to_numpy() for run in store.run_ids(1) if run % 13 == 1]
    assert first == pytest.approx((sum(seeds) / 4).ravel().tolist())
    for row in expected.to_dict("records"):
        cell = text.mean_and_error(row["acc"], row["acc_sem"]).replace(" ± ", r" \pm ").replace("−", "-")
        assert cell in got["Table", "LaTeX"].decode()
        for what in (FRONTIER, "Transfer"):
            assert f'"{row["key"]}"' in got[what, "HTML"].decode()
    assert accuracies(page) == expected_accuracies(store, aggregate.View())
    document = json.loads(got["Configs", "JSON"])
    assert sorted(run["config"]["seed"] for run in document["runs"]) == [
        seed for seed in range(4) for _ in range(CONFIGURATIONS)
    ]
