"""What is to be measured, as the command line has it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polypath import install
from polypath.cli.errors import UserError
from polypath.cli.sizes import parse_sizes
from polypath.cli.suggestions import did_you_mean

# The operations, each with whether it sends windows of messages.
OPERATIONS = {
    "latency": False,
    "bw": True,
    "bibw": True,
    "mbw": True,
    "put": True,
    "put_fence": True,
    "ring": True,
    "jacobi": False,
    "allreduce": False,
    "reduce": False,
    "reduce_scatter": False,
    "allgather": False,
    "alltoall": False,
    "bcast": False,
    "gather": False,
    "scatter": False,
}
REDUCTIONS = ("allreduce", "reduce", "reduce_scatter")
COLLECTIVES = (*REDUCTIONS, "allgather", "alltoall", "bcast", "gather", "scatter")
ELEMENT_BYTES = 4  # of float32, which reductions add
IN_PAIRS = ("mbw",)
SOLVER = "jacobi"
HALO_STEP = 16  # bytes: a solver's rows are whole words of its kernel
OF_KERNELS = ("device", "managed")  # memory that a solver's kernel computes in
MEMORIES = ("device", "host", "pinned", "managed")  # host is pageable, as malloc gives it
DRIVERS = ("cuda", "stand-in")
WINDOWS = "1,4,16"  # unless others are named
ROWS = 8  # of each rank of a solver by default
REPEATS = 5  # rounds by default; on the stand-in driver, whose times mean nothing, one

MOST_BYTES = 2**31 - 1  # the length of an MPI message is a C int
MOST_WINDOW = 1024
MOST_ROWS = 1024
MOST_RANKS = 4096
MOST_REPEATS = 1000
MOST_VALUES = 256  # in one list: as many as the program takes


@dataclass(frozen=True)
class Request:
    """What is to be measured."""

    ranks: int
    operations: tuple[str, ...]
    sizes: tuple[int, ...]  # bytes
    windows: tuple[int, ...]
    sent_from: str  # the kind of memory
    received_into: str
    buffer_per_message: bool  # else one for all messages of a window
    check: bool
    repeats: int
    driver: str
    seconds: float  # that one measurement may take
    rows: int = ROWS  # of each rank of a solver
    image: Path | None = None  # of its kernel; None: the host computes

    @property
    def stand_in(self) -> bool:
        """Whether a driver without GPUs is used."""
        return self.driver == "stand-in"

    @property
    def buffers(self) -> str:
        """The kinds of memory as they are written: one word where both sides are alike."""
        if self.sent_from == self.received_into:
            return self.sent_from
        return f"{self.sent_from},{self.received_into}"

    @property
    def needs_gpu(self) -> bool:
        """Whether either side's memory is a matter of the GPU's driver."""
        return {self.sent_from, self.received_into} != {"host"}

    @property
    def sends_gpu_memory(self) -> bool:
        """Whether MPI itself must take memory of GPUs: of collectives it need not."""
        return self.needs_gpu and not set(self.operations) <= set(COLLECTIVES)

    @property
    def points(self) -> int:
        """The number of measurements of one run."""
        windows = sum(len(self.windows) if OPERATIONS[name] else 1 for name in self.operations)
        return windows * len(self.sizes)

    def arguments(self, checked: bool, planned: bool = True) -> list[str]:
        """Return the program's command line; its bytes are compared if `checked`.

        Without Polypath (not `planned`) it stages collectives of memory that this MPI cannot take.
        """
        words = [
            *("--operations", ",".join(self.operations)),
            *("--sizes", _joined(self.sizes)),
            *("--window", _joined(self.windows)),
            *("--buffers", self.buffers),
            *("--seconds", str(self.seconds)),
        ]
        if self.stand_in:  # more would take longer and tell nothing
            words += ["--warm-up", "1", "--iterations", "2"]
        if SOLVER in self.operations:
            words += ["--rows", str(self.rows)]
            words += ["--image", str(self.image)] if self.image is not None else []
        if self.buffer_per_message:
            words.append("--buffer-per-message")
        if not planned and set(self.operations) & set(COLLECTIVES):
            words.append("--staged")
        return words if checked else [*words, "--no-check"]


def make_request(
    *,
    ranks: int,
    operations: str,
    sizes: str,
    windows: str | None,
    buffers: str,
    buffer_per_message: bool,
    check: bool,
    repeats: int | None,
    driver: str,
    seconds: float,
    rows: int | None = None,
) -> Request:
    """Return the request that these options make; refuse what cannot be carried out."""
    _in_range("ranks", ranks, 2, MOST_RANKS)
    _one_of("driver", driver, DRIVERS)
    stand_in = driver == "stand-in"
    if repeats is None:
        repeats = 1 if stand_in else REPEATS
    _in_range("repeats", repeats, 1 if stand_in else 2, MOST_REPEATS)
    if not 0 < seconds <= 3600:
        raise UserError(
            f"{seconds} seconds cannot be used", "it is above 0, up to 3600", "Correct it."
        )
    sent_from, received_into = _memories(buffers)
    names = _operations(operations, ranks)
    _check_windows(names, {"--window": windows, "--buffer-per-message": buffer_per_message})
    numbers = _numbers("sizes", sizes, MOST_BYTES, "MPI counts bytes in a C int")
    if rows is not None:
        _in_range("rows", rows, 1, MOST_ROWS)
    _check_solver(names, numbers, sent_from == received_into, rows)
    _check_reductions(names, numbers)
    return Request(
        ranks=ranks,
        operations=names,
        sizes=numbers,
        windows=_windows(WINDOWS if windows is None else windows),
        sent_from=sent_from,
        received_into=received_into,
        buffer_per_message=buffer_per_message,
        check=check,
        repeats=repeats,
        driver=driver,
        seconds=seconds,
        rows=ROWS if rows is None else rows,
        image=None if stand_in or sent_from not in OF_KERNELS else _image(),
    )


def stand_in_folder() -> Path:
    """Return where the driver without GPUs lies; refuse where it was not installed."""
    folder = install.stand_in_dir()
    if (folder / "libcuda.so.1").exists():
        return folder
    raise UserError(
        "there is no stand-in driver",
        f"this installation has no {folder}/libcuda.so.1",
        "Install polypath[standin], or leave out --driver.",
    )


def _image() -> Path | None:
    """Return the file of a solver's kernel, if this installation has one."""
    image = install.kernel_image(SOLVER)
    return image if image.is_file() else None


