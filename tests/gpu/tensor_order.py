"""Checks on GPUs: stream order, lifetimes, captured graphs, training, threads and forks."""

from __future__ import annotations

import gc
import os
import threading
import time
from typing import Any, Callable

import numpy as np
import polypath
import torch
from tensor_support import LARGE, MIB, keep_busy, need_gpus, same, synchronize, values


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
    pinned_is_asynchronous,
    pinned_memory_is_not_given_away_too_early,
    order_on_streams_of_both_gpus,
    order_on_a_named_stream,
    captured_graphs,
    training_beside_copies,
    threads,
    forked_children_are_told,
)
