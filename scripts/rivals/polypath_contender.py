"""Polypath's own collectives, on GPUs and on simulated machines."""

from __future__ import annotations

from typing import Any

import polypath

from rivals.cases import ROOT, Case
from rivals.contender import Contender, Ready
from rivals.ranks import Ranks

AUTOMATIC = "auto"


class Polypath(Contender):
    """All of its algorithms, or one by name."""

    def __init__(self, algorithm: str = AUTOMATIC, executor: str = "stream") -> None:
        self.algorithm, self._executor = algorithm, executor
        self.name = "polypath" if algorithm == AUTOMATIC else f"polypath {algorithm}"
        self.version = polypath.__version__

    def join(self, ranks: Ranks) -> polypath.Collectives:
        """Return this rank's end."""
        raise NotImplementedError

    def open(self, ranks: Ranks) -> None:
        """Join the other ranks."""
        self.ranks = ranks
        self._collectives = self.join(ranks)
        names = () if self.algorithm == AUTOMATIC else (self.algorithm,)
        self._collectives.choose_from(names, self._executor)

    def does(self, case: Case) -> bool:  # noqa: ARG002
        """Return true: what an algorithm does not do, it says."""
        return True

    def ready(self, case: Case) -> Ready:
        """Return memory, the call, and what was chosen for it."""
        size = self.ranks.size
        chosen = self._collectives.prepare(
            case.operation, case.elements(size), case.type, op=case.reduction, root=ROOT,
            in_place=case.in_place,
        )  # fmt: skip
        given = self.ranks.tensor(case.type, case.given(size))
        taken = given if case.in_place else self.ranks.tensor(case.type, case.taken(size))
        facts = {"chosen": chosen.pop("algorithm"), **chosen}
        return Ready(self._call(case, given, taken), given, taken, facts)

    def _call(self, case: Case, given: Any, taken: Any) -> Any:
        own, more = self._collectives, self.more(case)
        output = None if case.in_place else taken
        return {
            "allreduce": lambda: own.all_reduce(given, output, case.reduction, **more),
            "broadcast": lambda: own.broadcast(given, ROOT, **more),
            "allgather": lambda: own.all_gather(given, output, **more),
            "reducescatter": lambda: own.reduce_scatter(given, output, case.reduction, **more),
            "alltoall": lambda: own.all_to_all(given, output, **more),
        }[case.operation]

    def more(self, case: Case) -> dict[str, Any]:  # noqa: ARG002
        """Return the arguments that each call has besides."""
        return {}

    def close(self) -> None:
        """Leave the other ranks."""
        self._collectives.close()
