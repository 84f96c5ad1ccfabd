#!/usr/bin/env python3
"""Times loads, swaps and copies of blocks, by Polypath and by PyTorch in turn.

scripts/weights_and_blocks.py [--total 8G] [--repeats 5] [--only WORD ...] [--out FILE]

`load` and `load all` read a file of safetensors that is in the page cache already; PyTorch makes
tensors over the mapped file, as safetensors does, and calls `.to()`, for several GPUs by a thread
for each. `replicas` are one pinned tensor for all GPUs. `swap out` and `swap in` are of pinned
memory that is there. `blocks` are pieces in no order, of 8 layers; PyTorch copies each by itself.
`both ways` does two such calls at once. `decode` is a stream of reads of the GPU's memory beside
them: its seconds are those of the reads, so that the ratio says what they lose. Bytes that a way
of Polypath has brought are compared once.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polypath
import torch
from polypath import parse_bytes
from polypath.cli.weight_copies import weight_shapes
from polypath.weights import load
from rounds_in_turn import host

LAYERS = 8
BLOCK_SIZES = (4 << 10, 16 << 10, 64 << 10, 256 << 10, 2 << 20)
OF_BLOCKS = 256 << 20  # bytes of one call
MOST_BLOCKS = 16384
READS = 10  # of 1 GiB
GPU = "cuda:0"

Action = Callable[[], object]


class Way(NamedTuple):
    """Something that both do."""

    name: str
    nbytes: int
    ours: Action
    native: Action
    is_right: Callable[[], bool]


def synchronize() -> None:
    """Wait for all GPUs."""
    for gpu in range(torch.cuda.device_count()):
        torch.cuda.synchronize(gpu)


class Taken(NamedTuple):
    """What an action took, with all GPUs idle before and after."""

    seconds: float  # or what it says itself
    called: float  # seconds until the call had returned
    how: dict[str, int] | None  # how many copies ran in which way, of blocks


def taken_by(action: Action) -> Taken:
    """Do it once."""
    synchronize()
    start = time.perf_counter()
    said = action()
    called = time.perf_counter() - start
    synchronize()
    seconds = said if isinstance(said, float) else time.perf_counter() - start
    return Taken(seconds, called, said if isinstance(said, dict) else None)


def measure(way: Way, repeats: int) -> dict[str, Any]:
    """Return medians of both, taken in turn after two rounds that warm up."""
    ours: list[Taken] = []
    native: list[Taken] = []
    for _ in range(repeats + 2):
        native.append(taken_by(way.native))
        ours.append(taken_by(way.ours))
    seconds, other = (statistics.median(each.seconds for each in all_) for all_ in
                      (ours[2:], native[2:]))  # fmt: skip
    return {"way": way.name, "bytes": way.nbytes, "seconds": seconds, "native_seconds": other,
            "bytes_per_second": way.nbytes / seconds, "speedup": other / seconds,
            "called_seconds": statistics.median(each.called for each in ours[2:]),
            "how": ours[-1].how, "verified": way.is_right()}  # fmt: skip


# --- files and modules ---


def write_file(path: Path, total: int) -> dict[str, Any]:
    """Write weights of a large model; return their tensors, mapped."""
    header: dict[str, Any] = {}
    end = 0
    for name, shape in weight_shapes(total).items():
        where = [end, end + 2 * math.prod(shape)]
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": where}
        end = where[1]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        base = torch.randint(-(1 << 15), 1 << 15, (1 << 22,), dtype=torch.int16)
        for number, entry in enumerate(header.values()):
            count = math.prod(entry["shape"])
            bits = base.repeat(count // base.numel() + 1)[:count] + number  # quick, and different
            file.write(bits.numpy().data)
    return dict(load(path, "cpu"))


def equal(loaded: dict[str, Any], mapped: dict[str, Any]) -> bool:
    """Return whether all bits are."""
    bits = torch.int16
    return all(
        torch.equal(loaded[name].cpu().view(bits), mapped[name].view(bits)) for name in mapped
    )


def ways_of_files(path: Path, total: int) -> Iterator[Way]:
    """Yield those that begin with a file, and those of a module of its tensors."""
    mapped = write_file(path, total)
    gpus = [f"cuda:{gpu}" for gpu in range(torch.cuda.device_count())]
    held: dict[str, Any] = {}

    def native(device: str) -> None:
        held[device] = {name: tensor.to(device) for name, tensor in mapped.items()}

    def native_all() -> None:
        threads = [threading.Thread(target=native, args=(gpu,)) for gpu in gpus]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def ours() -> None:
        held["one"] = load(path, GPU)

    def ours_all() -> None:
        held["all"] = load(path, "all")

    yield Way("load", total, ours, lambda: native(GPU), lambda: equal(held["one"], mapped))
    if len(gpus) > 1:
        held.clear()
        yield Way("load all", total, ours_all, native_all,
                  lambda: all(equal(each, mapped) for each in held["all"]))  # fmt: skip
    held.clear()
    yield from ways_of_swaps(load(path, GPU), mapped, total)


def ways_of_swaps(weights: dict[str, Any], mapped: dict[str, Any], total: int) -> Iterator[Way]:
    """Yield a module's ways to the host and back; each brings it to where the next one begins."""
    on_gpu = {name.replace(".", "-"): torch.nn.Parameter(each, False)
              for name, each in weights.items()}  # fmt: skip
    module = torch.nn.ParameterDict(on_gpu)
    pinned = [torch.empty_like(each, device="cpu").pin_memory() for each in weights.values()]

    def is_right() -> bool:
        state = {name: module[name.replace(".", "-")].data for name in mapped}
        return equal(state, mapped)

    def both(copy: Action, there: Action) -> Action:
        def run() -> None:
            copy()
            there()

        return run

    def native_out() -> None:
        for target, source in zip(pinned, weights.values()):
            target.copy_(source, non_blocking=True)

    def native_in() -> None:
        for target, source in zip(pinned, weights.values()):
            source.copy_(target, non_blocking=True)

    swap = polypath.swap
    yield Way("swap out and in", 2 * total,
              both(lambda: swap(module, "cpu"), lambda: swap(module, GPU)),
              both(native_out, native_in), is_right)  # fmt: skip


