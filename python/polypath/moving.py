"""Tensors on another device, alone or in what holds them: modules, dictionaries, lists."""

from __future__ import annotations

import copy as copies
from collections.abc import Iterable
from typing import Any

from polypath.copy_checks import refuse_dtype
from polypath.devices import CURRENT, gpu_of_device
from polypath.frameworks import ANYTHING, PYTORCH, framework_of
from polypath.memory import Framework, Memory
from polypath.messages import message
from polypath.process_context import process_context
from polypath.tensors import copy

# What dictionaries and lists may hold beside tensors, and keep.
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def to(tensor: Any, device: Any, *, non_blocking: bool = False, dtype: Any = None) -> Any:  # noqa: ARG001
    """Return the tensor on another device: "cpu", "cuda:1", "gpu1", a number or a device object.

    Return itself if it is there already. Types and shape stay. PyTorch gives PyTorch and CuPy
    gives CuPy; on the CPU CuPy gives NumPy, and on a GPU NumPy gives CuPy if that is installed,
    else PyTorch. Memory of the host is pageable. A dictionary, list or tuple gives another one with
    its tensors there, and keeps numbers and texts; a module of PyTorch is moved itself, with its
    buffers, and returned. All of it is checked before anything is moved.

    Stream order: as copy, on the current streams. A tensor on the CPU is complete when this
    returns; one on a GPU is for what comes next on its current stream. `non_blocking` is taken and
    changes nothing: what does not have to wait does not.

    Errors: as copy. ValueError for a device that there is not and for a `dtype`, because nothing is
    converted; TypeError for other objects; polypath.Error without a usable GPU; ImportError without
    a framework that could hold the result.
    """
    refuse_dtype(dtype, "a move does not convert")
    gpu = gpu_of_device(device)
    if not _check(tensor, gpu) and tensor:  # an empty dictionary is well
        raise _refusal(tensor, "it holds no tensor")
    return _moved(tensor, gpu, {})


def _check(thing: Any, gpu: int | None) -> int:
    """Raise what moving it would raise, as far as that can be told; return how much there is."""
    if PYTORCH.is_module(thing):
        with PYTORCH.without_gradients():
            for each in PYTORCH.tensors_of(thing):
                _check_tensor(each, gpu)
        return 1
    parts = _parts(thing)
    if parts is not None:
        return sum([_check(part, gpu) for part in parts])
    _check_tensor(thing, gpu)
    return 1


def _check_tensor(tensor: Any, gpu: int | None) -> None:
    framework = _maker_of(tensor)
    origin = framework.memory(tensor)
    if origin.gpu != _destination(origin, gpu):
        framework.check_gradient(tensor)


def _parts(thing: Any) -> Iterable[Any] | None:
    """Return what a dictionary, list or tuple holds but for what stays; None of all others."""
    if not isinstance(thing, (dict, list, tuple)):
        return None
    held = thing.values() if isinstance(thing, dict) else thing
    return (each for each in held if not isinstance(each, _PLAIN))


def _moved(thing: Any, gpu: int | None, made: dict[int, Any]) -> Any:
    """Return it on the device; what is held twice is moved once, and `made` has it."""
    if PYTORCH.is_module(thing):
        with PYTORCH.without_gradients():
            return thing._apply(lambda tensor: _moved_tensor(tensor, gpu))
    if isinstance(thing, dict):
        there = {key: _moved(value, gpu, made) for key, value in thing.items()}
        return there if type(thing) is dict else _like(thing, there)
    if isinstance(thing, (list, tuple)):
        values = [_moved(value, gpu, made) for value in thing]
        return type(thing)(*values) if hasattr(thing, "_fields") else type(thing)(values)
    if isinstance(thing, _PLAIN):
        return thing
    if id(thing) not in made:
        made[id(thing)] = _moved_tensor(thing, gpu)
    return made[id(thing)]


def _like(thing: Any, values: dict[Any, Any]) -> Any:
    """Return another dictionary of the same kind, with what else it knows."""
    result = copies.copy(thing)
    result.update(values)
    return result


def _moved_tensor(tensor: Any, gpu: int | None) -> Any:
    framework = _maker_of(tensor)
    origin = framework.memory(tensor)
    if origin.traced:
        return PYTORCH.moved_traced(tensor, gpu)
    gpu = _destination(origin, gpu)
    if origin.gpu == gpu:
        return tensor
    framework.check_gradient(tensor)
    if gpu is not None:
        result = framework.empty_like(tensor, gpu)
        copy(result, tensor)
        return result
    return _to_host(origin, framework)


def _destination(origin: Memory, gpu: int | None) -> int | None:
    """Return the GPU that it goes to. polypath.Error where there is none that can be used."""
    if gpu is None or origin.traced:
        return gpu
    if origin.gpu is None:
        origin.framework.check_maker()
        process_context()  # frameworks have other errors for that
    return origin.framework.current_gpu() if gpu == CURRENT else gpu


def _maker_of(tensor: Any) -> Framework:
    framework = framework_of(tensor)
    if framework is not ANYTHING:
        return framework
    raise _refusal(tensor, "only PyTorch, CuPy and NumPy can make another one like it")


def _refusal(thing: Any, why: str) -> TypeError:
    problem = f"object of type {type(thing).__name__} cannot be moved"
    return TypeError(message(problem, why, "Use polypath.copy with a destination of yours."))


def _to_host(origin: Memory, framework: Framework) -> Any:
    stream = framework.current_stream(origin)
    if framework.is_capturing(stream):
        raise RuntimeError(
            message(
                "a tensor cannot be moved to the CPU now",
                "its stream is being captured, and a graph does not wait",
                "Use polypath.copy to pinned memory.",
            )
        )
    result = framework.empty_like(origin.thing, None)
    copy(result, origin.thing)
    stream.owner.synchronize()
    return result
