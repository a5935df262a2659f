"""Scripts that make what the documents show: tables, pictures, and the recorded runs that come with the tool.

`python -m studies.NAME` runs one of them. Small results go to `mgem_core/paper/published/studies.json`, from which claims
are computed; `studies.reproduction` writes the tables and claims of docs/reproduction.md.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # before any library is loaded
    os.environ[_name] = "1"
