"""Write the LaTeX figure that includes a picture, with its caption."""

import re

from mgem_core.errors import UsageError
from mgem_core.figures._latex import escape
from mgem_core.figures.page import Page

MATHEMATICS = re.compile(r"(⟨[^⟨⟩]+⟩|[gĝ]_[a-z](?![a-z]))")  # in captions: ⟨g_s,z⟩ and g_s
TEX = str.maketrans({"⟨": r"\langle ", "⟩": r" \rangle", "ĝ": r"\hat{g}"})


def latex_figure(picture: str, page: Page, described: str, label: str) -> str:
    """Write a figure as wide as the page with the picture in a file, and with the page's caption or this description."""
    name, width = ("figure*", r"\textwidth") if page.columns == 2 else ("figure", r"\columnwidth")
    return (
        f"% needs \\usepackage{{graphicx}}\n\\begin{{{name}}}[t]\n  \\centering\n"
        f"  \\includegraphics[width={width}]{{{picture}}}\n  \\caption{{{caption(page.caption or described)}}}\n"
        f"  \\label{{fig:{label}}}\n\\end{{{name}}}\n"
    )


def caption(words: str) -> str:
    """Escape a caption, except for the mathematics between two dollar signs, which must not end the caption."""
    parts = re.split(r"(\$[^$]+\$)", " ".join(words.split()))  # without empty lines, which LaTeX does not allow here
    for part in parts[1::2]:
        if not _is_balanced(part) or part.endswith("\\$"):
            raise UsageError(f"caption has {part!r}, in which a brace or the mathematics is not closed.")
    return "".join(re.sub(r"(?<!\\)%", r"\%", part) if i % 2 else escape_words(part) for i, part in enumerate(parts))


def _is_balanced(mathematics: str) -> bool:
    depth = 0
    for brace in re.sub(r"\\.|[^{}]", "", mathematics):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def escape_words(words: str) -> str:
    """Escape words in which g_s, ĝ_s and their inner products are mathematics."""
    parts = MATHEMATICS.split(words)
    texts = [f"${part.translate(TEX)}$" if i % 2 else escape(part) for i, part in enumerate(parts)]
    return "".join(texts).replace("$$", " ")
