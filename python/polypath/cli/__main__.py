"""`python -m polypath.cli` is the command `polypath`."""

import sys

from polypath_command import main

sys.exit(main())
