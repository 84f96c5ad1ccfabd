"""A program under `polypath run` and `polypath trace` finds and leaves what it would natively."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from polypath.install import preload_library

pytestmark = pytest.mark.skipif(
    not preload_library().exists(), reason="built without the CUDA driver layer"
)

POLYPATH = [sys.executable, "-m", "polypath.cli"]
SIGNALS = ["grep", "-E", "Sig(Ign|Blk)", "/proc/self/status"]


def ignored(status: str) -> int:
    """Return the signals that are ignored, bit by bit, from the lines of /proc/self/status."""
    mask = next(line for line in status.splitlines() if line.startswith("SigIgn"))
    return int(mask.split()[1], 16)


def started(way: str, folder: Path, *program: str) -> list[str]:
    """Return the command that starts a program in one of the ways that there are."""
    return {
        "exec": [*POLYPATH, "run", "-q", "--", *program],
        "report": [*POLYPATH, "run", "-q", "--report", str(folder / "r.json"), "--", *program],
        "trace": [*POLYPATH, "trace", "--output", str(folder / "t.json"), "--", *program],
        "launcher": [*POLYPATH, "run", "-q", "--", str(launcher(folder)), *program],
    }[way]


def launcher(folder: Path) -> Path:
    """Make what is taken for a launcher of MPI programs, and only becomes its program."""
    path = folder / "mpirun"
    path.write_text('#!/bin/sh\n[ "$1" = --version ] || exec "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def shell_of(way: str, folder: Path) -> list[str]:
    """Return what starts a program so natively: a shell takes SIGCHLD for itself."""
    return [str(launcher(folder))] if way == "launcher" else []


WAYS = ["exec", "report", "trace", "launcher"]
ATTENDED = ["report", "trace"]
every_way = pytest.mark.parametrize("way", WAYS)
attended = pytest.mark.parametrize("way", ATTENDED)


def output(command: list[str], **around: object) -> str:
    ended = subprocess.run(command, capture_output=True, text=True, check=True, **around)  # type: ignore[call-overload]
    return "\n".join(line for line in ended.stdout.splitlines() if "perfetto" not in line)


@every_way
def test_what_python_ignores_the_program_does_not(way: str, tmp_path: Path) -> None:
    natively = output(SIGNALS)

    assert output(started(way, tmp_path, *SIGNALS)).startswith(natively)


@every_way
def test_what_was_ignored_or_blocked_before_stays_so(way: str, tmp_path: Path) -> None:
    def prepare() -> None:
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGTSTP):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGRTMIN})

    natively = output([*shell_of(way, tmp_path), *SIGNALS], preexec_fn=prepare)
    blocked, ignored = (int(mask, 16) for mask in re.findall(r"Sig(?:Blk|Ign):\s(\w+)", natively))
    assert blocked & 0x200000200 == 0x200000200
    assert ignored & 0x80003 == 0x80003

    assert output(started(way, tmp_path, *SIGNALS), preexec_fn=prepare).startswith(natively)


@every_way
def test_a_shell_that_ignores_broken_pipes_passes_that_on(way: str, tmp_path: Path) -> None:
    shell = ["sh", "-c", 'trap "" PIPE; "$@"; exit $?', "sh"]
    natively = output([*shell, *SIGNALS])
    assert ignored(natively) & 1 << signal.SIGPIPE - 1

    assert output([*shell, *started(way, tmp_path, *SIGNALS)]).startswith(natively)


@every_way
@pytest.mark.parametrize("before", [{}, {"LC_CTYPE": "C"}, {"LC_CTYPE": "C.UTF-8"}])
def test_the_locale_is_what_it_was(way: str, before: dict[str, str], tmp_path: Path) -> None:
    around = {"PATH": os.environ["PATH"], **before}
    program = ["sh", "-c", "echo locale: $LC_CTYPE, ${LC_CTYPE-none}"]
    natively = output(program, env=around)

    assert output(started(way, tmp_path, *program), env=around).startswith(natively)


@every_way
def test_descriptors_stay_open(way: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("its bytes\n")
    with (tmp_path / "file").open() as file:
        command = started(way, tmp_path, "sh", "-c", f"cat /dev/fd/{file.fileno()}")
        assert output(command, pass_fds=[file.fileno()]).startswith("its bytes")


@every_way
def test_a_signal_that_ends_the_program_is_the_commands_end(way: str, tmp_path: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGABRT, signal.SIGINT):
        command = started(way, tmp_path, "sh", "-c", f"kill -{number:d} $$")
        assert subprocess.run(command, check=False, capture_output=True).returncode == -number
        if way == "report":
            assert json.loads((tmp_path / "r.json").read_text())["status"] == 128 + number
    assert left(tmp_path) == []


@attended
def test_ignored_children_still_have_a_status(way: str, tmp_path: Path) -> None:
    command = started(way, tmp_path, "sh", "-c", "exit 7")

    def prepare() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    ended = subprocess.run(command, check=False, capture_output=True, preexec_fn=prepare)

    assert ended.returncode == 7


# Counts signals, says so each time, and ends with SIGTERM.
COUNTER = """
import os, signal, sys
counts = {}
def say(*words):  # a signal may come while it does: print() takes no second call meanwhile
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
def count(number, _):
    counts[number] = counts.get(number, 0) + 1
    say("got", number)
    if number == signal.SIGTERM:
        say({int(number): times for number, times in counts.items()})
        os._exit(9)
