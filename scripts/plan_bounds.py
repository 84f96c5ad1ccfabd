#!/usr/bin/env python3
"""Holds the plans of collectives against lower bounds that know nothing of the planner.

scripts/plan_bounds.py                           the machines that come along, 16 and 256 MiB
scripts/plan_bounds.py mine.json --sizes 64M     others; a name from `polypath machines`, or a file
scripts/plan_bounds.py mist cedar --nodes 2      so many of each, on their network
scripts/plan_bounds.py mist --root 3             broadcasts and reduces of another root
scripts/plan_bounds.py --any-order               reductions in any order, too
scripts/plan_bounds.py --store mine.json         puts the rows into results/simulated as well

A row has the predicted time of the automatic plan, the bound, their ratio, and the processor time
that planning took. bounds/collectives.py says what a bound is. A sum in rank order has two: of any
order, and of that order. Run it with the Python beside which the package is installed:
.venv/bin/python after `make package`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace

from bound_figures import bound, ratio, summary_table, worst_table
from bounds.collectives import COLLECTIVES, REDUCING, ROOTED, LowerBounds, Request
from bounds.machine import machine_of
from bounds.stored import Row, store
from polypath import reports

# What is said of a plan that adds from the left: all ranks, or each group and then the groups.
ANY, RANK_ORDER = "any", "0, 1, 2, ..."
IN_GROUPS = (
    "in each node 0, 1, 2, ...; then the nodes 0, 1, 2, ...",
    "in each group of close GPUs 0, 1, 2, ...; then the groups 0, 1, 2, ...",
)
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def sizes(text: str) -> list[int]:
    """Return the sizes of a list such as 16M,1G."""
    return [
        int(each[:-1]) * UNITS[each[-1]] if each[-1] in UNITS else int(each)
        for each in text.upper().split(",")
    ]


class Judge:
    """Plans of one machine, or of so many on its network, and their bounds."""

    def __init__(self, name: str, nodes: int) -> None:
        document = reports.machine(name)
        self.name, self.nodes = name, nodes
        self.stands_for = document["name"]
        self.machine = machine_of(document, nodes)
        self.bounds: dict[str, LowerBounds] = {ANY: LowerBounds(self.machine)}

    def row(self, collective: str, size: int, root: int, any_order: bool) -> Row:
        """Return a plan and its bounds."""
        asked: Row = {"nodes": self.nodes} if self.nodes > 1 else {}
        asked |= {"root": root} if collective in ROOTED else {}
        begin = time.process_time()
        plan = reports.collective_plan(
            collective, size, machine=self.name, any_order=any_order, **asked
        )
        took = time.process_time() - begin
        best = plan["algorithms"][0]
        groups = [] if any_order else self._groups(plan, best.get("order"))
        return {
            "machine": self.stands_for,
            "nodes": self.nodes,
            "ranks": plan["ranks"],
            "collective": collective,
            "bytes": plan["bytes"],
            "root": root if collective in ROOTED else None,
            "any_order": any_order,
            "algorithm": best["algorithm"],
            "predicted_seconds": plan["predicted_seconds"],
            "planning_seconds": round(took, 5),
            **self._bounds(Request(collective, plan["bytes"], root), groups),
        }

    def _groups(self, plan: Row, order: str | None) -> list[list[int]]:
        """Return the ranks of each group that is added up from the left; none of another order."""
        if order == RANK_ORDER:
            return [list(range(len(self.machine.gpus)))]
        return plan["order_groups"] if order in IN_GROUPS else []

    def _bounds(self, request: Request, groups: list[list[int]]) -> Row:
        """Return the bound of any order, and that of the plan's own if it has one."""
        free = self.bounds[ANY].of(request)
        found: Row = {"bound_seconds": free, "bound_in_order_seconds": None}
        if request.collective in REDUCING and groups:
            own = self._in_order(groups).of(replace(request, in_order=True))
            found["bound_in_order_seconds"] = max(own, free)
        return found

    def _in_order(self, groups: list[list[int]]) -> LowerBounds:
        """Return the bounds of sums from the left, group by group."""
        return self.bounds.setdefault(str(groups), LowerBounds(replace(self.machine, nodes=groups)))


def rows_of(
    name: str, nodes: int, wanted: list[int], any_order: bool, root: int = 0
) -> Iterator[Row]:
    """Yield the rows of one machine; of roots other than 0 those of collectives that have one."""
    judge = Judge(name, nodes)
    for size in wanted:
        for collective in ROOTED if root else COLLECTIVES:
            for free in (False, True) if any_order and collective in REDUCING else (False,):
                yield judge.row(collective, size, root, free)


def line(each: Row) -> str:
    """Return a row as text."""
    name = each["machine"] + (f" x {each['nodes']}" if each["nodes"] > 1 else "")
    order = "any order" if each["any_order"] else ""
    free = each["predicted_seconds"] / each["bound_seconds"]
    return (
        f"{name:16} {each['collective']:13} {order:9} {each['bytes'] / 2**20:6.0f} MiB "
        f"{1e3 * each['predicted_seconds']:9.3f} ms  bound {1e3 * bound(each):9.3f} ms "
        f"{ratio(each):5.2f} ({free:5.2f})  {each['algorithm']:13} "
        f"planned in {1e3 * each['planning_seconds']:7.1f} ms"
    )


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machines", nargs="*")
    parser.add_argument("--sizes", type=sizes, default=sizes("16M,256M"))
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--root", type=int, default=0)
    parser.add_argument("--any-order", action="store_true")
    parser.add_argument("--store", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Print a table, and its summary."""
    asked = arguments()
    found: list[Row] = []
    for name in asked.machines or [each["name"] for each in reports.machines()]:
        for each in rows_of(name, asked.nodes, asked.sizes, asked.any_order, asked.root):
            found.append(each)
            print(line(each), flush=True)
        if asked.store:
            store("rows", found)
    print("", summary_table(found), "", worst_table(found, 40), sep="\n")


if __name__ == "__main__":
    main()
