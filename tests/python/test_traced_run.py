"""The files of a program's processes become one trace, also those that a crash has left."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path

import polypath
import pytest
from cli_runner import polypath as command
from polypath.cli.traced_run import events_of, merged
from standin_copies import COPIES

STANDIN = Path(polypath.__file__).parent / "standin"
SECOND = 10**9  # nanoseconds


def process(number: int, unix_nanoseconds: int, *microseconds: float) -> list[dict]:
    """Return the events of a process that has made copies at these times since its origin."""
    origin = {"name": "polypath_origin", "ph": "M", "pid": number,
              "args": {"unix_nanoseconds": unix_nanoseconds}}  # fmt: skip
    summary = {"name": "polypath_summary", "ph": "M", "pid": number,
               "args": {"pieces_of_work": len(microseconds), "left_out": number}}  # fmt: skip
    copies = [
        {"name": "copy", "ph": "X", "pid": number, "ts": ts, "dur": 1.0} for ts in microseconds
    ]
    return [origin, *copies, summary]


def test_processes_have_one_clock_that_begins_with_the_first_copy():
    # 1 s after the first one's origin, in microseconds: 1e6 + 5 - 20.
    trace = merged([process(1, 50 * SECOND, 20, 30.5), process(2, 51 * SECOND, 5)])

    times = {(event["pid"], event["ts"]) for event in trace["traceEvents"] if event["ph"] == "X"}
    assert times == {(1, 0), (1, 10.5), (2, 999985)}


def test_what_was_left_out_is_summed():
    assert merged([process(3, 0, 1), process(4, 0, 1)])["otherData"]["left_out"] == 7


def test_no_process_is_an_empty_trace():
    assert merged([])["traceEvents"] == []


@pytest.mark.parametrize("lost", range(1, 60, 7))
def test_a_file_that_a_crash_has_cut_has_all_but_its_last_event(tmp_path: Path, lost: int):
    events = process(1, 0, 1, 2, 3)
    whole = "[\n" + ",\n".join(json.dumps(event) for event in events) + "\n]\n"
    (tmp_path / "whole.json").write_text(whole)
    (tmp_path / "cut.json").write_text(whole[: -len("\n]\n") - lost])

    assert events_of(tmp_path / "whole.json") == events
    assert events_of(tmp_path / "cut.json") == events[:-1]


PROGRAM = """
import numpy, polypath
context = polypath.Context()
stream = context.stream("gpu0")
source, destination = context.allocate("gpu0", 64 << 20), context.allocate("gpu1", 64 << 20)
context.copy(destination, source, stream=stream)
stream.synchronize()
"""


@pytest.fixture
def on_the_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LD_LIBRARY_PATH": STANDIN, "STANDIN_MACHINE": "beluga",
                        "XDG_CACHE_HOME": tmp_path, "POLYPATH_LEDGER": 0}.items():  # fmt: skip
        monkeypatch.setenv(name, str(value))


@pytest.mark.skipif(not STANDIN.exists(), reason="the stand-in driver is not installed")
def test_a_programs_copies_are_recorded(tmp_path: Path, on_the_stand_in: None):  # noqa: ARG001
    output = tmp_path / "trace.json"

    run = command("trace", "--output", output, "--", sys.executable, "-c", PROGRAM)

    assert run.status == 0, run.stderr
    assert "recorded" in run.stdout
    document = json.loads(output.read_text())
    copies = [event for event in document["traceEvents"] if event.get("cat") == "copy"]
    assert any(copy["name"].startswith("gpu0 -> gpu1") for copy in copies)
    assert min(event["ts"] for event in document["traceEvents"] if "ts" in event) == 0
    assert not document["otherData"]["simulated"]
    assert [path.name for path in tmp_path.glob(".polypath-trace-*")] == []


CRASH = """
import os, pathlib, signal, time
traces = pathlib.Path(os.environ["POLYPATH_TRACE"]).parent
until = time.monotonic() + 60
while time.monotonic() < until:
    if any("gpu0 -> gpu1" in path.read_text() for path in traces.glob("*.json")):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.01)
"""


@pytest.mark.skipif(not STANDIN.exists(), reason="the stand-in driver is not installed")
def test_a_killed_program_leaves_what_was_over(
    tmp_path: Path,
    on_the_stand_in: None,  # noqa: ARG001
):
    output = tmp_path / "trace.json"

    run = command("trace", "--output", output, "--", sys.executable, "-c", PROGRAM + CRASH)

    assert run.status == -signal.SIGKILL, run.stderr
    events = json.loads(output.read_text())["traceEvents"]
    assert any(event["name"].startswith("gpu0 -> gpu1") for event in events)


def test_a_traced_program_keeps_its_exit_status(tmp_path: Path):
    output = tmp_path / "trace.json"

    run = command("trace", "--output", output, "--", shutil.which("sh"), "-c", "exit 7")

    assert run.status == 7
    assert "no copy of the program" in run.stderr
    assert json.loads(output.read_text())["traceEvents"] == []
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]


@pytest.mark.parametrize(
    ("program", "status"), [("no-such-program", 127), ("/tmp", 126), ("/etc/passwd", 126)]
)
def test_what_cannot_be_run_ends_as_in_shells(program: str, status: int, tmp_path: Path):
    run = command("trace", "--output", tmp_path / "trace.json", "--", program)

    assert run.status == status
    assert run.stdout == "" and run.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_the_system_does_not_run_leaves_no_trace(tmp_path: Path):
    script = tmp_path / "script"
    script.write_text("true\n")  # without a first line that says what runs it
    script.chmod(0o755)

    run = command("trace", "--output", tmp_path / "trace.json", "--", script)

    assert run.status == 126
    assert "first line" in run.stderr and "no copy" not in run.stderr
    assert list(tmp_path.iterdir()) == [script]


@pytest.mark.skipif(not STANDIN.exists(), reason="the stand-in driver is not installed")
def test_copies_that_came_too_early_are_said_to_have(tmp_path: Path, on_the_stand_in: None):  # noqa: ARG001
    output = tmp_path / "trace.json"
    program = f"{COPIES}\nmust(driver.cuInit(0))\ncopies(1)"

    run = command("trace", "--output", output, "--", sys.executable, "-c", program)

    document = json.loads(output.read_text())
    assert document["otherData"]["copies_while_preparing"] == 1
    assert document["traceEvents"] == []
    assert "1 copy was native while Polypath was still preparing" in run.stderr
    assert "POLYPATH_PREPARE=now" in run.stderr
