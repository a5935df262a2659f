"""python -m mgem_core is the `mgem` command."""

import sys

from mgem_core.cli import main

sys.exit(main())
