"""polypath.to with what holds tensors: modules, dictionaries, lists; and what it refuses."""

from __future__ import annotations

import contextlib
import types
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import Torch, TorchTensor
from polypath import process_context
from tensor_memory import pattern, wait

KIB = 1024


class Module:
    """As torch.nn.Module, with one parameter and one buffer."""

    def __init__(self, torch: Torch) -> None:
        self.weight = torch.tensor(None, KIB, requires_grad=True)
        self.weight.grad = None  # type: ignore[attr-defined]
        self.mean = torch.tensor(None, KIB)

    def parameters(self) -> Iterator[TorchTensor]:
        yield self.weight

    def buffers(self) -> Iterator[TorchTensor]:
        yield self.mean

    def _apply(self, change: Callable[[Any], Any]) -> Module:
        self.weight, self.mean = change(self.weight), change(self.mean)
        return self


@pytest.fixture
def modules(torch: Torch) -> Torch:
    """Return a torch with modules."""

    @contextlib.contextmanager
    def no_grad() -> Iterator[None]:
        torch.grad_enabled = False
        yield
        torch.grad_enabled = True

    torch.nn = types.SimpleNamespace(Module=Module)  # type: ignore[attr-defined]
    torch.no_grad = no_grad  # type: ignore[attr-defined]
    return torch


def test_a_dictionary_has_its_tensors_moved_and_the_rest_kept(torch: Torch) -> None:
    tensor = torch.tensor(None, KIB)
    tensor.array[:] = pattern(KIB)

    moved = polypath.to(OrderedDict(values=tensor, again=tensor, step=3, name="x"), "cuda:1")
    wait(torch.current[1])

    assert type(moved) is OrderedDict and [*moved] == ["values", "again", "step", "name"]
    assert moved["values"].gpu == 1 and moved["again"] is moved["values"]
    assert np.array_equal(moved["values"].array, tensor.array)
    assert (moved["step"], moved["name"]) == (3, "x")
    assert tensor.gpu is None


def test_lists_and_tuples_keep_their_kinds(torch: Torch) -> None:
    pair = namedtuple("pair", "first second")
    tensors = [torch.tensor(None, KIB) for _ in range(3)]

    moved = polypath.to([tensors[0], (tensors[1], None), pair(tensors[2], 1)], "gpu2")

    assert type(moved) is list and type(moved[1]) is tuple and type(moved[2]) is pair
    assert [moved[0].gpu, moved[1][0].gpu, moved[2].first.gpu] == [2, 2, 2]


def test_a_module_is_moved_itself_with_its_buffers(modules: Torch) -> None:
    module = Module(modules)
    module.weight.array[:] = pattern(KIB)
    expected = module.weight.array.copy()

    assert polypath.to(module, "cuda:1") is module
    wait(modules.current[1])

    assert module.weight.gpu == 1 and module.mean.gpu == 1
    assert np.array_equal(module.weight.array, expected)


def test_nothing_is_moved_if_one_of_them_cannot_be(modules: Torch, context: Any) -> None:
    module = Module(modules)
    watched = modules.tensor(None, KIB, requires_grad=True)

    for wrong, kind in ((object(), TypeError), (watched, ValueError)):
        with pytest.raises(kind, match="cannot be"):
            polypath.to([module, wrong], "cuda:1")

    assert module.weight.gpu is None
    assert context.statistics()["transfers"] == 0


def test_what_holds_no_tensor_is_refused(torch: Torch) -> None:  # noqa: ARG001
    for thing in ([1, 2], {"a": 1}):
        with pytest.raises(TypeError, match="it holds no tensor"):
            polypath.to(thing, "cpu")
    assert polypath.to({}, "cpu") == {}


def test_a_type_is_refused_and_waiting_is_not_a_question(torch: Torch) -> None:
    tensor = torch.tensor(None, KIB)

    with pytest.raises(ValueError, match=r"dtype float16 cannot be used \(a move does not convert"):
        polypath.to(tensor, "cuda:0", dtype="float16")

    assert polypath.to(tensor, "cuda:0", non_blocking=True).gpu == 0


def test_without_a_gpu_the_error_is_ours(torch: Torch, monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = torch.tensor(None, KIB)
    monkeypatch.setattr(process_context, "_context", None)
    monkeypatch.setenv("POLYPATH_MACHINE", "beluga")  # as if there were none

    for device in ("cuda", "cuda:0"):
        with pytest.raises(polypath.Error, match="tensors cannot be copied over several paths"):
            polypath.to(tensor, device)


def test_where_pytorch_traces_the_copy_is_its_own(torch: Torch, context: Any) -> None:
    torch.compiler = types.SimpleNamespace(is_compiling=lambda: True)  # type: ignore[attr-defined]
    source, destination = torch.tensor(0, KIB), torch.tensor(1, KIB)

    assert polypath.copy(destination, source) == "native"
    assert polypath.copy_many([(destination, source)] * 2) == ["native"] * 2
    with pytest.raises(ValueError, match="does not fill"):
        polypath.copy(destination, torch.tensor(0, 64))
    with pytest.raises(TypeError, match="PyTorch traces the other end"):
        polypath.copy(bytearray(KIB), source)

    assert [entry[0] for entry in torch.log] == ["copy_"] * 3
    assert context.statistics()["transfers"] == 0
