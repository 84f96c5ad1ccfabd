"""The options of `polypath mpi`."""

# No postponed annotations here: typer evaluates these at run time, on Python 3.9 too.
from typing import Annotated, Optional

import typer

from polypath.cli.mpi.request import (
    DRIVERS,
    MEMORIES,
    MOST_ROWS,
    OPERATIONS,
    REPEATS,
    ROWS,
    SOLVER,
    WINDOWS,
)

RanksOption = Annotated[int, typer.Option("--ranks", metavar="COUNT", help="Processes.")]
OperationsOption = Annotated[
    str, typer.Option("--operations", metavar="LIST", help=f"Of {', '.join(OPERATIONS)}.")
]
MessageSizesOption = Annotated[
    str, typer.Option("--sizes", metavar="LIST", help="Comma list of sizes and FIRST:LAST.")
]
WindowsOption = Annotated[
    Optional[str],
    typer.Option(
        "--window", metavar="LIST", help=f"Messages in flight at a time. Default: {WINDOWS}."
    ),
]
BuffersOption = Annotated[
    str,
    typer.Option(
        "--buffers",
        metavar="FROM,INTO",
        help=f"Memory of the sender and of the receiver, each one of {', '.join(MEMORIES)}; "
        "one word stands for both.",
    ),
]
BufferPerMessageOption = Annotated[
    bool,
    typer.Option(
        "--buffer-per-message",
        help="Each message of a window has a buffer of its own. Default: all lie in one, as in "
        "the OSU micro-benchmarks.",
    ),
]
SolverRowsOption = Annotated[
    Optional[int],
    typer.Option(
        "--rows",
        metavar="COUNT",
        help=f"Of {SOLVER}: rows of each rank, 1 to {MOST_ROWS}. Default: {ROWS}.",
    ),
]
CheckOption = Annotated[
    bool, typer.Option("--check/--no-check", help="Compare every byte of every message.")
]
RepeatsOption = Annotated[
    Optional[int],
    typer.Option(
        "--repeats",
        metavar="COUNT",
        help=f"Rounds with and without Polypath. Default: {REPEATS}; with the stand-in 1.",
    ),
]
SecondsOption = Annotated[
    float, typer.Option("--seconds", metavar="S", help="Most that one measurement takes.")
]
DriverOption = Annotated[
    str,
    typer.Option(
        "--driver",
        metavar="NAME",
        help=f"One of {', '.join(DRIVERS)}; the stand-in needs no GPU and checks bytes only.",
    ),
]
LauncherOption = Annotated[
    Optional[str],
    typer.Option("--mpirun", metavar="COMMAND", help="How ranks are started, used as it is."),
]
CompilerOption = Annotated[
    Optional[str],
    typer.Option("--mpicc", metavar="FILE", help="The compiler wrapper of the same MPI."),
]
