"""A library that takes part, and what it has ready for one case."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from rivals.cases import Case
from rivals.ranks import Call, Ranks

Facts = dict[str, Any]


@dataclass
class Ready:
    """Memory for one case, and the call that does it."""

    call: Call
    given: Any
    taken: Any
    facts: Facts = field(default_factory=dict)  # what else a result says of it


class Contender(ABC):
    """A library, by one of its ways."""

    name = ""
    version = ""
    modes: tuple[str, ...] = ("eager", "graph")

    @abstractmethod
    def open(self, ranks: Ranks) -> None:
        """Make what is needed once; at all ranks. Raise where it cannot take part."""

    @abstractmethod
    def does(self, case: Case) -> bool:
        """Return whether it is worth a try."""

    @abstractmethod
    def ready(self, case: Case) -> Ready:
        """Return memory and a call for the case; at all ranks."""

    def capture(self, ready: Ready, calls: int) -> Call:
        """Return what replays so many calls as one graph; at all ranks."""
        raise NotImplementedError(f"{self.name} has no graphs")

    def close(self) -> None:  # noqa: B027
        """Give back what was made; at all ranks."""
