"""A run with a missing row of R in the browser."""

import pytest
from filled_store import finish
from people import open_address
from playwright.sync_api import expect

from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store

pytestmark = pytest.mark.slow


def test_curve_and_heat_map_have_gaps(page, server, home):
    store = Store(home / "runs.db")
    store.submit(SweepSpec(base={"tasks": 3, "iterations": 10, "memory": 20}, grid={"modules": [1, 4]}))
    for missing in ((), (1,)):
        finish(store, store.claim()[0], missing=missing)
    open_address(page, f"{server}/?plots=Frontier")
    rows = page.locator(".configurations tbody tr")
    expect(rows).to_have_count(2)
    curves = page.locator(".configurations tbody svg")
    expect(curves.nth(0)).to_have_attribute("aria-label", "mean accuracy after each task: 90.0, 77.5, 74.3")
    expect(curves.nth(1)).to_have_attribute("aria-label", "mean accuracy after each task: 90.0, unknown, 74.3")
    assert [curve.locator("path").get_attribute("d").count("M") for curve in curves.all()] == [1, 2]
    assert [curve.locator("circle").count() for curve in curves.all()] == [1, 2]
    expect(rows.nth(1).locator("td").nth(3)).to_have_text("—")

    open_address(page, f"{server}/runs?runs=r2")
    heat = "[...document.querySelectorAll('.plot')].find((plot) => plot._fullData?.[0]?.type === 'heatmap')"
    page.wait_for_function(heat)
    assert page.evaluate(f"{heat}.calcdata[0][0].z.map((row) => row.filter((value) => value !== undefined).length)") == [
        3,
        0,
        3,
    ]
    numbers = page.locator(".plot .heatmap-label")
    expect(numbers).to_have_count(6)
