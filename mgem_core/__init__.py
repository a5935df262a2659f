"""mGEM Explorer's engine: what does it cost to remember?

`import mgem_core` stays light: torch is loaded by the first call of `run`.
"""

from collections.abc import Iterator
from typing import Any

from mgem_core.config import RunConfig
from mgem_core.errors import UsageError
from mgem_core.events import Event
from mgem_core.keys import remember_code
from mgem_core.version import VERSION

remember_code()
__version__ = VERSION
__all__ = ["RunConfig", "UsageError", "run"]


def run(config: RunConfig, **options: Any) -> Iterator[Event]:
    """Train as `config` says and yield events; see `mgem_core.engine.run`, which this calls."""
    from mgem_core.engine import run as engine_run

    return engine_run(config, **options)
