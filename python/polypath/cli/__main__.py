"""`python -m polypath.cli` is the command `polypath`."""

import sys

from polypath.cli import main

sys.exit(main())
