"""A run that prints every event, so that a test can kill it at any time. Usage: killable.py CONFIG_JSON CHECKPOINT."""

import os
import sys
import time

from mgem_core import RunConfig, run
from mgem_core.events import Finished

config, path = RunConfig.model_validate_json(sys.argv[1]), sys.argv[2]
resume = path if os.path.exists(path) else None
for event in run(config, checkpoint=path, resume=resume, checkpoint_seconds=0):
    time.sleep(0.01)  # slow enough to be killed in the middle
    if isinstance(event, Finished):
        print("finished", event.fingerprint, event.R.tobytes().hex(), flush=True)
    else:
        print("step", getattr(event, "task", 0), getattr(event, "step", 0), flush=True)
