"""Runs a program to its end, for who has work to do then, as if it had taken this process's place.

Signals for this process are the program's, and so is the end: `polypath_command` ends by the signal
that has ended it. What cannot be as natively: the program's parent is this process, and a SIGSTOP
for this process leaves it running. A SIGKILL ends both.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Callable, TypeVar

from polypath.cli import handover
from polypath.cli.launches import say_not_run
from polypath.cli.witness import Witness
from polypath.launching import Launch

SHELL_SIGNALLED = 128  # and the signal's number: the exit status that shells have for it

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
# Where this process has other threads, one of those may be given the signal that is waited for.
_LOOK_SECONDS = 0.5
_JOB_CONTROL = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)

Mask = set[Any]  # of signals
Result = TypeVar("Result")


def shell_status(status: int) -> int:
    """Return the exit status that shells have for one that may be minus a signal's number."""
    return status if status >= 0 else SHELL_SIGNALLED - status


def folder_beside(file: str | None, what: str) -> str:
    """Return the name of a folder that there is not, beside a file or in the working folder.

    The computers of one run share that, as a rule.
    """
    beside = Path(file).resolve().parent if file is not None else Path.cwd()
    return str(beside / f".polypath-{what}-{os.getpid()}-{os.urandom(4).hex()}")


def run_with_folder(
    launch: Launch, around: dict[str, str], folder: str, result_of: Callable[[int], Result]
) -> tuple[int, Result] | None:
    """Run a command that leaves files in a folder; return its status and what is made of them.

    Returns nothing, and says so, if the system does not run it. The folder is gone in any case.
    """
    with _held_signals() as mask:
        Path(folder).mkdir(mode=0o700)
        try:
            status = _run(launch.arguments, {**around, **launch.environment}, mask, folder)
            return status, result_of(status)
        except _NotRunError as error:
            say_not_run(launch.arguments[0], error.why)
            return None
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _held_signals() -> Iterator[Mask]:
    """Hold all signals back: nothing that is made meanwhile is left behind. Gives the mask before.

    Signals that are still held at the end were for a program that has ended, and go with it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield before
    finally:
        while signal.sigtimedwait(signal.valid_signals() - before, 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _NotRunError(Exception):
    def __init__(self, why: OSError) -> None:
        self.why = why


def _run(command: Sequence[str], around: dict[str, str], mask: Mask, folder: str) -> int:
    """Run a command to its end; return its status, or minus the signal that ended it.

    ``mask`` is what it finds blocked; the folder goes if this process is killed.
    """
    children = signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, there would be no status
    witness = Witness([folder])
    try:
        prepare = _preparation(mask, children == signal.SIG_IGN)
        try:
            process = subprocess.Popen(
                command, env=around, close_fds=False, restore_signals=False, preexec_fn=prepare
            )
        except OSError as error:
            raise _NotRunError(error) from None
        process.returncode = _attend(process.pid, witness)
        return process.returncode
    finally:
        witness.end()
        signal.signal(signal.SIGCHLD, children)


def _preparation(mask: Mask, ignores_children: bool) -> Callable[[], None]:
    """Return what makes a forked child the process that the program expects to start in."""
    launcher, restored = os.getpid(), handover.signals_to_restore()
    system = ctypes.CDLL(None)

    def prepare() -> None:
        system.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != launcher:
            os._exit(SHELL_SIGNALLED + signal.SIGKILL)
        handover.restore_signals(restored)
        if ignores_children:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    return prepare


def _attend(process: int, witness: Witness) -> int:
    """Pass signals on until the process has ended."""
    while True:
        info = signal.sigtimedwait(signal.valid_signals(), _LOOK_SECONDS)
        status = _status_of(process)
        if status is not None:
            return status
        if info is None or info.si_signo == signal.SIGCHLD or witness.has_got(info.si_signo):
            continue
        with contextlib.suppress(PermissionError):  # a set-user-id program may refuse it
            os.kill(process, info.si_signo)


def _status_of(process: int) -> int | None:
    """Return how it has ended, or nothing. Stop with it, as the shell expects of a job."""
    changed, status = os.waitpid(process, os.WNOHANG | os.WUNTRACED)
    if not changed:
        return None
    if os.WIFSTOPPED(status):
        # By hand it may be continued by hand, of which this process would not hear.
        if os.WSTOPSIG(status) in _JOB_CONTROL:
            os.kill(os.getpid(), signal.SIGSTOP)
        return None
    return os.waitstatus_to_exitcode(status)


def end_by_signal(number: int) -> int:
    """End this process as its program has ended, but without a memory image of its own.

    Return the status that shells have for it where the signal does not end it.
    """
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    with contextlib.suppress(OSError):  # SIGKILL needs no preparation
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return shell_status(-number)
