"""One rank of a measurement: its memory, its clock, and how it agrees with the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rivals.cases import Case, pieces_of

Call = Callable[[], object]


@dataclass(frozen=True)
class Lap:
    """The time of one call, among many in a row: until it is over, and of the host's part of it."""

    seconds: float
    host_seconds: float


class Ranks(ABC):
    """What a contender and the measurement need of the machine."""

    rank: int
    size: int

    @abstractmethod
    def agree(self, mine: Any) -> list[Any]:
        """Return what each rank gives. Waits for all."""

    @abstractmethod
    def tensor(self, kind: str, elements: int) -> Any:
        """Return memory on this rank's GPU."""

    @abstractmethod
    def fill(self, tensor: Any, rank: int) -> None:
        """Write what that rank gives."""

    @abstractmethod
    def spoil(self, tensor: Any) -> None:
        """Write what no result is."""

    @abstractmethod
    def holds(self, tensor: Any, start: int, length: int, case: Case, sources: Any) -> bool:
        """Return whether these elements are the reduction of those that are given."""

    @abstractmethod
    def settle(self) -> None:
        """Wait until this rank's GPU is done, once all have their work; raise what went wrong."""

    @abstractmethod
    def start_lap(self, calls: int, call: Call, per_call: int) -> Callable[[], Lap]:
        """Enqueue calls, each of which does it `per_call` times; return what tells the time.

        It is asked after everything is over.
        """

    def together(self, action: Callable[[], Any]) -> tuple[Any, str]:
        """Do it at all ranks and wait for it; return the result, and what went wrong anywhere."""
        result, problem = self._attempt(action)
        if not problem:
            _, problem = self._attempt(self.settle)
        return result, problem

    def _attempt(self, action: Callable[[], Any]) -> tuple[Any, str]:
        result, problem = None, ""
        try:
            result = action()
        except Exception as error:
            problem = f"{type(error).__name__}: {str(error).strip()[:300]}"
        told = self.agree(problem)
        return result, next((f"rank {i}: {each}" for i, each in enumerate(told) if each), "")

    def is_right(self, case: Case, output: Any) -> bool:
        """Compare every element of this rank's result."""
        return all(
            self.holds(output, start, length, case, sources)
            for start, length, sources in pieces_of(case, self.rank, self.size)
        )
