"""Pages are shown for any URL, however malformed."""

import random

import pytest
import streamlit as st
from explore import form_state
from filled_store import known_store
from pages import open_page
from paper import paper_figures
from session import parse_id

EXPLORE = (
    *("sweep", "of", "more", "on", "axes", "pair", "after", "front", "chosen", "marked"),
    *("plots", "gradient", "errors", "baseline", "measure", "cells", "difference", "best"),
)
RUNS = ("sweep", "runs", "list", "find", "benchmark", "status")
GEOMETRY = ("g", "g1", "g2", "strength", "turn", "kind", "trigger", "methods")
PARAMETERS = {
    "explore": EXPLORE,
    "runs": RUNS,
    "paper": ("table", "scale", "figure", "numbers", "claim"),
    "geometry": GEOMETRY,
}
VALID = {
    **{"sweep": "s1", "on": "mnist5k-rotations", "axes": "cosine", "pair": "1 → 2", "after": "1", "front": "true"},
    **{"chosen": "0123abcd", "marked": "0123abcd,4567ef01", "runs": "r1,r2", "list": "Sweeps", "find": "gem r1"},
    **{"benchmark": "mnist5k-rotations", "status": "finished", "plots": "Map", "gradient": "batch", "errors": "every seed"},
    **{"baseline": "p-mGEM(4)", "measure": "FWD", "cells": "values", "difference": "ACC at the best strength"},
    **{
        "table": "Table 2 · Digit-Five",
        "scale": "short",
        "figure": "Figure 3",
        "numbers": "ours",
        "claim": "raises_acc,architectures",
        "best": "true",
        "of": "r1",
        "more": "true",
        "g": "-1,1",
        "g1": "1,0",
        "g2": "-3,1",
    },
    **{"strength": "0.5", "turn": "-20,25", "kind": "margin", "trigger": "always", "methods": "GEM,d-mGEM"},
}
TOO_LONG = ("r" + "1" * 5000, "s" + "1" * 5000)  # Python refuses to parse such a long number
ODD = [
    *(
        "",
        " ",
        ",",
        ",,,",
        "r",
        "s",
        "r,",
        "s-1",
        "r-1",
        "r+1",
        "r1.5",
        "r1e3",
        "r0x1",
        "r 1",
        "R1",
        "S1",
        "r1_000",
        "-0",
        "--",
        "NaN",
    ),
    *(
        "inf",
        "-inf",
        "1e999",
        "None",
        "null",
        "true",
        "undefined",
        "[]",
        "{}",
        "()",
        "%",
        "%%s",
        "{0}",
        "$x$",
        "\\",
        "'",
        '"',
        "`",
    ),
    *("r" + "9" * 17, "r" + "9" * 18, f"r{2**63 - 1}", f"r{2**63}", f"s{2**63}", f"r{2**64}", "9" * 400, f"{2**53 + 1}"),
    *(*TOO_LONG, "1" * 5000, "x" * 20_000, ",".join(f"r{n}" for n in range(2000))),
    *(
        "r١٢٣",
        "s²",
        "r①",
        "r１２",
        "s𝟙",
        "é",
        "日本語",
        "👩‍🔬",
        "\u202er1",
        "\ufeffr1",
        "\u00a0",
        "\u2028",
        "\ud7ff",
        "\uffff",
        "\ufffd",
    ),
    *("\x00", "r1\x00", "\x00r1", "s1\x00", "\x1b[31m", "\r\n", "\t", "a\nb", "\x7f", "\x08"),
    *(
        "<script>alert(1)</script>",
        "<b>r1",
        "**r1**",
        "[r1](javascript:x)",
        "![](x)",
        ":red[x]",
        ":material/x:",
        "# r1",
        "|a|b|",
        "$$",
    ),
    *(
        "' OR 1 --",
        "s1; DROP TABLE runs",
        "../../etc/passwd",
        "${x}",
        "{{x}}",
        "1 → 1",
        "2 → 1",
        "0 → 1",
        "1 → 99",
        "→",
        "s0",
        "r0",
    ),
]


DAMAGE = "\x00\n,rs0912٣²é<*[_ →-%&=#"
Query = dict[str, str | list[str]]


def malformed(parameters: tuple[str, ...], count: int) -> list[Query]:
    """Return `count` queries, the same at each call: every parameter empty and too long, then random ones."""
    chance = random.Random(0)
    queries: list[Query] = [{name: odd} for odd in ("", *TOO_LONG) for name in parameters]
    while len(queries) < count:
        chosen = chance.sample(parameters, chance.randint(1, len(parameters)))
        queries.append({name: odd_value(chance, VALID[name]) for name in chosen})
    return queries[:count]


