#!/usr/bin/env python3
"""Holds joint plans of random sets of copies against flow bounds, asked for in several orders.

scripts/set_bounds.py                     ten sets for each of the machines that come along
scripts/set_bounds.py mine.json --sets 3  of others; a name from `polypath machines`, or a file
scripts/set_bounds.py --store             puts them into results/simulated as well

One thread issues each set, as `copy_many` does, in an order that the planner chooses. The program
asks as drawn, backwards, and with the shortest and with the longest native copies first.
bounds/sets.py says what the bound is.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence

from bound_figures import set_line, sets_table
from bounds.machine import Machine, machine_of
from bounds.sets import Copy, lower_bound, with_calls
from bounds.stored import Row, store
from polypath import reports

MIB = 1 << 20
MOST = 8  # copies of a set; 16 are planned together


def drawn(machine: Machine, seed: int) -> list[Copy]:
    """Return 2 to 8 copies of 1 to 256 MiB, sizes of each octave as often; most between GPUs."""
    random_of = random.Random(f"{machine.name} {seed}")
    ends = [
        (hop.source, hop.destination)
        for hop in machine.hops
        for _ in range(1 if hop.kind == "host" else 2)
    ]
    count = random_of.randint(2, MOST)
    return [
        Copy(*random_of.choice(ends), round(2 ** random_of.uniform(0, 8)) * MIB)
        for _ in range(count)
    ]


def native_time(machine: Machine, copy: Copy) -> float:
    """Return what a native copy takes alone."""
    (hop,) = (
        h for h in machine.hops if (h.source, h.destination) == (copy.source, copy.destination)
    )
    return hop.latency + copy.bytes / hop.bandwidth


def orders(machine: Machine, copies: list[Copy]) -> dict[str, list[Copy]]:
    """Return the set as a program may ask for it: in several orders."""
    shortest = sorted(copies, key=lambda copy: native_time(machine, copy))
    return {
        "as_drawn": copies,
        "backwards": copies[::-1],
        "shortest_first": shortest,
        "longest_first": shortest[::-1],
    }


def planned(name: str, copies: Sequence[Copy]) -> Row:
    """Return what the product plans, and what planning took of a processor."""
    begin = time.process_time()
    asked = [(each.source, each.destination, each.bytes) for each in copies]
    plan = reports.joint_plan(asked, machine=name)
    took = time.process_time() - begin
    return {
        "predicted_seconds": plan["predicted_seconds"],
        "native_seconds": plan["native_seconds"],
        "call_seconds": plan["call_seconds"],
        "planning_seconds": round(took, 5),
    }


def sets_of(name: str, count: int) -> Iterator[Row]:
    """Yield sets of one machine, with their plans."""
    document = reports.machine(name)
    machine = machine_of(document)
    for seed in range(count):
        copies = drawn(machine, seed)
        yield {
            "machine": document["name"],
            "seed": seed,
            "copies": [[each.source, each.destination, each.bytes] for each in copies],
            "bound_seconds": lower_bound(machine, copies),
            "bound_with_calls_seconds": with_calls(machine, copies),
            "plans": {
                order: planned(name, ordered) for order, ordered in orders(machine, copies).items()
            },
        }


def main() -> None:
    """Print a line for each set, and their summary."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("machines", nargs="*")
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--store", action="store_true")
    asked = parser.parse_args()
    found: list[Row] = []
    for name in asked.machines or [each["name"] for each in reports.machines()]:
        for each in sets_of(name, asked.sets):
            found.append(each)
            print(set_line(each), flush=True)
        if asked.store:
            store("sets", found)
    print("", sets_table(found), sep="\n")


if __name__ == "__main__":
    main()
