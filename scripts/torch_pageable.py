"""How fast a PyTorch program copies 256 MiB of memory that is not pinned to its GPU, for 2 s.

torch_pageable.py              copies, and prints when each copy began and its bytes/s, as JSON
torch_pageable.py --json FILE  runs that natively and twice by `polypath run`, and writes FILE,
                               schema polypath.program/1: results/h200x1/pageable_program.json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rounds_in_turn import host, output_of

Copy = dict[str, float]

SIZE = 256 << 20
SECONDS = 2.0
RUNS = 2  # with Polypath
DENSE, EVERY = 12, 10  # so many copies from the first one on, and then one of so many, are listed
PROGRAM = "python scripts/torch_pageable.py"


def timed_copies(copy: Callable[[], None], clock: Callable[[], float]) -> list[Copy]:
    """Copy again and again for SECONDS; return when each copy began, and how fast it was."""
    start = clock()
    copies: list[Copy] = []
    while (begun := clock()) - start < SECONDS:
        copy()
        copies.append(
            {"start_seconds": begun - start, "bytes_per_second": SIZE / (clock() - begun)}
        )
    return copies


def copy_to_gpu() -> list[Copy]:
    """Copy by PyTorch, and end the program unless the bytes are right."""
    import torch

    plain = torch.randint(0, 255, (SIZE,), dtype=torch.uint8)
    gpu = torch.empty(SIZE, dtype=torch.uint8, device="cuda:0")

    def copy() -> None:
        gpu.copy_(plain)
        torch.cuda.synchronize()

    torch.cuda.synchronize()
    copies = timed_copies(copy, time.perf_counter)
    if not torch.equal(gpu.cpu(), plain):
        raise SystemExit("the tensor has arrived changed")
    return copies


def listed(copies: list[Copy]) -> list[Copy]:
    """Return the copies that a file lists: the first ones all, because they differ."""
    return copies[:DENSE] + copies[DENSE::EVERY]


def copies_by(command: list[str], planned: bool) -> list[Copy]:
    """Run a program that prints its copies; return those that a file lists."""
    copies: list[Copy] = json.loads(output_of(command, planned).splitlines()[-1])
    return listed(copies)


def document(
    where: dict[str, Any], native: list[Copy], planned: list[list[Copy]]
) -> dict[str, Any]:
    """Return a file of schema polypath.program/1."""
    return {
        "schema": "polypath.program/1",
        "host": where,
        "bytes": SIZE,
        "what": f"a PyTorch program copies a tensor of {SIZE >> 20} MiB in pageable memory to its "
        f"GPU for {SECONDS:g} s, one copy after another; every tenth copy after the first twelve "
        "is listed",
        "command": f"polypath run -- {PROGRAM}, beside {PROGRAM}",
        "native": native,
        "polypath": planned,
    }


def measure() -> dict[str, Any]:
    """Run the program without Polypath, and then with it."""
    from polypath.cli.mpi.report import processor_name

    program = [sys.executable, __file__]
    native = copies_by(program, planned=False)
    planned = [copies_by(program, planned=True) for _ in range(RUNS)]
    return document({**host(), "processor": processor_name()}, native, planned)


def main() -> None:
    """Copy, or measure what copies."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--json", metavar="FILE", type=Path)
    target = arguments.parse_args().json
    if target is None:
        print(json.dumps(copy_to_gpu()))
    else:
        target.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
