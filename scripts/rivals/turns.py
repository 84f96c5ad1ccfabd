"""Contenders in turn, on one case: each is checked, then all are timed, round by round."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, field
from typing import Any, TypeVar

from rivals.cases import CALLS_IN_GRAPH, Case
from rivals.contender import Contender, Ready
from rivals.ranks import Call, Lap, Ranks

WARM_UPS = 3
GRAPH = "graph"  # the mode of captured calls; in every other one each is a call

AnyLap = TypeVar("AnyLap", bound=Lap)
Say = Callable[[str], None]  # what is begun now, so that a hang has a name


class BrokenError(Exception):
    """A GPU has failed for good: nothing more can be measured by these processes."""


@dataclass
class Entry:
    """One contender in one mode."""

    contender: Contender
    mode: str
    ready: Ready
    call: Call
    per_call: int  # how often one call does it
    laps: list[Lap] = field(default_factory=list)
    problem: str = ""

    @property
    def label(self) -> str:
        """Who it is, for people and for what is left out."""
        return f"{self.contender.name} {self.mode}"


def rotated(entries: list[Entry], turn: int) -> list[Entry]:
    """Return them with another one first in each round."""
    first = turn % len(entries) if entries else 0
    return entries[first:] + entries[:first]


def slowest(laps: Iterable[AnyLap]) -> AnyLap:
    """Return the time of all ranks together, which is that of the slowest."""
    laps = list(laps)
    return type(laps[0])(*map(max, zip(*map(astuple, laps), strict=True)))


def figures(entry: Entry, case: Case, ranks: int) -> dict[str, Any]:
    """Return what a result says of one contender: medians over the rounds, and every round."""
    seconds = statistics.median(lap.seconds for lap in entry.laps)
    in_graph = {"calls_in_graph": entry.per_call} if entry.mode == GRAPH else {}
    return {
        "name": entry.contender.name,
        "version": entry.contender.version,
        "mode": entry.mode,
        **in_graph,
        "seconds": seconds,
        "host_seconds": statistics.median(lap.host_seconds for lap in entry.laps),
        "runs": [lap.seconds for lap in entry.laps],
        "bytes_per_second": case.bytes / seconds,
        "bus_bytes_per_second": case.moved(ranks) / seconds,
        "verified": True,
        **entry.ready.facts,
    }


class Turns:
    """The measurement of one case at one rank."""

    def __init__(
        self, ranks: Ranks, case: Case, say: Say, skipped: dict[str, str],
        calls_in_graph: int = CALLS_IN_GRAPH,
    ) -> None:  # fmt: skip
        self._ranks, self._case, self._say = ranks, case, say
        self._in_graph = min(calls_in_graph, case.calls)
        self._missing = dict(skipped)  # label: why

    def measure(self, contenders: list[Contender], rounds: int) -> dict[str, Any]:
        """Return {"entries": [...], "missing": [...]}; at all ranks the same."""
        entries = [entry for each in contenders for entry in self._entries_of(each)]
        for turn in range(rounds):
            for entry in rotated([each for each in entries if not each.problem], turn):
                self._time(entry)
        timed = [each for each in entries if not each.problem]
        return {
            "entries": [self._figures(each) for each in timed],
            "missing": [{"name": label, "error": why} for label, why in self._missing.items()],
        }

    def _figures(self, entry: Entry) -> dict[str, Any]:
        """Return what a result says of one contender."""
        return figures(entry, self._case, self._ranks.size)

    def _modes(self, contender: Contender) -> tuple[str, ...]:
        """Return the modes in which it is measured."""
        return contender.modes

    def _entries_of(self, contender: Contender) -> list[Entry]:
        modes = [
            mode for mode in self._modes(contender)
            if f"{contender.name} {mode}" not in self._missing
        ]  # fmt: skip
        if not contender.does(self._case) or not modes:
            return []
        ready = self._checked(f"{contender.name} {modes[0]}", lambda: contender.ready(self._case))
        if ready is None:
            for mode in modes[1:]:
                self._missing[f"{contender.name} {mode}"] = "as above"
            return []
        made = (self._entry(contender, mode, ready) for mode in modes)
        return [entry for entry in made if entry is not None]

    def _entry(self, contender: Contender, mode: str, ready: Ready) -> Entry | None:
        label = f"{contender.name} {mode}"
        if mode != GRAPH:
            right = self._verified(label, ready, ready.call)
            return Entry(contender, mode, ready, ready.call, 1) if right else None
        one = self._checked(label, lambda: contender.capture(ready, 1))
        if one is None or not self._verified(label, ready, one):
            return None
        many = self._checked(label, lambda: contender.capture(ready, self._in_graph))
        return many and Entry(contender, mode, ready, many, self._in_graph)

    def _checked(self, label: str, action: Callable[[], Any]) -> Any:
        """Return what it gives; None if it failed at any rank, which is written down."""
        self._say(label)
        result, problem = self._ranks.together(action)
        if problem:
            self._lose(label, problem)
            return None
        return result

    def _lose(self, label: str, problem: str) -> None:
        """Write down what failed. BrokenError if everything that follows would fail, too."""
        self._missing[label] = problem
        if self._ranks.together(lambda: None)[1]:
            raise BrokenError(problem)

    def _verified(self, label: str, ready: Ready, call: Call) -> bool:
        """Return whether one call gives what it should at every rank; else it is written down."""

        def prepare() -> bool:
            if ready.taken is not ready.given and ready.taken is not None:
                self._ranks.spoil(ready.taken)
            self._ranks.fill(ready.given, self._ranks.rank)
            return True

        if self._checked(label, prepare) is None:
            return False
        returned, problem = self._ranks.together(call)
        if problem:
            self._lose(label, problem)
            return False
        result = returned if ready.taken is None else ready.taken
        return self._checked(label, lambda: self._require_right(result)) is not None

    def _require_right(self, result: Any) -> bool:
        if not self._ranks.is_right(self._case, result):
            raise ValueError("the result is wrong")
        return True

    def _time(self, entry: Entry) -> None:
        """Add a lap to what the entry has."""
        self._say(entry.label)
        lap = self._calls(entry, self._case.calls)
        if lap is not None:
            entry.laps.append(lap)

    def _calls(self, entry: Entry, calls: int) -> Lap | None:
        """Return the slowest rank's time of one of so many calls; None if they failed."""
        rows = max(calls // entry.per_call, 1)

        def start() -> Callable[[], Lap]:
            for _ in range(WARM_UPS if entry.per_call == 1 else 1):
                entry.call()
            return self._ranks.start_lap(rows, entry.call, entry.per_call)

        return self._lap(entry, start)

    def _lap(self, entry: Entry, start: Callable[[], Callable[[], AnyLap]]) -> AnyLap | None:
        """Return the slowest rank's time of what is started; None if it failed at any rank."""
        finish, entry.problem = self._ranks.together(start)
        if entry.problem:
            self._lose(entry.label, entry.problem)
            return None
        laps: list[AnyLap] = self._ranks.agree(finish())
        return slowest(laps)
