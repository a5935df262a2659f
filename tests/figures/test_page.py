"""The choices of a printed figure, and the LaTeX that includes it."""

import re

import pytest

from mgem_core import UsageError
from mgem_core.analysis.aggregate import View
from mgem_core.figures import FIGURES
from mgem_core.figures.files import caption, export, file_name
from mgem_core.figures.latex_figure import caption as latex_caption
from mgem_core.figures.latex_figure import latex_figure
from mgem_core.figures.page import Page
from mgem_core.figures.selection import Selection

PRINTED = [name for name, figure in FIGURES.items() if figure.printed]
TWO_INSIDE = Page(columns=2, legend="inside")


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"columns": 3}, "columns is 3; it must be one of 1, 2."),
        ({"legend": "left"}, "legend is 'left'; it must be one of outside, inside."),
    ],
)
def test_invalid_choice_is_rejected(choices, sentence):
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        Page(**choices)


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("name", PRINTED)
def test_latex_figure_includes_the_file_of_the_pdf(store, name, columns):
    page = Page(columns=columns)
    block = export(Selection(store, 1), name, "latex-figure", page).decode()
    environment, width = {1: ("figure", r"\columnwidth"), 2: ("figure*", r"\textwidth")}[columns]
    assert block.count(rf"\begin{{{environment}}}") == block.count(rf"\end{{{environment}}}") == 1
    picture = file_name(Selection(store, 1).name(), FIGURES[name], "pdf", View(), page)
    assert rf"\includegraphics[width={width}]{{{picture}}}" in block
    assert FIGURES[name].title in block
    assert block.replace(r"\{", "").count("{") == block.replace(r"\}", "").count("}")
    assert block.isascii()  # pdflatex knows no ⟨ or ĝ


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Learned at 50 % & more", r"Learned at 50 \% \& more"),
        ("over $q$, in $\\langle g_s, z\\rangle$", "over $q$, in $\\langle g_s, z\\rangle$"),
        ("half is $50%$", r"half is $50\%$"),
        ("costs 5 $", r"costs 5 \$"),
        ("} \\end{figure} \\input{x}", r"\} \textbackslash{}end\{figure\} \textbackslash{}input\{x\}"),
        ("two\n\nparagraphs", "two paragraphs"),
        ("⟨g_s,z⟩ ± 1 and ĝ_s", r"$\langle g_s,z \rangle$ $\pm$ 1 and $\hat{g}_s$"),
    ],
)
def test_caption_is_text_with_mathematics(words, expected):
    assert latex_caption(words) == expected


@pytest.mark.parametrize("words", ["a $}$ b", "a ${$ b", "a $}{$ b", "a $x\\$ b"])
def test_caption_cannot_leave_its_braces(words):
    with pytest.raises(UsageError, match=r"^caption has '\$.*', in which a brace or the mathematics is not closed\.$"):
        latex_caption(words)


def test_own_caption_replaces_the_description():
    assert r"\caption{Mine}" in latex_figure("a.pdf", Page(caption="Mine"), "Described.", "frontier")
    assert r"\caption{Described.}" in latex_figure("a.pdf", Page(), "Described.", "frontier")


def test_description_has_no_markup(store):
    view = View(measure="x")
    figure, selection = FIGURES["strength"], Selection(store, 1, view=view)
    words = caption(figure, figure.data(selection), view)
    assert words.startswith("Against strength: ⟨g_s, z⟩ / ‖z‖ over q; ")
    assert "<" not in words


def test_pages_have_names_of_their_own():
    figure = FIGURES["transfer"]
    assert file_name("a-s1", figure, "pdf", View(), TWO_INSIDE) == "a-s1_transfer_two-columns_legend-inside.pdf"
    assert file_name("a-s1", figure, "latex-figure", View()) == "a-s1_transfer.figure.tex"
    assert file_name("a-s1", figure, "csv", View(), TWO_INSIDE) == "a-s1_transfer.csv"
