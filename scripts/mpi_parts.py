"""MPI messages with and without Polypath, a round at a time, by what `polypath mpi` uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from polypath.cli.errors import UserError
from polypath.cli.mpi.launch import native_launch, with_polypath
from polypath.cli.mpi.program import compiled_program
from polypath.cli.mpi.report import document_of
from polypath.cli.mpi.request import Request, make_request, stand_in_folder
from polypath.cli.mpi.rounds import RanksError, Round, Rounds
from polypath.cli.mpi.stack import Stack, find_stack
from polypath.cli.sizes import parse_sizes
from rounds_in_turn import MOST_SECONDS, Json, Part, host

SECONDS = 0.3  # that one measurement may take
MOST_LINES = 10  # that are shown of ranks that failed


@dataclass(frozen=True)
class Asked:
    """One run of the MPI program."""

    operations: str
    sizes: str
    window: str = "1"
    ranks: int = 2
    buffers: str = "device"
    launcher_options: Sequence[str] = ()  # else what the launcher does by default

    def command(self) -> str:
        """Return the command that measures the same."""
        extra = f' --mpirun "mpirun … {" ".join(self.launcher_options)}"'
        return (
            f"polypath mpi --ranks {self.ranks} --operations {self.operations} "
            f"--window {self.window} --sizes {self.sizes} --buffers {self.buffers} "
            f"--seconds {SECONDS}{extra if self.launcher_options else ''}"
        )

    def request(self, driver: str, largest: int) -> Request:
        """Return the request; larger messages are left out, but for one size."""
        sizes = parse_sizes(self.sizes)
        kept = [size for size in sizes if size <= largest] or [largest]
        return make_request(
            ranks=self.ranks,
            operations=self.operations,
            sizes=",".join(map(str, kept)),
            windows=self.window,
            buffers=self.buffers,
            buffer_per_message=False,
            check=True,
            repeats=None,
            driver=driver,
            seconds=SECONDS,
        )


class MpiPart(Part):
    """The MPI program of `polypath mpi`; it compares every byte in the first round."""

    file = "mpi"

    def __init__(self, name: str, asked: Asked, driver: str, largest: int) -> None:
        super().__init__(name)
        self._asked = asked
        self._request = asked.request(driver, largest)
        self._done: list[Round] = []
        self._prepared: tuple[Stack, Rounds] | None = None

    def measure(self, index: int) -> None:
        """Run the ranks with and without Polypath."""
        try:
            _, rounds = self._prepare()
            done = rounds.one(index, index == 0, lambda _done, _total: None)
        except RanksError as error:
            said = error.outcome.distinct_messages()[-MOST_LINES:]
            raise RuntimeError("\n".join([str(error), *said])) from None
        except UserError as error:
            raise RuntimeError(str(error)) from None
        wrong = done.native.wrong_bytes, done.planned.wrong_bytes
        if any(wrong):
            raise RuntimeError(f"{wrong[0]} bytes are wrong without Polypath, {wrong[1]} with it")
        self._done.append(done)

    def _prepare(self) -> tuple[Stack, Rounds]:
        """Return what runs the ranks; the program is compiled the first time."""
        if self._prepared is None:
            found = find_stack(None, None, self._request.ranks)
            launcher = (*found.launcher, *self._asked.launcher_options)
            stack = replace(found, launcher=launcher)
            folder = stand_in_folder() if self._request.stand_in else None
            native = native_launch(stack, self._request.ranks, folder)
            program = compiled_program(stack.compiler)
            planned = with_polypath(native)
            self._prepared = (
                stack,
                Rounds(self._request, native, planned, program, silence=MOST_SECONDS),
            )
        return self._prepared

    def rows(self) -> list[Json]:
        """Return a row for each measurement."""
        results: list[Json] = self._measured()["results"] if self._done else []
        return results

    def document(self) -> Json:
        """Return a file of schema polypath.bench/1."""
        measured = self._measured()
        measured["host"].update(host())
        return {**measured, "command": self._asked.command()}

    def _measured(self) -> dict[str, Any]:
        request = replace(self._request, repeats=len(self._done))
        return document_of(request, self._prepare()[0], self._done)
