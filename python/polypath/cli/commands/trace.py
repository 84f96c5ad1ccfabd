"""`polypath trace SRC DST SIZE`, and `polypath trace -- COMMAND...`."""

# No postponed annotations here: the annotations are evaluated at run time, on Python 3.9 too.
import sys
from typing import Annotated, Any, List, Optional  # noqa: UP035

from polypath import reports
from polypath.cli.arguments import overrides
from polypath.cli.collective_options import refuse
from polypath.cli.command_line import program_words
from polypath.cli.declared import Argument, Option
from polypath.cli.errors import UserError
from polypath.cli.machine_choice import choose_machine
from polypath.cli.notices import notice
from polypath.cli.options import (
    ChunksOption,
    ExecutorOption,
    MachineOption,
    PathsOption,
    SharesOption,
)
from polypath.cli.output import STDOUT, check_writable, console_for, write_json
from polypath.cli.sizes import parse_size
from polypath.cli.traced_run import trace_program
from polypath.launching import NOT_EXECUTABLE, WAYS


def trace(
    output: Annotated[
        str, Option("--output", metavar="FILE", help="Write the timeline; - for stdout.")
    ],
    transfer: Annotated[
        Optional[List[str]],  # noqa: UP006
        Argument(
            metavar="[SRC DST SIZE | -- COMMAND...]",
            help="One transfer, which is simulated, or a program, whose copies are recorded.",
        ),
    ] = None,
    how: Annotated[
        str, Option("--how", metavar="WAY", help=f"Of a program: one of {', '.join(WAYS)}.")
    ] = "auto",
    machine: MachineOption = None,
    executor: ExecutorOption = "auto",
    paths: PathsOption = None,
    shares: SharesOption = None,
    chunks: ChunksOption = None,
) -> None:
    """Write a timeline that Perfetto opens: of simulated copies, or of a program's real ones."""
    program = program_words()
    check_writable(output)
    if program is not None:
        _refuse_both(transfer, machine, executor, paths, shares, chunks)
        sys.exit(_trace_program(program, how, output))
    source, destination, size = _transfer(transfer)
    refuse({"--how": None if how == "auto" else how}, "it is for a program, after '--'")
    choice = choose_machine(machine)
    fixed = overrides(executor, paths, shares, chunks)
    document = reports.trace(source, destination, parse_size(size), machine=choice.name, **fixed)
    write_json(document, output)
    choice.announce()
    name = document["otherData"]["machine"]
    _say_where(document, output, f"simulated on {name}: 'polypath trace -- COMMAND' records a "
               "program's real ones")  # fmt: skip


def _transfer(words: Optional[list[str]]) -> list[str]:
    if words is not None and len(words) == len(("source", "destination", "size")):
        return words
    written = " ".join(words or ())
    raise UserError(
        f"'{written}' cannot be traced" if written else "there is nothing to trace",
        "it takes SRC DST SIZE, or a program after '--'",
        "Try 'polypath trace gpu0 gpu1 64M --output trace.json'.",
    )


def _refuse_both(
    transfer: Optional[list[str]],
    machine: Optional[str],
    executor: str,
    *fixed: Optional[str],
) -> None:
    if not transfer and machine is None and executor == "auto" and not any(fixed):
        return
    raise UserError(
        "a program is traced as it is",
        "places and options of a simulated transfer say nothing of it",
        "Leave them out, or set POLYPATH_ variables.",
    )


def _trace_program(program: list[str], how: str, output: str) -> int:
    if not program:
        raise UserError("there is no program", "nothing follows '--'", "Name one.")
    ended = trace_program(program, how, None if output == STDOUT else output)
    if ended is None:
        return NOT_EXECUTABLE
    status, document = ended
    write_json(document, output)
    early = document["otherData"]["copies_while_preparing"]
    if early:
        notice(
            f"{early} {'copy was' if early == 1 else 'copies were'} native while Polypath was "
            "still preparing (contexts and memory for copies are made in the background) Set "
            "POLYPATH_PREPARE=now to have it made in the first copy."
        )
    elif not _copies(document) and not document["otherData"]["left_out"]:
        notice("no copy of the program was large enough to be looked at, or it used no GPU.")
    left_out = document["otherData"]["left_out"]
    if left_out:
        notice(f"{left_out} pieces of work are not in the trace: more were under way than it keeps")
    _say_where(document, output, "recorded")
    return status


def _copies(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in document["traceEvents"] if event.get("cat") == "copy"]


def _say_where(document: dict[str, Any], output: str, what: str) -> None:
    if output == STDOUT:
        return
    console = console_for(None)
    count = len(_copies(document))
    console.print(f"{count} {'copy is' if count == 1 else 'copies are'} in {output}, {what}.")
    console.print("Open it at https://ui.perfetto.dev, 'Open trace file'.")
