#!/usr/bin/env python3
"""Programs that use NCCL, with Polypath before them and without, in turn.

Usage: nccl_programs.py --library FILE --output FILE [--rounds N] NAME=COMMAND...

A COMMAND is one of nccl-tests, whose table is read; or writes the JSON file that {output} in it
stands for, as torch_collectives.py does; or prints "step 1.23 ms", as examples/train.py does. Each
runs without Polypath and with libpolypath_preload.so in turn; FILE gets the times of all rounds,
and what Polypath counted (schema polypath.nccl/1 in docs/json.md).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rounds_in_turn import Json, host, order_of

LIMIT = 240.0  # seconds for a run


def main() -> int:
    """Measure all programs; 1 if one went wrong."""
    options = parse_options()
    results: list[Json] = []
    failed = False
    for name, command in (each.split("=", 1) for each in options.programs):
        runs: dict[bool, list[Json]] = {False: [], True: []}
        for index in range(options.rounds):
            for planned in order_of(index):
                try:
                    runs[planned].append(run_of(command, options.library if planned else None))
                except (RuntimeError, subprocess.SubprocessError) as error:
                    print(f"{name} {'with' if planned else 'without'} Polypath: {error}")
                    failed = True
        results.append(compared(name, command, runs))
        print(said(results[-1]), flush=True)
        document = {
            "schema": "polypath.nccl/1",
            "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
            "host": host(),
            "results": results,
        }
        options.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return int(failed)


def parse_options() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("programs", nargs="+", metavar="NAME=COMMAND", help="as a shell runs it")
    parser.add_argument("--library", type=Path, required=True, help="libpolypath_preload.so")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file")
    parser.add_argument("--rounds", type=int, default=2, help="of each program, in turn")
    options = parser.parse_args()
    wrong = [each for each in options.programs if "=" not in each]
    if wrong:
        parser.error(f"{wrong[0]!r} is no NAME=COMMAND")
    return options


def run_of(command: str, library: Path | None) -> Json:
    """Run a program once: its seconds, times by kind of call, wrong results, and our counts."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "result.json"
        environment = dict(os.environ)
        if library is not None:
            environment["LD_PRELOAD"] = str(library.resolve())
            environment["POLYPATH_STATS"] = f"{folder}/"
        begun = time.monotonic()
        run = subprocess.run(
            ["bash", "-c", command.replace("{output}", str(output))],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            env=environment,
        )
        seconds = time.monotonic() - begun
        if run.returncode != 0:
            raise RuntimeError(f"exits with {run.returncode}: {(run.stdout + run.stderr)[-3000:]}")
        result = from_file(output) if output.exists() else from_table(run.stdout)
        counts = [json.loads(file.read_text()) for file in Path(folder).glob("*-*.json")]
        calls = [row for process in counts for row in process.get("nccl", {}).get("calls", [])]
        return {"seconds": seconds, "counts": merged(calls), **result}


def from_file(file: Path) -> Json:
    """Return what torch_collectives.py has written."""
    document = json.loads(file.read_text(encoding="utf-8"))
    times = {}
    for row in document["results"]:
        for how in ("eager", "graph"):
            key = f"{row['operation']} {row['type']} {how} {row['bytes']}"
            times[key] = row[f"{how}_seconds"]
    more = {key: document[key] for key in ("start_seconds", "first_seconds")}
    return {"times": times, "wrong": sum(row["wrong"] for row in document["results"]), **more}


def from_table(text: str) -> Json:
    """Return what a program of nccl-tests has printed."""
    times, wrong = {}, 0
    for line in text.splitlines():
        words = line.split()
        if len(words) < 12 or not words[0].isdigit():
            continue
        size, kind, operation = int(words[0]), words[2], words[3]
        for how, first in (("out of place", -8), ("in place", -4)):
            times[f"{kind} {operation} {how} {size}"] = float(words[first]) / 1e6
            if words[first + 3].isdigit():
                wrong += int(words[first + 3])
    for step in re.findall(r"^step ([\d.]+) ms", text, re.MULTILINE):
        times["step"] = float(step) / 1e3
    if not times:
        raise RuntimeError(f"there is no table: {text[-2000:]}")
    said = [line for line in text.splitlines() if line.startswith("step ")]
    return {"times": times, "wrong": wrong, "said": said}


def merged(rows: list[Json]) -> list[Json]:
    """Add up what all processes have counted."""
    sums: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        counted = sums.setdefault((row["operation"], row["by"]), [0, 0])
        counted[0] += row["calls"]
        counted[1] += row["bytes"]
    return [
        {"operation": operation, "by": by, "calls": calls, "bytes": size}
        for (operation, by), (calls, size) in sorted(sums.items())
    ]


def compared(name: str, command: str, runs: dict[bool, list[Json]]) -> Json:
    """Put the rounds of a program together."""
    every = [*runs[False], *runs[True]]
    return {
        "program": name,
        "command": command,
        "without_program_seconds": [run["seconds"] for run in runs[False]],
        "with_program_seconds": [run["seconds"] for run in runs[True]],
        "starts": starts_of(runs),
        "said": [run["said"] for run in every if run.get("said")],
        "wrong": sum(run["wrong"] for run in every),
        "counts": runs[True][-1]["counts"] if runs[True] else [],
        "times": rows_of(runs),
    }


def starts_of(runs: dict[bool, list[Json]]) -> dict[str, list[float]]:
    """Return what programs say of their start, with Polypath and without."""
    return {
        f"{which}{'' if planned else ' without'}": [run[which] for run in some if which in run]
        for planned, some in runs.items()
        for which in ("first_seconds", "start_seconds")
    }


def rows_of(runs: dict[bool, list[Json]]) -> list[Json]:
    """Return the times of each call, round by round."""
    if not runs[False] or not runs[True]:
        return []
    return [
        {
            "call": key,
            "without_seconds": [run["times"][key] for run in runs[False]],
            "with_seconds": [run["times"][key] for run in runs[True]],
        }
        for key in runs[False][0]["times"]
    ]


def said(result: Json) -> str:
    """Return a table for people: how much faster each call is with Polypath."""
    lines = [f"{result['program']}: {result['wrong']} wrong"]
    for row in result["times"]:
        real, ours = (statistics.median(row[f"{how}_seconds"]) for how in ("without", "with"))
        ratio = real / ours if ours else 0
        lines.append(f"  {row['call']:45} {real * 1e6:9.1f} {ours * 1e6:9.1f} us  {ratio:.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
