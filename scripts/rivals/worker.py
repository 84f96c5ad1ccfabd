"""What each rank does: all cases, one after another, and reports of it by rank 0."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from rivals.cases import Case
from rivals.contender import Contender
from rivals.environment import environment
from rivals.plan import Plan
from rivals.ranks import Ranks
from rivals.turns import BrokenError, Turns


class Sender(Protocol):
    """Where reports go."""

    def send(self, report: Any) -> None:
        """Tell it."""


def opened(contenders: list[Contender], ranks: Ranks, reports: Sender) -> list[Contender]:
    """Return those that can take part; say of the others why not."""
    able = []
    for contender in contenders:
        reports.send(("begun", None, contender.name))
        _, problem = ranks.together(partial(contender.open, ranks))
        if problem:
            reports.send(("absent", contender.name, problem))
        else:
            able.append(contender)
    return able


def measure(plan: Plan, contenders: list[Contender], ranks: Ranks, reports: Sender,
            turns: Callable[..., Turns] = Turns) -> None:  # fmt: skip
    """Measure all cases; rank 0's reports count."""
    wanted = [each for each in contenders if each.name not in plan.absent]
    able = opened(wanted, ranks, reports)
    for case in plan.cases:

        def say(label: str, case: Case = case) -> None:
            reports.send(("begun", case, label))

        try:
            skipped = plan.skipped.get(case, {})
            measured = turns(ranks, case, say, skipped, plan.calls_in_graph).measure(
                able, plan.rounds
            )
        except BrokenError as error:
            reports.send(("broken", case, str(error)))
            raise
        reports.send(("done", case, measured))
    reports.send(("end", None, None))
    for contender in able:
        contender.close()


class Silence:
    """Where the reports of other ranks than 0 go."""

    def send(self, report: Any) -> None:
        """Forget it."""


def on_gpu(rank: int, size: int, store: str, plan: Plan, reports: Sender) -> None:
    """Be one rank of processes with a GPU each."""
    os.environ.update(environment(plan.without_peers))
    from rivals.gpu_line_up import contenders_of
    from rivals.gpu_product import beside_product
    from rivals.gpu_ranks import GpuRanks

    ranks = GpuRanks(rank, size, store)
    turns = beside_product(ranks) if plan.beside_product else Turns
    measure(plan, contenders_of(plan), ranks, reports if rank == 0 else Silence(), turns)
    os._exit(0)  # whatever a library does at the end, the results are there
