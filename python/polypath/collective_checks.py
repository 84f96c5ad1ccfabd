"""What collectives refuse: memory that cannot be reduced or exchanged."""

from __future__ import annotations

from polypath.element_types import SIZES, size_of
from polypath.memory import Elements
from polypath.messages import message
from polypath.streams import GpuStream


def check_operand(elements: Elements, gpu: int, dtype: str | None) -> None:
    """Raise ValueError unless a rank on that GPU can give or take the elements."""
    if elements.gpu != gpu:
        _refuse_place(elements, gpu)
    if not elements.plain:
        raise ValueError(
            message(
                "tensor is not contiguous",
                "ranks see only bytes that lie together",
                "Make it contiguous first.",
            )
        )
    if elements.type not in SIZES or dtype not in (None, elements.type):
        _refuse_type(elements, dtype)


def _refuse_place(elements: Elements, gpu: int) -> None:
    where = "the host" if elements.gpu is None else f"gpu{elements.gpu}"
    raise ValueError(
        message(
            f"memory of {where} cannot be used",
            f"this rank's GPU is gpu{gpu}",
            "Pass a tensor that is there.",
        )
    )


def _refuse_type(elements: Elements, dtype: str | None) -> None:
    if not elements.type:
        raise ValueError(
            message(
                "the type of the elements is not known",
                "the memory is one of bytes",
                'Say what they are: dtype="float32".',
            )
        )
    if dtype not in (None, elements.type):
        raise ValueError(
            message(
                f"elements of type {elements.type} are not {dtype}",
                "nothing is converted",
                "Leave dtype out.",
            )
        )
    size_of(elements.type)  # says which types there are


def check_output(given: Elements, taken: Elements, wanted: int) -> None:
    """Raise ValueError unless the output takes a result of so many elements as they are."""
    _check_same_type(given, taken)
    if taken.length != wanted:
        raise ValueError(
            message(
                f"output of {taken.length} elements cannot be used",
                f"the result has {wanted}",
                "Slice it, or make another one.",
            )
        )


def check_writable(taken: Elements) -> None:
    """Raise ValueError for a result that could not be stored."""
    if not taken.writable:
        raise ValueError(
            message("output is read-only", "its owner says so", "Pass one to write to.")
        )


def _check_same_type(given: Elements, taken: Elements) -> None:
    if given.type != taken.type:
        raise ValueError(
            message(
                f"elements of type {given.type} do not become {taken.type}",
                "nothing is converted",
                "Pass an output of the same type.",
            )
        )


def part_of(whole: Elements, ranks: int) -> int:
    """Return the elements of each rank's part. ValueError if the ranks do not divide them."""
    if whole.length % ranks == 0:
        return whole.length // ranks
    raise ValueError(
        message(
            f"{whole.length} elements cannot be divided",
            f"each of {ranks} ranks has a part of equal length",
            "Pad them.",
        )
    )


def check_apart(given: Elements, taken: Elements, ahead: int) -> None:
    """Raise ValueError if input and output overlap and are not one in place.

    `ahead` is how many bytes the input lies behind the output where it is in place.
    """
    if given.address - taken.address == ahead:
        return
    size = size_of(given.type)
    ends = [(each.address, each.address + each.length * size) for each in (given, taken)]
    (begin, end), (other_begin, other_end) = ends
    if begin < other_end and other_begin < end:
        raise ValueError(
            message(
                "input and output overlap",
                "it would be read after it has been written",
                "Pass no output to work in place, or one elsewhere.",
            )
        )


def root_of(root: int, ranks: int) -> int:
    """Return the root. ValueError if it is no rank."""
    if 0 <= root < ranks:
        return root
    raise ValueError(
        message(f"root {root} is no rank", f"ranks are 0 to {ranks - 1}", "Name one of them.")
    )


def check_stream(stream: GpuStream, gpu: int) -> None:
    """Raise ValueError for a stream of another GPU than the rank's."""
    if stream.gpu != gpu:
        raise ValueError(
            message(
                f"stream of gpu{stream.gpu} cannot be used",
                f"this rank's GPU is gpu{gpu}",
                "Pass a stream of that one.",
            )
        )
