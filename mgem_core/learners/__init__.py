"""The methods. A new one is one new file here that calls `register` with a description, and its learner in the same file.

Importing a file must not import torch, because the dashboard works without it: learners import it inside functions.
Files whose names begin with an underscore are shared by the others and register nothing.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import torch

    from mgem_core.config import RunConfig
    from mgem_core.learners._learner import Learner
    from mgem_core.streams._stream import Stream


class Style(NamedTuple):
    """How a family of configurations looks, in every plot and table."""

    color: str  # as #RRGGBB
    symbol: str  # plotly's name of it, which no other family has
    marker: str  # matplotlib's, likewise


@dataclass(frozen=True)
class Method:
    name: str  # as the user writes it
    about: str  # in a few words
    learner: type[Learner]
    label: Callable[[RunConfig], str]  # of a configuration in tables: its family, perhaps with numbers in parentheses
    families: Mapping[str, Style]  # what its labels begin with, and how each of them looks; usually one
    fields: tuple[str, ...] = ()  # which of modules, splits, strength, memory and so on, known to several methods, it uses
    options: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)  # fields of this method alone: type and Field
    fields_without_effect: Callable[[RunConfig], set[str]] = lambda config: set()  # because of other fields of the run
    caution: Callable[[RunConfig], str] = lambda config: ""  # why a run of this configuration may go wrong, in a sentence
    keeps_samples_per_task: bool = False  # if so, a task must show at least `memory` samples
    shares_network: bool = True  # among its tasks; otherwise there is no transfer between them
    # (config, task counted from 0) → the samples that a step passes through the network besides its batch; it only serves
    # to estimate how long runs take.
    cost: Callable[[RunConfig, int], float] = lambda config, task: 0.0
    learning_rates: Mapping[str, float] = field(default_factory=dict)  # benchmark → rate, measured; before the benchmark's


METHODS: dict[str, Method] = {}


def register(method: Method) -> None:
    METHODS[method.name] = method


def create(config: RunConfig, stream: Stream, device: torch.device) -> Learner:
    return METHODS[config.method].learner(config, stream, device)


def uses(method: str, name: str) -> bool:
    """Does a field of RunConfig matter to a method? Not to one that this version does not know."""
    return method in METHODS and name in (*METHODS[method].fields, *METHODS[method].options)


def shares_network(method: str) -> bool:
    """Do the tasks of a method share a network, so that one may help or hurt another?"""
    return method not in METHODS or METHODS[method].shares_network


def method_specific_fields() -> set[str]:
    """Fields of RunConfig that matter to some methods only."""
    return {name for method in METHODS.values() for name in (*method.fields, *method.options)}


for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")

METHODS = {"gem": METHODS.pop("gem"), **METHODS}  # the GEM family comes first
FAMILIES = {name: style for method in METHODS.values() for name, style in method.families.items()}
METHOD_OF_FAMILY = {name: method.name for method in METHODS.values() for name in method.families}
