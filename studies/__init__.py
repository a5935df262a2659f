"""Scripts that make what the documents show: tables, pictures, and the recorded runs that come with the tool.

Every library gets one thread, before it is loaded, so that a run repeats to the last bit.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