def _joined(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


def _in_range(what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UserError(
            f"{value} {what} cannot be used", f"{least} to {most} are possible", "Correct it."
        )


def _one_of(what: str, name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        raise UserError(
            f"{what} '{name}' is unknown",
            f"there are {', '.join(names)}",
            f"Name one of them.{did_you_mean(name, names)}",
        )


def _memories(text: str) -> tuple[str, str]:
    """Return the memory that messages are sent from and the one they are received into."""
    kinds = [kind.strip() for kind in text.split(",")]
    for kind in kinds:
        _one_of("buffers", kind, MEMORIES)
    if len(kinds) > 2:
        raise UserError(
            f"buffers '{text}' cannot be used",
            "a message has two sides",
            "Name the sender's memory and the receiver's: host,device.",
        )
    return kinds[0], kinds[-1]


def _operations(text: str, ranks: int) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        _one_of("operation", name, tuple(OPERATIONS))
        if name in IN_PAIRS and ranks % 2:
            raise UserError(
                f"{name} cannot run on {ranks} ranks",
                "its ranks work in pairs",
                "Ask for one rank more or less.",
            )
    return names


def _check_windows(names: tuple[str, ...], options: dict[str, Any]) -> None:
    """Refuse what is about several messages at a time, where each operation has one."""
    several = any(OPERATIONS[name] for name in names)
    for option, value in options.items():
        if value and not several:
            raise UserError(
                f"{option} cannot be used",
                f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'} one message at a "
                "time",
                "Leave it out, or ask for bw or another operation with windows.",
            )


def _check_solver(
    names: tuple[str, ...], sizes: tuple[int, ...], one_kind: bool, rows: int | None
) -> None:
    if SOLVER not in names:
        if rows is not None:
            raise UserError(
                "--rows cannot be used",
                f"only {SOLVER} has rows",
                f"Leave it out, or ask for {SOLVER}.",
            )
        return
    if not one_kind:
        raise UserError(
            f"{SOLVER} cannot have buffers of two kinds",
            "its halos lie in one grid",
            "Name one kind.",
        )
    wrong = next((size for size in sizes if size % HALO_STEP), None)
    if wrong is not None:
        raise UserError(
            f"{SOLVER} cannot have halos of {wrong} bytes",
            f"its rows are whole words of {HALO_STEP} bytes",
            f"Round it to a multiple of {HALO_STEP}.",
        )


def _check_reductions(names: tuple[str, ...], sizes: tuple[int, ...]) -> None:
    name = next((name for name in names if name in REDUCTIONS), None)
    wrong = next((size for size in sizes if size % ELEMENT_BYTES), None)
    if name is not None and wrong is not None:
        raise UserError(
            f"{name} cannot have {wrong} bytes",
            f"it adds whole float32 of {ELEMENT_BYTES} bytes",
            f"Round it to a multiple of {ELEMENT_BYTES}.",
        )


def _windows(text: str) -> tuple[int, ...]:
    return _numbers("windows", text, MOST_WINDOW, "so many messages are in flight at most")


def _numbers(what: str, text: str, most: int, why: str) -> tuple[int, ...]:
    if what == "windows" and not re.fullmatch(r"[\d,: ]+", text):
        raise UserError(
            f"windows '{text}' cannot be read",
            "they are numbers of messages",
            "Write for example 1,4,16 or 1:64.",
        )
    numbers = tuple(parse_sizes(text))
    wrong = next((number for number in numbers if not 1 <= number <= most), None)
    if wrong is not None:
        raise UserError(
            f"{what} '{text}' cannot be used",
            f"{wrong} is not from 1 to {most}: {why}",
            "Correct it.",
        )
    if len(numbers) > MOST_VALUES:
        raise UserError(
            f"{what} '{text}' are too many", f"{MOST_VALUES} are possible", "Leave some out."
        )
    return numbers
