"""What people mistype: one line that says what is wrong, why, and what to write instead."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cli_runner import Run, assert_refused, polypath, succeed
from polypath.cli.sentences import Sentence
from polypath.cli.tuned_table import tuned_table
from rich.console import Console
from rich.table import Table

PLAN = ("plan", "gpu0", "gpu1", "1M")
NOT_UTF8 = os.fsdecode(b"m\xff.json")

REFUSED = [
    # what is asked, and words of the line that helps
    (("plan", "gpu0", "gpu1", "8000T"), ("8000T", "1T")),
    (("plan", "gpu0:gpu1:8000T"), ("8000T", "1T")),
    (("plan", "ring", "8000T"), ("8000T", "1T")),
    (("plan", "gpu0", "gpu0", "1M"), ("both gpu0", "two different places")),
    (("plan", "gpu0:gpu0:1M"), ("both gpu0", "two different places")),
    (("bench", "bw", "gpu1", "gpu1", "--sizes", "1M"), ("both gpu1", "two different places")),
    ((*PLAN, "--shares", "direct=2,host=-1"), ("direct=2", "0 to 1")),
    ((*PLAN, "--shares", "direct=1,host=-0.5"), ("host=-0.5", "0 to 1")),
    ((*PLAN, "--shares", "host=0.5,host0=0.5"), ("host0", "twice")),
    ((*PLAN, "--paths", "direct,direct"), ("direct", "twice")),
    ((*PLAN, "--paths", "host,host0"), ("host0", "twice")),
    (("plan", "cuda:0", "gpu1", "1M"), ("'cuda:0'", "Did you mean gpu0?")),
    (("plan", "cuda:0", "cuda:1", "1M"), ("'cuda:0'", "Did you mean gpu0?")),
    (("plan", "cuda:0", "cuda:1"), ("'cuda:0'", "Did you mean gpu0?")),
    (("plan", "gpu0", "cuda1", "1M"), ("'cuda1'", "Did you mean gpu1?")),
    (("plan", "0", "1", "1M"), ("'0'", "Did you mean gpu0?")),
    (("plan", "GPU2", "gpu1", "1M"), ("'GPU2'", "Did you mean gpu2?")),
    (("plan", "cpu", "gpu1", "1M"), ("'cpu'", "Did you mean host?")),
    (("plan", "gpu0", "gpu1", "1M", "--machine", "none.json"), ("none.json", "no such file")),
    (("plan", "gpu0", "gpu1", "1M", "--machine", "./"), ("./", "is a folder")),
    ((*PLAN, "--machine", NOT_UTF8), ("UTF-8", "Rename")),
    (("plan", os.fsdecode(b"gpu\xff"), "gpu1", "1M"), ("gpu", "UTF-8")),
    (("bench", "mbw", "gpu2", "gpu3", "--sizes", "1M"), ("mbw", "all GPUs")),
    (("bench", "ring", "gpu2", "gpu3", "--sizes", "1M"), ("ring", "all GPUs")),
    (("bench", "put", "--window", "-1"), ("--window", "1024")),
    (("bench", "put", "--window", "1025"), ("--window", "1024")),
    (("bench", "many", "--pieces", "-1"), ("--pieces", "65536")),
    (("info", "--settings", "--plot", "x.png"), ("--plot", "--settings")),
    (("info", "--settings", "--machine", "beluga"), ("--machine", "--settings")),
    (("calibrate", "--machine", "beluga", "--json", "-", "--output", "-"), ("--output", "stdout")),
    (("tune", "--json", "-", "--output", "-"), ("--output", "stdout")),
    (("tune", "--json", "same.json", "--output", "same.json"), ("--output", "same.json")),
    (("trace", "gpu0", "gpu1", "8000T", "--output", "-"), ("8000T", "1T")),
    (("bench", "put", "--sizes", "1M:8T"), ("128G", "64G")),
    (("bench", "allreduce", "--sizes", "1M:8T"), ("128G", "64G")),
    (("tune", "gpu0", "gpu1", "--sizes", "1M,8T"), ("8T", "64G")),
]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(argument: str) -> str:
    return os.fsencode(argument).decode("ascii", "backslashreplace")


@pytest.mark.parametrize(
    ("arguments", "words"),
    REFUSED,
    ids=[written(" ".join(arguments)) for arguments, _ in REFUSED],
)
def test_a_mistake_is_refused_in_one_line(arguments: tuple[str, ...], words: tuple[str, ...]):
    run = polypath(*arguments)

    assert_refused(run)
    for word in words:
        assert word in run.stderr


def test_no_size_is_measured_if_one_of_them_cannot_be(tmp_path: Path):
    """Of a list the last size may be wrong, and the first ones take a minute."""
    folder = tmp_path / "measured.json"

    run = polypath("bench", "put", "--sizes", "1M,8T", "--json", folder)

    assert_refused(run)
    assert "8T" in run.stderr and not folder.exists()


def cli(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "polypath.cli", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
        timeout=120,
    )


def test_pictures_need_no_home_and_say_nothing_of_it(tmp_path: Path):
    ended = cli(
        "info",
        "--machine",
        "beluga",
        "--plot",
        str(tmp_path / "x.png"),
        HOME="/proc",
        MPLCONFIGDIR="",
    )

    assert ended.returncode == 0
    assert ended.stderr == ""


def test_an_interrupt_while_modules_are_loaded_ends_it_quietly(tmp_path: Path):
    (tmp_path / "rich.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    around = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))

    ended = cli("machines", PYTHONPATH=around)

    assert ended.returncode == 130
    assert ended.stderr == ""


def interrupted(*arguments: str, after: float) -> tuple[int, str]:
    """Start a command, interrupt it, and return how it ended; fail if it does not."""
    command = [sys.executable, "-m", "polypath.cli", *arguments]
    # A shell's background commands ignore the signal, and so would what they start.
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(after)
    assert process.poll() is None, "it ended before it was interrupted"
    process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
    return process.returncode, said


def test_a_long_planning_is_interrupted():
    """All copies of 1 TiB among four GPUs: long planning without a word to the caller."""
    status, said = interrupted("plan", "alltoall", "1T", "--machine", "h200x4", after=1.5)

    assert status == 130
    assert "Traceback" not in said


def test_a_thread_that_holds_a_context_at_exit_is_not_called_a_leak():
    program = (
        "import polypath, threading, time\n"
        "def hold():\n"
        "    context = polypath.Context('h200x4')\n"
        "    held.set()\n"
        "    time.sleep(1000)\n"
        "held = threading.Event()\n"
        "threading.Thread(target=hold, daemon=True).start()\n"
        "held.wait()\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )

    assert ended.returncode == 0
    assert ended.stderr == ""


def test_a_machine_file_without_permission_says_so(tmp_path: Path):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (tmp_path / "mine.json").write_text("{}", encoding="utf-8")
    (tmp_path / "mine.json").chmod(0)

    run = polypath(*PLAN, "--machine", "./mine.json")

    assert_refused(run)
    assert "may not read" in run.stderr


def rows(run: Run) -> list[str]:
    return run.stdout.splitlines()


def test_tables_of_80_columns_keep_numbers_with_their_units():
    for arguments in (
        ("plan", "gpu0", "gpu1", "1M", "--machine", "h200x4"),
        ("plan", "gpu0", "gpu1", "256M", "--machine", "beluga"),
        ("bench", "bw", "--machine", "beluga", "--sizes", "64M"),
    ):
        for row in rows(succeed(*arguments)):
            assert len(row) <= 80
            assert row.split()[:1] not in (["us"], ["ms"], ["%,"], ["%"], ["MiB"]), row


def entry(source: str, destination: str, shares: dict[str, float]) -> dict[str, Any]:
    numbers = {"bytes": 8 << 20, "speedup": 1.43, "automatic_speedup": 1.42, "tried": 9}
    places = {"source": source, "destination": destination, "executor": "stream"}
    return {**places, **numbers, "shares": shares, "chunks": {"host0": 3}}


def printed(table: Table) -> list[str]:
    target = io.StringIO()
    Console(file=target, width=120).print(table)
    return [row.rstrip() for row in target.getvalue().splitlines()]


def test_pairs_that_are_alike_are_one_row_of_what_is_tuned():
    by_gpu = {"direct": 0.7, "gpu2": 0.2, "host0": 0.1}
    by_other = {"direct": 0.7, "gpu0": 0.2, "host0": 0.1}
    entries = [entry("gpu0", "gpu1", by_gpu), entry("gpu2", "gpu1", by_other)]

    rows = printed(tuned_table([*entries, entry("gpu0", "host0", {"direct": 1.0})]))

    assert len(rows) == 2 + 2  # heading and line, and what differs
    assert "gpu[0,2]" in rows[2] and "a GPU 20 %" in rows[2]
    assert "host0" in rows[3] and "direct 100 %" in rows[3]


def test_a_broken_cell_keeps_numbers_with_their_units():
    sentence = Sentence("messages below 2 MiB are one copy; with it 29.4 us, without 9.37 us")

    for width in range(8, 70):
        starts = [line.split()[0] for line in sentence.lines(width)]
        assert not {"MiB", "us,", "us"} & {*starts}, width
        assert all(len(line) <= width for line in sentence.lines(width))
