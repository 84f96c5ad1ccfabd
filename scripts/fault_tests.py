"""The tests of a built tree, one process each, and which faults each of them comes by."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from fault_list import Fault

# From the bottom up; of kernels the layers above have the tests.
SUITES = (
    *("core", "machine", "communicator", "model", "kernels", "plan", "driver", "probe", "engine"),
    *("collective", "nccl", "mpi", "context", "bench"),
    *("c", "standin", "preload", "chaos", "python"),
)
# Suites that are long, and run for faults of these layers only.
FAR = {
    "preload": ("driver", "preload", "standin"),
    "chaos": ("standin",),
    "python": ("python",),
}
LEAST_LIMIT, TIMES_AS_LONG = 30.0, 10.0  # seconds; of what a test takes without a fault
SURVEY_LIMIT = 900.0


@dataclass(frozen=True)
class Test:
    """One test, and what it takes to run it."""

    __test__ = False  # for pytest
    name: str
    suite: str
    command: tuple[str, ...]
    folder: str
    environment: tuple[str, ...] = ()  # NAME=VALUE
    says: str = ""  # what its output must match; else the exit status counts
    limit: float = SURVEY_LIMIT


@dataclass(frozen=True)
class Outcome:
    """How a test ended."""

    passed: bool
    seconds: float
    output: str = ""
    timed_out: bool = False


@dataclass(frozen=True)
class Surveyed:
    """What a test does without a fault."""

    seconds: float
    passed: bool
    reached: tuple[str, ...]  # names of faults


@dataclass
class Survey:
    """What all tests do without a fault."""

    tests: dict[str, Surveyed] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        known = {name: vars(test) for name, test in self.tests.items()}
        path.write_text(json.dumps(known, indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> Survey:
        """Read what was written; empty where nothing was."""
        if not path.exists():
            return cls()
        known = json.loads(path.read_text())
        return cls(
            {
                name: Surveyed(each["seconds"], each["passed"], tuple(each["reached"]))
                for name, each in known.items()
            }
        )


def ctest_tests(build: Path) -> list[Test]:
    """Return the tests that ctest knows there."""
    listed = subprocess.run(
        ["ctest", "--test-dir", str(build), "--show-only=json-v1"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [_test(each) for each in json.loads(listed.stdout)["tests"] if each.get("command")]


def _test(described: dict[str, object]) -> Test:
    properties: dict[str, object] = {
        str(each["name"]): each["value"]
        for each in described["properties"]  # type: ignore[attr-defined]
    }

    def texts(name: str) -> tuple[str, ...]:
        value = properties.get(name, ())
        return (value,) if isinstance(value, str) else tuple(value)  # type: ignore[arg-type]

    return Test(
        name=str(described["name"]).partition("  # GetParam")[0],  # what follows may be addresses
        suite=(*texts("LABELS"), "none")[0],
        command=tuple(described["command"]),  # type: ignore[arg-type]
        folder=str(properties["WORKING_DIRECTORY"]),
        environment=texts("ENVIRONMENT"),
        says="|".join(texts("PASS_REGULAR_EXPRESSION")),
    )


def python_tests(tree: Path, package: Path, python: Path) -> list[Test]:
    """Return a test for each file of Python tests; its name ends with what fails first."""
    command = (str(python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider")
    return [
        Test(
            name=f"tests/python/{file.name}",
            suite="python",
            command=(*command, str(file)),
            folder=str(tree),
            environment=(f"PYTHONPATH={package}",),
        )
        for file in sorted((tree / "tests" / "python").glob("test_*.py"))
    ]


def run(test: Test, **variables: str) -> Outcome:
    """Run a test with more variables; what it has started ends with it."""
    added = dict(pair.split("=", 1) for pair in test.environment)
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            test.command,
            cwd=test.folder,
            env={**os.environ, **added, **variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        timed_out = _is_late(process, test.limit)
        output.seek(0)
        text = output.read()
    right = re.search(test.says, text) is not None if test.says else process.returncode == 0
    return Outcome(right and not timed_out, time.monotonic() - begin, text, timed_out)


def _is_late(process: subprocess.Popen[bytes], limit: float) -> bool:
    try:
        process.wait(timeout=limit)
        return False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True


def survey(
    tests: Sequence[Test], faults: Sequence[Fault], known: Survey, jobs: int, keep: Path
) -> Survey:
    """Run every test that is not known yet without a fault, and write what is known."""
    missing = [test for test in tests if test.name not in known.tests]
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = pool.map(lambda test: _survey_one(test, faults), missing)
        for number, (test, outcome) in enumerate(zip(missing, outcomes), 1):
            known.tests[test.name] = outcome
            if number % 100 == 0 or number == len(missing):
                known.write(keep)
                print(f"  {number} of {len(missing)} tests", file=sys.stderr, flush=True)
    return known


def _survey_one(test: Test, faults: Sequence[Fault]) -> Surveyed:
    with tempfile.NamedTemporaryFile() as reached:
        reached.write(bytes(len(faults)))
        reached.flush()
        outcome = run(test, PLANTED_REACHED=reached.name)
        if not outcome.passed:  # on a busy computer
            outcome = run(test, PLANTED_REACHED=reached.name)
        marks = Path(reached.name).read_bytes()
    names = tuple(fault.name for fault, mark in zip(faults, marks) if mark)
    return Surveyed(round(outcome.seconds, 3), outcome.passed, names)


def in_order(fault: Fault, tests: Iterable[Test], known: Survey) -> list[Test]:
    """Return the tests that come by a fault: of its layer, then above it, short ones first."""
    own = SUITES.index(fault.layer)

    def is_asked(test: Test) -> bool:
        surveyed = known.tests[test.name]
        far = FAR.get(test.suite, (fault.layer,))
        known_suite = test.suite in SUITES and fault.layer in far
        return known_suite and surveyed.passed and fault.name in surveyed.reached

    def place(test: Test) -> tuple[int, float]:
        above = SUITES.index(test.suite) - own
        return above if above >= 0 else len(SUITES), known.tests[test.name].seconds

    return [
        replace(test, limit=max(LEAST_LIMIT, TIMES_AS_LONG * known.tests[test.name].seconds))
        for test in sorted(filter(is_asked, tests), key=place)
    ]
