"""What collectives take and refuse: counts, places and layouts of what a rank gives and gets.

With E elements in a part and n ranks a rank gives and gets so many parts:

  allreduce, reduce, broadcast   1 and 1      allgather   1 and n
  reducescatter                  n and 1      alltoall    n and n

Of alltoallv rank i gives rank j counts[i][j] elements, so that i gives the sum of row i and gets
that of column i.

In place it has one memory, as large as the larger of the two; of allgather what it gives is part r
of it, of reducescatter what it gets is.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

from polypath.element_types import check_reduced, size_of, type_name
from polypath.memory import Elements
from polypath.messages import message

AHEAD = 1 << 32  # an address, where only the distance of two counts
MOST_ELEMENTS = 1 << 40  # of one call; more are a mistake
REDUCING = ("allreduce", "reduce", "reducescatter")


class Member(NamedTuple):
    """A rank, its group's size and its GPU, as CUDA counts them."""

    rank: int
    size: int
    gpu: int


class Call(NamedTuple):
    """What is called, but for the memory."""

    collective: str
    op: Any
    root: int
    dtype: Any  # where the memory does not say it
    counts: tuple[int, ...] = ()  # of alltoallv, rank by rank


# Of CollectiveRank.run, but for the stream.
Arguments = tuple[str, str, str, int, int, int, int, tuple[int, ...], bool]


def arguments_of(call: Call, given: Elements, taken: Elements | None, of: Member) -> Arguments:
    """Return what one rank's call is made of; without `taken` it is in place.

    ValueError for memory that cannot be given or taken, and for a root that is no rank.
    """
    _check_rank("root", call.root, of)
    for each in (given,) if taken is None else (given, taken):
        _check_memory(each, of.gpu, call.dtype)
    if call.collective in REDUCING:
        check_reduced(given.type)
    _check_writable(taken or given)
    if call.counts:
        return _arguments_by_counts(call, given, taken, of)
    count = _part(given, taken, call.collective, of.size)
    size = count * size_of(given.type)
    apart = tuple(offset * size for offset in _parts_in_place(call.collective, of.rank))
    if taken is None:
        addresses = tuple(given.address + offset for offset in apart)
    else:
        addresses = (given.address, taken.address)
        _check_apart(given, taken, apart[0] - apart[1])
    ends = addresses[0], addresses[1]
    what = call.collective, given.type, operation_name(call.op), call.root
    return (*what, count, *ends, (), taken is None)


def counts_of(counts: Sequence[Sequence[int]], ranks: int) -> tuple[int, ...]:
    """Return counts[i][j], what rank i gives rank j, one row after another.

    ValueError unless each rank has a row with a count of 0 or more for each rank.
    """
    problem, rows = "", [tuple(row) for row in counts]
    odd = [count for row in rows for count in row if not _is_whole(count)]
    if odd:
        problem = f"{odd[0]} is no whole number"
    elif len(rows) != ranks:
        problem = f"there are {len(rows)} rows for {ranks} ranks"
    elif any(len(row) != ranks for row in rows):
        problem = f"a row has not {ranks} counts"
    elif any(count < 0 for row in rows for count in row):
        problem = "one is negative"
    if not problem:
        return tuple(operator.index(count) for row in rows for count in row)
    wanted = "Pass a row for each rank, with what it gives to each rank."
    raise ValueError(message("these counts cannot be used", problem, wanted))


def _is_whole(count: Any) -> bool:
    try:
        operator.index(count)
    except TypeError:
        return False
    return True


def elements_of(count: Any) -> int:
    """Return a number of elements. ValueError for one that is none, or beyond all memory."""
    if _is_whole(count) and 0 <= operator.index(count) <= MOST_ELEMENTS:
        return operator.index(count)
    raise ValueError(
        message(
            f"{count} elements cannot be prepared",
            f"a call has a whole number of them, at most {MOST_ELEMENTS}",
            "Correct it.",
        )
    )


def collective_name(name: Any) -> str:
    """Return the library's name of a collective: "all_reduce", as methods are called, does too."""
    if isinstance(name, str):
        return name.replace("_", "")
    raise TypeError(
        message(f"collective {name!r} cannot be used", "it is no name", "Name one: 'all_reduce'.")
    )


def operation_name(op: Any) -> str:
    """Return the name of a reduction where it comes from: ReduceOp.SUM of PyTorch, np.maximum."""
    if isinstance(op, str):
        return op
    return str(getattr(op, "name", None) or getattr(op, "__name__", None) or op)


def message_arguments(
    source: int, destination: int, elements: Elements, dtype: Any, of: Member
) -> Arguments:
    """Return one rank's call where one rank sends another one all elements of a tensor.

    ValueError for memory that cannot be given or taken, and for ranks that are none, or the same.
    """
    for rank in (source, destination):
        _check_rank("rank", rank, of)
    if source == destination:
        raise ValueError(
            message(f"rank {source} sends to itself", "there is nothing to do", "Name two ranks.")
        )
    _check_memory(elements, of.gpu, dtype)
    if of.rank == destination:
        _check_writable(elements)
    ends = tuple(elements.address * (of.rank == rank) for rank in (source, destination))
    only = source * of.size + destination
    counts = tuple(int(block == only) for block in range(of.size**2))
    return ("alltoallv", elements.type, "sum", 0, elements.length, ends[0], ends[1], counts, False)


