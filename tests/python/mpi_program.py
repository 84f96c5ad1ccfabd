"""The MPI program as tests compile and run it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polypath.cli.mpi.launch import native_launch
from polypath.cli.mpi.program import FLAGS, NAME, source_files
from polypath.cli.mpi.stack import find_stack

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
LIMIT = 120  # seconds
# Quick: what is tested are bytes and definitions, not speed.
QUICK = ("--buffers", "host", "--warm-up", "1", "--iterations", "3")


@dataclass(frozen=True)
class Ended:
    """What one run of the program came to."""

    status: int
    events: list[dict[str, Any]]
    errors: list[str]  # lines with which the program itself complains
    text: str

    @property
    def results(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == "result"]


def compile_with_mpi(*words: object) -> None:
    command = [str(find_stack(None, None, 2).compiler), *map(str, words)]
    subprocess.run(command, check=True)


def compile_program(folder: Path) -> Path:
    """Compile the program with every warning an error."""
    path = folder / NAME
    sources = [file for file in source_files() if file.suffix == ".c"]
    compile_with_mpi(*FLAGS, *STRICT, *sources, "-o", path, "-ldl")
    return path


def compile_faults(folder: Path) -> Path:
    """Compile an MPI that makes mistakes, to be preloaded."""
    library = folder / "libfaults.so"
    source = Path(__file__).with_name("mpi_faults.c")
    compile_with_mpi("-shared", "-fPIC", source, "-o", library)
    return library


def run(program: Path, ranks: int, *arguments: str, **variables: str) -> Ended:
    launch = native_launch(find_stack(None, None, ranks), ranks, None)
    launch = replace(launch, variables={**launch.variables, **variables})
    command, environment = launch.started(program, list(arguments))
    ended = subprocess.run(
        command, env=environment,
        capture_output=True, text=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
    own = [line for line in ended.stderr.splitlines() if line.startswith(NAME)]
    return Ended(ended.returncode, [json.loads(line) for line in lines], own, ended.stdout)
