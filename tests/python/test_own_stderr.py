"""What the preload library has to say goes to the stderr that the program was started with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from polypath.install import preload_library
from standin_copies import AROUND, COPIES, on_the_stand_in

pytestmark = [
    on_the_stand_in,
    pytest.mark.skipif(
        not preload_library().exists(), reason="built without the CUDA driver layer"
    ),
]

# A daemon: closes all descriptors, and opens a file that becomes descriptor 2.
DAEMON = """
os.closerange(0, 256)
for flags, name in ((os.O_RDWR, os.devnull), (os.O_RDWR, os.devnull),
                    (os.O_RDWR | os.O_CREAT, sys.argv[1])):
    number = os.open(name, flags)
os.set_inheritable(number, True)
assert number == 2
os.write(number, b"DATA")
"""
WORK = "\nmust(driver.cuInit(0))\ncopies(5)\n"


def run(program: str, *arguments: str, **how: object) -> subprocess.CompletedProcess[str]:
    settings = how.pop("settings", {"POLYPATH_STATS": "1", "POLYPATH_LOG": "debug"})
    around = {**os.environ, **AROUND, "LD_PRELOAD": str(preload_library()), **settings}  # type: ignore[dict-item]
    words = [sys.executable, "-c", f"{COPIES}{program}", *arguments]
    return subprocess.run(words, env=around, text=True, check=False, **how)  # type: ignore[call-overload]


@pytest.mark.parametrize("settings", [{"POLYPATH_LOG": "x"}, {"POLYPATH_STATS": "1"}])
def test_a_file_that_becomes_descriptor_2_stays_its_own(
    settings: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "data"

    ended = run(DAEMON + WORK, str(file), settings=settings, stderr=subprocess.PIPE)

    assert ended.returncode == 0
    assert file.read_text() == "DATA"
    assert ended.stderr == ""
    assert "polypath" in run(WORK, settings=settings, stderr=subprocess.PIPE).stderr


def test_a_stderr_that_was_closed_at_the_start_is_no_stderr(tmp_path: Path) -> None:
    file = tmp_path / "data"

    ended = run(DAEMON + WORK, str(file), preexec_fn=lambda: os.close(2))

    assert ended.returncode == 0
    assert file.read_text() == "DATA"


def test_a_reader_that_has_gone_does_not_end_the_program() -> None:
    """Natively the program writes nothing."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as broken:
        default = "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        ended = run(f"{default}{WORK}", stderr=broken)

    assert ended.returncode == 0


def test_nor_does_a_file_at_its_limit(tmp_path: Path) -> None:
    limited = (
        f"{WORK}import resource\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    )
    with (tmp_path / "stderr").open("w") as file:
        ended = run(limited, stderr=file, settings={"POLYPATH_STATS": "1"})

    assert ended.returncode == 0
    assert (tmp_path / "stderr").stat().st_size == 100


def test_a_signal_that_was_pending_stays_so(tmp_path: Path) -> None:
    """The program's own SIGPIPE, which it has blocked, is not taken for one of the library's."""
    program = (
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})\n"
        "os.kill(os.getpid(), signal.SIGPIPE)\n"
        f"{WORK}"
        "assert signal.sigpending() == {signal.SIGPIPE}\n"
    )
    with (tmp_path / "stderr").open("w") as file:
        ended = run(program, stderr=file, settings={"POLYPATH_LOG": "x"})

    assert ended.returncode == 0
    assert "POLYPATH_LOG" in (tmp_path / "stderr").read_text()
