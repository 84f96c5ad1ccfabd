"""A matrix product of bfloat16 on a GPU, and a collective beside it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import torch

from rivals.beside import BesideTurns, Both, Product, interleaved, paces
from rivals.gpu_ranks import GpuRanks
from rivals.ranks import Call
from rivals.turns import Turns

EDGE = 8192  # rows and columns of all three matrices


class GpuProduct(Product):
    """torch.mm of two matrices of random numbers."""

    def __init__(self, ranks: GpuRanks) -> None:
        self._ranks = ranks
        self._call_stream, self._product_stream = torch.cuda.Stream(), torch.cuda.Stream()
        a, b = (torch.randn(EDGE, EDGE, dtype=torch.bfloat16, device=ranks.device)
                for _ in range(2))  # fmt: skip
        made = torch.empty_like(a)
        self.call: Call = partial(torch.mm, a, b, out=made)
        with torch.cuda.stream(self._product_stream):
            self.call()  # what the library makes at a stream's first product
        torch.cuda.synchronize()

    def start(self, call: Call, calls: int, products: int) -> Callable[[], Both]:
        """Enqueue both, so many of each, once all GPUs have come here."""
        marked(call, self._call_stream, [])  # what a library makes at a stream's first call
        torch.cuda.current_stream().wait_stream(self._call_stream)
        gate = torch.cuda.Event(enable_timing=True)
        self._ranks.meet()
        gate.record()
        for stream in (self._call_stream, self._product_stream):
            stream.wait_event(gate)
        call_marks: list[torch.cuda.Event] = []
        product_marks: list[torch.cuda.Event] = []
        host = 0.0
        for is_call in interleaved(calls, products):
            if is_call:
                host += marked(call, self._call_stream, call_marks)
            else:
                marked(self.call, self._product_stream, product_marks)

        def finish() -> Both:
            since = [[gate.elapsed_time(mark) / 1e3 for mark in marks]
                     for marks in (call_marks, product_marks)]  # fmt: skip
            seconds, product_seconds = paces(*since)
            return Both(seconds, host / calls, product_seconds)

        return finish


def marked(action: Call, stream: torch.cuda.Stream, marks: list[torch.cuda.Event]) -> float:
    """Enqueue it and a mark on a stream; return how long the host was busy with it."""
    mark = torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream):
        before = time.perf_counter()
        action()
        busy = time.perf_counter() - before
        mark.record()
    marks.append(mark)
    return busy


def beside_product(ranks: GpuRanks) -> Callable[..., Turns]:
    """Return what measures a case beside a product."""
    return partial(BesideTurns, GpuProduct(ranks))