def _arguments_by_counts(
    call: Call, given: Elements, taken: Elements | None, of: Member
) -> Arguments:
    gives = sum(call.counts[of.rank * of.size : (of.rank + 1) * of.size])
    gets = sum(call.counts[of.rank :: of.size])
    _check_length("input", given, gives)
    if taken is None:
        _check_length("output", given, gets)
    else:
        _check_output(given, taken, gets)
        _check_apart(given, taken, None)
    addresses = given.address, (taken or given).address
    what = call.collective, given.type, operation_name(call.op), 0
    return (*what, 1, *addresses, call.counts, taken is None)


def _check_length(what: str, elements: Elements, wanted: int) -> None:
    if elements.length == wanted:
        return
    raise ValueError(
        message(
            f"{what} of {elements.length} elements cannot be used",
            f"this rank's counts add up to {wanted}",
            "Slice it, or correct the counts.",
        )
    )


def addresses_like(collective: str, size: int, in_place: bool, rank: int) -> tuple[int, int]:
    """Return an input and an output that lie to each other as those of such calls do."""
    if not in_place:
        return AHEAD, 2 * AHEAD
    before, behind = _parts_in_place(collective, rank)
    return AHEAD + before * size, AHEAD + behind * size


def _parts_in_place(collective: str, rank: int) -> tuple[int, int]:
    """Return how many parts behind the beginning the input and the output are."""
    return {"allgather": (rank, 0), "reducescatter": (0, rank)}.get(collective, (0, 0))


def _parts(collective: str, ranks: int) -> tuple[int, int]:
    """Return of how many parts the input and the output are."""
    return {
        "allgather": (1, ranks), "reducescatter": (ranks, 1), "alltoall": (ranks, ranks),
    }.get(collective, (1, 1))  # fmt: skip


def _part(given: Elements, taken: Elements | None, collective: str, ranks: int) -> int:
    """Return the elements of a part."""
    parts_given, parts_taken = _parts(collective, ranks)
    parts = parts_given if taken is not None else max(parts_given, parts_taken)
    if given.length % parts != 0:
        raise ValueError(
            message(
                f"{given.length} elements cannot be divided",
                f"each of {ranks} ranks has a part of equal length",
                "Pad them.",
            )
        )
    if taken is not None:
        _check_output(given, taken, given.length // parts * parts_taken)
    return given.length // parts


def _check_memory(elements: Elements, gpu: int, dtype: Any) -> None:
    is_nowhere = elements.length == 0 and elements.gpu is None  # memory without bytes may be
    if elements.gpu != gpu and not is_nowhere:
        where = "the host" if elements.gpu is None else f"gpu{elements.gpu}"
        raise ValueError(
            message(
                f"memory of {where} cannot be used",
                f"this rank's GPU is gpu{gpu}",
                "Pass a tensor that is there.",
            )
        )
    if not elements.plain:
        raise ValueError(
            message(
                "tensor is not contiguous",
                "ranks see only bytes that lie together",
                "Make it contiguous first.",
            )
        )
    _check_type(elements, dtype)


def _check_type(elements: Elements, dtype: Any) -> None:
    if not elements.type:
        raise ValueError(
            message(
                "the type of the elements is not known",
                "the memory is one of bytes",
                'Say what they are: dtype="float32".',
            )
        )
    if dtype is not None and type_name(dtype) != elements.type:
        raise ValueError(
            message(
                f"elements of type {elements.type} are not {dtype}",
                "nothing is converted",
                "Leave dtype out.",
            )
        )
    type_name(elements.type)  # says which types there are


def _check_output(given: Elements, taken: Elements, wanted: int) -> None:
    if given.type != taken.type:
        raise ValueError(
            message(
                f"elements of type {given.type} do not become {taken.type}",
                "nothing is converted",
                "Pass an output of the same type.",
            )
        )
    if taken.length != wanted:
        raise ValueError(
            message(
                f"output of {taken.length} elements cannot be used",
                f"the result has {wanted}",
                "Slice it, or make another one.",
            )
        )


def _check_writable(taken: Elements) -> None:
    if not taken.writable:
        raise ValueError(
            message("output is read-only", "its owner says so", "Pass one to write to.")
        )


def _check_apart(given: Elements, taken: Elements, ahead: int | None) -> None:
    """Refuse an overlap, unless the input lies so many bytes behind the output: in place."""
    if ahead is not None and given.address - taken.address == ahead:
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


def _check_rank(what: str, rank: int, of: Member) -> None:
    if not 0 <= rank < of.size:
        problem = f"{what} {rank} is no rank" if what != "rank" else f"there is no rank {rank}"
        raise ValueError(message(problem, f"ranks are 0 to {of.size - 1}", "Name one of them."))
