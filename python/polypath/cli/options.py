"""The options and arguments that commands have in common."""

# No postponed annotations here: the annotations are evaluated at run time, on Python 3.9 too.
from typing import Annotated, List, Optional  # noqa: UP035

from polypath import _core
from polypath.cli.arguments import EXECUTORS, ISSUERS
from polypath.cli.declared import Argument, Option
from polypath.cli.machine_choice import DEFAULT_MACHINE

Source = Annotated[str, Argument(metavar="SRC", help="Where the bytes are, such as gpu0.")]
Destination = Annotated[str, Argument(metavar="DST", help="Where they go: gpu1 or host.")]
OptionalSource = Annotated[
    Optional[str], Argument(metavar="SRC", help="Where the bytes are, such as gpu0.")
]
SourceOrAll = Annotated[
    Optional[str],
    Argument(metavar="SRC", help="Where the bytes are, such as gpu0; all: every pair."),
]
OptionalDestination = Annotated[
    Optional[str], Argument(metavar="DST", help="Where they go: gpu1 or host.")
]
Size = Annotated[str, Argument(metavar="SIZE", help="Bytes; K, M and G are powers of 1024: 512M.")]
PlanWords = Annotated[
    List[str],  # noqa: UP006
    Argument(
        metavar="TRANSFERS",
        help="SRC DST SIZE, any number of SRC:DST:SIZE, or PATTERN SIZE, where PATTERN is one of "
        f"{', '.join(_core.patterns())}.",
    ),
]
MachineOption = Annotated[
    Optional[str],
    Option(
        "--machine",
        metavar="NAME|FILE",
        help="Machine to simulate. Default: POLYPATH_MACHINE, else this computer's GPUs, else "
        f"{DEFAULT_MACHINE}.",
    ),
]
SizesOption = Annotated[
    str,
    Option(
        "--sizes",
        metavar="LIST",
        help="Comma list of sizes and ranges that double: 64K,1M:512M.",
    ),
]
ExecutorOption = Annotated[
    str,
    Option("--executor", metavar="NAME", help=f"How it runs: {', '.join(EXECUTORS)}."),
]
IssuersOption = Annotated[
    Optional[str],
    Option(
        "--issuers", metavar="NAME", help=f"Who issues several transfers: {', '.join(ISSUERS)}."
    ),
]
GpusOption = Annotated[
    Optional[int],
    Option(
        "--gpus", metavar="COUNT", min=1, help="Of a pattern or collective: the first GPUs only."
    ),
]
FirstGpusOption = Annotated[
    Optional[int],
    Option(
        "--gpus", metavar="COUNT", min=1, help="Of a collective or jacobi: the first GPUs only."
    ),
]
ExplainOption = Annotated[
    bool, Option("--explain", help="Of several transfers: why each path is in or out.")
]
PathsOption = Annotated[
    Optional[str],
    Option("--paths", metavar="LIST", help="Use exactly these: direct,gpu2,host."),
]
SharesOption = Annotated[
    Optional[str],
    Option("--shares", metavar="LIST", help="Fix the shares: direct=0.9,host=0.1."),
]
ChunksOption = Annotated[
    Optional[str],
    Option("--chunks", metavar="LIST", help="Fix chunk counts: host=8,gpu2=4."),
]
JsonOption = Annotated[
    Optional[str],
    Option("--json", metavar="FILE", help="Write the result as JSON; - for stdout."),
]
CsvOption = Annotated[
    Optional[str],
    Option("--csv", metavar="FILE", help="Write a row per result as CSV; - for stdout."),
]
PlotOption = Annotated[
    Optional[str], Option("--plot", metavar="FILE", help="Draw it: .png, .svg or .pdf.")
]
WindowOption = Annotated[
    Optional[int],
    Option("--window", metavar="COUNT", help="Copies in flight at a time. Default: 1."),
]
PiecesOption = Annotated[
    Optional[int],
    Option("--pieces", metavar="COUNT", help="Copies that `many` asks for together."),
]
VerifyOption = Annotated[
    bool, Option("--verify/--no-verify", help="Compare every byte of the destination.")
]
TunedOption = Annotated[
    Optional[str],
    Option("--output", metavar="FILE", help="Write the plans for POLYPATH_TUNED."),
]
SubjectOption = Annotated[
    Optional[str],
    Option(
        "--machine",
        metavar="NAME|FILE",
        help="Simulated machine to measure. Default: POLYPATH_MACHINE, else the GPUs here.",
    ),
]
CalibratedOption = Annotated[
    Optional[str],
    Option("--output", metavar="FILE", help="Write the machine with its measured numbers."),
]
