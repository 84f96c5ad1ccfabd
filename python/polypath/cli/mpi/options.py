"""The options of `polypath mpi`."""

# No postponed annotations here: the annotations are evaluated at run time, on Python 3.9 too.
from typing import Annotated, Optional

from polypath.cli.declared import Option
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

RanksOption = Annotated[int, Option("--ranks", metavar="COUNT", help="Processes.")]
OperationsOption = Annotated[
    str, Option("--operations", metavar="LIST", help=f"Of {', '.join(OPERATIONS)}.")
]
MessageSizesOption = Annotated[
    str, Option("--sizes", metavar="LIST", help="Comma list of sizes and FIRST:LAST.")
]
WindowsOption = Annotated[
    Optional[str],
    Option("--window", metavar="LIST", help=f"Messages in flight at a time. Default: {WINDOWS}."),
]
BuffersOption = Annotated[
    str,
    Option(
        "--buffers",
        metavar="FROM,INTO",
        help=f"Memory of the sender and of the receiver, each one of {', '.join(MEMORIES)}; "
        "one word stands for both.",
    ),
]
BufferPerMessageOption = Annotated[
    bool,
    Option(
        "--buffer-per-message",
        help="Each message of a window has a buffer of its own. Default: all lie in one, as in "
        "the OSU micro-benchmarks.",
    ),
]
SolverRowsOption = Annotated[
    Optional[int],
    Option(
        "--rows",
        metavar="COUNT",
        help=f"Of {SOLVER}: rows of each rank, 1 to {MOST_ROWS}. Default: {ROWS}.",
    ),
]
CheckOption = Annotated[
    bool, Option("--check/--no-check", help="Compare every byte of every message.")
]
RepeatsOption = Annotated[
    Optional[int],
    Option(
        "--repeats",
        metavar="COUNT",
        help=f"Rounds with and without Polypath. Default: {REPEATS}; with the stand-in 1.",
    ),
]
SecondsOption = Annotated[
    float, Option("--seconds", metavar="S", help="Most that one measurement takes.")
]
DriverOption = Annotated[
    str,
    Option(
        "--driver",
        metavar="NAME",
        help=f"One of {', '.join(DRIVERS)}; the stand-in needs no GPU and checks bytes only.",
    ),
]
LauncherOption = Annotated[
    Optional[str],
    Option("--mpirun", metavar="COMMAND", help="How ranks are started, used as it is."),
]
CompilerOption = Annotated[
    Optional[str],
    Option("--mpicc", metavar="FILE", help="The compiler wrapper of the same MPI."),
]
