"""Modules that leave a GPU and come back, in place; what holds them on the host is kept."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polypath.devices import CURRENT, gpu_of_device
from polypath.frameworks import PYTORCH
from polypath.host_copies import HostCopies
from polypath.memory import Memory
from polypath.messages import message
from polypath.moving import to
from polypath.process_context import process_context
from polypath.tensors import copy_many

_copies_of: weakref.WeakKeyDictionary[Any, HostCopies] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class _Move:
    """One memory of a module, the tensors that have it, and where it goes."""

    memory: Memory
    tensors: list[Any]
    data: Any  # of the first of them, without its gradient


def swap(module: Any, device: Any, *, pinned: bool = True) -> Any:
    """Move a module of PyTorch to "cpu", or to a GPU, in place, and return it.

    Its parameters, their gradients and its buffers get other `data`; the objects stay, so that an
    optimizer or another reference goes on with them. What shares memory is moved once and shares it
    again. On the host it is pinned memory near the GPU, or pageable memory; it is kept as long as
    the module is there, so that the next swap to the host allocates nothing, and writes it anew:
    clone what should outlive that. On a GPU it has new addresses each time, so graphs that were
    captured over it must be captured again. What is there already stays. All copies start together.

    Stream order: on the current streams. To the host it returns when every byte is there and the
    memory of the GPU is PyTorch's again (torch.cuda.empty_cache() gives it to other processes). On
    a GPU it is for what comes next on the current stream.

    Errors: as to. TypeError for what is no module; RuntimeError while a stream is captured.
    """
    if not PYTORCH.is_module(module):
        raise TypeError(
            message(
                f"object of type {type(module).__name__} cannot be swapped",
                "it is no module of PyTorch, whose tensors could be moved in place",
                "polypath.to returns others.",
            )
        )
    gpu = gpu_of_device(device)
    with PYTORCH.without_gradients():
        if any(PYTORCH.memory(tensor).traced for tensor in PYTORCH.tensors_of(module)):
            return to(module, device)
        moves = _moves(module)
        if gpu is not None or any(move.memory.gpu is not None for move in moves):
            process_context()  # PyTorch has other errors for that
        if gpu is None:
            _to_host(module, [move for move in moves if move.memory.gpu is not None], pinned)
        else:
            gpu = PYTORCH.current_gpu() if gpu == CURRENT else gpu
            _to_gpu([move for move in moves if move.memory.gpu != gpu], gpu)
    return module


def _moves(module: Any) -> list[_Move]:
    """Return one for each memory; tensors of the same bytes in the same order have one."""
    moves: dict[Any, _Move] = {}
    for tensor in PYTORCH.tensors_of(module):
        data = tensor.data
        memory = PYTORCH.memory(data)
        place = (memory.address, memory.gpu) if memory.nbytes else id(tensor)
        key = (place, memory.shape, memory.strides, memory.element)
        moves.setdefault(key, _Move(memory, [], data)).tensors.append(tensor)
    return list(moves.values())


def _to_host(module: Any, moves: Sequence[_Move], pinned: bool) -> None:
    streams = {move.memory.gpu: PYTORCH.current_stream(move.memory) for move in moves}
    if any(PYTORCH.is_capturing(stream) for stream in streams.values()):
        raise RuntimeError(
            message(
                "a module cannot be swapped now",
                "its stream is being captured, and a graph does not wait",
                "Swap before or after.",
            )
        )
    copies = _copies_of.setdefault(module, HostCopies())
    hosts = copies.of([(move.tensors[0], move.memory) for move in moves], pinned)
    copy_many([(host, move.data) for host, move in zip(hosts, moves)])
    for stream in streams.values():
        stream.owner.synchronize()
    _replace(moves, hosts)


def _to_gpu(moves: Sequence[_Move], gpu: int) -> None:
    there = [PYTORCH.empty_like(move.data, gpu) for move in moves]
    copy_many([(data, move.data) for data, move in zip(there, moves)])
    _replace(moves, there)


def _replace(moves: Sequence[_Move], data: Sequence[Any]) -> None:
    for move, other in zip(moves, data):
        for tensor in move.tensors:
            tensor.data = other
