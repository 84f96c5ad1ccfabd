"""polypath.copy and polypath.to with CuPy, and between frameworks."""

from __future__ import annotations

from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import Cupy, CupyStream, Torch
from tensor_memory import host_array, pattern, wait

MIB = 1 << 20


def test_cupy_between_gpus_and_to_numpy(
    context: polypath.Context, cupy: Cupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def empty_in_known_memory(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        count = int(np.prod(shape)) * dtype.itemsize
        return host_array(context, count).view(dtype).reshape(shape)

    monkeypatch.setattr(np, "empty", empty_in_known_memory)
    source = cupy.empty((6, 7), np.float64)
    source.array[:] = np.arange(42).reshape(6, 7)

    moved = polypath.to(source, "cuda:2")
    back = polypath.to(moved, "cpu")

    assert moved.device.id == 2
    assert isinstance(back, np.ndarray) and np.array_equal(back, source.array)
    assert polypath.to(source, 0) is source
    assert context.violations() == []


def test_cupy_with_gaps_on_a_stream_of_its_own(context: polypath.Context, cupy: Cupy) -> None:
    source, destination = cupy.empty((32, 16)), cupy.empty((16, 32))
    source.array[:] = pattern(512).reshape(32, 16)
    source.array = source.array.T
    stream = CupyStream(context, 0)

    polypath.copy(destination, source, stream)
    wait(stream)

    assert np.array_equal(destination.array, source.array)


def test_streams_of_two_frameworks_are_ordered(
    context: polypath.Context, torch: Torch, cupy: Cupy
) -> None:
    source, destination = torch.tensor(0, 4 * MIB), cupy.empty(4 * MIB)
    after = context.allocate("gpu0", 4 * MIB)
    source.array[:] = pattern(4 * MIB)

    polypath.copy(destination, source)
    context.copy_addresses(after.address, destination.data.ptr, 4 * MIB, "gpu0",
                           cupy.current[0].ptr)  # fmt: skip
    wait(cupy.current[0])

    assert np.array_equal(after.numpy(), source.array)
    assert context.violations() == []


def test_pinned_memory_of_pytorch_is_waited_for_when_another_framework_receives(
    torch: Torch, cupy: Cupy
) -> None:
    pinned, destination = torch.tensor(None, MIB, pinned=True), cupy.empty(MIB)
    pinned.array[:] = pattern(MIB)

    polypath.copy(destination, pinned, CupyStream(torch.context, 0))

    assert np.array_equal(destination.array, pinned.array)
