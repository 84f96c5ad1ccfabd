"""Starts one process per GPU, and starts them anew where they hang or die."""

from __future__ import annotations

import dataclasses
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rivals.cases import Case
from rivals.plan import Plan
from rivals.worker import on_gpu

Target = Callable[..., None]  # rank, size, store, plan, reports
Tell = Callable[[Case, dict[str, Any]], None]
MOST_STARTS = 8
LOOK_SECONDS = 0.2
ENOUGH = 2  # hangs of one way, after which it is left out of everything


@dataclasses.dataclass
class Outcome:
    """What has been measured, and who could not take part at all."""

    results: dict[Case, dict[str, Any]] = dataclasses.field(default_factory=dict)
    absent: dict[str, str] = dataclasses.field(default_factory=dict)
    stopped: str = ""  # why, if something is not measured


class Supervisor:
    """Runs a plan to its end, without what hangs."""

    def __init__(
        self, size: int, patience: float, budget: float, tell: Tell, target: Target = on_gpu
    ) -> None:
        self._size, self._patience, self._target, self._tell = size, patience, target, tell
        self._end = time.monotonic() + budget
        self._outcome = Outcome()
        self._skipped: dict[Case, dict[str, str]] = {}
        self._hung: Counter[str] = Counter()
        self._doing: tuple[Case | None, str] = (None, "")

    def run(self, plan: Plan) -> Outcome:
        """Return what was measured within the budget, seconds."""
        for _ in range(MOST_STARTS):
            left = [case for case in plan.cases if case not in self._outcome.results]
            if not left:
                return self._outcome
            rest = dataclasses.replace(
                plan, cases=left, skipped=self._skipped, absent=self._outcome.absent
            )
            problem = self._attempt(rest)
            if problem:
                print(f"started anew, in {self._doing[1] or 'the beginning'}: {problem}",
                      file=sys.stderr, flush=True)  # fmt: skip
            if problem and not self._leave_out(problem, left):
                self._outcome.stopped = problem
                return self._outcome
        self._outcome.stopped = f"{MOST_STARTS} starts were not enough"
        return self._outcome

    def _leave_out(self, problem: str, left: list[Case]) -> bool:
        """Leave out what was being done; return whether there is anything and time for the rest."""
        case, label = self._doing
        if time.monotonic() >= self._end or not label:
            return False
        if case in self._outcome.results:  # it ended between two cases
            return True
        if case is None:
            self._outcome.absent[label] = problem
            return True
        self._hung[label] += 1
        concerned = left if self._hung[label] >= ENOUGH else [case]
        for each in concerned:
            self._skipped.setdefault(each, {})[label] = problem
        return True

    def _attempt(self, plan: Plan) -> str:
        """Run the processes once; return what ended them, if it was not the plan's end."""
        context = multiprocessing.get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        self._doing = (None, "")
        with tempfile.TemporaryDirectory() as folder:
            store = str(Path(folder) / "store")
            processes = [
                context.Process(target=self._target, args=(rank, self._size, store, plan, sender))
                for rank in range(self._size)
            ]
            for process in processes:
                process.start()
            sender.close()
            try:
                return self._follow(receiver, processes)
            finally:
                for process in processes:
                    process.kill()
                    process.join()
                receiver.close()

    def _follow(self, receiver: Connection, processes: list[Any]) -> str:
        """Take reports until the last one; return what came between."""
        heard = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= self._end:
                return "the time for all measurements is over"
            if now - heard >= self._patience:
                return f"no end after {self._patience:g} s"
            if not receiver.poll(LOOK_SECONDS):
                if dead := [i for i, each in enumerate(processes) if each.exitcode]:
                    return f"rank {dead[0]} has ended with status {processes[dead[0]].exitcode}"
                continue
            heard = now
            try:
                kind, about, what = receiver.recv()
            except EOFError:
                return "all processes have ended"
            if kind == "end":
                return ""
            if kind == "broken":
                return str(what)
            self._take(kind, about, what)

    def _take(self, kind: str, about: Any, what: Any) -> None:
        if kind == "begun":
            self._doing = (about, what)
        elif kind == "absent":
            self._outcome.absent[about] = what
        elif kind == "done":
            self._outcome.results[about] = what
            self._tell(about, what)
