"""The page Geometry as a person uses it: drag, turn, press, save, on a phone too."""

import numpy as np
import pytest
from people import check_accessibility, offline_page, open_address, wait_until_still
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow
STATE = "document.querySelector('.geometry').geometry.state"
IS_DRAWN = """() => {
    const geometry = document.querySelector('.geometry')?.geometry;
    return geometry && !geometry.frame && document.querySelector('.geometry .words li');
}"""


@pytest.fixture
def geometry(page, server):
    page.messages = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: page.messages.append(frame)))
    return open_geometry(page, f"{server}/geometry")


def open_geometry(page: Page, address: str) -> Page:
    open_address(page, address)
    page.wait_for_function(IS_DRAWN)
    wait_until_still(page)
    return page


def drag_tip(page: Page, name: str, dx: float, dy: float) -> set[str]:
    """Drag the tip of a vector by so many pixels; return all that was said about g meanwhile."""
    box = page.locator(f".geometry .tip.{name} .halo").bounding_box()
    x, y, sentences = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, set()
    page.mouse.move(x, y)
    page.mouse.down()
    for share in np.linspace(0.1, 1, 10):
        page.mouse.move(x + share * dx, y + share * dy)
        page.wait_for_timeout(50)
        sentences.add(page.locator(".geometry .words li").first.text_content())
    page.mouse.up()
    return sentences


def test_dragging_updates_picture_and_url_without_the_server(geometry):
    page = geometry
    page.wait_for_timeout(500)
    assert page.messages  # the page itself was asked for in this way
    before, sets = len(page.messages), page.locator(".geometry .sets path").first.get_attribute("d")
    assert len(drag_tip(page, "g", 60, 40)) > 5
    assert page.locator(".geometry .sets path").first.get_attribute("d") == sets  # the memory alone decides it
    assert len(drag_tip(page, "g2", -40, -60)) > 5
    assert page.locator(".geometry .sets path").first.get_attribute("d") != sets
    page.get_by_label("Strength", exact=True).fill("0.5")
    page.wait_for_function("location.search.includes('strength=0.5')")
    state = page.evaluate(STATE)
    assert f"g={state['g'][0]:g},{state['g'][1]:g}" in page.evaluate("decodeURIComponent(location.search)")
    assert len(page.messages) == before
    table = page.locator(".geometry table").inner_text()
    open_geometry(page, page.url)
    assert {**page.evaluate(STATE), "g": state["g"][:2]} != {}
    assert [page.evaluate(f"{STATE}.{name}")[:2] for name in ("g", "g1", "g2")] == [
        state[name][:2] for name in ("g", "g1", "g2")
    ]
    assert page.locator(".geometry table").inner_text() == table


def test_keyboard_and_number_input(geometry):
    tip = geometry.get_by_role("slider", name="g, moved with the arrow keys", exact=True)
    tip.focus()
    first = geometry.evaluate(f"{STATE}.g")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        tip.press(key)
    assert geometry.evaluate(f"{STATE}.g") == pytest.approx([first[0] + 0.2, first[1] - 0.1, first[2]])
    expect(tip).to_have_attribute("aria-valuetext", "−1.30, 1.20")
    number = geometry.get_by_label("ĝ₁, coordinate 2", exact=True)
    number.fill("-0.75")
    number.press("Enter")
    assert geometry.evaluate(f"{STATE}.g1[1]") == -0.75


def test_examples_are_explained_with_computed_numbers(geometry):
    words = geometry.locator(".geometry .words")
    press = lambda name: geometry.get_by_role("button", name=name, exact=True).click()  # noqa: E731
    expect(words).to_contain_text("g hurts the memory as a whole")
    press("Agreement")
    expect(words.get_by_text("and z = g.")).to_have_count(4)
    press("Counterexample to Proposition 2")
    expect(words).to_contain_text("⟨ĝₛ,z⟩ is 0.50 with d-mGEM(2) and 1.50 with GEM")
    press("Over-correction by approx-GEM")
    expect(words).to_contain_text("This over-corrects")
    press("3-D")
    expect(words).to_contain_text("This over-corrects")
    expect(geometry.get_by_label("Turn", exact=True)).to_be_visible()


