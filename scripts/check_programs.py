"""Runs programs that Polypath once did harm to without it and with it, and compares.

Usage: check_programs.py --programs FOLDER --preload LIBRARY [--out FILE] [--only WORD ...]
                         [--set NAME=VALUE ...] [--words NAME=VALUE ...]
                         [--seeds COUNT] [--first-seed SEED] [--seconds MOST]

FOLDER holds the programs of tests/ways/preload/programs (preload_harm_order and so on). Each scenario
runs without Polypath, then with it, and must print the same and end the same way. One line per
scenario says `same`, `differs`, `hangs`, `native fails` or `cannot run here`. Options `--set` reach
the runs with Polypath only, for example `--set POLYPATH_PREPARE=now`; `--words` are options of the
programs. Exit status 1 if anything differs or hangs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

CANNOT_RUN = 77  # exit status of a program that needs what is not here
TIMED_OUT = 124
SECONDS_PER_RUN = 40.0
LEAST_SECONDS = 10.0  # with less left nothing is begun

ALLOWED_TO_DIFFER = re.compile(r"(?P<what>.*) ~(?P<tolerance>\d+): (?P<value>\d+)")


@dataclass
class Run:
    """How a program ended and what it wrote."""

    status: int  # negative: ended by a signal
    seconds: float
    output: str
    errors: str


@dataclass
class Scenario:
    """A program with its arguments."""

    program: Path
    words: list[str]

    @property
    def name(self) -> str:
        """Return the program's name and its arguments."""
        return " ".join([self.program.name.removeprefix("preload_"), *self.words])


def run(command: list[str], environment: dict[str, str], seconds: float) -> Run:
    """Run a program to its end, or kill it and what it started when it takes too long."""
    start = time.monotonic()
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=seconds)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        status = TIMED_OUT
    return Run(status, time.monotonic() - start, output, errors)


def lines_of(output: str) -> list[str]:
    """Return what is compared: not the remarks for readers."""
    return [line for line in output.splitlines() if not line.startswith("#")]


def same_line(native: str, other: str) -> bool:
    """Say whether a line is as good as that of the native run.

    What is between the two is said in tests/ways/preload/programs/harm.h.
    """
    if native == other or native.replace(": blocked", ": did not block") == other:
        return True
    before, after = ALLOWED_TO_DIFFER.fullmatch(native), ALLOWED_TO_DIFFER.fullmatch(other)
    if before is None or after is None or before["what"] != after["what"]:
        return False
    return int(after["value"]) + int(before["tolerance"]) >= int(before["value"])


def differences(native: Run, other: Run) -> list[str]:
    """Return in words what the run with Polypath did otherwise."""
    found = []
    if native.status != other.status:
        found.append(f"ends with {other.status}, natively with {native.status}")
    before, after = lines_of(native.output), lines_of(other.output)
    for index in range(max(len(before), len(after))):
        first = before[index] if index < len(before) else "(nothing)"
        second = after[index] if index < len(after) else "(nothing)"
        if not same_line(first, second):
            found.append(f"'{second}', natively '{first}'")
    return found


def verdict_of(native: Run, other: Run | None) -> str:
    """Return one word or two for a pair of runs."""
    if native.status == CANNOT_RUN:
        return "cannot run here"
    if native.status != 0 or other is None:
        return "native fails"
    if other.status == TIMED_OUT:
        return "hangs"
    return "differs" if differences(native, other) else "same"


def scenarios_of(folder: Path, seeds: range) -> list[Scenario]:
    """Ask the programs what they can do."""
    found = []
    for program in sorted(folder.glob("preload_harm_*")):
        listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
        found += [Scenario(program, [line.split()[0]]) for line in listed.stdout.splitlines()]
    random = folder / "preload_random"
    if random.exists():
        found += [Scenario(random, [str(seed)]) for seed in seeds]
    return found


class Checker:
    """Runs scenarios and keeps what came of them."""

    def __init__(
        self, preload: Path, settings: list[str], words: list[str], seconds: float
    ) -> None:
        """Remember how programs are run with Polypath, and for how long in all."""
        self.words = words
        self.plain = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        self.preloaded = {**self.plain, "LD_PRELOAD": str(preload.resolve())}
        for setting in settings:
            name, _, value = setting.partition("=")
            self.preloaded[name] = value
        self.end = time.monotonic() + seconds
        self.results: list[dict[str, Any]] = []
        self.left_out: list[str] = []  # for lack of time

    def left(self) -> float:
        """Return the seconds that the next run may take."""
        return min(SECONDS_PER_RUN, self.end - time.monotonic())

    def check(self, scenario: Scenario) -> None:
        """Run one scenario both ways and print the verdict."""
        if self.left() < LEAST_SECONDS:
            self.left_out.append(scenario.name)
            return
        command = [str(scenario.program), *scenario.words, *self.words]
        native = run(command, self.plain, self.left())
        other = None
        if native.status == 0:
            other = run(command, self.preloaded, max(self.left(), 2 * native.seconds + 5))
        self.keep(scenario, verdict_of(native, other), native, other)

    def keep(self, scenario: Scenario, verdict: str, native: Run | None, other: Run | None) -> None:
        """Print a line and what differs, and keep the whole."""
        times = " ".join(f"{run.seconds:6.1f} s" for run in (native, other) if run is not None)
        print(f"{verdict:16} {scenario.name:44} {times}", flush=True)
        found = differences(native, other) if native is not None and other is not None else []
        for line in found[:8]:
            print(f"    {line}")
        if verdict == "native fails" and native is not None:
            print("    " + " | ".join((native.errors + native.output).splitlines()[-2:]))
        self.results.append(
            {
                "scenario": scenario.name,
                "verdict": verdict,
                "differences": found,
                "native": None if native is None else asdict(native),
                "polypath": None if other is None else asdict(other),
            }
        )


def main() -> int:
    """Run the scenarios asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--preload", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="words, one of which a name contains")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--words", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--seeds", type=int, default=4, help="random programs")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=235, help="for everything")
    arguments = parser.parse_args()
    start = time.monotonic()
    checker = Checker(arguments.preload, arguments.set, arguments.words, arguments.seconds)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    for scenario in scenarios_of(arguments.programs, seeds):
        if not arguments.only or any(word in scenario.name for word in arguments.only):
            checker.check(scenario)
    verdicts = [result["verdict"] for result in checker.results]
    counts = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
    print(f"{time.monotonic() - start:.0f} s: {counts}")
    if checker.left_out:
        print(f"not run, for lack of time: {', '.join(checker.left_out[:20])}")
    if arguments.out is not None:
        document = {"schema": "polypath.harm/1", "counts": counts, "left_out": checker.left_out}
        document["results"] = checker.results
        arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 1 if "differs" in verdicts or "hangs" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
