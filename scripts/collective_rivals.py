#!/usr/bin/env python3
"""Measures collectives beside other libraries, in turn, in one run, and checks every element.

scripts/collective_rivals.py                                  the usual sizes, on all GPUs
scripts/collective_rivals.py --collectives allreduce --sizes 8K,1M --algorithms auto,exchange
scripts/collective_rivals.py --simulated h200x4 --ranks 2     ours alone, on a simulated machine

One process per GPU. Rivals are the NCCL that PyTorch brings, and PyTorch's all-reduces over
symmetric memory in one and two shots, without multicast. Each is run eagerly and as a captured
graph. A time is that of one of 20 calls in a row (50 below 1 MiB) by events, of the slowest rank,
the median of the rounds; `host_seconds` is what the host was busy with it. What fails or hangs is
written down as missing, and the others go on. `--out` keeps what a file has of other cases.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from rivals import documents
from rivals.cases import COLLECTIVES, OPERATORS, SIZES, Case, grid
from rivals.worker import Plan
from rounds_in_turn import host

UNITS = {"K": 10, "M": 20, "G": 30}
USUAL_SIZES = "8K,64K,256K,1M,8M,64M,256M,1G"
MOST_OF_OTHERS = "1M"  # the largest message of other types and reductions


def bytes_of(text: str) -> int:
    """Return the bytes of "64K"; powers of 1024."""
    shift = UNITS.get(text[-1:].upper(), 0)
    return int(text[:-1] if shift else text) << shift


def names(known: Any) -> Any:
    """Return what reads a list of names of these."""

    def read(text: str) -> list[str]:
        wanted = text.split(",")
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(known)}")
        return wanted

    return read


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add = parser.add_argument
    add("--collectives", type=names(COLLECTIVES), default=list(COLLECTIVES))
    add("--types", type=names(SIZES), default=["float32"], help="the first one in every size")
    add("--reductions", type=names(OPERATORS), default=["sum"])
    add("--sizes", type=lambda text: [bytes_of(each) for each in text.split(",")],
        default=USUAL_SIZES, help="bytes of the largest memory of a rank")  # fmt: skip
    add("--small", type=bytes_of, default=MOST_OF_OTHERS,
        help="the largest message of other types and reductions")  # fmt: skip
    add("--algorithms", type=lambda text: text.split(","), default=["auto"])
    add("--executor", choices=["stream", "graph"], default="stream")
    add("--rounds", type=int, default=5)
    add("--ranks", type=int, help="all GPUs; of a simulated machine 2")
    add("--alone", action="store_true", help="without rivals")
    add("--patience", type=float, default=40, help="seconds for one measurement")
    add("--budget", type=float, default=280, help="seconds for everything")
    add("--simulated", metavar="MACHINE", help="ours alone, on threads")
    add("--out", type=Path, help="a file of schema polypath.bench/1")
    return parser.parse_args(words)


def plan_of(options: argparse.Namespace) -> Plan:
    """Return what is to be measured, the small ones first."""
    cases = grid(options.collectives, options.types, options.reductions, options.sizes,
                 options.small)  # fmt: skip
    return Plan(cases, options.rounds, options.algorithms, options.executor, not options.alone)


def document(options: argparse.Namespace, ranks: int, results: list[Any], machine: str) -> Any:
    """Return a file's contents."""
    on = {"simulated": True} if options.simulated else host()
    return {
        "schema": "polypath.bench/1",
        "machine": machine,
        "driver": "sim" if options.simulated else "cuda",
        "operation": "collectives",
        "ranks": ranks,
        "host": on,
        "command": " ".join(["scripts/collective_rivals.py", *sys.argv[1:]]),
        "results": results,
    }


class Report:
    """Prints each case when it is there, and keeps the file up to date."""

    def __init__(self, options: argparse.Namespace, ranks: int, machine: str) -> None:
        self._options, self._ranks, self._machine = options, ranks, machine
        self._results: list[Any] = []

    def take(self, case: Case, measured: Any) -> None:
        """Say and write what was measured."""
        print(documents.line(case, measured), flush=True)
        for entry in measured["missing"]:
            print(f"  {entry['name']}: {entry['error']}", flush=True)
        self._results += documents.results_of(case, self._ranks, measured)
        if self._options.out:
            whole = document(self._options, self._ranks, self._results, self._machine)
            documents.write(self._options.out, whole)


def simulate(options: argparse.Namespace) -> int:
    """Measure on a simulated machine."""
    from rivals import simulation

    ranks = options.ranks or 2
    report = Report(options, ranks, options.simulated)
    for kind, about, what in simulation.run(options.simulated, ranks, plan_of(options)):
        if kind == "done":
            report.take(about, what)
        elif kind == "absent":
            print(f"{about} takes no part: {what}")
    return 0


def on_gpus(options: argparse.Namespace) -> int:
    """Measure on this computer's GPUs. 1 if not everything could be measured."""
    import torch
    from rivals.supervisor import Supervisor

    ranks = options.ranks or torch.cuda.device_count()
    if ranks < 2 or ranks > torch.cuda.device_count():
        print(f"{ranks} ranks cannot be had (there are {torch.cuda.device_count()} GPUs)")
        return 2
    report = Report(options, ranks, torch.cuda.get_device_name(0))
    supervisor = Supervisor(ranks, options.patience, options.budget, report.take)
    outcome = supervisor.run(plan_of(options))
    for name, why in outcome.absent.items():
        print(f"{name} takes no part: {why}")
    if outcome.stopped:
        print(f"not everything is measured: {outcome.stopped}")
    return 1 if outcome.stopped else 0


def main() -> int:
    """Do what the command line asks."""
    options = arguments()
    if isinstance(options.sizes, str):
        options.sizes = [bytes_of(each) for each in options.sizes.split(",")]
    return simulate(options) if options.simulated else on_gpus(options)


if __name__ == "__main__":
    sys.exit(main())