def test_rotation_in_3d_and_dragging_under_the_pointer(geometry):
    geometry.get_by_role("button", name="3-D", exact=True).click()
    geometry.wait_for_function("document.querySelectorAll('.geometry .sets.space path').length > 1")
    turn, vector = geometry.evaluate(f"{STATE}.turn"), geometry.evaluate(f"{STATE}.g")
    box = geometry.locator(".geometry .picture").bounding_box()
    geometry.mouse.move(box["x"] + 20, box["y"] + 20)
    geometry.mouse.down()
    geometry.mouse.move(box["x"] + 80, box["y"] + 40, steps=5)
    geometry.mouse.up()
    assert geometry.evaluate(f"{STATE}.turn") != turn
    assert geometry.evaluate(f"{STATE}.g") == vector
    halo = geometry.locator(".geometry .tip.g .halo")
    before = halo.bounding_box()
    drag_tip(geometry, "g", 30, -20)
    after = halo.bounding_box()
    assert (after["x"] - before["x"], after["y"] - before["y"]) == (pytest.approx(30, abs=3), pytest.approx(-20, abs=3))


def test_methods_are_switched_off_and_on(geometry):
    marks = geometry.locator(".geometry .marks path")
    expect(marks).to_have_count(4)
    geometry.get_by_label("p-mGEM(2)", exact=True).uncheck()
    expect(marks).to_have_count(3)
    expect(geometry.locator(".geometry .words")).not_to_contain_text("p-mGEM(2)")
    geometry.get_by_label("p-mGEM(2)", exact=True).check()
    expect(marks).to_have_count(4)
    expect(geometry.locator(".geometry .marks .faint")).to_have_count(3)  # the pointer is on the row of the other one
    geometry.mouse.move(5, 5)
    expect(geometry.locator(".geometry .marks .faint")).to_have_count(0)


def test_save_as_svg_and_html(geometry, browser, tmp_path):
    geometry.get_by_role("button", name="Over-correction by approx-GEM", exact=True).click()
    saved = {}
    for name in ("svg", "html"):
        with geometry.expect_download() as download:
            geometry.get_by_role("button", name=f"Save as {name.upper()}", exact=True).click()
        saved[name] = tmp_path / f"geometry.{name}"
        download.value.save_as(saved[name])
    with offline_page(browser) as alone:
        alone.goto(saved["svg"].as_uri())
        assert alone.evaluate("document.documentElement.querySelectorAll('.arrow').length") == 4
        assert alone.evaluate("document.documentElement.getBoundingClientRect().width") > 300
        alone.goto(saved["html"].as_uri())
        alone.wait_for_function(IS_DRAWN)
        expect(alone.locator(".geometry .words")).to_contain_text("This over-corrects")
        assert len(drag_tip(alone, "g", 40, 40)) > 5


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(browser, server, scheme, width):
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 1000})
    page = open_geometry(context.new_page(), f"{server}/geometry?g=-1,1,0&g1=1,0,1&g2=-3,1,1")
    check_accessibility(page)
    context.close()


def test_touch_drag(browser, server):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = open_geometry(context.new_page(), f"{server}/geometry")
    tip = page.locator(".geometry .tip.g .halo")
    tip.scroll_into_view_if_needed()
    box, first = tip.bounding_box(), page.evaluate(f"{STATE}.g")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    session = context.new_cdp_session(page)
    send = lambda kind, *points: session.send(  # noqa: E731
        "Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": px, "y": py} for px, py in points]}
    )
    send("touchStart", (x, y))
    for share in (0.25, 0.5, 0.75, 1):
        send("touchMove", (x + 40 * share, y + 30 * share))
    send("touchEnd")
    moved = page.evaluate(f"{STATE}.g")
    assert moved[0] > first[0]
    assert moved[1] < first[1]
    context.close()
