"""What the commands take: their options, and how those become a request to the library."""

# No postponed annotations here: typer evaluates these at run time, on Python 3.9 too.
import json
import math
from dataclasses import dataclass
from typing import Annotated, Any, Callable, Optional, TypeVar

import typer

from polypath import _core
from polypath.cli.errors import UserError, did_you_mean
from polypath.cli.output import notice

DEFAULT_MACHINE = "h200x4"
EXECUTORS = ("auto", "native", "stream", "graph")

Source = Annotated[str, typer.Argument(metavar="SRC", help="Where the bytes are, such as gpu0.")]
Destination = Annotated[str, typer.Argument(metavar="DST", help="Where they go: gpu1 or host.")]
OptionalSource = Annotated[
    Optional[str], typer.Argument(metavar="SRC", help="Where the bytes are, such as gpu0.")
]
OptionalDestination = Annotated[
    Optional[str], typer.Argument(metavar="DST", help="Where they go: gpu1 or host.")
]
Size = Annotated[
    str, typer.Argument(metavar="SIZE", help="Bytes; K, M and G are powers of 1024: 512M.")
]
MachineOption = Annotated[
    Optional[str],
    typer.Option(
        "--machine",
        metavar="NAME|FILE",
        help="Machine to simulate. Default: POLYPATH_MACHINE, else this computer's GPUs, else "
        f"{DEFAULT_MACHINE}.",
    ),
]
SizesOption = Annotated[
    str,
    typer.Option(
        "--sizes",
        metavar="LIST",
        help="Comma list of sizes and ranges that double: 64K,1M:512M.",
    ),
]
ExecutorOption = Annotated[
    str,
    typer.Option("--executor", metavar="NAME", help=f"How it runs: {', '.join(EXECUTORS)}."),
]
PathsOption = Annotated[
    Optional[str],
    typer.Option("--paths", metavar="LIST", help="Use exactly these: direct,gpu2,host."),
]
SharesOption = Annotated[
    Optional[str],
    typer.Option("--shares", metavar="LIST", help="Fix the shares: direct=0.9,host=0.1."),
]
ChunksOption = Annotated[
    Optional[str],
    typer.Option("--chunks", metavar="LIST", help="Fix chunk counts: host=8,gpu2=4."),
]
JsonOption = Annotated[
    Optional[str],
    typer.Option("--json", metavar="FILE", help="Write the result as JSON; - for stdout."),
]
PlotOption = Annotated[
    Optional[str], typer.Option("--plot", metavar="FILE", help="Draw it: .png, .svg or .pdf.")
]

TunedOption = Annotated[
    Optional[str],
    typer.Option("--output", metavar="FILE", help="Write the plans for POLYPATH_TUNED."),
]

SubjectOption = Annotated[
    Optional[str],
    typer.Option(
        "--machine",
        metavar="NAME|FILE",
        help="Simulated machine to measure. Default: POLYPATH_MACHINE, else the GPUs here.",
    ),
]
CalibratedOption = Annotated[
    Optional[str],
    typer.Option("--output", metavar="FILE", help="Write the machine with its measured numbers."),
]


@dataclass(frozen=True)
class MachineChoice:
    """The machine of a run, and the line that says so where nobody asked for it."""

    name: str
    remark: str = ""

    def announce(self) -> None:
        """Say on stderr which machine is simulated, unless it was asked for."""
        if self.remark:
            notice(self.remark)


def choose_machine(option: Optional[str]) -> MachineChoice:
    """Return the machine asked for, by option or setting, else the default one."""
    if option is not None:
        return MachineChoice(named_machine(option))
    settings = {entry["variable"]: entry["value"] for entry in json.loads(_core.settings())}
    name = settings.get("POLYPATH_MACHINE", "")
    if name:
        return MachineChoice(name, f"simulating {name} (POLYPATH_MACHINE)")
    real, note = _core.chosen()
    if real:
        return MachineChoice("", note)
    return MachineChoice(
        DEFAULT_MACHINE,
        f"no GPU to drive here: simulating {DEFAULT_MACHINE} (another: --machine NAME|FILE; "
        "'polypath machines' lists them)",
    )


def named_machine(option: Optional[str]) -> str:
    """Return the machine that the option names; nothing without the option."""
    if option == "":
        raise UserError("the machine has no name", "--machine is empty", "See 'polypath machines'.")
    return option or ""


def overrides(
    executor: str, paths: Optional[str], shares: Optional[str], chunks: Optional[str]
) -> dict[str, Any]:
    """Return the part of a request that fixes what is otherwise chosen."""
    request: dict[str, Any] = {"executor": _choice("executor", executor, EXECUTORS)}
    if paths is not None:
        request["paths"] = _names("paths", paths)
    if shares is not None:
        request["shares"] = _pairs("share", shares, _share, "direct=0.9,host=0.1")
    if chunks is not None:
        request["chunks"] = _pairs("chunk count", chunks, _count, "host=8,gpu2=4")
    return request


def executors(text: str) -> list[str]:
    """Return the executors of a comma list such as "stream,graph"."""
    return [_choice("executor", name, ("stream", "graph")) for name in _names("executors", text)]


def pair(source: Optional[str], destination: Optional[str]) -> Optional[tuple[str, str]]:
    """Return the two places, or nothing where none is named; one alone is an error."""
    if source is None:
        return None
    if destination is None:
        raise UserError(f"'{source}' has no destination", "a pair is two places", "Add DST.")
    return source, destination


def _choice(what: str, name: str, names: tuple[str, ...]) -> str:
    if name in names:
        return name
    raise UserError(
        f"{what} '{name}' is unknown",
        f"the {what}s are {', '.join(names)}",
        f"Name one of them.{did_you_mean(name, names)}",
    )


def _names(what: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if all(names):
        return names
    raise UserError(f"{what} '{text}' have an empty name", "commas separate them", "Remove it.")


_Number = TypeVar("_Number", int, float)


def _pairs(
    what: str, text: str, read: Callable[[str], _Number], example: str
) -> dict[str, _Number]:
    pairs: dict[str, _Number] = {}
    for part in text.split(","):
        name, _, digits = (piece.strip() for piece in part.partition("="))
        try:
            number = read(digits)
        except ValueError:
            number = None
        if not name or number is None:
            raise UserError(
                f"{what} '{part}' cannot be read",
                "each is PATH=NUMBER, a count from 1 on",
                f"Write for example {example}.",
            )
        if name in pairs:
            raise UserError(
                f"{what} '{part}' names a path twice", "a path has one", "Remove one of them."
            )
        pairs[name] = number
    return pairs


def _share(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number < 2**31:
        raise ValueError
    return number
