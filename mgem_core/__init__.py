"""The engine of mGEM Explorer: continual learning with gradient episodic memory (GEM) and its variants.

The public names are here; each package says in its `__init__.py` what comes in and what goes out. `import mgem_core` stays
light: torch is loaded by the first call of `run`, or when `project` or `Recorder` is imported.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mgem_core.fingerprints import remember_code

remember_code()  # before the code is loaded

from mgem_core.config import RunConfig  # noqa: E402
from mgem_core.errors import UsageError  # noqa: E402
from mgem_core.events import Event  # noqa: E402
from mgem_core.version import VERSION  # noqa: E402

__version__ = VERSION
__all__ = ["Recorder", "RunConfig", "UsageError", "project", "run"]
NEEDS_TORCH = {"project": "mgem_core.restriction.direction", "Recorder": "mgem_core.lens.recorder"}

if TYPE_CHECKING:
    from mgem_core.lens.recorder import Recorder
    from mgem_core.restriction.direction import project


def run(config: RunConfig, **options: Any) -> Iterator[Event]:
    """Train the run that `config` describes and yield its events; see `mgem_core.training.engine.run`."""
    from mgem_core.training.engine import run as engine_run

    return engine_run(config, **options)


def __getattr__(name: str) -> Any:
    """Import a public name that needs torch when it is first used."""
    if name not in NEEDS_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(NEEDS_TORCH[name]), name)
