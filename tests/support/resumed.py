"""Stop a run in its second task and resume it."""

import numpy as np

from mgem_core import RunConfig, run


def check_resumed_run(config: RunConfig) -> None:
    """Check that a run resumed from its 26th checkpoint, in the second task, has the result of the uninterrupted run."""
    saved: list[bytes] = []
    whole = list(run(config, checkpoint=saved.append, checkpoint_seconds=0))[-1]
    events = list(run(config, resume=saved[25]))
    assert (events[0].task, events[0].notice) == (1, "")
    assert events[-1].fingerprint == whole.fingerprint
    np.testing.assert_array_equal(events[-1].R, whole.R)
