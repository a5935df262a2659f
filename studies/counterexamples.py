"""Solve the small problems that contradict Proposition 2 and the equivalence of memory strengths and margins.

`python -m studies.counterexamples` writes the studies "counterexamples" and "one-past-task".
"""

from typing import Any

import torch

from mgem_core import project
from mgem_core.paper.published.studies import write_study

PROBLEMS = 1000
TOLERANCE = 1e-6


def tensor(*values: Any) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def solve() -> list[dict[str, Any]]:
    """Return what each method leaves of a memory gradient, ⟨ĝ_s,z⟩, with every step restricted."""
    rows, g = tensor([-1.0, 0.0], [1.0, -1.0]), tensor(-1.0, 0.0)
    gem = project(g, rows, trigger="always")
    p_mgem = project(g, rows, modules=[slice(0, 1), slice(1, 2)], trigger="always")
    p_case: dict[str, Any] = {"rows": rows.tolist(), "gradient": g.tolist()}

    splits, g_split = tensor([1.0, 0.0], [-3.0, 1.0]), tensor(-1.0, 1.0)
    memory = splits.mean(0, keepdim=True)
    d_case = {"rows": splits.tolist(), "gradient": g_split.tolist()}
    whole, d_mgem = project(g_split, memory, trigger="always"), project(g_split, splits, trigger="always")

    row, back, q = tensor([1.0, 0.0]), tensor(-2.0, 0.0), 0.5
    s_case: dict[str, Any] = {"rows": row.tolist(), "gradient": back.tolist(), "strength": q}
    floor = project(back, row, strength=q, strength_kind="dual-floor", trigger="always")
    margin = project(back, row, strength=q, strength_kind="margin", trigger="always")
    found: list[tuple[str, str, dict[str, Any], torch.Tensor]] = [
        ("p-mGEM", "GEM", p_case, rows[0] @ gem.z),
        ("p-mGEM", "p-mGEM", p_case, rows[0] @ p_mgem.z),
        ("d-mGEM", "GEM", d_case, memory[0] @ whole.z),
        ("d-mGEM", "d-mGEM", d_case, memory[0] @ d_mgem.z),
        ("strength", "dual-floor", s_case, row[0] @ floor.z),
        ("strength", "margin", s_case, row[0] @ margin.z),
    ]
    return [
        {"about": about, "method": method, **case, "product": round(float(product), 4) + 0.0}
        for about, method, case, product in found
    ]


def check_one_past_task(size: int) -> int:
    """Count the random problems with one past task in which p-mGEM, a module per parameter, leaves less than GEM.

    Every second problem has a margin, which is the sum of those of the modules.
    """
    random = torch.Generator().manual_seed(size)
    worse = 0
    for problem in range(PROBLEMS):
        g, row, margin = torch.randn(3, size, generator=random, dtype=torch.float64)
        margins = (margin.abs() * (problem % 2)).tolist()
        gem = project(g, row[None], strength=sum(margins), strength_kind="margin", trigger="always")
        parts = [
            project(g[d : d + 1], row[None, d : d + 1], strength=margins[d], strength_kind="margin", trigger="always").z
            for d in range(size)
        ]
        worse += bool(row @ torch.cat(parts) < row @ gem.z - TOLERANCE)
    return worse


def main() -> None:
    sizes = [{"parameters": size, "problems": PROBLEMS, "worse": check_one_past_task(size)} for size in (2, 3, 10)]
    write_study("one-past-task", "python -m studies.counterexamples", sizes)
    write_study("counterexamples", "python -m studies.counterexamples", solve())


if __name__ == "__main__":
    main()
