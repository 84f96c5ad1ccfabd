"""Where the command `polypath` starts.

It is a package of its own, because Ctrl-C may come while Python loads the package that does it.
"""

from __future__ import annotations

import gc

_INTERRUPTED = 130  # as shells have it; here nothing of polypath is loaded yet


def main() -> int:
    """Load the command line and run it; return the exit status."""
    gc.disable()  # until all is loaded (polypath/cli/running.py): modules are no garbage
    try:
        from polypath.cli import main as run

        return run()
    except KeyboardInterrupt:
        return _INTERRUPTED