for number in [*map(int, sys.argv[1:]), signal.SIGTERM]:
    signal.signal(number, count)
say("process", os.getpid(), os.getpgrp())
while True:
    signal.pause()
"""

FORWARDED = [
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2),
    *(signal.SIGPIPE, signal.SIGALRM, signal.SIGCONT, signal.SIGWINCH, signal.SIGXCPU),
    *(signal.SIGSEGV, signal.SIGABRT, signal.SIGRTMIN, signal.SIGRTMAX),
]


class Job:
    """A program that counts its signals, started in a group of its own."""

    def __init__(self, way: str, folder: Path, *numbers: int) -> None:
        self.folder = folder
        words = [sys.executable, "-c", COUNTER, *(str(int(number)) for number in numbers)]
        self.process = subprocess.Popen(
            started(way, folder, *words),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            preexec_fn=lambda: os.setpgid(0, 0),
        )
        self.program = int(self.says("process").split()[1])

    def says(self, word: str) -> str:
        """Return what it says next, which begins with a word."""
        line = self.process.stdout.readline()
        assert line.startswith(word), line
        return line

    def rest(self) -> str:
        """Return what it says until all processes of it have ended."""
        return self.process.stdout.read()


@contextlib.contextmanager
def job(way: str, folder: Path, *numbers: int) -> Iterator[Job]:
    running = Job(way, folder, *numbers)
    try:
        yield running
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.process.pid, signal.SIGKILL)
        running.process.wait()


def left(folder: Path) -> list[str]:
    return [path.name for path in folder.glob(".polypath-*")]


@every_way
def test_signals_for_the_command_reach_the_program_once(way: str, tmp_path: Path) -> None:
    with job(way, tmp_path, *FORWARDED) as running:
        for number in FORWARDED:
            running.process.send_signal(number)
            running.says(f"got {number:d}")
        running.process.send_signal(signal.SIGTERM)

        running.says(f"got {signal.SIGTERM:d}")
        counts = dict.fromkeys(map(int, [*FORWARDED, signal.SIGTERM]), 1)
        assert running.says("{") == f"{counts}\n"
        assert running.process.wait() == 9
        assert left(tmp_path) == []


@every_way
def test_signals_for_the_group_reach_the_program_once(way: str, tmp_path: Path) -> None:
    with job(way, tmp_path, signal.SIGUSR1, signal.SIGINT, signal.SIGUSR2) as running:
        for number in (signal.SIGUSR1, signal.SIGINT):
            os.killpg(running.process.pid, number)
            running.says(f"got {number:d}")
        # For the command alone. The system hands out those that wait by their numbers, so that the
        # group's are over when the first of these comes.
        for number in (signal.SIGUSR2, signal.SIGUSR1):
            running.process.send_signal(number)
            running.says(f"got {number:d}")
        running.process.send_signal(signal.SIGTERM)

        running.says(f"got {signal.SIGTERM:d}")
        times = {signal.SIGUSR1: 2, signal.SIGINT: 1, signal.SIGUSR2: 1, signal.SIGTERM: 1}
        assert running.says("{") == f"{ {int(number): count for number, count in times.items()} }\n"


@every_way
def test_a_killed_command_takes_the_program_and_its_files_along(way: str, tmp_path: Path) -> None:
    with job(way, tmp_path) as running:
        running.process.kill()

        assert running.rest() == ""  # it ends only with the last of them
        assert running.process.wait() == -signal.SIGKILL
        assert left(tmp_path) == []


@every_way
def test_a_signal_without_a_handler_ends_both(way: str, tmp_path: Path) -> None:
    with job(way, tmp_path) as running:
        running.process.send_signal(signal.SIGUSR2)

        assert running.process.wait() == -signal.SIGUSR2
        assert left(tmp_path) == []
        if way == "report":
            assert json.loads((tmp_path / "r.json").read_text())["status"] == 128 + signal.SIGUSR2


@every_way
def test_the_command_stops_and_goes_on_with_the_program(way: str, tmp_path: Path) -> None:
    with job(way, tmp_path) as running:
        running.process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(running.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        state = Path(f"/proc/{running.program}/stat").read_text().split(") ")[1]
        assert state.startswith("T")

        running.process.send_signal(signal.SIGCONT)
        running.process.send_signal(signal.SIGTERM)

        running.says(f"got {signal.SIGTERM:d}")
        running.says("{")
        assert running.process.wait() == 9


@attended
def test_the_program_is_in_the_commands_group(way: str, tmp_path: Path) -> None:
    """A terminal and who ends a whole group reach it and its children."""
    with job(way, tmp_path) as running:
        assert os.getpgid(running.program) == running.process.pid
