"""Rules of gradient surgery, which combine several gradients into one direction, as functions of a Gram matrix.

Each rule takes the Gram matrix S [n, n] of n gradients, here the batch gradient g and the memory rows, and returns weights
w [n] with z = Σ w_i · (gradient i). No rule needs the gradients themselves, so the lens can apply all of them to recorded
steps, also per module. `shares` [n − 1] are the shares of the memory rows in the memory of their tasks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
import quadprog
from numpy.typing import NDArray

from mgem_core.restriction.dual import exact
from mgem_core.restriction.restriction import RIDGE

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rule:
    name: str
    label: str
    source: str
    weights: Callable[[Floats, Floats, float], Floats]  # S, shares, parameter → w
    parameter: str = ""  # description of the parameter; empty if the rule has none


def agem(S: Floats, shares: Floats, _: float) -> Floats:
    """A-GEM: z = g − ⟨g,ĝ⟩ / ‖ĝ‖² · ĝ if ⟨g,ĝ⟩ < 0, where ĝ is the mean gradient of the whole memory."""
    mean = np.concatenate([[0.0], shares / max(shares.sum(), 1e-300)])
    b, length = S[0] @ mean, mean @ S @ mean
    w = np.eye(len(S))[0]
    return np.asarray(w - b / length * mean if b < 0 < length else w)


def pcgrad(S: Floats, shares: Floats, _: float) -> Floats:
    """PCGrad: each gradient is made orthogonal to each other one that it conflicts with, and all are added.

    The paper visits the others in random order; here they are visited in their given order. For two gradients both agree.
    """
    total = np.zeros(len(S))
    for i in range(len(S)):
        w = np.eye(len(S))[i]
        for j in range(len(S)):
            if j != i and (product := S[j] @ w) < 0 < S[j, j]:
                w[j] -= product / S[j, j]
        total += w
    return total


def mgda(S: Floats, shares: Floats, _: float) -> Floats:
    """MGDA: the shortest vector in the convex hull of the gradients."""
    return _on_simplex(S, np.zeros(len(S)))


def cagrad(S: Floats, shares: Floats, c: float) -> Floats:
    """CAGrad: of all z within c ‖g_0‖ of the mean gradient g_0, the one with the largest smallest ⟨gradient, z⟩.

    Its dual is min_w ⟨g_w,g_0⟩ + c ‖g_0‖ ‖g_w‖ over convex combinations g_w, and then z = g_0 + c ‖g_0‖ g_w / ‖g_w‖. With
    ‖g_w‖ = min_τ (‖g_w‖² / τ + τ) / 2 it is solved alternately for w, by a quadratic program, and for τ, which is ‖g_w‖.
    """
    mean = np.full(len(S), 1 / len(S))
    tau = _norm(S, mean)
    radius = c * tau
    smallest = 1e-8 * sqrt(np.trace(S))
    w = mean
    for _ in range(1000):
        if radius == 0 or tau <= smallest:
            break
        w, before = _on_simplex(S * (radius / tau), S @ mean), w
        tau = _norm(S, w)
        if np.abs(w - before).max() < 1e-10:
            break
    return mean + radius / tau * w if tau > smallest else mean * (c == 0)


def upgrad(S: Floats, shares: Floats, _: float) -> Floats:
    """UPGrad: each gradient is projected onto the cone of directions that conflict with none, and the mean is taken."""
    nothing = np.zeros(len(S))
    projected = [exact(S, nothing, one, RIDGE, "relative")[0] for one in np.eye(len(S))]
    return np.asarray(np.mean(projected, axis=0))


def replay(S: Floats, shares: Floats, q: float) -> Floats:
    """Replay: a weighted sum with the memory, z = g + q Σ_s ĝ_s."""
    return np.concatenate([[1.0], q * shares])


def _norm(S: Floats, w: Floats) -> float:
    """Return the norm of the combination of gradients with these weights."""
    return sqrt(max(float(w @ S @ w), 0.0))


def _on_simplex(S: Floats, c: Floats) -> Floats:
    """Minimise 1/2 wᵀ S w + cᵀ w over w ≥ 0 with Σ w = 1."""
    n, scale = len(S), np.trace(S) / len(S)
    if scale <= 0:
        return np.full(n, 1 / n)
    constraints = np.concatenate([np.ones((n, 1)), np.eye(n)], axis=1)
    H = S / scale + 1e-10 * np.eye(n)
    w = quadprog.solve_qp(H, -c / scale, constraints, np.eye(n + 1)[0], meq=1)[0]
    return np.asarray(np.maximum(w, 0.0) / np.maximum(w, 0.0).sum())


RULES = {
    rule.name: rule
    for rule in (
        Rule("agem", "A-GEM", "Chaudhry et al. 2019, arXiv 1812.00420", agem),
        Rule("pcgrad", "PCGrad", "Yu et al. 2020, arXiv 2001.06782", pcgrad),
        Rule("mgda", "MGDA", "Désidéri 2012; Sener and Koltun 2018, arXiv 1810.04650", mgda),
        Rule("cagrad", "CAGrad", "Liu et al. 2021, arXiv 2110.14048", cagrad, "c, the radius as a share of ‖g_0‖"),
        Rule("upgrad", "UPGrad", "Quinton and Rey 2024, arXiv 2406.16232", upgrad),
        Rule("replay", "replay", "a weighted sum", replay, "the weight of each past task"),
    )
}
