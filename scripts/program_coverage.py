#!/usr/bin/env python3
"""How much of the copies of unmodified programs Polypath accelerates, and what it misses, and why.

Usage: program_coverage.py --library FILE --output FILE [--rounds N] NAME=COMMAND...

Each program runs as it comes, without Polypath and with libpolypath_preload.so in turn. FILE gets
the wall-clock times of whole programs, start and end included, and what the processes of the last
round with Polypath have counted (schema polypath.coverage/1 in docs/json.md). It needs no package,
so that it runs where only the library was carried to.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rounds_in_turn import Json, host

LIMIT = 300.0  # seconds for a run


def main() -> int:
    """Measure all programs; 1 if one went wrong."""
    options = parse_options()
    results, failed = [], False
    for name, command in (each.split("=", 1) for each in options.programs):
        try:
            result = measure(name, command, options.library, options.rounds)
        except subprocess.SubprocessError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = True
            continue
        results.append(result)
        print(said(result), flush=True)
        write(results, options.output)
    write(results, options.output)
    return int(failed)


def write(results: list[Json], output: Path) -> None:
    """Write what has been measured so far."""
    document = {
        "schema": "polypath.coverage/1",
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "host": host(),
        "results": results,
    }
    output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("programs", nargs="+", metavar="NAME=COMMAND", help="as a shell runs it")
    parser.add_argument("--library", type=Path, required=True, help="libpolypath_preload.so")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file")
    parser.add_argument("--rounds", type=int, default=3, help="of each program, in turn")
    options = parser.parse_args()
    wrong = [each for each in options.programs if "=" not in each]
    if wrong:
        parser.error(f"{wrong[0]!r} is no NAME=COMMAND")
    if not options.library.is_file():
        parser.error(f"{options.library} is no file")
    return options


def measure(name: str, command: str, library: Path, rounds: int) -> Json:
    """Run one program in turn, and put together what its processes have counted."""
    native: list[float] = []
    preloaded: list[float] = []
    processes: list[Json] = []
    for index in range(rounds):
        for with_polypath in (False, True) if index % 2 == 0 else (True, False):
            with tempfile.TemporaryDirectory() as folder:
                added = environment(library, folder) if with_polypath else {}
                (preloaded if with_polypath else native).append(seconds_of(command, added))
                if with_polypath:
                    processes = [json.loads(f.read_text("utf-8")) for f in reports(folder)]
    return {
        "name": name,
        "command": command,
        "native_runs": native,
        "runs": preloaded,
        "native_seconds": statistics.median(native),
        "seconds": statistics.median(preloaded),
        **counted(processes),
    }


def environment(library: Path, folder: str) -> dict[str, str]:
    """Return what loads Polypath and has its processes report into a folder."""
    return {"LD_PRELOAD": str(library.resolve()), "POLYPATH_STATS": folder}


def reports(folder: str) -> list[Path]:
    """Return the files that processes have written at their end."""
    return sorted(Path(folder).glob("*.json"))


def seconds_of(command: str, added: dict[str, str]) -> float:
    """Run it and return how long that took; an error if it fails."""
    # What is preloaded reaches the program and not the shell that starts it.
    words = ["env", *(f"{name}={value}" for name, value in added.items()), *shlex.split(command)]
    begin = time.monotonic()
    subprocess.run(words, check=True, timeout=LIMIT, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def counted(processes: list[Json]) -> Json:
    """Return what all processes together have copied, and missed."""
    reasons: dict[str, Json] = {}
    total: Json = {"large_bytes": 0, "accelerated_large_bytes": 0, "missed_seconds": 0.0}
    for outcome in (each for process in processes for each in process["outcomes"]):
        total["large_bytes"] += outcome["large_bytes"]
        total["missed_seconds"] += outcome["missed_seconds"]
        if outcome["accelerated"]:
            total["accelerated_large_bytes"] += outcome["large_bytes"]
            continue
        reason = reasons.setdefault(outcome["text"], {"large_bytes": 0, "missed_seconds": 0.0})
        reason["large_bytes"] += outcome["large_bytes"]
        reason["missed_seconds"] += outcome["missed_seconds"]
    left = [{"text": text, **sums} for text, sums in reasons.items() if sums["large_bytes"]]
    left.sort(key=lambda each: (-each["missed_seconds"], -each["large_bytes"]))
    return {"processes": len(processes), **total, "left": left}


def said(result: Json) -> str:
    """Return a line for people."""
    part = result["accelerated_large_bytes"] / max(result["large_bytes"], 1)
    why = result["left"][0]["text"] if result["left"] else "-"
    return (
        f"{result['name']}: {result['native_seconds']:.2f} s natively, {result['seconds']:.2f} s; "
        f"{part:.0%} of {result['large_bytes'] / 1e9:.1f} GB, "
        f"{1e3 * result['missed_seconds']:.1f} ms missed: {why}"
    )


if __name__ == "__main__":
    sys.exit(main())
