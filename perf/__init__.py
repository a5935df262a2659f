"""Speed measurements. Every library is set to one thread before it is loaded, because idle threads would disturb others."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
