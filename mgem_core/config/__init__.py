"""The settings of runs.

In: the settings that a user gives. Out: a validated `RunConfig`, all runs of a sweep (`sweeps`), the key under which a
result is stored (`keys`), the speed of each network on a reference machine (`reference_speeds`), and the cost of recording
for the lens (`snapshot_cost`). Nothing here imports torch.
"""

from mgem_core.config.run_config import RunConfig, explain

__all__ = ["RunConfig", "explain"]