def ways_of_replicas(total: int) -> Iterator[Way]:
    """Yield one: a pinned tensor for all GPUs."""
    gpus = torch.cuda.device_count()
    if gpus < 2:
        return
    source = torch.randint(0, 255, (min(total, 2 << 30),), dtype=torch.uint8).pin_memory()
    targets = [torch.empty_like(source, device=f"cuda:{gpu}") for gpu in range(gpus)]

    def native() -> None:
        for target in targets:
            target.copy_(source, non_blocking=True)

    yield Way("replicas", source.numel(),
              lambda: polypath.copy_many([(target, source) for target in targets]), native,
              lambda: all(torch.equal(target.cpu(), source) for target in targets))  # fmt: skip


# --- blocks ---


class Cache:
    """Blocks of one size, in pinned memory and on GPUs, and pairs in no order."""

    def __init__(self, nbytes: int) -> None:
        count = min(OF_BLOCKS // LAYERS // nbytes, MOST_BLOCKS // LAYERS)
        self.total = LAYERS * count * nbytes
        shape = (LAYERS, count, nbytes)
        self.pinned = torch.randint(0, 255, shape, dtype=torch.uint8).pin_memory()
        self.back = torch.empty_like(self.pinned).pin_memory()
        self.gpus = [torch.empty(shape, dtype=torch.uint8, device=f"cuda:{gpu}")
                     for gpu in range(min(torch.cuda.device_count(), 2))]  # fmt: skip
        self.gpus[0].copy_(self.pinned)
        self.pairs = torch.stack([torch.randperm(count), torch.randperm(count)], dim=1)

    def ours(self, target: Any, source: Any) -> Action:
        """Return Polypath's way."""
        ends = list(target), list(source)
        return lambda: polypath.copy_blocks(*ends, self.pairs)

    def native(self, target: Any, source: Any) -> Action:
        """Return a copy of PyTorch for each block."""
        pairs = self.pairs.tolist()

        def copy() -> None:
            for layer in range(LAYERS):
                for first, second in pairs:
                    target[layer, second].copy_(source[layer, first], non_blocking=True)

        return copy

    def is_right(self, target: Any, source: Any) -> bool:
        """Return whether all blocks are where they belong."""
        sources, targets = self.pairs.T
        return bool(torch.equal(target.cpu()[:, targets], source.cpu()[:, sources]))


def ways_of_blocks() -> Iterator[Way]:
    """Yield every direction of each size, then both ways at once, and reads beside them."""
    for nbytes in BLOCK_SIZES:
        cache = Cache(nbytes)
        ends = {"h2d": (cache.gpus[0], cache.pinned), "d2h": (cache.back, cache.gpus[0])}
        if len(cache.gpus) > 1:
            ends["d2d"] = (cache.gpus[1], cache.gpus[0])
        for name, (target, source) in ends.items():
            yield Way(f"blocks {name} {nbytes >> 10} KiB", cache.total,
                      cache.ours(target, source), cache.native(target, source),
                      partial(cache.is_right, target, source))  # fmt: skip
        yield way_of_both(cache, nbytes)
        yield way_of_reads(cache, nbytes)


def way_of_both(cache: Cache, nbytes: int) -> Way:
    """Return blocks into a GPU and out of it at once, on two streams."""
    streams = [torch.cuda.Stream(GPU) for _ in range(2)]
    other = torch.empty_like(cache.gpus[0])
    ends = ((other, cache.pinned), (cache.back, cache.gpus[0]))

    def run(copies: list[Action]) -> Action:
        def both() -> None:
            for stream, copy in zip(streams, copies):
                with torch.cuda.stream(stream):
                    copy()

        return both

    return Way(f"both ways {nbytes >> 10} KiB", 2 * cache.total,
               run([cache.ours(*each) for each in ends]),
               run([cache.native(*each) for each in ends]),
               lambda: all(cache.is_right(*each) for each in ends))  # fmt: skip


def way_of_reads(cache: Cache, nbytes: int) -> Way:
    """Return reads of the GPU's memory beside blocks that come, against reads alone."""
    weights = torch.ones(1 << 30, dtype=torch.uint8, device=GPU).view(torch.float32)
    beside = torch.cuda.Stream(GPU)
    copy = cache.ours(cache.gpus[0], cache.pinned)

    def reads() -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(READS):
            weights.sum()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3

    def with_blocks() -> float:
        with torch.cuda.stream(beside):
            for _ in range(3):  # longer than the reads
                copy()
        return reads()

    return Way(f"decode beside {nbytes >> 10} KiB", READS * weights.nbytes, with_blocks, reads,
               partial(cache.is_right, cache.gpus[0], cache.pinned))  # fmt: skip


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--total", type=parse_bytes, default=8 << 30, help="bytes of weights")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=[], help="ways whose name has one of these")
    parser.add_argument("--out", type=Path, help="a file of JSON")
    return parser.parse_args()


def all_ways(path: Path, total: int) -> Iterator[Way]:
    """Yield them one after another: each has the memory that it needs by itself."""
    yield from ways_of_files(path, total)
    yield from ways_of_replicas(total)
    yield from ways_of_blocks()


def main() -> int:
    """Measure, and print a line for each way."""
    options = arguments()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for way in all_ways(Path(folder, "model.safetensors"), options.total):
            if options.only and not any(word in way.name for word in options.only):
                continue
            each = measure(way, options.repeats)
            print(f"{each['way']:24} {each['seconds'] * 1e3:9.2f} ms "
                  f"{each['bytes_per_second'] / 1e9:7.1f} GB/s, x{each['speedup']:.2f} "
                  f"{'right' if each['verified'] else 'WRONG'}", flush=True)  # fmt: skip
            results.append(each)
    if options.out:
        document = {"schema": "polypath.weights_and_blocks/1", "host": host(),
                    "program": f"PyTorch {torch.__version__}", "results": results}  # fmt: skip
        options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0 if all(each["verified"] for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
