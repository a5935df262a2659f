"""The methods. A new one is one new file here, named as the user names it, with a class `Method`."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import torch

    from mgem_core.config import RunConfig
    from mgem_core.learners._learner import Learner
    from mgem_core.streams._stream import Stream

NAMES = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def create(config: RunConfig, stream: Stream, device: torch.device) -> Learner:
    method = importlib.import_module(f"{__name__}.{config.method}").Method
    return cast("Learner", method(config, stream, device))
