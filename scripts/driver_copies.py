"""Times what a program does that uses the CUDA driver and nothing else; knows nothing of Polypath.

Usage: driver_copies.py WHAT BYTES...

  h2d, d2h, put             one copy at a time: to GPU 0, from it, from it to GPU 1; pinned memory
  h2d_at_once, d2h_at_once  one copy per GPU, all at once, on a stream each; pinned memory
  both_ways                 GPU 0 to GPU 1 and back at once, on a stream of each
  first_h2d, first_pageable_h2d, first_put
                            the first copy of the process, and the fifth
  run                       a whole program with one GPU that makes a few large copies

Writes to stdout, as JSON, a list of [what, bytes, seconds]. Every destination is compared with its
source at the end; exit status 1 if one differs.
"""

from __future__ import annotations

import ctypes
import json
import statistics
import sys
import time

from cuda_driver import Action, Cuda, Gpu, pageable, pinned, require_pattern, write_pattern

LEAST_WARM_UP, LEAST_WARM_UP_SECONDS = 10, 0.5
REPEATS = 21
FIRST_COPIES = 5

Timing = tuple[str, int, float]


class Copies:
    """What one measurement does: copies on streams, and what must be there afterwards."""

    def __init__(self) -> None:
        self._actions: list[Action] = []
        self._waits: list[Action] = []
        self._checks: list[Action] = []

    def add(self, copy: Action, gpu: Gpu, check: Action) -> None:
        """Add a copy on that GPU's stream."""
        self._actions += [gpu.use, copy]
        self._waits.append(gpu.synchronize)
        self._checks.append(check)

    def seconds(self) -> float:
        """Return how long they take together."""
        start = time.perf_counter()
        for action in self._actions:
            action()
        for wait in self._waits:
            wait()
        return time.perf_counter() - start

    def check(self) -> None:
        """End the program if a byte is wrong."""
        for check in self._checks:
            check()


class Program:
    """What can be asked for."""

    def __init__(self) -> None:
        self._cuda = Cuda()
        self._gpus = [Gpu(self._cuda, 0)]

    def _all_gpus(self, count: int) -> list[Gpu]:
        while len(self._gpus) < count:
            self._gpus.append(Gpu(self._cuda, len(self._gpus)))
        return self._gpus[:count]

    def _host(self, kind: str, size: int) -> ctypes.c_void_p:
        return pageable(size) if kind == "pageable" else pinned(self._cuda, size)

    def _h2d(self, copies: Copies, gpu: Gpu, size: int, kind: str = "pinned") -> None:
        host, memory = self._host(kind, size), gpu.memory(size)
        write_pattern(host, size)
        copy = self._cuda.action(
            "cuMemcpyHtoDAsync_v2", memory, host, ctypes.c_size_t(size), gpu.stream
        )
        copies.add(copy, gpu, lambda: require_pattern(gpu.read(memory, size), size))

    def _d2h(self, copies: Copies, gpu: Gpu, size: int, kind: str = "pinned") -> None:
        host, memory = self._host(kind, size), gpu.memory(size)
        source = pageable(size)
        write_pattern(source, size)
        gpu.fill(memory, source, size)
        copy = self._cuda.action(
            "cuMemcpyDtoHAsync_v2", host, memory, ctypes.c_size_t(size), gpu.stream
        )
        copies.add(copy, gpu, lambda: require_pattern(host, size))

    def _put(self, copies: Copies, source: Gpu, target: Gpu, size: int) -> None:
        source.enable_peer(target)
        target.enable_peer(source)
        here, there, host = source.memory(size), target.memory(size), pageable(size)
        write_pattern(host, size)
        source.fill(here, host, size)
        copy = self._cuda.action(
            "cuMemcpyDtoDAsync_v2", there, here, ctypes.c_size_t(size), source.stream
        )
        copies.add(copy, source, lambda: require_pattern(target.read(there, size), size))

    def copies(self, what: str, size: int) -> Copies:
        """Return the copies that a name stands for."""
        copies = Copies()
        if what in ("put", "both_ways"):
            first, second = self._all_gpus(2)
            self._put(copies, first, second, size)
            if what == "both_ways":
                self._put(copies, second, first, size)
            return copies
        several = what.endswith("_at_once")
        kind, _, way = ("", "", what[:3]) if several else what.rpartition("_")
        for gpu in self._all_gpus(self._cuda.gpus) if several else self._gpus[:1]:
            (self._h2d if way == "h2d" else self._d2h)(copies, gpu, size, kind)
        return copies

    def steady(self, what: str, size: int) -> list[Timing]:
        """Return the median when everything is warm."""
        copies = self.copies(what, size)
        start, warm_up = time.perf_counter(), 0
        while warm_up < LEAST_WARM_UP or time.perf_counter() - start < LEAST_WARM_UP_SECONDS:
            copies.seconds()
            warm_up += 1
        timing = statistics.median(copies.seconds() for _ in range(REPEATS))
        copies.check()
        return [(what, size, timing)]

    def first(self, what: str, size: int) -> list[Timing]:
        """Return how long the first copy takes, and the fifth."""
        copies = self.copies(what, size)
        times = [copies.seconds() for _ in range(FIRST_COPIES)]
        copies.check()
        return [(f"first {what}", size, times[0]), (f"fifth {what}", size, times[-1])]

    def run(self, size: int) -> list[Timing]:
        """Make a few large copies, and no measurement."""
        for what in ("pageable_h2d", "pageable_d2h", "h2d", "d2h"):
            copies = self.copies(what, size)
            copies.seconds()
            copies.seconds()
            copies.check()
        return []


def main(what: str, sizes: list[int]) -> None:
    """Print every timing."""
    program = Program()
    timings: list[Timing] = []
    for size in sizes:
        if what == "run":
            timings += program.run(size)
        elif what.startswith("first_"):
            timings += program.first(what.removeprefix("first_"), size)
        else:
            timings += program.steady(what, size)
    print(json.dumps(timings))


if __name__ == "__main__":
    main(sys.argv[1], [int(size) for size in sys.argv[2:]])
