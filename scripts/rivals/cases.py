"""What is measured: a collective, its elements, and what each rank must have in the end.

Element i of what rank q gives is (7 i + 3 ⌊i / 1021⌋ + 5 q) mod 13: small whole numbers, so that
every type holds every sum exactly, in whatever order it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

SIZES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "int32": 4, "int64": 8}
REDUCTIONS = ("allreduce", "reducescatter")
COLLECTIVES = ("allreduce", "allgather", "reducescatter", "alltoall", "broadcast")
OPERATORS = ("sum", "min", "max")
ROOT = 0  # of broadcast
# How many calls a graph has, unless it is said. NCCL's take up to 2.8 times as long among 200.
CALLS_IN_GRAPH = 8
# How many calls are timed together up to so many bytes, and beyond: what the first one waits for,
# until all ranks have come, must not count.
CALLS_UP_TO = {1 << 20: 200, 64 << 20: 50}
CALLS = 20
PIECE = 1 << 24  # elements that are compared at once

Source = tuple[int, int]  # a rank, and where in what it gives


@dataclass(frozen=True)
class Case:
    """One collective of one size."""

    operation: str
    bytes: int  # of the largest memory that a rank has in it
    type: str = "float32"
    reduction: str = "sum"

    def elements(self, ranks: int) -> int:
        """Return how many elements one part has; what is given or got beside that are all parts."""
        parts = 1 if self.operation in ("allreduce", "broadcast") else ranks
        return max(self.bytes // SIZES[self.type] // parts, 1)

    def given(self, ranks: int) -> int:
        """Return how many elements a rank gives."""
        return self.elements(ranks) * (
            ranks if self.operation in ("reducescatter", "alltoall") else 1
        )

    def taken(self, ranks: int) -> int:
        """Return how many elements a rank gets."""
        return self.elements(ranks) * (ranks if self.operation in ("allgather", "alltoall") else 1)

    @property
    def in_place(self) -> bool:
        """Whether input and output are one memory."""
        return self.operation in ("allreduce", "broadcast")

    @property
    def calls(self) -> int:
        """How many calls are timed together."""
        return next((calls for most, calls in CALLS_UP_TO.items() if self.bytes <= most), CALLS)

    @property
    def label(self) -> str:
        """A few words for people."""
        size = next(
            f"{self.bytes >> shift}{unit}"
            for shift, unit in ((30, "G"), (20, "M"), (10, "K"), (0, ""))
            if self.bytes % (1 << shift) == 0 and self.bytes >> shift
        )
        how = f" {self.reduction}" if self.operation in REDUCTIONS else ""
        return f"{self.operation} {self.type}{how} {size}"

    def moved(self, ranks: int) -> float:
        """Return the bytes that a link carries in the best case, as bus bandwidth counts them."""
        factor = {"allreduce": 2 * (ranks - 1) / ranks, "broadcast": 1.0}
        exact = self.bytes // SIZES[self.type] * SIZES[self.type]
        return exact * factor.get(self.operation, (ranks - 1) / ranks)

    def fields(self, ranks: int) -> dict[str, Any]:
        """Return what a result of schema polypath.bench/1 says of it."""
        fields = {**asdict(self), "elements": self.elements(ranks), "ranks": ranks, "nodes": 1}
        if self.operation not in REDUCTIONS:
            del fields["reduction"]
        return {**fields, "in_place": self.in_place}


def parts_of(case: Case, rank: int, ranks: int) -> list[tuple[int, list[Source]]]:
    """Return where each part of a rank's result is, and of what it is the reduction."""
    part = case.elements(ranks)
    everybody = range(ranks)
    if case.operation == "allreduce":
        return [(0, [(giver, 0) for giver in everybody])]
    if case.operation == "reducescatter":
        return [(0, [(giver, rank * part) for giver in everybody])]
    if case.operation == "broadcast":
        return [(0, [(ROOT, 0)])]
    from_where = rank * part if case.operation == "alltoall" else 0
    return [(giver * part, [(giver, from_where)]) for giver in everybody]


def pieces_of(case: Case, rank: int, ranks: int) -> Iterator[tuple[int, int, list[Source]]]:
    """Return the same in pieces that are small enough to compare at once, with their lengths."""
    for start, sources in parts_of(case, rank, ranks):
        part = case.elements(ranks)
        for at in range(0, part, PIECE):
            moved = [(giver, where + at) for giver, where in sources]
            yield start + at, min(PIECE, part - at), moved


def values(index: Any, rank: int) -> Any:
    """Return what rank gives at the places of an array of int64, of whatever library."""
    return (index * 7 + index // 1021 * 3 + rank * 5) % 13


def grid(operations: list[str], types: list[str], reductions: list[str], sizes: list[int],
         small: int) -> list[Case]:  # fmt: skip
    """Return all cases: float32 sums of every size, other types and reductions up to `small`."""
    cases = []
    for operation in operations:
        for kind in types:
            for reduction in reductions if operation in REDUCTIONS else ["sum"]:
                usual = kind == types[0] and reduction == reductions[0]
                cases += [Case(operation, size, kind, reduction)
                          for size in sizes if usual or size <= small]  # fmt: skip
    return cases
