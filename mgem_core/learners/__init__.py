"""The methods. A new method is one new file here, with a learner and a call of `register` that describes it.

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
    """Colour and symbol of a family of configurations, in every plot and table."""

    color: str  # as #RRGGBB
    symbol: str  # plotly's name of the symbol; each family has a different one
    marker: str  # matplotlib's name of the symbol, also different


@dataclass(frozen=True)
class Method:
    name: str  # the value of the field `method`
    about: str  # a description in a few words
    learner: type[Learner]
    label: Callable[[RunConfig], str]  # name of a configuration in tables: its family, and numbers in parentheses
    families: Mapping[str, Style]  # what labels can begin with, and the style of each; usually one
    fields: tuple[str, ...] = ()  # fields of several methods that it uses: modules, splits, strength, memory, …
    options: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)  # fields of this method only: type and Field
    fields_without_effect: Callable[[RunConfig], set[str]] = lambda config: set()  # because of its other fields
    caution: Callable[[RunConfig], str] = lambda config: ""  # a warning about a configuration, in a sentence
    keeps_samples_per_task: bool = False  # if True, a task must show at least `memory` samples
    shares_network: bool = True  # if False, each task has its own network, and there is no transfer between tasks
    # (config, task counted from 0) → samples that a step passes through the network in addition to its batch, and the
    # number of passes in which it does so; only used to estimate how long runs take
    cost: Callable[[RunConfig, int], float] = lambda config, task: 0.0
    passes: Callable[[RunConfig, int], float] = lambda config, task: 1.0
    learning_rates: Mapping[str, float] = field(
        default_factory=dict
    )  # benchmark → measured rate, used before the benchmark's


METHODS: dict[str, Method] = {}


def register(method: Method) -> None:
    METHODS[method.name] = method


def create(config: RunConfig, stream: Stream, device: torch.device) -> Learner:
    return METHODS[config.method].learner(config, stream, device)


def uses(method: str, name: str) -> bool:
    """Return whether a method uses a field of RunConfig; False for a method that this version does not know."""
    return method in METHODS and name in (*METHODS[method].fields, *METHODS[method].options)


def shares_network(method: str) -> bool:
    """Return whether the tasks of a method share a network, so that one may help or hurt another."""
    return method not in METHODS or METHODS[method].shares_network


def method_specific_fields() -> set[str]:
    """Return the fields of RunConfig that only some methods use."""
    return {name for method in METHODS.values() for name in (*method.fields, *method.options)}


for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")

METHODS = {"gem": METHODS.pop("gem"), **METHODS}  # the GEM family comes first
FAMILIES = {name: style for method in METHODS.values() for name, style in method.families.items()}
METHOD_OF_FAMILY = {name: method.name for method in METHODS.values() for name in method.families}
