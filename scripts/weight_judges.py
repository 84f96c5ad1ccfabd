#!/usr/bin/env python3
"""Measures how other libraries move weights and caches, with and without Polypath in turn.

Usage: weight_judges.py [--only NAME,...] [--rounds COUNT] [--seconds S] [--total SIZE]
                        [--folder FOLDER] [--out FILE]

    lmcache             LMCache's kernels between pinned memory and a paged cache, and the same by
                        a buffer on the GPU and its copies
    nixl                NIXL's agents (UCX inside) in two processes, from GPU to GPU
    deepspeed           steps of ZeRO's optimizer offload; the optimizer is PyTorch's own AdamW,
                        because that of DeepSpeed is compiled when it is first used
    fastsafetensors     a file in memory, by its threads and pinned buffers (nogds=True)
    torch_memory_saver  weights that sleep (pause) and wake (resume) with a copy on the host

Each judge is a process of its own that knows nothing of Polypath, started plainly or by `polypath
run`; it compares every byte. One that cannot be imported is named as missing, with the reason, and
one that takes longer than --seconds, or fails, as failed; the others go on. The file has the
schema polypath.programs/1 (docs/json.md). Exit status 1 if a judge has failed.

weight_judges.py --judge NAME runs one judge, once. Its last line on stdout is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from judged_libraries import JUDGES, judge
from rounds_in_turn import Json, Timings, host, order_of, output_of, row_of
from units import GIB, MIB

MOST_SECONDS = 60


@dataclass
class Judged:
    """One judge, and what it has come to."""

    name: str
    program: str = ""
    timings: dict[bool, list[Timings]] = field(default_factory=lambda: {False: [], True: []})
    missing: str | None = None
    failed: str | None = None

    def round(self, index: int, command: list[str], seconds: float) -> None:
        """Run it both ways; a failure is kept instead of raised."""
        measured: dict[bool, Timings] = {}
        for planned in order_of(index):
            try:
                answer = answer_of(output_of(command, planned, seconds))
            except RuntimeError as error:
                self.failed = str(error)
                return
            if "missing" in answer:
                self.missing = answer["missing"]
                return
            self.program = answer["program"]
            measured[planned] = {(what, size): each for what, size, each in answer["timings"]}
        for planned, timings in measured.items():
            self.timings[planned].append(timings)

    def rows(self) -> list[Json]:
        """Return a row for each thing that was timed, or one that says why there is none."""
        reason = {"missing": self.missing, "failed": self.failed}
        without = [{"operation": self.name, **{k: v for k, v in reason.items() if v is not None}}]
        timed = [row_of(key, self.timings) for key in next(iter(self.timings[False]), {})]
        for row in timed:
            del row["window"]
        return timed + (without if len(without[0]) > 1 else [])


def answer_of(text: str) -> Json:
    """Return a judge's last line; raise if it is none of its own."""
    try:
        answer: Json = json.loads(text.rstrip().rsplit("\n", 1)[-1])
    except ValueError:
        raise RuntimeError(f"the last line is no JSON: {text[-200:]}") from None
    return answer


def document(judged: list[Judged]) -> Json:
    """Return a file of schema polypath.programs/1."""
    programs = "; ".join(each.program for each in judged if each.program)
    return {
        "schema": "polypath.programs/1",
        "host": host(),
        "program": programs,
        "command": "polypath run -- python scripts/weight_judges.py --judge NAME",
        "results": [row for each in judged for row in each.rows()],
    }


def print_rows(rows: list[Json]) -> None:
    """Print a line for each."""
    for row in rows:
        if "seconds" in row:
            times = " ".join(f"{1e3 * row[key]:10.1f}" for key in ("native_seconds", "seconds"))
            print(f"{row['operation']:42} {row['bytes'] / MIB:8.0f} MiB {times} ms "
                  f"x{row['speedup']:.2f}")  # fmt: skip
        else:
            for what in ("missing", "failed"):
                if what in row:
                    print(f"{row['operation']:42} {what}: {row[what]}")


@contextmanager
def folder_of(asked: Path | None) -> Iterator[Path]:
    """Give the folder that was asked for, or one in memory that is gone afterwards."""
    if asked is not None:
        yield asked
        return
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as name:
        yield Path(name)


def measure(options: argparse.Namespace) -> int:
    """Run rounds of all judges in turn, and write what they have come to after each."""
    judged = [Judged(name) for name in options.only]
    with folder_of(options.folder) as folder:
        for index in range(options.rounds):
            for each in judged:
                if each.missing or each.failed:
                    continue
                asked = ("--judge", each.name, "--total", options.total, "--folder", folder)
                command = [sys.executable, str(Path(__file__).resolve()), *map(str, asked)]
                each.round(index, command, options.seconds)
                print(f"round {index + 1}: {each.name}", flush=True)
                if options.out:
                    options.out.write_text(json.dumps(document(judged), indent=1) + "\n", "utf-8")
    print_rows([row for each in judged for row in each.rows()])
    return 1 if any(each.failed for each in judged) else 0


def read_arguments(words: list[str]) -> argparse.Namespace:
    """Return the options; unknown judges are refused."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default=",".join(JUDGES), metavar="NAME,...")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=MOST_SECONDS, help="of one run of a judge")
    parser.add_argument("--total", type=int, default=4 * GIB, help="bytes")
    parser.add_argument("--folder", type=Path, help="keeps the file; default: one in memory")
    parser.add_argument("--out", type=Path, help="a file of JSON")
    parser.add_argument("--judge", choices=list(JUDGES), help="run this one, once")
    options = parser.parse_args(words)
    options.only = options.only.split(",")
    unknown = [name for name in options.only if name not in JUDGES]
    if unknown:
        parser.error(f"there is no judge '{unknown[0]}' (there are {', '.join(JUDGES)})")
    return options


def main(words: list[str]) -> int:
    """Run one judge, or measure all."""
    options = read_arguments(words)
    if options.judge is None:
        return measure(options)
    with folder_of(options.folder) as folder:
        answer = judge(options.judge, options.total, folder)
    print(f"\n{json.dumps(answer)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
