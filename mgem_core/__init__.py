"""mGEM Explorer's engine: what does it cost to remember?

`import mgem_core` stays light: torch is loaded by the first call of `run`.
"""

from collections.abc import Iterator
from typing import Any

from mgem_core.fingerprints import remember_code

remember_code()  # before the code is loaded

from mgem_core.config import RunConfig  # noqa: E402
from mgem_core.errors import UsageError  # noqa: E402
from mgem_core.events import Event  # noqa: E402
from mgem_core.version import VERSION  # noqa: E402

__version__ = VERSION
__all__ = ["RunConfig", "UsageError", "run"]


def run(config: RunConfig, **options: Any) -> Iterator[Event]:
    """Train as `config` says and yield events; see `mgem_core.engine.run`, which this calls."""
    from mgem_core.engine import run as engine_run

    return engine_run(config, **options)
