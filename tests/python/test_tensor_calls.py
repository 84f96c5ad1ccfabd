"""Calls that the extension module finds by what DLPack's functions of C say of tensors."""

from __future__ import annotations

import ctypes
from typing import Any

import fake_dlpack
import numpy as np
import polypath
import pytest
from fake_frameworks import Torch, TorchTensor
from polypath import Collectives
from polypath._core import TensorCalls
from rank_threads import among_ranks, numbers

COUNT = 64
KEPT: list[Any] = []  # tables live as long as the process does
UNKNOWN = 2  # a major version that comes after ours


def exchange(**other: Any) -> Any:
    """Return a capsule of a table that differs in this."""
    names = [name for name, _ in fake_dlpack.Exchange._fields_]
    fields = {name: getattr(fake_dlpack.EXCHANGE, name) for name in names}
    table = fake_dlpack.Exchange(**{**fields, **other})
    capsule = fake_dlpack.capsule(table)
    KEPT.append(table)
    return capsule


def reduced_again(context: polypath.Context, torch: Torch) -> list[np.ndarray]:
    """Return what each rank has after the second of two sums, of a tensor that is called again."""

    def call(own: Collectives) -> np.ndarray:
        tensor = torch.tensor(own.rank, COUNT, np.float32)
        for _ in range(2):
            tensor.array[:] = numbers(own.rank, COUNT)
            own.all_reduce(tensor)
            own.barrier()
            torch.current[own.rank].synchronize()
            own.barrier()
        return tensor.array.copy()

    return among_ranks(context, 2, call)


TABLES = {
    "another major version only": {"major": UNKNOWN},
    "no function for memory": {"memory_of": fake_dlpack.FROM_OBJECT()},
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_tensors_that_cannot_be_asked_are_reduced_all_the_same(
    context: polypath.Context, torch: Torch, monkeypatch: pytest.MonkeyPatch, table: dict[str, Any]
) -> None:
    monkeypatch.setattr(TorchTensor, "__dlpack_c_exchange_api__", exchange(**table))

    found = reduced_again(context, torch)

    assert all(np.array_equal(each, numbers(0, COUNT) + numbers(1, COUNT)) for each in found)


def test_tensors_of_an_older_pytorch_are_reduced_all_the_same(
    context: polypath.Context, torch: Torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(TorchTensor, "__dlpack_c_exchange_api__")

    found = reduced_again(context, torch)

    assert all(np.array_equal(each, numbers(0, COUNT) + numbers(1, COUNT)) for each in found)


def kept(own: Any, torch: Torch, tensor: TorchTensor) -> TensorCalls:
    """Return a store with one call of the tensor."""
    stream = torch.current[own.rank].cuda_stream
    calls = TensorCalls(own, own.rank, TorchTensor, None, lambda: True, lambda _gpu: stream)
    call = polypath._core.PersistentCall(
        "allreduce", "float32", "sum", 0, tensor.numel(), tensor.data_ptr(), tensor.data_ptr(), [],
        True,
    )  # fmt: skip
    calls.keep("sum", tensor, None, call)
    return calls


def test_a_table_of_an_older_version_is_found_behind_a_newer_one(
    context: polypath.Context, torch: Torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = exchange(major=UNKNOWN, older=ctypes.addressof(fake_dlpack.EXCHANGE))
    monkeypatch.setattr(TorchTensor, "__dlpack_c_exchange_api__", newer)

    def call(own: Collectives) -> bool:
        tensor = torch.tensor(own.rank, COUNT, np.float32)
        found = kept(own._rank, torch, tensor).run("sum", tensor, None)
        own.barrier()
        return found

    assert among_ranks(context, 2, call) == [True, True]


# Whether a tensor is a known one is asked of what it is now, not of the object.
def test_a_call_is_found_for_the_same_memory_only(context: polypath.Context, torch: Torch) -> None:
    def call(own: Collectives) -> list[bool]:
        tensor = torch.tensor(own.rank, (8, 8), np.float32)
        calls = kept(own._rank, torch, tensor)
        same = TorchTensor(torch, tensor.array.reshape(4, 16), own.rank)
        others = [
            TorchTensor(torch, tensor.array.T, own.rank),
            TorchTensor(torch, tensor.array[:4], own.rank),
            TorchTensor(torch, tensor.array.view(np.int32), own.rank),
            TorchTensor(torch, tensor.array, own.rank, negated=True),
            TorchTensor(torch, tensor.array, own.rank, requires_grad=True),
            TorchTensor(torch, tensor.array, own.rank, layout="sparse"),
            TorchTensor(torch, tensor.array, None),
        ]
        found = [calls.run("sum", each, None) for each in [same, *others]]
        found += [calls.run("product", tensor, None), calls.run("sum", "no tensor", None)]
        own.barrier()
        return found

    assert among_ranks(context, 2, call) == 2 * [[True] + 9 * [False]]
