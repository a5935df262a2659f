"""Measurements. Every library gets one thread, before it is loaded: threads of one piece of work would spin in the next."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
