"""Where the command `polypath` starts.

It is a package of its own, because Ctrl-C may come while Python loads the package that does it.
"""

from __future__ import annotations

import gc

_INTERRUPTED = 130  # as shells have it; here nothing of polypath is loaded yet


def main() -> int:
    """Load the command line and run it; return the exit status.

    Does not return if a signal has ended the program that it ran: this process ends by it, too.
    """
    gc.disable()  # until all is loaded (polypath/cli/running.py): modules are no garbage
    try:
        from polypath.cli import main as run

        status = run()
        return status if status >= 0 else _end_by_signal(-status)
    except KeyboardInterrupt:
        return _INTERRUPTED


def _end_by_signal(number: int) -> int:
    from polypath.cli.supervised_run import end_by_signal

    return end_by_signal(number)
