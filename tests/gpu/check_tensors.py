"""Checks polypath.copy and polypath.to on this computer's GPUs, with PyTorch and CuPy.

Usage: check_tensors.py [NAME...]: all checks, or those whose name contains one of the words. Prints
one line per check; exit status 1 if one failed. A check that needs what is not here says so.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import traceback
from typing import Any, Callable

import numpy as np
import polypath
import torch

MIB = 1 << 20
LARGE = 96 * MIB + 13  # takes several paths, and ends between chunks
SIZES = (1, 3, 511, 4097, MIB - 1, MIB, 7 * MIB + 5, LARGE)
BUSY = 1 << 27  # clock cycles that a kernel waits: tens of milliseconds


class NotHereError(Exception):
    """The check cannot be made on this computer."""


def need_gpus(count: int) -> None:
    if torch.cuda.device_count() < count:
        raise NotHereError(f"needs {count} GPUs")


def values(size: int, seed: int, device: str = "cpu") -> torch.Tensor:
    """Return bytes that differ everywhere and with the seed."""
    generator = torch.Generator().manual_seed(seed)
    made = torch.randint(0, 256, (size,), dtype=torch.uint8, generator=generator)
    return made.to(device)


def same(got: torch.Tensor, expected: torch.Tensor) -> None:
    got, expected = got.cpu(), expected.cpu()
    if torch.equal(got, expected):
        return
    wrong = (got != expected).nonzero().flatten()
    raise AssertionError(
        f"{len(wrong)} of {len(got)} elements wrong, first {wrong[0]}, last {wrong[-1]}"
    )


def keep_busy(device: int = 0) -> None:
    """Let the current stream of the GPU wait, so that what ignores its order comes too early."""
    with torch.cuda.device(device):
        torch.cuda._sleep(BUSY)


def synchronize() -> None:
    for gpu in range(torch.cuda.device_count()):
        torch.cuda.synchronize(gpu)


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


def pinned_is_asynchronous() -> None:
    source = values(LARGE, 2).pin_memory()
    destination = torch.empty(LARGE, dtype=torch.uint8, device="cuda:0")
    polypath.copy(destination, source)  # opens the context, makes rings
    synchronize()
    keep_busy()
    start = time.perf_counter()
    polypath.copy(destination, source)
    returned = time.perf_counter() - start
    synchronize()
    took = time.perf_counter() - start
    same(destination, source)
    if returned > took / 2:
        raise AssertionError(f"returned after {returned * 1e3:.1f} of {took * 1e3:.1f} ms")


def pinned_memory_is_not_given_away_too_early() -> None:
    expected = values(LARGE, 3)
    destination = torch.empty(LARGE, dtype=torch.uint8, device="cuda:0")
    for _ in range(5):
        source = expected.pin_memory()
        synchronize()
        keep_busy()
        polypath.copy(destination, source)
        del source
        gc.collect()
        overwriting = torch.empty(LARGE, dtype=torch.uint8, pin_memory=True).fill_(7)
        synchronize()
        same(destination, expected)
        del overwriting


def order_on_streams_of_both_gpus() -> None:
    need_gpus(2)
    with torch.cuda.device(1):
        receiving = torch.cuda.Stream()
    sending = torch.cuda.Stream(device=0)
    for size in (MIB - 3, LARGE):
        source = torch.zeros(size, dtype=torch.uint8, device="cuda:0")
        destination = torch.zeros(size, dtype=torch.uint8, device="cuda:1")
        seen_before, seen_after = torch.empty_like(destination), torch.empty_like(destination)
        fresh = values(size, size, "cuda:0")
        synchronize()
        with torch.cuda.stream(receiving):
            destination.fill_(9)
            keep_busy(1)
            seen_before.copy_(destination)  # must not see the copy
        with torch.cuda.stream(sending):
            keep_busy(0)
            source.copy_(fresh)  # must be seen by it
        with torch.cuda.stream(receiving), torch.cuda.stream(sending):
            polypath.copy(destination, source)
        with torch.cuda.stream(sending):
            source.fill_(5)  # must not be seen by it
        with torch.cuda.stream(receiving):
            seen_after.copy_(destination)
        synchronize()
        same(seen_before, torch.full((size,), 9, dtype=torch.uint8))
        same(seen_after, fresh)
        same(destination, fresh)


def order_on_a_named_stream() -> None:
    stream = torch.cuda.Stream(device=0)
    source, destination = values(LARGE, 4, "cuda:0"), torch.zeros(LARGE, dtype=torch.uint8)
    destination = destination.pin_memory()
    doubled = torch.empty_like(source)
    synchronize()
    with torch.cuda.stream(stream):
        keep_busy()
        torch.bitwise_not(source, out=doubled)
    for named in (stream, stream.cuda_stream):
        polypath.copy(destination, doubled, stream=named)
        stream.synchronize()
        same(destination, ~source)


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


def captured_graphs() -> None:
    targets = ["cuda:0", "pinned"] + (["cuda:1"] if torch.cuda.device_count() > 1 else [])
    for target in targets:
        source = torch.zeros(LARGE, dtype=torch.uint8, device="cuda:0")
        destination = torch.zeros_like(source, device="cpu" if target == "pinned" else target)
        destination = destination.pin_memory() if target == "pinned" else destination
        polypath.copy(destination, source)
        synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            source.add_(1)
            polypath.copy(destination, source)
            source.add_(1)
        for seed in (7, 8):
            fresh = values(LARGE, seed, "cuda:0")
            source.copy_(fresh)
            graph.replay()
            synchronize()
            same(destination, fresh + 1)
            same(source, fresh + 2)


def training_beside_copies() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(8))).to("cuda:0")
    batches = [torch.randn(512, 1024) for _ in range(12)]

    def train(load: Callable[[torch.Tensor, Any], torch.Tensor]) -> list[float]:
        state = {name: part.clone() for name, part in model.state_dict().items()}
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        loading, losses = torch.cuda.Stream(device=0), []
        for batch in batches:
            staged = batch.pin_memory()
            with torch.cuda.stream(loading):
                inputs = load(staged, loading)
            torch.cuda.current_stream(0).wait_stream(loading)
            inputs.record_stream(torch.cuda.current_stream(0))
            loss = model(inputs).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        result = [float(loss) for loss in losses]
        model.load_state_dict(state)
        return result

    ours = train(lambda batch, _: polypath.to(batch, "cuda:0"))
    native = train(lambda batch, _: batch.to("cuda:0", non_blocking=True))
    assert np.allclose(ours, native, rtol=1e-4), (ours, native)


def threads() -> None:
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            gpu = seed % torch.cuda.device_count()
            source = values(24 * MIB + seed, seed)
            with torch.cuda.stream(torch.cuda.Stream(device=gpu)):
                for _ in range(10):
                    on_gpu = polypath.to(source, f"cuda:{gpu}")
                    other = polypath.to(on_gpu, f"cuda:{(gpu + 1) % torch.cuda.device_count()}")
                    same(polypath.to(other, "cpu"), source)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]


def forked_children_are_told() -> None:
    polypath.copy(torch.zeros(64, device="cuda:0"), torch.ones(64))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            polypath.copy(np.zeros(8), np.ones(8))  # needs no GPU
            polypath.process_context.process_context()
            status = 0  # CUDA may be usable after all
        except polypath.Error:
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    polypath.copy(torch.zeros(64, device="cuda:0"), torch.ones(64))


CHECKS: tuple[Callable[[], None], ...] = (
    between_gpus,
    odd_offsets,
    pageable_both_ways,
    pinned_both_ways,
    pinned_is_asynchronous,
    pinned_memory_is_not_given_away_too_early,
    order_on_streams_of_both_gpus,
    order_on_a_named_stream,
    sources_with_gaps,
    moving,
    gradients_are_refused,
    numpy_arrays,
    cupy_arrays,
    captured_graphs,
    training_beside_copies,
    threads,
    forked_children_are_told,
)


def run(check: Callable[[], None]) -> bool:
    """Run one check and print its line; return whether nothing is wrong."""
    name, start = check.__name__.replace("_", " "), time.perf_counter()
    try:
        check()
        synchronize()
    except NotHereError as reason:
        print(f"skipped  {name} ({reason})", flush=True)
    except Exception as error:
        print(f"FAILED   {name}: {type(error).__name__}: {error}", flush=True)
        traceback.print_exc()
        return False
    else:
        print(f"passed   {name} ({time.perf_counter() - start:.1f} s)", flush=True)
    return True


def main(words: list[str]) -> int:
    """Run the checks asked for; return the exit status."""
    if not torch.cuda.is_available():
        print("no GPU here (PyTorch sees none) Run this where there is one.", file=sys.stderr)
        return 1
    chosen = [check for check in CHECKS
              if not words or any(word in check.__name__ for word in words)]  # fmt: skip
    passed = [run(check) for check in chosen]
    print(f"{sum(passed)} of {len(passed)} checks without failure")
    return 0 if all(passed) and passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
