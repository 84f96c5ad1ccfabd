"""Runs programs that Polypath once did harm to without it and with it, and compares.

Usage: check_programs.py --programs FOLDER --preload LIBRARY [--out FILE] [--only WORD ...]
                         [--set NAME=VALUE ...] [--words NAME=VALUE ...]
                         [--seeds COUNT] [--first-seed SEED] [--seconds MOST]

FOLDER holds the programs of tests/api/preload/programs (preload_harm_order and so on). Each
scenario runs without Polypath, then with it, and must print the same and end the same way. One line
per scenario says `same`, `differs`, `hangs`, `native fails` or `cannot run here`. Options `--set`
reach the runs with Polypath only, for example `--set POLYPATH_PREPARE=now`; `--words` are options
of the programs. Exit status 1 if anything differs or hangs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paired_runs import Run, differences, run, verdict_of

SECONDS_PER_RUN = 40.0
LEAST_SECONDS = 10.0  # with less left nothing is begun
MOST_LINES = 8  # of what differs that are shown


@dataclass
class Scenario:
    """A program with its arguments."""

    program: Path
    words: list[str]

    @property
    def name(self) -> str:
        """Return the program's name and its arguments."""
        return " ".join([self.program.name.removeprefix("preload_"), *self.words])


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

    def keep(self, scenario: Scenario, verdict: str, native: Run, other: Run | None) -> None:
        """Print a line and what differs, and keep the whole."""
        found = [] if other is None else differences(native, other)
        result = {"scenario": scenario.name, "verdict": verdict, "differences": found}
        ended = {"native": asdict(native), "polypath": None if other is None else asdict(other)}
        self.results.append({**result, **ended})
        times = " ".join(f"{run.seconds:6.1f} s" for run in (native, other) if run is not None)
        print(f"{verdict:16} {scenario.name:44} {times}", flush=True)
        for line in found[:MOST_LINES]:
            print(f"    {line}")
        if verdict == "native fails":
            print("    " + " | ".join((native.errors + native.output).splitlines()[-2:]))

    def counts(self) -> dict[str, int]:
        """Return how many scenarios have each verdict."""
        verdicts = [result["verdict"] for result in self.results]
        return {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}

    def write(self, path: Path) -> None:
        """Write everything as JSON."""
        document = {
            "schema": "polypath.harm/1",
            "counts": self.counts(),
            "left_out": self.left_out,
            "results": self.results,
        }
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def read_arguments() -> argparse.Namespace:
    """Return the options of the command line."""
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
    return parser.parse_args()


def main() -> int:
    """Run the scenarios asked for."""
    arguments = read_arguments()
    start = time.monotonic()
    checker = Checker(arguments.preload, arguments.set, arguments.words, arguments.seconds)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    for scenario in scenarios_of(arguments.programs, seeds):
        if not arguments.only or any(word in scenario.name for word in arguments.only):
            checker.check(scenario)
    counts = checker.counts()
    print(f"{time.monotonic() - start:.0f} s: {counts}")
    if checker.left_out:
        print(f"not run, for lack of time: {', '.join(checker.left_out[:20])}")
    if arguments.out is not None:
        checker.write(arguments.out)
    return 1 if counts.keys() & {"differs", "hangs"} else 0


if __name__ == "__main__":
    sys.exit(main())
