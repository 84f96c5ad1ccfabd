"""Runs the test suites one after another and sums up: what `make test` does.

Usage: run_tests.py [--long] [SUITE...], the suites being default, asan, tsan, mpi and python (all
of them when none is named). With --long property tests run all their seeds and every driver call
is made to fail, not one of each place (tests/support/effort.h). A suite that cannot be configured
or built counts as one failure. Where the time went is printed and kept in build/reports/times.json.
Exit status 1 if anything failed; the last line reads "N passed, N failed".
"""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "reports"
PYTHON = ROOT / ".venv" / "bin" / "python"


@dataclass
class Step:
    """How long a part of a suite took."""

    suite: str
    name: str
    seconds: float
    processor_seconds: float  # of all processes that it started


STEPS: list[Step] = []


def processor_seconds() -> float:
    """Return the processor time of all processes that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def step(suite: str, name: str) -> Iterator[None]:
    """Print a heading, and note how long what follows takes."""
    heading(f"{suite}: {name}")
    start, before = time.monotonic(), processor_seconds()
    yield
    STEPS.append(Step(suite, name, time.monotonic() - start, processor_seconds() - before))


@dataclass
class Outcome:
    """What one suite came to."""

    suite: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    problem: str = ""
    failures: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return the suite's line of the summary."""
        text = f"{self.suite:<8} {self.passed:>5} passed, {self.failed} failed"
        if self.skipped:
            text += f", {self.skipped} skipped"
        return f"{text}, {self.seconds:.0f} s" + (f"  ({self.problem})" if self.problem else "")


def heading(text: str) -> None:
    """Print a section heading."""
    print(f"\n==== {text}", flush=True)


def run(*command: str) -> bool:
    """Run a command in the project's folder; true if it succeeded."""
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def without_address_randomisation() -> list[str]:
    """Return a command prefix that the thread sanitizer needs on kernels that randomise a lot."""
    prefix = ["setarch", platform.machine(), "-R"]
    if shutil.which("setarch") and run(*prefix, "true"):
        return prefix
    return []


LINES_OF_A_FAILURE = 12


def end_of_output(case: ElementTree.Element) -> str:
    """Return the last lines that a failed test printed, or what its failure says."""
    texts = [case.findtext(tag) or "" for tag in ("system-out", "failure", "error")]
    lines = next((text for text in texts if text.strip()), "").rstrip().splitlines()
    return "\n".join(f"    {line}" for line in lines[-LINES_OF_A_FAILURE:])


def count(report: Path, outcome: Outcome) -> None:
    """Add the test cases of a JUnit report to the outcome."""
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failed += 1
            outcome.failures.append(f"{case.get('name')}\n{end_of_output(case)}")
        elif case.find("skipped") is not None or case.get("status") == "disabled":
            outcome.skipped += 1
        else:
            outcome.passed += 1


def run_and_count(outcome: Outcome, report: Path, command: list[str]) -> None:
    """Run a test command that writes a JUnit report, and count what is in it."""
    report.unlink(missing_ok=True)
    succeeded = run(*command)
    if report.exists():
        count(report, outcome)
    if not succeeded and outcome.failed == 0:
        outcome.failed, outcome.problem = 1, "the test command itself failed"


def run_preset(preset: str, outcome: Outcome) -> None:
    """Configure, build and test one CMake preset."""
    prefix = without_address_randomisation() if preset == "tsan" else []
    with step(preset, "build"):
        built = run("cmake", "--preset", preset) and run(
            *prefix, "cmake", "--build", "--preset", preset, "--parallel", str(os.cpu_count() or 2)
        )
    if not built:
        outcome.failed, outcome.problem = 1, "does not build"
        return
    report = REPORTS / f"{preset}.xml"
    command = [*prefix, "ctest", "--preset", preset, "--output-junit", str(report)]
    with step(preset, "tests"):
        run_and_count(outcome, report, command)


def run_python(outcome: Outcome) -> None:
    """Install the package into the virtual environment and test it there."""
    with step("python", "package"):
        installed = run("make", "--no-print-directory", "package")
    if not installed:
        outcome.failed, outcome.problem = 1, "does not install"
        return
    report = REPORTS / "python.xml"
    pytest = [str(PYTHON), "-m", "pytest", "-q", "-n", "3", f"--junitxml={report}", "tests/python"]
    with step("python", "tests"):
        run_and_count(outcome, report, pytest)


def run_mpi(outcome: Outcome) -> None:
    """Let Open MPI, MPICH and UCX run on the stand-in driver, in all ways to launch."""
    targets = ("standin_cuda", "standin_nvml", "polypath_preload", "polypath_ucx_module")
    with step("mpi", "build"):
        built = (
            run("scripts/bootstrap", "mpi", "mpich")
            and run("cmake", "--preset", "default")
            and run("cmake", "--build", "--preset", "default", "--target", *targets)
        )
    if not built:
        outcome.failed, outcome.problem = 1, "does not build"
        return
    report = REPORTS / "mpi.xml"
    pytest = [str(PYTHON), "-m", "pytest", "-q", "-n", "2", f"--junitxml={report}", "tests/mpi"]
    with step("mpi", "tests"):
        run_and_count(outcome, report, [*pytest, "--launch", "plain,preload,plugin"])


def suite_runner(suite: str) -> Callable[[Outcome], None]:
    """Return what runs the suite of that name."""
    if suite in ("python", "mpi"):
        return run_python if suite == "python" else run_mpi
    return lambda outcome: run_preset(suite, outcome)


def slowest(reports: list[Path], count: int) -> list[tuple[float, str]]:
    """Return the tests of JUnit reports that took longest, with their seconds."""
    cases = [
        (float(case.get("time") or 0), f"{report.stem}: {case.get('name')}")
        for report in reports
        if report.exists()
        for case in ElementTree.parse(report).iter("testcase")
    ]
    return sorted(cases, reverse=True)[:count]


def print_times(outcomes: list[Outcome]) -> None:
    """Print where the time went, and keep it."""
    heading("Where the time went: seconds, and those of processors")
    for part in STEPS:
        print(f"{part.suite:<8} {part.name:<8} {part.seconds:>6.0f} {part.processor_seconds:>6.0f}")
    for seconds, name in slowest([REPORTS / f"{o.suite}.xml" for o in outcomes], 10):
        print(f"{seconds:>8.1f} s  {name}")
    text = json.dumps([asdict(part) for part in STEPS], indent=1)
    (REPORTS / "times.json").write_text(text, encoding="utf-8")


def summarise(outcomes: list[Outcome]) -> int:
    """Print the summary; return the exit status."""
    print_times(outcomes)
    heading("Summary")
    for outcome in outcomes:
        for failure in outcome.failures:
            print(f"{outcome.suite}: failed: {failure}")
    for outcome in outcomes:
        print(outcome.line())
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


# Tests of Python that need an MPI find the one that "mpi" fetches.
SUITES = ("default", "asan", "tsan", "mpi", "python")


def main(arguments: list[str]) -> int:
    """Run the named suites, or all."""
    if "--long" in arguments:
        arguments = [word for word in arguments if word != "--long"]
        os.environ["TESTS_LONG"] = "1"
    unknown = [name for name in arguments if name not in SUITES]
    if unknown:
        print(f"no suite '{unknown[0]}' (there are {', '.join(SUITES)})", file=sys.stderr)
        return 2
    REPORTS.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for suite in arguments or SUITES:
        outcome = Outcome(suite)
        start = time.monotonic()
        suite_runner(suite)(outcome)
        outcome.seconds = time.monotonic() - start
        outcomes.append(outcome)
    return summarise(outcomes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
