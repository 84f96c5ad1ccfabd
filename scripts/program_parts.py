"""Everything that scripts/measure_programs.py can measure, by name."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from mpi_parts import Asked, MpiPart
from perftest import perftest_part
from polypath.launching import plan_launch
from rounds_in_turn import MOST_SECONDS, Part, TimedPart, Timings, output_of
from units import GIB, MIB

SCRIPTS = Path(__file__).resolve().parent
MALLOC_SIZES = "2M:256M"


@dataclass(frozen=True)
class Setting:
    """What all parts are measured with."""

    build: Path  # of the preset `gpu`
    driver: str  # "cuda" or "stand-in"
    largest: int  # bytes of one copy; larger ones are left out

    def up_to(self, *sizes: int) -> list[int]:
        """Return the sizes that are not left out, or the largest possible one."""
        return [size for size in sizes if size <= self.largest] or [self.largest]


# The MPI program; the launcher binds as it does by default unless something is said.
UNBOUND = ("--bind-to", "none")
MPI = {
    "malloc_to_gpu": Asked("bw", MALLOC_SIZES, "4", buffers="host,device"),
    "gpu_to_malloc": Asked("bw", MALLOC_SIZES, "4", buffers="device,host"),
    "malloc_to_gpu_unbound": Asked(
        "bw", MALLOC_SIZES, "4", buffers="host,device", launcher_options=UNBOUND
    ),
    "gpu_to_malloc_unbound": Asked(
        "bw", MALLOC_SIZES, "4", buffers="device,host", launcher_options=UNBOUND
    ),
    "windows": Asked("bw", "64M", "1,4,16,64"),
    "bw": Asked("bw", "64M,128M,256M", "1,4,16"),
    "bibw": Asked("bibw", "16M,32M,64M,128M,256M", "4"),
    "latency": Asked("latency", "64K,1M,16M,64M,128M"),
    "ring_and_mbw": Asked("ring,mbw", "1M,16M,64M,256M", "4", ranks=4),
}

# scripts/driver_copies.py: what, and sizes. Each is a process of its own.
COPIES = {
    "alone": (("h2d", "d2h", "put", "pageable_h2d", "pageable_d2h"), (64 * MIB, 256 * MIB)),
    "at_once": (("h2d_at_once", "d2h_at_once"), (64 * MIB, 256 * MIB)),
    "both_ways": (("both_ways",), (64 * MIB, 256 * MIB)),
    "first_copies": (("first_pageable_h2d", "first_h2d", "first_put"), (2 * GIB,)),
}
RUN_BYTES = 512 * MIB
TORCH_WAYS = ("to cuda:1", "pinned to cuda", "pageable to cuda")
TORCH_BYTES = 2 * GIB
# Ways of scripts/torch_weights.py, each a part of its own, and one file of all.
WEIGHTS = {
    "sleep_pinned": "sleep pinned",
    "sleep_pageable": "sleep pageable",
    "safetensors": "safetensors",
    "safetensors_all": "safetensors all",
    "torch_load": "torch.load",
    "torch_load_mmap": "torch.load mmap",
    "checkpoint": "checkpoint",
}
WEIGHTS_BYTES = 8 * GIB

# Without GPUs there is no PyTorch, and no CUDA run-time library for UCX's benchmark.
NEEDS_GPUS = ("calls", "perftest", "torch", "torch_first_copies", *WEIGHTS)


def part_names() -> list[str]:
    """Return the names of all parts, in the order in which they are measured."""
    return [*MPI, *COPIES, "run_time", *NEEDS_GPUS]


def make_part(name: str, setting: Setting) -> Part:
    """Return the part of that name."""
    if name in MPI:
        return MpiPart(name, MPI[name], setting.driver, setting.largest)
    if name in COPIES:
        whats, sizes = COPIES[name]
        return _timed(name, "driver_copies.py", _copies_of(whats, setting.up_to(*sizes)))
    if name == "run_time":
        return _timed(name, "driver_copies.py", _run_time_of(setting.up_to(RUN_BYTES)[0]))
    if name == "perftest":
        return perftest_part(name, setting.largest)
    if name == "calls":
        program = setting.build / "tests" / "api" / "preload" / "programs" / "preload_calls"
        return TimedPart(
            name, "preload_calls", "polypath run -- preload_calls", _calls_of(str(program))
        )
    if name == "torch":
        return _timed(name, "torch_copies.py", _torch_timings)
    if name in WEIGHTS:
        size = setting.up_to(WEIGHTS_BYTES)[0]
        part = _timed(name, "torch_weights.py", _torch_weights_of(WEIGHTS[name], size))
        part.file = "torch_weights"
        return part
    return _timed(name, "torch_first_copies.py", _torch_first_of(setting.up_to(TORCH_BYTES)[0]))


def _timed(name: str, script: str, timings: Callable[[bool], Timings]) -> TimedPart:
    program = "Python and the CUDA driver" if script == "driver_copies.py" else _torch_version()
    return TimedPart(
        name, f"{program}, unmodified", f"polypath run -- python scripts/{script}", timings
    )


def _torch_version() -> str:
    try:
        return f"PyTorch {importlib.metadata.version('torch')}"
    except importlib.metadata.PackageNotFoundError:
        return "PyTorch"


def _command(script: str, *arguments: object) -> list[str]:
    return [sys.executable, str(SCRIPTS / script), *map(str, arguments)]


def _timings_of(rows: Iterable[tuple[str, int | None, float]]) -> Timings:
    return {(what, size): seconds for what, size, seconds in rows}


def _copies_of(whats: Iterable[str], sizes: list[int]) -> Callable[[bool], Timings]:
    def timings(planned: bool) -> Timings:
        found: Timings = {}
        for what in whats:
            command = _command("driver_copies.py", what, *sizes)
            found |= _timings_of(json.loads(output_of(command, planned)))
        return found

    return timings


def _run_time_of(size: int) -> Callable[[bool], Timings]:
    """The whole program counts, so that `polypath run` itself must not be a part of it."""

    def timings(planned: bool) -> Timings:
        command = _command("driver_copies.py", "run", size)
        added = plan_launch(command, "preload").environment if planned else {}
        start = time.monotonic()
        subprocess.run(
            command,
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **added},
            timeout=MOST_SECONDS,
        )
        return {("a whole run", size): time.monotonic() - start}

    return timings


def _calls_of(program: str) -> Callable[[bool], Timings]:
    def timings(planned: bool) -> Timings:
        lines = [line.split() for line in output_of([program], planned).splitlines()]
        return {(operation, int(size)): float(seconds) for operation, size, seconds in lines}

    return timings


def _torch_timings(planned: bool) -> Timings:
    answer = json.loads(output_of(_command("torch_copies.py"), planned).splitlines()[-1])
    return _timings_of(answer["timings"])


def _torch_first_of(size: int) -> Callable[[bool], Timings]:
    def timings(planned: bool) -> Timings:
        found: Timings = {}
        for way in TORCH_WAYS:
            text = output_of(_command("torch_first_copies.py", way, size), planned)
            found |= _timings_of(json.loads(text.splitlines()[-1])["timings"])
        return found

    return timings


def _torch_weights_of(way: str, size: int) -> Callable[[bool], Timings]:
    folder = tempfile.TemporaryDirectory(prefix="weights-")  # as long as the part is there

    def timings(planned: bool) -> Timings:
        text = output_of(_command("torch_weights.py", way, size, folder.name), planned)
        return _timings_of(json.loads(text.splitlines()[-1])["timings"])

    return timings
