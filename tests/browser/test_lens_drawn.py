"""The lens as a person uses it: drag, compare, train what was chosen, take it away as a file."""

import pytest
from lens.example_runs import file_of
from people import check_accessibility, offline_page, open_address, wait_until_still
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow
STATE = "document.querySelector('.lens').lens.state"
IS_SOLVED = """() => {
    const lens = document.querySelector('.lens')?.lens;
    return lens && !lens.frame && document.querySelector('.lens path.chosen').getAttribute('d');
}"""


def open_lens(page: Page, address: str) -> Page:
    page.goto(address)
    page.wait_for_function(IS_SOLVED)
    return page


def marker(page: Page) -> str:
    return page.locator(".lens circle.marker").get_attribute("transform")


def drag_slider(page: Page, name: str, seconds: float) -> set[str]:
    """Drag it to and fro with the mouse; return all places of the marker."""
    box = page.get_by_label(name, exact=True).bounding_box()
    y, places = box["y"] + box["height"] / 2, set()
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    for i in range(int(seconds / 0.05)):
        share = abs((i / 20) % 2 - 1)  # one way in a second
        page.mouse.move(box["x"] + 8 + share * (box["width"] - 16), y)
        page.wait_for_timeout(50)
        places.add(marker(page))
    page.mouse.up()
    return places


@pytest.fixture
def lens(page, server):
    messages = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: messages.append(frame)))
    open_address(page, server)
    page.wait_for_function(IS_SOLVED)
    wait_until_still(page)
    page.wait_for_timeout(500)
    page.messages = messages
    assert messages  # the page itself was asked for in this way
    return page


def test_dragging_sliders_sends_nothing_to_the_server(lens):
    before = len(lens.messages)
    curve = lens.locator(".lens .picture path.chosen").get_attribute("d")
    assert len(drag_slider(lens, "Strength", 5)) > 20
    assert lens.locator(".lens .picture path.chosen").get_attribute("d") == curve
    for name in ("Modules", "Splits", "From step"):
        drag_slider(lens, name, 0.5)
    assert lens.locator(".lens .picture path.chosen").get_attribute("d") != curve
    assert len(lens.messages) == before


def test_marker_and_module_boundaries_can_be_dragged(lens):
    box = lens.locator(".lens .picture svg").bounding_box()
    lens.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    lens.mouse.down()
    first = lens.evaluate(f"{STATE}.q")
    lens.mouse.move(box["x"] + box["width"] - 30, box["y"] + 350, steps=4)
    lens.mouse.up()
    assert lens.evaluate(f"{STATE}.q") > first
    lens.get_by_label("Modules", exact=True).fill("2")
    lens.wait_for_function(f"{STATE}.moduleOf.join('') === '001122'")
    handle = lens.get_by_role("slider", name="Boundary between modules 1 and 2")
    box = handle.bounding_box()
    cell = lens.locator(".lens .cell").first.bounding_box()["width"]
    lens.mouse.move(box["x"] + box["width"] / 2, box["y"] + 5)
    lens.mouse.down()
    lens.mouse.move(box["x"] - cell, box["y"] + 5, steps=4)
    lens.mouse.up()
    assert lens.evaluate(f"{STATE}.moduleOf.join('')") == "011122"
    expect(lens.get_by_text("3, cut by hand")).to_be_visible()
    handle.press("ArrowRight")
    assert lens.evaluate(f"{STATE}.moduleOf.join('')") == "001122"


def test_difference_to_gem_has_an_interval(lens):
    words = lens.locator(".lens .words")
    expect(words).to_contain_text("6 seeds")
    expect(words).to_contain_text("95 % CI")
    lens.get_by_label("Splits", exact=True).fill("0")
    expect(words).to_contain_text("This is GEM itself")
    lens.get_by_role("button", name="cosine", exact=True).click()
    expect(words).to_contain_text("as cosines")


