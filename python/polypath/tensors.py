"""Copies for programs with tensors: PyTorch, CuPy, NumPy, and all that show their memory."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from polypath.context_checks import listed_pairs, named_pair
from polypath.copy_checks import check_ends
from polypath.frameworks import PYTORCH, framework_of
from polypath.memory import Memory
from polypath.process_context import process_context
from polypath.replicas import Ends, Replicas, copy_replicas, find_replicas, is_pageable
from polypath.stream_order import StreamOrder, stream_order
from polypath.streams import GpuStream, check_stream


def copy(destination: Any, source: Any, stream: Any = None, *, bits: bool = False) -> str:
    """Copy the bytes of `source` to `destination`; return how: "native", "stream" or "graph".

    Either may be a tensor of PyTorch, an array of CuPy or NumPy, a polypath.Buffer, or anything
    with `__cuda_array_interface__`, the buffer protocol or DLPack on the CPU. They must have equal
    bytes and elements of one type, because nothing is converted; with `bits` the types may differ
    and their elements have equal bytes. A source that is not contiguous is made so first.

    Stream order: with GPUs involved the copy runs on `stream`, a handle or a stream of PyTorch or
    CuPy. None stands for the framework's current stream of the GPU that sends, or of the one that
    receives if the host sends. It starts after what is there and ends before what comes next
    there, and the same holds for the current stream of the other GPU. It returns at once, except
    for pageable memory of the host: then when the source has been read, or when every byte of the
    destination is there. Memory of NumPy that is pinned must stay as it is until then. A copy from
    host to host is made by the CPU at once, in order with no stream.

    Where PyTorch traces (torch.compile, FakeTensors) the copy is PyTorch's own.

    Errors: ValueError (sizes, layouts, read-only memory, gradients), TypeError (objects without
    memory that can be read, no stream), polypath.Error (no usable GPU, unknown memory, the driver).
    """
    check_stream(stream)
    target, origin = memory_of(destination), memory_of(source)
    check_ends(target, origin, bits)
    return _copy_ends(target, origin, stream)


def copy_many(
    pairs: Iterable[tuple[Any, Any]], stream: Any = None, *, bits: bool = False
) -> list[str]:
    """Copy for each (destination, source); return how each went, in their order, as copy does.

    They are planned together and start together: none takes the paths that another one needs.
    Each is what copy takes, checked before any is made, and in order with the streams that copy
    would order it with. Their bytes are what they would be one after another; copies between
    different places run beside each other where none writes what another one reads or writes.
    Memory of the host that is copied to several GPUs, in a call of such copies only, crosses a link
    of the host once where that is predicted to be faster: each GPU gets a part, and the others get
    it from there.
    Many small ones may be made by a kernel, which needs a free multiprocessor: set
    POLYPATH_PIECE_KERNELS=0 if the program's own kernels wait for these very copies on all of them.

    Stream order and errors: as copy; an error about a pair says which, counted from 0.
    """
    check_stream(stream)
    ends: list[tuple[Memory, Memory]] = []
    for number, (destination, source) in enumerate(listed_pairs(pairs)):
        with named_pair(number):
            ends.append((memory_of(destination), memory_of(source)))
            check_ends(*ends[-1], bits)
    if any(target.traced or origin.traced for target, origin in ends):
        return [_copy_ends(target, origin, stream) for target, origin in ends]
    if stream is None and (groups := find_replicas(ends)):
        return _copy_replicas(ends, groups)
    return _copy_in_turn(ends, stream)


def _copy_replicas(ends: list[Ends], groups: list[Replicas]) -> list[str]:
    """Copy the groups, and all others as before."""
    pageable = {group[0] for group in groups if is_pageable(ends[group[0]][1])}
    pinned = [group for group in groups if group[0] not in pageable]
    handed_on = {
        number: group[0] for group in groups if group[0] in pageable for number in group[1:]
    }
    at_first = [number for number in range(len(ends)) if number not in handed_on]
    how = dict(zip(at_first, _copy_pinned_replicas(ends, pinned, at_first)))
    rest = [(ends[number][0], ends[first][0]) for number, first in handed_on.items()]
    how.update(zip(handed_on, _copy_in_turn(rest, None)))
    return [how[number] for number in range(len(ends))]


def _copy_pinned_replicas(
    ends: list[Ends], groups: list[Replicas], wanted: Sequence[int]
) -> list[str]:
    """Copy the groups and all others that are wanted."""
    orders = {number: stream_order(*ends[number], None) for each in groups for number in each}
    if any(target.framework.is_capturing(orders[number].used) for number, (target, _) in
           enumerate(ends) if number in orders):  # fmt: skip
        return _copy_in_turn([ends[number] for number in wanted], None)
    how = dict.fromkeys(orders, "stream")
    copy_replicas(ends, groups, orders)
    for number, order in orders.items():
        _note_copy(*ends[number], order, None)
        ends[number][0].framework.note_write(ends[number][0].thing)
    others = [number for number in wanted if number not in orders]
    how.update(zip(others, _copy_in_turn([ends[number] for number in others], None)))
    return [how[number] for number in wanted]


def _copy_in_turn(ends: list[Ends], stream: Any) -> list[str]:
    """Copy what may be copied together together, and all else in its place between that."""
    how: list[str] = []
    for together, group in groupby(ends, lambda both: _may_join(*both)):
        if together:
            how += _copy_together(list(group), stream)
        else:
            how += [_copy_ends(target, origin, stream) for target, origin in group]
    return how


def _copy_ends(target: Memory, origin: Memory, stream: Any) -> str:
    if target.nbytes == 0:
        return "native"
    if target.traced or origin.traced:
        PYTORCH.copy_traced(target, origin, stream)
        return "native"
    if target.gpu is None and origin.gpu is None:
        how = _copy_on_host(target, _arranged(origin, target, None))
    else:
        how = _copy_with_gpus(target, origin, stream)
    target.framework.note_write(target.thing)
    return how


def memory_of(thing: Any) -> Memory:
    """Return where an object's bytes are. TypeError if that cannot be said."""
    return framework_of(thing).memory(thing)


