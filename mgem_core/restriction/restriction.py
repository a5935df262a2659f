"""The options of the GEM family as one value, from `RunConfig` to the browser.

A new option is a field here, code that uses it, a field of `RunConfig` with the same name, and a test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from mgem_core.restriction.partition import Each

StrengthKind = Literal["dual-floor", "margin"]
StrengthPer = Literal["split", "task"]
Solver = Literal["exact", "approx"]
Trigger = Literal["violation", "always"]
StepLength = Literal["free", "gradient"]
RidgeKind = Literal["relative", "absolute"]

CHOICES: dict[str, tuple[str, ...]] = {  # fields with a few allowed values
    "strength_kind": get_args(StrengthKind),
    "strength_per": get_args(StrengthPer),
    "solver": get_args(Solver),
    "trigger": get_args(Trigger),
    "step_length": get_args(StepLength),
    "ridge_kind": get_args(RidgeKind),
}


class Convention(NamedTuple):
    """When a step is restricted and how long it is: one choice for the user instead of two options."""

    title: str
    help: str
    fields: dict[str, str]


CONVENTIONS: dict[str, Convention] = {  # the first is the default
    "on-conflict": Convention(
        "GEM's code",
        "Restrict a step only where it conflicts with the memory, and use z as solved, like the published code of GEM.",
        {"trigger": "violation", "step_length": "free"},
    ),
    "every-step": Convention(
        "every step",
        "Restrict every step, also without a conflict, with a floor in the dual, and use z as solved.",
        {"trigger": "always", "step_length": "free"},
    ),
    "equal-length": Convention(
        "every step, equal length",
        "Restrict every step, and scale z to the length of the gradient g. On axes per ‖z‖, the curves are those of "
        "every step.",
        {"trigger": "always", "step_length": "gradient"},
    ),
}
RIDGE = 1e-7  # just above the rounding errors of float32 Gram matrices
VIOLATED = -1e-12  # cosine of g and a row below which g violates it; not 0 because of rounding errors


@dataclass(frozen=True)
class Restriction:
    """Options of the restriction: modules and splits, their strength, and how the dual problem is solved."""

    modules: int | Each | Mapping[str, int] = 1  # D, "layers" or "tensors", or the module of each layer or tensor
    splits: int = 1  # K memory rows per past task
    strength: float | Sequence[float] = 0.5  # q or γ: one for all past tasks, or one per past task
    strength_kind: StrengthKind = "dual-floor"  # v ≥ q, or ⟨ĝ,z⟩ ≥ γ
    strength_per: StrengthPer = "split"  # each row has the strength, or the K rows of a task share it
    solver: Solver = "exact"
    trigger: Trigger = "violation"  # restrict a module only if g violates one of its rows, or always
    step_length: StepLength = "free"  # "gradient": z gets the length of g
    ridge: float = RIDGE  # added to the diagonal of A
    ridge_kind: RidgeKind = "relative"  # to each row's ‖ĝ‖², or "absolute" as in GEM's published code (1e-3)
    split_by: str | None = None  # how the memory is split; None: as recorded
    rule: str = ""  # a rule of `surgery.py` instead of the dual problem, with the strength as its parameter

    def __post_init__(self) -> None:
        for name, words in CHOICES.items():
            if getattr(self, name) not in words:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(words)}")
        for name in ("strength", "ridge"):
            value = np.asarray(getattr(self, name), float)
            if not ((value >= 0) & np.isfinite(value)).all():
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be a number of at least 0")

    @classmethod
    def of(cls, values: Any) -> "Restriction":
        """Build a restriction from fields of RunConfig; fields that do not restrict the gradient are ignored."""
        return cls(**{name: values[name] for name in FIELDS if name in values})

    def task_strengths(self, past: int) -> NDArray[np.float64]:
        """Return the strength of each of the `past` tasks [S]; if there are more strengths, the first ones."""
        strength = np.atleast_1d(np.asarray(self.strength, float))
        if 1 < len(strength) < past:
            raise ValueError(f"strength is {self.strength!r}; there are {past} past tasks, so it must be that many")
        return np.broadcast_to(strength[:past], (past,))

    def row_strengths(self, rows: int) -> NDArray[np.float64]:
        """Return the strength of each memory row [C], with K rows per past task."""
        per_task = self.task_strengths(rows // self.splits) / (self.splits if self.strength_per == "task" else 1)
        return np.repeat(per_task, self.splits)

    def as_json(self) -> dict[str, Any]:
        """Return plain data for the browser, with the tolerance of its solver."""
        return {**asdict(self), "violated": VIOLATED}


FIELDS = tuple(field.name for field in fields(Restriction))
