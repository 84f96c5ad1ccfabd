#!/usr/bin/env python3
"""Measures collectives beside other libraries, in turn, in one run, and checks every element.

scripts/collective_rivals.py                                  the usual sizes, on all GPUs
scripts/collective_rivals.py --collectives allreduce --sizes 8K,1M --algorithms auto,exchange
scripts/collective_rivals.py --nccl libnccl.so.2              beside another NCCL, too
scripts/collective_rivals.py --no-peer-access plain           as if GPUs did not reach each other
scripts/collective_rivals.py --beside-product                 256 MiB beside a matrix product
scripts/collective_rivals.py --simulated h200x4 --ranks 2     ours alone, on a simulated machine

One process per GPU. Rivals are the NCCL that PyTorch brings, and PyTorch's all-reduces over
symmetric memory in one and two shots, without multicast. Each is run eagerly and as a graph of
`--calls-in-graph` calls that is replayed. A time is that of one of 20 calls in a row (50 up to
64 MiB, 200 up to 1 MiB) by events, of the slowest rank, the median of the rounds; `host_seconds`
is what the host was busy with it. What fails or hangs is written down as missing, and the others
go on. `--out` keeps what a file has of other cases.
rivals/beside.py says what is timed beside a product, rivals/environment.py what is set for NCCL.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from rivals import documents, environment
from rivals.cases import CALLS_IN_GRAPH, COLLECTIVES, OPERATORS, SIZES, Case, grid
from rivals.plan import Plan
from rounds_in_turn import host

UNITS = {"K": 10, "M": 20, "G": 30}
USUAL_SIZES = "8K,64K,256K,1M,8M,64M,256M,1G"
SIZES_BESIDE_PRODUCT = "256M"
MOST_OF_OTHERS = "1M"  # the largest message of other types and reductions


def bytes_of(text: str) -> int:
    """Return the bytes of "64K"; powers of 1024."""
    shift = UNITS.get(text[-1:].upper(), 0)
    return int(text[:-1] if shift else text) << shift


def sizes_of(text: str) -> list[int]:
    """Return the bytes of "8K,1M"."""
    return [bytes_of(each) for each in text.split(",")]


def library(text: str) -> str:
    """Return the whole path of a library."""
    path = Path(text).resolve()
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text} is no library (there is no such file)")
    return str(path)


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
    add("--collectives", type=names(COLLECTIVES), help="all; beside a product allreduce")
    add("--types", type=names(SIZES), default=["float32"], help="the first one in every size")
    add("--reductions", type=names(OPERATORS), default=["sum"])
    add("--sizes", type=sizes_of, help="bytes of the largest memory of a rank")
    add("--small", type=bytes_of, default=MOST_OF_OTHERS,
        help="the largest message of other types and reductions")  # fmt: skip
    add("--algorithms", type=lambda text: text.split(","), default=["auto"])
    add("--executor", choices=["stream", "graph"], default="stream")
    add("--rounds", type=int, default=5)
    add("--calls-in-graph", type=int, default=CALLS_IN_GRAPH, help=f"default: {CALLS_IN_GRAPH}")
    add("--ranks", type=int, help="all GPUs; of a simulated machine 2")
    add("--patience", type=float, default=40, help="seconds for one measurement")
    add("--budget", type=float, default=280, help="seconds for everything")
    add("--out", type=Path, help="a file of schema polypath.bench/1")
    add_ways(parser)
    return completed(parser, parser.parse_args(words))


def add_ways(parser: argparse.ArgumentParser) -> None:
    """Add what says beside whom, and where."""
    add = parser.add_argument
    add("--alone", action="store_true", help="without rivals")
    add("--nccl", type=library, metavar="PATH", help="a libnccl.so.2, 2.28 or newer")
    add("--no-peer-access", choices=list(environment.NCCL_WITHOUT_PEERS), default="",
        help="no GPU reaches another's memory; NCCL as it is, or by copy engines")  # fmt: skip
    add("--beside-product", action="store_true",
        help="while bfloat16 matrices of 8192 rows are multiplied")  # fmt: skip
    add("--simulated", metavar="MACHINE", help="ours alone, on threads")


def completed(parser: argparse.ArgumentParser, options: argparse.Namespace) -> argparse.Namespace:
    """Return the options with the values of those left out; end where two exclude each other."""
    beside = options.beside_product
    for name in ("nccl", "no_peer_access", "beside_product"):
        if options.simulated and getattr(options, name):
            word = name.replace("_", "-")
            parser.error(f"--{word} cannot be simulated (it needs GPUs) Leave out --simulated.")
    options.sizes = options.sizes or sizes_of(SIZES_BESIDE_PRODUCT if beside else USUAL_SIZES)
    options.collectives = options.collectives or (["allreduce"] if beside else list(COLLECTIVES))
    return options


def plan_of(options: argparse.Namespace) -> Plan:
    """Return what is to be measured, the small ones first."""
    cases = grid(options.collectives, options.types, options.reductions, options.sizes,
                 options.small)  # fmt: skip
    return Plan(cases, options.rounds, options.algorithms, options.executor, not options.alone,
                options.nccl or "", options.no_peer_access, options.beside_product,
                options.calls_in_graph)  # fmt: skip


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
        facts = environment.facts(self._options.no_peer_access)
        self._results += documents.results_of(case, self._ranks, measured, facts)
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
    return simulate(options) if options.simulated else on_gpus(options)


if __name__ == "__main__":
    sys.exit(main())
