"""Plants one-line faults and says which suite finds each, and after how long.

    python scripts/find_faults.py                                   # all, at HEAD
    python scripts/find_faults.py --only C01 E02 --suites engine collective
    python scripts/find_faults.py --tree 92d49a3 --json before.json
    python scripts/find_faults.py --baseline before.json            # side by side

The faults of tests/faults/faults.json are planted in a copy of the sources, all at once, each with
a switch, so that one build serves them all. First every test runs without a fault: that says how
long it takes and which faults it comes by. Then each fault is switched on, and those tests run that
come by it: the ones of its layer and then of the layers above, short ones first, until one fails
that passes again when the fault is switched off. A test that takes ten times as long fails.

Exit status 1 if a smaller share was found than --baseline says, 2 if there is nothing to say.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fault_findings import (
    Finding,
    is_worse,
    read_findings,
    side_by_side,
    table_of_layers,
    write_findings,
)
from fault_list import Fault, FaultError, read_faults
from fault_tests import SUITES, Survey, Test, ctest_tests, in_order, python_tests, run, survey
from fault_tree import build_package, build_tree, commit_of, files_at, write_tree

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv" / "bin" / "python"
NICE = 10


def find(fault: Fault, tests: Sequence[Test], seconds: float) -> Finding:
    """Return which of the tests, in this order, finds the fault within so many seconds."""
    begin = time.monotonic()
    done = 0
    for test in tests:
        if time.monotonic() - begin > seconds:
            break
        done += 1
        outcome = run(test, PLANTED_FAULT=fault.name)
        took = round(time.monotonic() - begin, 2)
        if not outcome.passed and run(test).passed:
            how = name_of_failure(test, outcome.output) + (" (time-out)" * outcome.timed_out)
            return Finding(fault.name, fault.layer, test.suite, how, took, done, len(tests))
    took = round(time.monotonic() - begin, 2)
    return Finding(fault.name, fault.layer, "", "", took, done, len(tests))


def name_of_failure(test: Test, output: str) -> str:
    """Return the test's name, or that of the one in a file of Python tests that failed."""
    failed = re.search(r"^(?:FAILED|ERROR) \S*/(\S+)", output, re.MULTILINE)
    return failed[1] if failed else test.name


def tests_of(tree: Path, suites: Sequence[str], jobs: int, build: bool) -> list[Test]:
    """Build what is needed, and return the tests of these suites."""
    if build:
        print(f"building {tree}", file=sys.stderr, flush=True)
        build_tree(tree, jobs)
    tests = ctest_tests(tree / "build" / "default")
    if "python" in suites:
        package = build_package(tree, PYTHON) if build else tree / "build" / "package"
        tests += python_tests(tree, package, PYTHON)
    return [test for test in tests if test.suite in suites]


def suites_for(faults: Sequence[Fault], chosen: Sequence[str] | None) -> list[str]:
    """Return the suites that may be needed, from the lowest layer with a fault up."""
    lowest = min(SUITES.index(fault.layer) for fault in faults)
    needed = [suite for suite in SUITES[lowest:] if not chosen or suite in chosen]
    return needed if chosen or any(fault.layer == "python" for fault in faults) else needed[:-1]


def look_for_all(
    faults: Sequence[Fault], tests: Sequence[Test], known: Survey, asked: argparse.Namespace
) -> list[Finding]:
    """Look for every fault, several at a time, and print a line for each as it is done."""

    def one(fault: Fault) -> Finding:
        finding = find(fault, in_order(fault, tests, known), asked.seconds)
        print(f"{finding.name:<6} {finding.layer:<13} {finding.words()}", flush=True)
        return finding

    with ThreadPoolExecutor(asked.jobs) as pool:
        return list(pool.map(one, faults))


def report(commit: str, findings: Sequence[Finding], asked: argparse.Namespace) -> int:
    """Print the share that was found, beside an earlier one if there is one."""
    if asked.json:
        write_findings(asked.json, commit, findings)
    found = sum(each.found for each in findings)
    print(f"{commit}: {found} of {len(findings)} faults found")
    if not asked.baseline:
        return 0
    earlier, before = read_findings(asked.baseline)
    print(f"\n{earlier} and {commit}:", *side_by_side(before, findings), sep="\n")
    print("", *table_of_layers(before, findings), sep="\n")
    return 1 if is_worse(before, findings) else 0


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tree", default="HEAD", metavar="COMMIT", help="whose tests and sources")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these faults")
    parser.add_argument("--suites", nargs="+", choices=SUITES, metavar="SUITE", help="these suites")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="at a time")
    parser.add_argument("--seconds", type=float, default=600, help="most time for one fault")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write what was found")
    parser.add_argument("--baseline", type=Path, metavar="JSON", help="compare with this")
    parser.add_argument("--list", type=Path, default=ROOT / "tests/faults/faults.json")
    parser.add_argument("--survey-only", action="store_true", help="stop after the first step")
    parser.add_argument("--built", action="store_true", help="neither write nor build the copy")
    return parser.parse_args(arguments)


def measure(asked: argparse.Namespace) -> int:
    """Plant, build, run without faults, and with each."""
    everything = read_faults(asked.list)
    faults = [fault for fault in everything if not asked.only or fault.name in asked.only]
    if not faults:
        raise FaultError(f"there is no fault called {' or '.join(asked.only)}")
    os.nice(NICE)
    commit = commit_of(ROOT, asked.tree)
    tree = ROOT / "build" / "faults" / commit
    keep = tree / "build" / "survey.json"
    if not asked.built and write_tree(tree, files_at(ROOT, commit), everything):
        keep.unlink(missing_ok=True)
    tests = tests_of(tree, suites_for(faults, asked.suites), asked.jobs, not asked.built)
    print(f"{len(tests)} tests without a fault", file=sys.stderr, flush=True)
    known = survey(tests, everything, Survey.read(keep), asked.jobs, keep)
    for test in tests:
        if not known.tests[test.name].passed:
            print(f"without a fault fails {test.name}: left out", file=sys.stderr)
    if asked.survey_only:
        return 0
    return report(commit, look_for_all(faults, tests, known, asked), asked)


def main(arguments: Sequence[str]) -> int:
    """Do what was asked for; one line if that cannot be."""
    asked = parse(arguments)
    try:
        return measure(asked)
    except (FaultError, OSError, ValueError) as error:
        print(f"find_faults.py: {error}", file=sys.stderr)
    except subprocess.CalledProcessError as error:
        print(f"find_faults.py: {' '.join(error.cmd[:4])}: {error.stderr}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
