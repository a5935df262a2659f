"""Let `python -m mgem_core` run the `mgem` command."""

import sys

from mgem_core.cli import main

sys.exit(main())
