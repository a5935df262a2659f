"""The table of the paper's claims: verdict, the number that decides, where it is shown, and a button that tests it."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import session
import streamlit as st
from components import read_sources, register
from text import abbreviate, quote

from mgem_core.paper import claims
from mgem_core.paper.claims import Claim, Finding, Verdict
from mgem_core.paper.tables import FIGURES, TABLES
from mgem_core.text import pluralize

JS = Path(__file__).with_name("js")
KEY = "claims"
MARKS: dict[Verdict, str] = {"reproduced": "✓", "partly reproduced": "◐", "not reproduced": "✕", "not tested": "?"}
HEIGHT = 900  # pixels at least, so that nothing below the table moves when it is drawn
HTML = f'<div class="claims" style="min-height: {HEIGHT}px"></div>'
_claims = register(KEY, HTML, read_sources(JS / "claims.js", JS / "claims.css"))


def count_verdicts() -> str:
    """Count the claims with each verdict: "13 claims: 5 partly reproduced, 7 not reproduced, 1 not tested"."""
    counts = Counter(finding.verdict for _, finding in claims.findings())
    found = [f"{counts[verdict]} {verdict}" for verdict in get_args(Verdict) if counts[verdict]]
    return f"{pluralize(counts.total(), 'claim')}: {', '.join(found)}"


def read_unfolded() -> list[str]:
    """Return the claims that the URL unfolds; the browser writes it (js/claims.js). Unknown ones are removed from it."""
    names = [name for name in st.query_params.get("claim", "").split(",") if name]
    known = [name for name in names if name in {claim.name for claim, _ in claims.findings()}]
    if unknown := [name for name in names if name not in known]:
        session.queue_notice(f"The paper has no claim {abbreviate(list(map(quote, unknown)), 5)} on this page.")
    session.put_in_url("claim", known)
    return known


def show_claims(unfolded: list[str], on_test: Callable[[str], None], on_show: Callable[[str], None]) -> None:
    """Show all claims, first with these unfolded; the callbacks get a claim to test, and a table or figure to show."""
    rows = [_row(*of, number) for number, of in enumerate(claims.findings(), 1)]

    def callback(name: str, act: Callable[[str], None]) -> Callable[[], None]:
        return lambda: act(str(st.session_state[KEY][name]))

    callbacks = {f"on_{name}_change": callback(name, act) for name, act in (("test", on_test), ("show", on_show))}
    _claims(key=KEY, data={"rows": rows, "unfolded": unfolded}, **callbacks)


def _row(claim: Claim, finding: Finding, number: int) -> dict[str, Any]:
    value, about, shown_in = finding.deciding
    return {
        **{
            "name": claim.name,
            "claim": f"{number}. {claim.claim}",
            "verdict": finding.verdict,
            "mark": MARKS[finding.verdict],
        },
        **{"value": value, "about": about, "shownIn": shown_in, "place": _place(shown_in)},
        **{"evidence": claim.evidence, "sentences": finding.sentences},
    }


def _place(name: str) -> str:
    """Return the title of a table or figure for a link: "Table 1 · MNIST Rotations", or "Figure 2"."""
    if name in TABLES:
        return TABLES[name].title
    return FIGURES[name].title.partition(" · ")[0] if name else ""
