"""Where PyTorch runs a program without its bytes: torch.compile and FakeTensors.

There a copy is PyTorch's own, so that what it writes down has it.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from polypath.devices import CURRENT
from polypath.memory import Memory
from polypath.messages import message


def is_traced(torch: Any, tensor: Any) -> bool:
    """Return whether there are no bytes in the tensor, now or at all."""
    compiler = getattr(torch, "compiler", None)
    if compiler is not None and compiler.is_compiling():
        return True
    if type(tensor) is torch.Tensor:
        return False
    fakes = getattr(sys.modules.get("torch._subclasses.fake_tensor"), "FakeTensor", None)
    return fakes is not None and isinstance(tensor, fakes)


def copy(torch: Any, destination: Memory, source: Memory, stream: Any) -> None:
    """Copy by PyTorch what copy_checks have let pass. TypeError for an end that is not its own."""
    _check_tensors(destination, source)
    values = source.thing
    if values.dtype != destination.thing.dtype:
        values = values.contiguous().view(destination.thing.dtype)
    with _on(torch, stream):
        destination.thing.copy_(values.reshape(destination.thing.shape), non_blocking=True)


def copy_blocks(
    torch: Any, ends: tuple[Memory, Memory], counts: tuple[int, int], pairs: Any, stream: Any
) -> None:
    """Copy blocks by PyTorch; `counts` are those of the destination and the source."""
    _check_tensors(*ends)
    target, origin = (end.thing.view((count, -1)) for end, count in zip(ends, counts))
    sources, targets = pairs.T.tolist()
    with _on(torch, stream):
        chosen = origin.index_select(0, torch.tensor(sources, device=origin.device))
        there = chosen.to(target.device).view(target.dtype)
        target.index_copy_(0, torch.tensor(targets, device=target.device), there)


def _check_tensors(*ends: Memory) -> None:
    for end in ends:
        if end.framework.name != "PyTorch":
            raise TypeError(
                message(
                    f"object of type {type(end.thing).__name__} cannot be copied here",
                    "PyTorch traces the other end, and knows no objects but tensors",
                    "Make a tensor of it first.",
                )
            )


def device_name(gpu: int | None) -> str:
    """Return what PyTorch calls a device."""
    if gpu is None:
        return "cpu"
    return "cuda" if gpu == CURRENT else f"cuda:{gpu}"


def _on(torch: Any, stream: Any) -> contextlib.AbstractContextManager[Any]:
    if stream is None:
        return contextlib.nullcontext()
    if hasattr(stream, "cuda_stream"):
        context: contextlib.AbstractContextManager[Any] = torch.cuda.stream(stream)
        return context
    raise TypeError(
        message(
            f"stream of type {type(stream).__name__} cannot be used here",
            "PyTorch traces the copy, and knows its own streams",
            "Pass a torch.cuda.Stream.",
        )
    )