def _arranged(origin: Memory, target: Memory, stream: GpuStream | None) -> Memory:
    """Return the source with its bytes in the order that the destination has them."""
    if (origin.plain and target.plain) or target.has_layout_of(origin):
        return origin
    return memory_of(origin.framework.contiguous(origin, stream))


def _copy_on_host(target: Memory, origin: Memory) -> str:
    if target.framework is PYTORCH and origin.framework is PYTORCH:
        PYTORCH.copy_on_host(target, origin)
    else:
        ctypes.memmove(target.address, origin.address, target.nbytes)
    return "native"


def _may_join(target: Memory, origin: Memory) -> bool:
    """Return whether the copy is one of addresses alone, by the GPUs."""
    arranged = (origin.plain and target.plain) or target.has_layout_of(origin)
    return arranged and target.nbytes > 0 and (target.gpu is not None or origin.gpu is not None)


def _copy_together(ends: list[tuple[Memory, Memory]], stream: Any) -> list[str]:
    orders = [stream_order(target, origin, stream) for target, origin in ends]
    how = process_context().copy_many_addresses(
        [
            (
                target.address,
                origin.address,
                target.nbytes,
                (order.used.place, order.used.handle),
                [(other.place, other.handle) for other in order.beside],
            )
            for (target, origin), order in zip(ends, orders)
        ]
    )
    for (target, origin), order in zip(ends, orders):
        _note_copy(target, origin, order, stream)
        target.framework.note_write(target.thing)
    return how


def _copy_with_gpus(target: Memory, origin: Memory, stream: Any) -> str:
    order = stream_order(target, origin, stream)
    arranged = _arranged(origin, target, order.of_source)
    how = process_context().copy_addresses(
        target.address,
        arranged.address,
        target.nbytes,
        order.used.place,
        order.used.handle,
        beside=[(other.place, other.handle) for other in order.beside],
    )
    _note_copy(target, arranged, order, stream)
    return how


def _note_copy(target: Memory, origin: Memory, order: StreamOrder, stream: Any) -> None:
    if stream is not None:
        _note_use((target, origin), order.used)
    _note_pinned(target, origin, order)


def _note_use(ends: tuple[Memory, Memory], stream: GpuStream) -> None:
    for end in ends:
        if end.gpu == stream.gpu:
            end.framework.note_use(end, stream)


def _note_pinned(target: Memory, origin: Memory, order: StreamOrder) -> None:
    if target.gpu is None and order.of_source is not None:
        target.framework.note_pinned(target, origin, order.of_source)
    elif origin.gpu is None and order.of_destination is not None:
        origin.framework.note_pinned(target, origin, order.of_destination)
