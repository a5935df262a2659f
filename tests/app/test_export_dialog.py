"""The export dialog: the picture as it is printed, the choices of its look, and the LaTeX figure to copy."""

import pytest
from filled_store import SPEC, fill
from pages import open_page, run_page, texts


@pytest.fixture
def dialog(store):
    store.submit(SPEC, "quick look")
    fill(store)
    page = open_page(sweep="s1")
    page.session_state["to export"] = "s1"  # as the button above the workbench does
    return run_page(page)


def choose(page, key, value):
    page.radio(key=key).set_value(value)
    return run_page(page)


def code(page):
    [block] = page.code
    return block.value


def test_dialog_opens_with_a_picture_and_its_latex(dialog):
    assert len(dialog.get("image")) == 1
    assert code(dialog).startswith("% needs \\usepackage{graphicx}\n\\begin{figure}[t]")
    assert "_frontier_per-unit_task1-task2.pdf}" in code(dialog)


def test_choices_decide_the_latex(dialog):
    choose(dialog, "export width", 2)
    choose(dialog, "export legend", "inside")
    dialog.text_input(key="export caption").set_value("What $q$ buys, in %")
    run_page(dialog)
    assert r"\begin{figure*}[t]" in code(dialog)
    assert "_two-columns_legend-inside.pdf}" in code(dialog)
    assert r"\caption{What $q$ buys, in \%}" in code(dialog)


def test_malformed_caption_is_explained(dialog):
    dialog.text_input(key="export caption").set_value("a $}$ b")
    run_page(dialog)
    assert "in which a brace or the mathematics is not closed." in texts(dialog)
    assert not dialog.code
    dialog.text_input(key="export caption").set_value("a")
    run_page(dialog)
    assert r"\caption{a}" in code(dialog)


def test_table_has_no_choices_of_a_page(dialog):
    dialog.selectbox(key="export what").select("table")
    run_page(dialog)
    assert not dialog.get("image")
    assert not [radio for radio in dialog.radio if radio.key in ("export width", "export legend")]


def test_figure_without_legend_offers_no_place_for_it(dialog):
    dialog.selectbox(key="export what").select("matrix")
    run_page(dialog)
    keys = [radio.key for radio in dialog.radio]
    assert "export width" in keys
    assert "export legend" not in keys
