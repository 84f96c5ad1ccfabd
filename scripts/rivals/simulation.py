"""The same measurement on a simulated machine, by threads."""

from __future__ import annotations

import threading
from typing import Any

import polypath

from rivals.plan import Plan
from rivals.simulated_ranks import SimulatedPolypath, SimulatedRanks, Table
from rivals.worker import Silence, measure


class Kept:
    """Reports, kept."""

    def __init__(self) -> None:
        self.reports: list[Any] = []

    def send(self, report: Any) -> None:
        """Keep it."""
        self.reports.append(report)


def run(machine: str, size: int, plan: Plan) -> list[Any]:
    """Return rank 0's reports. RuntimeError with what went wrong at a rank, or raced."""
    context = polypath.Context(machine)
    table, kept = Table(size), Kept()
    meetings = [polypath.ThreadGroup(size) for _ in plan.algorithms]
    problems: list[str] = []

    def be(rank: int) -> None:
        try:
            ranks = SimulatedRanks(rank, table, context)
            contenders = []
            for algorithm, meeting in zip(plan.algorithms, meetings, strict=True):
                contender = SimulatedPolypath(algorithm, plan.executor)
                contender.meeting = meeting
                contenders.append(contender)
            measure(plan, list(contenders), ranks, kept if rank == 0 else Silence())
        except Exception as error:
            problems.append(f"rank {rank}: {error}")
            table.leave()

    threads = [threading.Thread(target=be, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    problems += context.violations()
    if problems:
        raise RuntimeError("; ".join(problems))
    return kept.reports
