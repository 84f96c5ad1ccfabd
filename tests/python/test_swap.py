"""polypath.swap: where a module's tensors are, what is kept, and what is refused."""

from __future__ import annotations

import contextlib
import gc
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import Torch, TorchTensor
from polypath import process_context
from polypath.frameworks import PYTORCH
from tensor_memory import pattern, wait

KIB = 1024


class Module:
    """As torch.nn.Module, with two layers, whose outer weights are tied, and a buffer."""

    def __init__(self, torch: Torch, gpu: int | None = 0) -> None:
        self.tensors = [
            torch.tensor(gpu, (16, 4 * KIB), np.int32, requires_grad=True),
            torch.tensor(gpu, 100, np.uint8, requires_grad=True),
        ]
        tied = TorchTensor(torch, self.tensors[0].array, gpu, requires_grad=True)
        self.tensors.append(tied)
        self.mean = torch.tensor(gpu, 0, np.float32)
        for number, tensor in enumerate(self.tensors):
            tensor.grad = None  # type: ignore[attr-defined]
            tensor.array.reshape(-1).view(np.uint8)[:] = pattern(tensor.array.nbytes, number % 2)
        self.contents = [tensor.array.copy() for tensor in self.tensors]

    def parameters(self) -> Iterator[TorchTensor]:
        yield from self.tensors

    def buffers(self) -> Iterator[TorchTensor]:
        yield self.mean

    def is_right(self, gpu: int | None) -> bool:
        return all(tensor.gpu == gpu for tensor in (*self.tensors, self.mean)) and all(
            np.array_equal(tensor.array, wanted)
            for tensor, wanted in zip(self.tensors, self.contents)
        )


@pytest.fixture
def torch(torch: Torch) -> Torch:
    """Return a torch with modules."""

    @contextlib.contextmanager
    def no_grad() -> Iterator[None]:
        torch.grad_enabled = False
        yield
        torch.grad_enabled = True

    def frombuffer(buffer: Any, dtype: str) -> TorchTensor:
        kind = np.dtype(dtype.split(".")[1])
        return TorchTensor(torch, np.frombuffer(buffer, kind), None, pinned=True)

    torch.nn = types.SimpleNamespace(Module=Module)  # type: ignore[attr-defined]
    torch.no_grad = no_grad  # type: ignore[attr-defined]
    torch.frombuffer = frombuffer  # type: ignore[attr-defined]
    return torch


@pytest.mark.parametrize("pinned", [True, False])
def test_a_module_leaves_and_comes_back(
    context: polypath.Context, torch: Torch, pinned: bool
) -> None:
    module = Module(torch)
    objects = list(module.tensors)

    assert polypath.swap(module, "cpu", pinned=pinned) is module
    assert module.is_right(None)
    assert module.tensors[0].pinned == pinned
    polypath.swap(module, "cuda:1")
    wait(torch.current[1])

    assert module.is_right(1)
    assert module.tensors == objects
    assert context.violations() == []


def test_what_shares_memory_is_moved_once_and_shares_it_again(
    context: polypath.Context, torch: Torch
) -> None:
    module = Module(torch)

    for device in ("cpu", "cuda:2"):
        polypath.swap(module, device)
        assert module.tensors[0].data_ptr() == module.tensors[2].data_ptr()
    wait(torch.current[2])

    nbytes = module.tensors[0].array.nbytes + module.tensors[1].array.nbytes
    assert context.statistics()["bytes"] == 2 * nbytes


def test_the_hosts_memory_is_kept(torch: Torch) -> None:
    module = Module(torch)
    polypath.swap(module, "cpu")
    before = [tensor.data_ptr() for tensor in module.tensors]
    polypath.swap(module, "cuda:0")
    wait(torch.current[0])
    module.tensors[1].array[:] += 1
    module.contents[1] += 1

    polypath.swap(module, "cpu")

    assert [tensor.data_ptr() for tensor in module.tensors] == before
    assert module.is_right(None)


def test_another_shape_has_other_memory(torch: Torch) -> None:
    module = Module(torch)
    polypath.swap(module, "cpu")
    polypath.swap(module, "cuda:0")
    module.tensors[1].data = torch.tensor(0, 200)
    module.contents[1] = module.tensors[1].array.copy()

    polypath.swap(module, "cpu")

    assert module.is_right(None)


def test_gradients_go_with_their_parameters(torch: Torch) -> None:
    module = Module(torch)
    module.tensors[1].grad = torch.tensor(0, 100)  # type: ignore[attr-defined]

    polypath.swap(module, "cpu")

    assert module.tensors[1].grad.gpu is None  # type: ignore[attr-defined]


def test_what_is_there_stays(context: polypath.Context, torch: Torch) -> None:
    module = Module(torch, 0)

    polypath.swap(module, "cuda")
    polypath.swap(Module(torch, None), "cpu")

    assert module.is_right(0)
    assert context.statistics()["transfers"] == 0


def test_nothing_is_kept_of_a_module_that_is_gone(torch: Torch) -> None:
    module = polypath.swap(Module(torch), "cpu")
    held = weakref.ref(module.tensors[0])

    del module
    gc.collect()

    assert held() is None


def test_other_things_are_refused(torch: Torch) -> None:
    module = Module(torch)
    with pytest.raises(TypeError, match="it is no module of PyTorch"):
        polypath.swap({"a": module.tensors[0]}, "cpu")
    with pytest.raises(ValueError, match="device 'disk' cannot be used"):
        polypath.swap(module, "disk")
    torch.capturing = True
    with pytest.raises(RuntimeError, match="its stream is being captured"):
        polypath.swap(module, "cpu")
    assert module.is_right(0)


def test_without_a_gpu_the_error_is_ours(torch: Torch, monkeypatch: pytest.MonkeyPatch) -> None:
    module = Module(torch, None)
    monkeypatch.setattr(process_context, "_context", None)
    monkeypatch.setenv("POLYPATH_MACHINE", "beluga")  # as if there were none

    assert polypath.swap(module, "cpu") is module
    with pytest.raises(polypath.Error, match="tensors cannot be copied over several paths"):
        polypath.swap(module, "cuda:0")


def test_without_pytorch_there_is_no_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PYTORCH, "exact", None)
    monkeypatch.setitem(sys.modules, "torch", None)

    with pytest.raises(TypeError, match="it is no module"):
        polypath.swap(object(), "cpu")
