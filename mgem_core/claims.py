"""What the paper claims, its evidence, and what we measured, as plain text for the page Paper."""

from typing import Literal, NamedTuple

Verdict = Literal["holds", "holds in part", "does not hold", "cannot be told"]


class Claim(NamedTuple):
    claim: str  # in one sentence
    evidence: str  # the paper's
    measured: str  # by us, with the numbers, their errors and the number of seeds
    verdict: Verdict


CLAIMS: list[Claim] = []
