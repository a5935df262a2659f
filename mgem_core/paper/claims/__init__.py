"""The paper's claims: each is a function that computes its verdict from published results.

In: `mgem_core/paper/published/`. Out: for each claim a verdict, the numbers it rests on, and sentences with these numbers.
"""

import hashlib
import json
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from mgem_core.home import replace_file
from mgem_core.paper.claims import accuracy, experiments, frontier, solver, strength, theory
from mgem_core.paper.claims.evidence import FOLDER, Deciding, Finding, Verdict
from mgem_core.paper.claims.experiments import Experiment
from mgem_core.paper.tables import STRENGTH_GAINS

__all__ = ["CLAIMS", "Claim", "Deciding", "Experiment", "Finding", "Verdict", "compute", "findings"]


STORED = FOLDER / "findings.json"


class Claim(NamedTuple):
    claim: str  # in one sentence
    evidence: str  # the paper's
    find: Callable[[], Finding]
    experiments: Callable[[], tuple[Experiment, ...]]  # what tests it; the quickest first

    @property
    def name(self) -> str:
        return self.find.__name__


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "Memory strength improves backward transfer: it raises ⟨ĝ_s,z⟩ on the memory, which narrows the gap to the past "
        "task itself.",
        "Proposition 1: ⟨g_s,z⟩ is at least ⟨ĝ_s,z⟩ minus a generalisation gap.",
        strength.backward_transfer,
        experiments.generalisation,
    ),
    Claim(
        f"Memory strength raises the ACC of GEM by {STRENGTH_GAINS['table-1-permutations']} points on MNIST Permutations "
        f"and by {STRENGTH_GAINS['table-1-rotations']} on MNIST Rotations.",
        "A sentence in its section on memory strength, without errors.",
        strength.raises_acc,
        partial(experiments.rows, "table-1-permutations", ["GEM"], experiments.AGAINST_STRENGTH),
    ),
    Claim(
        "With an adaptive number of modules, mGEM gives a uniformly better frontier than GEM with memory strength.",
        "Figure 2 and its text: more modules or splits retain more of the old task, fewer learn more of the new one, and "
        "the envelope of all lines lies above GEM. Figure 3: p-mGEM improves up to 9 modules; d-mGEM(2) is better than "
        "GEM, and d-mGEM(3)'s performance degrades. The text gives no errors.",
        frontier.better_frontier,
        experiments.frontier,
    ),
    Claim(
        "On all benchmarks, mGEM ends with a higher ACC than GEM, and forgets less.",
        "Tables 1 and 2, but for BWD of m-GEM on MNIST Rotations (0.56, GEM 0.57).",
        accuracy.mgem_beats_gem,
        partial(experiments.rows, "table-1-rotations-shuffled", ["GEM", *accuracy.FINER]),
    ),
    Claim(
        "approx-GEM takes similar or less time than GEM.",
        "Figure 4.",
        solver.approx_time,
        experiments.times_of_networks,
    ),
    Claim(
        "approx-GEM reaches a higher ACC than GEM.",
        "Table 1 and Figure 4.",
        accuracy.approx_beats_gem,
        partial(experiments.rows, "table-1-rotations-shuffled", ["GEM", *accuracy.APPROX]),
    ),
    Claim(
        "A closed form can replace the solver, because vectors in high dimensions are nearly orthogonal.",
        "An argument; Table 1, where approx-GEM is as good as md-GEM.",
        solver.closed_form,
        experiments.over_correction,
    ),
    Claim(
        "Proposition 2 for p-mGEM: its restrictions keep ⟨ĝ_s,z⟩ at least as large as those of GEM do.",
        "A proof for one past task; several are called a straightforward generalisation.",
        theory.proposition_2_modules,
        partial(experiments.proposition, "p-mGEM"),
    ),
    Claim(
        "Proposition 2 for d-mGEM: its restrictions keep ⟨ĝ_s,z⟩ at least as large as those of GEM do.",
        "A proof for one past task.",
        theory.proposition_2_splits,
        partial(experiments.proposition, "d-mGEM"),
    ),
    Claim(
        "Memory strength, a floor v ≥ q in the dual, is equivalent to requiring ⟨ĝ_s,z⟩ ≥ γ.",
        "Its section on memory strength.",
        theory.floor_is_margin,
        experiments.floor_or_margin,
    ),
    Claim(
        "d-mGEM with D splits takes D times as long as GEM.",
        "Its section on d-mGEM.",
        solver.splits_time,
        partial(experiments.rows, "table-1-permutations", ["GEM", "d-GEM"], experiments.SECONDS),
    ),
    Claim(
        "md-GEM has a higher ACC than GEM with all four architectures.",
        "Figure 4.",
        accuracy.architectures,
        experiments.accuracies_of_networks,
    ),
    Claim(
        "MER has the highest ACC on MNIST, and a low one on Split CIFAR100.",
        "Table 1.",
        accuracy.mer_is_best,
        partial(experiments.rows, "table-1-rotations-shuffled", ["MER", "GEM", "d-GEM", "ER"], experiments.IN_TABLE),
    ),
)


def findings() -> list[tuple[Claim, Finding]]:
    """Return the answer to every claim.

    Computing takes seconds, so the answers are stored next to the published results (`studies.reproduction` writes them);
    they are computed again if these results have changed since.
    """
    files = [path for path in (*_published(), STORED) if path.exists()]
    return _findings(FOLDER, tuple((path.name, path.stat().st_mtime_ns) for path in files))


def compute() -> list[Finding]:
    """Compute the answer to every claim from the published results; numbers are rounded to six digits."""
    found = [claim.find() for claim in CLAIMS]
    return [one._replace(numbers={name: float(f"{value:.6g}") for name, value in one.numbers.items()}) for one in found]


def store() -> None:
    """Compute all answers and store them, with a checksum of the results that they rest on."""
    content = {"published": _checksum(), "findings": [_plain(finding) for finding in compute()]}
    replace_file(STORED, f"{json.dumps(content, ensure_ascii=False, indent=1)}\n".encode())


def _plain(finding: Finding) -> dict[str, Any]:
    return {**finding._asdict(), "deciding": finding.deciding._asdict()}


def read_stored() -> list[Finding] | None:
    """Return the stored answers, or None if the published results have changed since."""
    content = json.loads(STORED.read_text()) if STORED.exists() else {}
    if content.get("published") != _checksum():
        return None
    return [
        Finding(one["verdict"], Deciding(**one["deciding"]), one["numbers"], tuple(one["sentences"]))
        for one in content["findings"]
    ]


@lru_cache(maxsize=2)
def _findings(folder: Path, versions: tuple[tuple[str, int], ...]) -> list[tuple[Claim, Finding]]:
    """`versions` changes whenever a file is written again."""
    return [*zip(CLAIMS, read_stored() or compute(), strict=True)]


def _published() -> list[Path]:
    return [*sorted(FOLDER.glob("*.jsonl")), FOLDER / "studies.json"]


def _checksum() -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in _published())).hexdigest()
