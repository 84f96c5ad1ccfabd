"""The same program with and without Polypath, in turn, several times over."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from polypath.cli.mpi.launch import Launch
from polypath.cli.mpi.ranks import Outcome, run_ranks
from polypath.cli.mpi.request import Request

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Round:
    """One run of each kind, one right after the other."""

    native: Outcome
    planned: Outcome
    checked: bool


class RanksError(Exception):
    """A run that did not come to its end, or came to a bad one."""

    def __init__(self, outcome: Outcome, how: str, why: str) -> None:
        super().__init__(f"the ranks {how} failed: {why}")
        self.outcome = outcome


class Rounds:
    """Runs rounds; which kind goes first alternates, so that a drift favours neither."""

    def __init__(
        self,
        request: Request,
        native: Launch,
        planned: Launch,
        program: Path,
        silence: float | None = None,  # seconds without a result after which ranks hang
    ) -> None:
        self._request = request
        self._silence = silence
        self._launches = {"native": native, "planned": planned}
        self._program = program
        self._done = 0

    def run(self, progress: Progress) -> list[Round]:
        """Run all rounds; the bytes are compared in the first one and in the last one."""
        last = self._request.repeats - 1
        return [
            self.one(index, self._request.check and index in (0, last), progress)
            for index in range(self._request.repeats)
        ]

    def one(self, index: int, checked: bool, progress: Progress) -> Round:
        """Run the round of that number; its bytes are compared if `checked`."""
        order = ("native", "planned") if index % 2 == 0 else ("planned", "native")
        runs = {kind: self._run(kind, checked, progress) for kind in order}
        return Round(runs["native"], runs["planned"], checked)

    def _run(self, kind: str, checked: bool, progress: Progress) -> Outcome:
        total = 2 * self._request.repeats * self._request.points

        def count() -> None:
            self._done += 1
            progress(self._done, total)

        progress(self._done, total)
        arguments = self._request.arguments(checked, kind == "planned")
        outcome = run_ranks(self._launches[kind], self._program, arguments, count, self._silence)
        _require_good(outcome, kind, self._request)
        return outcome


def _require_good(outcome: Outcome, kind: str, request: Request) -> None:
    planned = kind == "planned"
    why = _failure(outcome, request.points) or _wrong_kind(outcome, planned)
    if why:
        raise RanksError(outcome, "with Polypath" if planned else "without Polypath", why)


def _failure(outcome: Outcome, points: int) -> str:
    """Return why a run is no measurement of that many points; empty if it is one."""
    if outcome.hung:
        return f"they gave no result for {outcome.silence:.0f} s and were ended"
    if not outcome.complete:
        return outcome.own_message() or (
            f"the launcher ended with status {outcome.status} before all was measured "
            "(--mpirun and --mpicc must be of one MPI)"
        )
    if outcome.status != 0 and outcome.wrong_bytes == 0:
        return f"they measured everything, but then ended with status {outcome.status}"
    if len(outcome.results) != points:
        return f"they gave {len(outcome.results)} results instead of {points}"
    return ""


def _wrong_kind(outcome: Outcome, planned: bool) -> str:
    if outcome.start["polypath"] == planned:
        return ""
    if planned:
        return "it was not loaded in all of them: the launcher does not pass LD_PRELOAD on"
    return "it was loaded all the same"
