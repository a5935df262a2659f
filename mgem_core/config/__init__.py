"""The settings of runs.

In: what a user asks for. Out: a validated `RunConfig`, all runs of a sweep (`sweeps`), the key under which a result is
stored (`keys`), and what recording for the lens costs (`snapshot_cost`). No torch.
"""

from mgem_core.config.run_config import RunConfig, explain

__all__ = ["RunConfig", "explain"]
