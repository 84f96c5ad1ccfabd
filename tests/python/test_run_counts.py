"""`polypath run --report` has every process of a program, however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import result_schemas
from polypath.install import preload_library
from standin_copies import AROUND, COPIES, on_the_stand_in

pytestmark = pytest.mark.skipif(
    not preload_library().exists(), reason="built without the CUDA driver layer"
)

# Children of all kinds, whose numbers it prints: of a pool, one that ends by itself, one that is
# terminated, one that is killed, and one of fork.
CHILDREN = """
import multiprocessing, os, sys, time

def number(_):
    return os.getpid()

def tell(parent):
    parent.send(os.getpid())

def wait(parent):
    parent.send(os.getpid())
    time.sleep(600)

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    with multiprocessing.Pool(2) as pool:
        numbers = pool.map(number, range(1))
    for work, end in ((tell, "join"), (wait, "terminate"), (wait, "kill")):
        reader, writer = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.Process(target=work, args=(writer,))
        child.start()
        numbers.append(reader.recv())
        getattr(child, end)()
        child.join()
    forked = os.fork()
    if not forked:
        os._exit(0)
    os.waitpid(forked, 0)
    print(*numbers, forked, os.getpid())
"""

FORKS = """
def forks(count):
    child = os.fork()
    if not child:
        must(driver.cuInit(0))
        copies(count)
        os._exit(0)
    os.waitpid(child, 0)
"""


def report_of(folder: Path, *command: str, **around: str) -> tuple[dict[str, Any], Any]:
    """Return the report on a command, and how it ended."""
    file = folder / "report.json"
    words = [sys.executable, "-m", "polypath.cli", "run", "--report", str(file), "--", *command]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder), **around}
    ended = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    report = json.loads(file.read_text())
    jsonschema.Draft202012Validator(result_schemas.RUN).validate(report)
    return report, ended


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_are_in_the_report(method: str, tmp_path: Path) -> None:
    (tmp_path / "children.py").write_text(CHILDREN)

    report, ended = report_of(tmp_path, sys.executable, str(tmp_path / "children.py"), method)

    assert ended.returncode == 0, ended.stderr
    found = [process["process"] for process in report["processes"]]
    assert {*map(int, ended.stdout.split())} <= {*found}
    assert len(found) == len({*found})
    assert "cannot be written" not in ended.stderr
    whole = [process["process"] for process in report["processes"] if process["complete"]]
    assert int(ended.stdout.split()[-1]) in whole


@on_the_stand_in
@pytest.mark.parametrize(
    "end", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(3)", "os.abort()", "pass"]
)
def test_copies_are_counted_up_to_any_end(end: str, tmp_path: Path) -> None:
    program = f"{COPIES}\nmust(driver.cuInit(0))\ncopies(5)\n{end}"

    report, ended = report_of(
        tmp_path, sys.executable, "-c", program,
        **AROUND,
    )  # fmt: skip

    (process,) = report["processes"]
    assert (process["calls"], process["bytes"]) == (5, 5 * (4 << 20)), ended.stderr
    assert process["driver_open"]
    assert process["complete"] == (end == "pass")
    assert ("counted up to then" in ended.stderr) == (end != "pass")


@on_the_stand_in
def test_a_forked_child_counts_for_itself(tmp_path: Path) -> None:
    """One that is made before the program has used the driver works as any program does."""
    program = f"{COPIES}{FORKS}\nforks(3)\nforks(4)\nmust(driver.cuInit(0))\ncopies(5)"

    report, ended = report_of(
        tmp_path, sys.executable, "-c", program,
        **AROUND,
    )  # fmt: skip

    counted = {process["calls"]: process for process in report["processes"]}
    assert sorted(counted) == [3, 4, 5], ended.stderr
    assert [counted[calls]["complete"] for calls in (3, 4, 5)] == [False, False, True]


def test_a_process_that_outlives_the_program_is_in_the_report(tmp_path: Path) -> None:
    program = "import os, sys, time\nif not os.fork():\n    os.read(0, 1)\n    os._exit(0)\n"
    reader, writer = os.pipe()
    words = [sys.executable, "-m", "polypath.cli", "run", "--report", "report.json", "--"]
    with os.fdopen(reader) as end, os.fdopen(writer, "w"):
        subprocess.run([*words, sys.executable, "-c", program], stdin=end, cwd=tmp_path, check=True)

        report = json.loads((tmp_path / "report.json").read_text())
    assert [process["complete"] for process in report["processes"]] in (
        [True, False],
        [False, True],
    )


def test_what_a_process_became_is_one_process(tmp_path: Path) -> None:
    report, _ = report_of(tmp_path, "sh", "-c", "exec env sh -c 'kill -9 $$'")

    (process,) = report["processes"]
    assert process["program"] == "sh"
    assert report["status"] == 128 + signal.SIGKILL


def test_more_processes_than_there_is_room_for_do_no_harm(tmp_path: Path) -> None:
    """There is room for 4096 that do not report by themselves, as subshells do not."""
    report, ended = report_of(
        tmp_path, "sh", "-c", "for i in $(seq 5000); do (:); done; kill -9 $$"
    )

    assert report["status"] == 128 + signal.SIGKILL, ended.stderr
    assert len(report["processes"]) >= 1


def test_memory_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    """On another node the same path may be anything."""
    other = tmp_path / "other"
    other.write_bytes(bytes(1 << 23))
    around = {**os.environ, "LD_PRELOAD": str(preload_library())}

    for value in (f"{other}:{'0' * 32}", f"{other}:", str(other), "/nowhere:1", ":"):
        subprocess.run(["true"], env={**around, "_POLYPATH_COUNTS": value}, check=True)

    assert other.read_bytes() == bytes(1 << 23)