def test_surgery_rules_follow_modules_and_splits(lens):
    words, marks = lens.locator(".lens .words"), lens.locator(".lens g.rule")
    expect(marks).to_have_count(0)
    for name in ("A-GEM", "CAGrad"):
        lens.get_by_role("button", name=name, exact=True).click()
    expect(marks.locator("text")).to_have_text(["A-GEM", "CAGrad, c = 0.5"])
    expect(lens.locator(".lens path.rule")).to_have_count(1)  # CAGrad has a parameter
    lens.wait_for_function(IS_SOLVED)
    sentence = words.get_by_text("of other rules with these modules and splits").inner_text()
    title = marks.locator("title").first.text_content()
    assert title.startswith("A-GEM ")
    assert title in sentence
    places = [mark.get_attribute("transform") for mark in marks.all()]
    lens.get_by_label("Modules", exact=True).fill("2")
    expect(words).to_contain_text("3 modules")
    lens.wait_for_function(IS_SOLVED)
    assert all(before != mark.get_attribute("transform") for before, mark in zip(places, marks.all(), strict=True))
    lens.get_by_role("button", name="CAGrad", exact=True).click()
    expect(marks.locator("text")).to_have_text(["A-GEM"])
    expect(lens.locator(".lens path.rule")).to_have_count(0)


@pytest.mark.parametrize(
    ("seeds", "sentence"),
    [(1, "One run was recorded. At least 4 seeds are needed"), (3, "At least 4 seeds are needed to compare")],
)
def test_with_few_seeds_no_difference_is_claimed(lens, seeds, sentence):
    lens.evaluate(
        """(seeds) => {
            const host = document.querySelector('.lens'), { data } = host.lens;
            const few = { ...data, recordings: data.recordings.slice(0, seeds) };
            new host.lens.constructor(host, few);
        }""",
        seeds,
    )
    expect(lens.locator(".lens .words")).to_contain_text(sentence)
    expect(lens.locator(".lens .words")).not_to_contain_text("95 %")


def test_recordings_of_other_loops_are_opened_from_files(lens, tmp_path):
    lens.get_by_text("Open files", exact=True).click()
    chooser = lens.locator("input[type=file]")
    chooser.set_input_files([file_of(0), file_of(1)])
    expect(lens.locator(".lens .words")).to_contain_text("At least 4 seeds are needed to compare them")
    expect(lens.get_by_role("button", name="Train this", exact=True)).to_have_count(0)
    other = tmp_path / "other.lens"
    other.write_text("no recording")
    chooser.set_input_files(other)
    expect(lens.get_by_text("no recording of mgem, or it is damaged")).to_be_visible()


def test_train_this_asks_for_confirmation(lens):
    lens.get_by_label("Splits", exact=True).fill("1")
    lens.get_by_role("button", name="Train this", exact=True).click()
    question = lens.get_by_role("dialog")
    expect(question.get_by_text("d-mGEM(2)")).to_be_visible()
    expect(question.get_by_text("6 runs")).to_be_visible()
    expect(question.get_by_role("button", name="Launch", exact=True)).to_be_enabled()


def test_saved_html_works_offline(lens, browser, tmp_path):
    lens.get_by_label("Splits", exact=True).fill("1")
    lens.get_by_role("button", name="UPGrad", exact=True).click()
    with lens.expect_download() as download:
        lens.get_by_role("button", name="Save as HTML", exact=True).click()
    file = tmp_path / "lens.html"
    download.value.save_as(file)
    requests = []
    with offline_page(browser) as alone:
        alone.on("request", lambda request: requests.append(request.url))
        open_lens(alone, file.as_uri())
        assert alone.evaluate("document.querySelector('.lens .words').textContent.startsWith('1 module, 2 splits')")
        assert len(drag_slider(alone, "Strength", 1)) > 5
        alone.get_by_role("button", name="MGDA", exact=True).click()
        expect(alone.locator(".lens g.rule text")).to_have_text(["MGDA", "UPGrad"])
        assert requests == [file.as_uri()]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(browser, server, scheme, width):
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 1000})
    page = open_address(context.new_page(), server)
    page.wait_for_function(IS_SOLVED)
    for name in ("A-GEM", "PCGrad", "MGDA", "CAGrad", "UPGrad", "replay"):
        page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_function(IS_SOLVED)
    wait_until_still(page)
    check_accessibility(page)
    context.close()


def test_picture_is_above_the_sliders_on_a_phone(browser, server):
    page = open_address(browser.new_page(viewport={"width": 390, "height": 844}), server)
    page.wait_for_function(IS_SOLVED)
    picture, slider = (page.locator(f".lens {part}").first.bounding_box() for part in (".picture", ".slider"))
    assert picture["y"] < slider["y"]
    page.close()
