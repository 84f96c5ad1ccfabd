"""Checks on GPUs: the bytes that arrive, from and in every kind of memory, and what is refused."""

from __future__ import annotations

from typing import Callable

import numpy as np
import polypath
import torch
from tensor_support import LARGE, MIB, SIZES, NotHereError, keep_busy, need_gpus, same, values


def between_gpus() -> None:
    need_gpus(2)
    for size in SIZES:
        source = values(size, size, "cuda:0")
        destination = torch.zeros_like(source, device="cuda:1")
        polypath.copy(destination, source)
        same(destination, source)


def odd_offsets() -> None:
    need_gpus(2)
    source = values(LARGE, 1, "cuda:0")
    for first, second, size in ((1, 0, 5 * MIB + 1), (3, 7, 64 * MIB - 3), (255, 1, MIB + 1)):
        destination = torch.zeros(LARGE, dtype=torch.uint8, device="cuda:1")
        polypath.copy(destination[second : second + size], source[first : first + size])
        expected = torch.zeros(LARGE, dtype=torch.uint8)
        expected[second : second + size] = source[first : first + size].cpu()
        same(destination, expected)


def host_both_ways(pinned: bool) -> None:
    for size in SIZES:
        source = values(size, size)
        back = torch.zeros_like(source)
        if pinned:
            source, back = source.pin_memory(), back.pin_memory()
        on_gpu = torch.zeros(size, dtype=torch.uint8, device="cuda:0")
        polypath.copy(on_gpu, source)
        polypath.copy(back, on_gpu)
        if pinned:
            torch.cuda.synchronize(0)
        same(back, source)
        same(on_gpu, source)


def pageable_both_ways() -> None:
    host_both_ways(pinned=False)


def pinned_both_ways() -> None:
    host_both_ways(pinned=True)


def sources_with_gaps() -> None:
    source = torch.arange(4 * MIB, device="cuda:0").reshape(2048, 2048)
    result = torch.empty(2048, 2048, dtype=source.dtype)
    polypath.copy(result, source.T)
    same(result, source.T)
    images = torch.randn(8, 3, 512, 512).to(memory_format=torch.channels_last)
    moved = polypath.to(images, "cuda:0")
    assert moved.stride() == images.stride()
    same(moved, images)
    waves = torch.randn(MIB, dtype=torch.complex64)
    same(polypath.to(waves.conj(), "cuda:0"), waves.conj().resolve_conj())


def moving() -> None:
    for kind in (torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.float8_e4m3fn):
        source = torch.randn(1025, 1023).to(kind)
        moved = polypath.to(source, "cuda")
        back = polypath.to(moved, torch.device("cpu"))
        assert (moved.dtype, moved.shape, str(moved.device)) == (kind, source.shape, "cuda:0")
        assert polypath.to(moved, "cuda:0") is moved
        same(back.view(torch.uint8), source.view(torch.uint8))
    with torch.inference_mode():
        frozen = torch.ones(3 * MIB, device="cuda:0")
        same(polypath.to(frozen, "cpu"), frozen)
    pinned = torch.ones(1000).pin_memory()
    polypath.copy(frozen[:1000], pinned)


def gradients_are_refused() -> None:
    weight = torch.nn.Parameter(torch.ones(64, device="cuda:0"))
    try:
        polypath.to(weight, "cpu")
    except ValueError as error:
        assert "detach()" in str(error)
    else:
        raise AssertionError("no error")
    with torch.no_grad():
        same(polypath.to(weight, "cpu"), weight.detach())
    factor = torch.ones(64, device="cuda:0")
    loss = (weight * factor).sum()
    polypath.copy(factor, torch.zeros(64))
    try:
        loss.backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
    else:
        raise AssertionError("autograd did not see that a tensor it had kept was overwritten")


def numpy_arrays() -> None:
    source = np.random.default_rng(5).integers(0, 256, LARGE, dtype=np.uint8)
    on_gpu = torch.zeros(LARGE, dtype=torch.uint8, device="cuda:0")
    back = np.zeros_like(source)
    polypath.copy(on_gpu, source)
    keep_busy()
    on_gpu.bitwise_not_()
    polypath.copy(back, on_gpu)
    assert np.array_equal(back, ~source)
    polypath.copy(on_gpu, bytes(LARGE))
    assert not on_gpu.any()


def cupy_arrays() -> None:
    try:
        import cupy
    except ImportError:
        raise NotHereError("CuPy is not installed") from None
    source = np.random.default_rng(6).integers(0, 256, LARGE, dtype=np.uint8)
    moved = polypath.to(source, "cuda:0")
    assert isinstance(moved, cupy.ndarray)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        work = moved ^ 1
        back = polypath.to(work, "cpu")
        assert np.array_equal(back, source ^ 1)
        tensor = torch.zeros(LARGE, dtype=torch.uint8, device="cuda:0")
        polypath.copy(tensor, work, stream)  # between frameworks
        polypath.copy(work, tensor)
        stream.synchronize()
    same(tensor, torch.from_numpy(source ^ 1))
    assert np.array_equal(cupy.asnumpy(polypath.to(moved.reshape(-1, 1)[::2], "gpu0")),
                          source.reshape(-1, 1)[::2])  # fmt: skip
    if cupy.cuda.runtime.getDeviceCount() > 1:
        assert np.array_equal(polypath.to(polypath.to(moved, 1), "cpu"), source)


CHECKS: tuple[Callable[[], None], ...] = (
    between_gpus,
    odd_offsets,
    pageable_both_ways,
    pinned_both_ways,
    sources_with_gaps,
    moving,
    gradients_are_refused,
    numpy_arrays,
    cupy_arrays,
)