def odd_value(chance: random.Random, valid: str) -> str | list[str]:
    kind = chance.randrange(6)
    if kind == 0:  # the parameter is given twice
        return [chance.choice(ODD), chance.choice([valid, *ODD])]
    if kind == 1:
        return damaged(chance, damaged(chance, valid))
    if kind == 2:
        return ",".join([valid, chance.choice(ODD), valid])
    return chance.choice(ODD)


def damaged(chance: random.Random, text: str) -> str:
    """Insert an odd text, or replace a character by it."""
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(DAMAGE) * chance.choice([1, 1, 2, 50]) + text[at + chance.randrange(2) :]


@pytest.fixture
def without_slow_parts(monkeypatch):
    """Leave out what takes long and does not depend on the URL: the values of the form, and the figures of the paper."""
    monkeypatch.setattr(form_state, "fill_form", lambda *given: st.session_state.update(preset=form_state.CUSTOM))
    monkeypatch.setattr(paper_figures, "show_figure", lambda name: None)


@pytest.mark.usefixtures("without_slow_parts")
@pytest.mark.parametrize("page", PARAMETERS)
@pytest.mark.parametrize("count", [24, pytest.param(300, marks=pytest.mark.slow)])
def test_malformed_urls_never_fail(store, page, count):
    known_store(store.path)
    queries = malformed(PARAMETERS[page], count)
    assert len(queries) == count
    assert [query for query in queries if open_page(page, **query).exception] == []


@pytest.mark.parametrize("page", PARAMETERS)
def test_very_long_url(store, page):
    known_store(store.path)
    ids = ",".join(f"r{run}" for run in range(1, 10_000))
    app = open_page(page, **{"runs": ids, "chosen": ids, "marked": ids, "find": ids.replace(",", " "), "status": ids})
    assert not app.exception


@pytest.mark.usefixtures("without_slow_parts")
@pytest.mark.parametrize("page", PARAMETERS)
def test_malformed_url_with_an_empty_store(store, page):
    for query in malformed(PARAMETERS[page], 12):
        assert not open_page(page, **query).exception


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *[("r1", 1), ("r007", 7), ("r0", 0), (f"r{2**63 - 1}", 2**63 - 1)],
        *[(text, None) for text in (f"r{2**63}", TOO_LONG[0], "r", "", "s1", "1", "r-1", "r+1", "r1 ", "r1\n", "r1\x00")],
        *[(text, None) for text in ("r1_0", "r1.0", "R1", "rr1", "r١", "r²", "r１", "r0x1")],
    ],
)
def test_parse_id(text, number):
    assert parse_id(text, "r") == number


def test_quoted_url_text_is_short_and_escaped(store):
    known_store(store.path)
    [message] = open_page("runs", **{"runs": "r1,**x**\n# y\x00" + "z" * 9000, "sweep": "[a](b)"}).warning
    assert message.value == (
        r"There is no sweep \[a\]\(b\) in this store. There is no run \*\*x\*\* \# y " + "z" * 50 + " … in this store."
    )


def test_unknown_claim_is_ignored_with_a_message(store, without_slow_parts):
    app = open_page("paper", claim="raises_acc,**x**,,")
    assert app.warning[0].value == r"The paper has no claim \*\*x\*\* on this page."
    assert app.query_params["claim"] == "raises_acc"


def test_id_with_leading_zeros(store):
    known_store(store.path)
    app = open_page("runs", **{"runs": "r01", "sweep": "s01"})
    assert not app.warning
    assert (app.query_params["runs"], app.query_params["sweep"]) == ("r1", "s1")


@pytest.mark.parametrize(
    "text", ["word " * 3000, " ".join(f"w{n}" for n in range(3000)), "\x00", "r" + "1" * 5000, "%_'\"\\"]
)
def test_search_box_accepts_any_text(store, text):
    known_store(store.path)
    app = open_page("runs")
    app.text_input(key="find").set_value(text).run()
    assert not app.exception
    assert any("No run matches" in one.value for one in app.markdown)


def test_repeated_search_word_counts_once(store):
    known_store(store.path)
    app = open_page("runs", **{"find": "gem " * 3000 + "r2"})
    assert any(one.value == "1 run" for one in app.markdown)
