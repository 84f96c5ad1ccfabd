"""Which signals a whole process group was sent.

A program and what started it are in one process group, as a shell has them. A signal for the group,
such as Ctrl-C, reaches both; one for the starting process alone has to be passed on. The two look
alike. So a process that does nothing else stands in the group: what it has got, the group has got.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Sequence

# The group's processes are given a signal one after another, within microseconds.
_GROUP_IS_SERVED_SECONDS = 0.002


class Witness:
    """A process of this process group; all signals are blocked where it is made.

    It also removes ``folders`` if this process is killed.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        """Start it."""
        asked, self._ask = os.pipe()
        self._answer, answering = os.pipe()
        self._taken: Counter[int] = Counter()
        self._process = os.fork()
        if not self._process:
            os.close(self._ask)
            _stand_by(asked, answering, folders)
        os.close(asked)
        os.close(answering)

    def has_got(self, number: int) -> bool:
        """Return whether the whole group was sent a signal that this process has just got."""
        time.sleep(_GROUP_IS_SERVED_SECONDS)
        self._taken.update(self._got_since())
        known = self._taken[number] > 0
        self._taken[number] -= known
        return known

    def end(self) -> None:
        """End it."""
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._ask)
        os.close(self._answer)

    def _got_since(self) -> bytes:
        try:
            os.write(self._ask, b"?")
        except BrokenPipeError:  # it was killed, perhaps with its group
            return b""
        count = os.read(self._answer, 1)
        return os.read(self._answer, count[0]) if count and count[0] else b""


def _stand_by(asked: int, answering: int, folders: Sequence[str]) -> None:
    """Tell what has come as often as asked; end with the process that asks."""
    try:
        while os.read(asked, 1):
            taken = bytearray()
            while len(taken) < 0xFF and (info := signal.sigtimedwait(signal.valid_signals(), 0)):
                taken.append(info.si_signo)
            os.write(answering, bytes((len(taken), *taken)))
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os._exit(0)
