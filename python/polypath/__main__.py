"""`python -m polypath`: the command `polypath`, by a Python of which no script is in the path."""

from __future__ import annotations

import sys

from polypath_command import main

if __name__ == "__main__":
    sys.exit(main())
