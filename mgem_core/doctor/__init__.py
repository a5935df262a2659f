"""The checks of `mgem doctor`: is this installation all right, and do its devices compute the same?

In: the environment (folders, the store, data, devices). Out: `Check`s, each with what was found and one line of advice.
Nothing here writes to the store or to its folder. Only `speed`, `steps` and `comparison` import torch.
"""

from mgem_core.doctor.check import Check, Checks, run_checks

__all__ = ["Check", "Checks", "run_checks"]
