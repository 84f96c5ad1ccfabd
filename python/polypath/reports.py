"""Machines, plans and measurements as dictionaries: what the command line shows and writes.

docs/json.md describes each one's fields. Times are seconds, sizes bytes, bandwidths bytes/s, shares
fractions of 1; on simulated machines times are virtual and bytes are real.

A machine is a name (`machines()` lists them), "synthetic:SEED" or a file's path; "" stands for
POLYPATH_MACHINE, else this computer's GPUs, else "h200x4". A place is "gpu0", "host0", or "host",
which is the first host memory.

`executor` is "auto", "native", "stream" or "graph". `paths` are used exactly, "direct" or the place
in between; `shares` fixes what each path carries and must add up to 1; `chunks` fixes into how many
pieces. What is left out is planned. `progress` is called with (done, total) as work goes on.

Errors: polypath.Error, whose `code` docs/errors.md lists. "invalid argument" for a place, path,
size or number that cannot be used, "invalid machine", "invalid setting" for POLYPATH_* variables,
"out of memory", because buffers of all sizes are real. What measures on GPUs may also raise "driver
error" and "unsupported". TypeError for values that are no texts, numbers, lists or dictionaries.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from polypath import _core, report_texts
from polypath.collective_reports import collective_bench, collective_plan
from polypath.report_texts import Progress as Progress
from polypath.report_texts import Report as Report
from polypath.whole_numbers import whole_number

__all__ = [
    "bench",
    "calibrate",
    "calibration",
    "collective_bench",
    "collective_plan",
    "jacobi_bench",
    "joint_plan",
    "learnt",
    "machine",
    "machines",
    "pattern_plan",
    "plan",
    "settings",
    "trace",
    "tune",
]


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})


def machines() -> list[Report]:
    """Return the machines that come along: `name`, `description`, `gpus`, `hosts` of each."""
    listed: list[Report] = json.loads(_core.machines())
    return listed


def machine(name: str = "") -> Report:
    """Return a machine with every pattern expanded: schema polypath.machine/1."""
    return report_texts.dictionary(_core.machine(name))


def settings() -> list[dict[str, str]]:
    """Return the POLYPATH_* settings: `variable`, `value`, `default`, `meaning` of each."""
    listed: list[dict[str, str]] = json.loads(_core.settings())
    return listed


def plan(
    source: str,
    destination: str,
    nbytes: int,
    *,
    machine: str = "",
    executor: str = "auto",
    paths: Sequence[str] | None = None,
    shares: Mapping[str, float] | None = None,
    chunks: Mapping[str, int] | None = None,
) -> Report:
    """Return how one copy would run, and why each path is in or out: schema polypath.plan/1.

    Its `timeline` has each copy as simulated, which Context.plan leaves out.
    """
    request = _transfer(source, destination, nbytes, machine, executor, paths, shares, chunks)
    return report_texts.dictionary(_core.plan(report_texts.request_text(request)))


def joint_plan(
    transfers: Sequence[tuple[str, str, int]],
    *,
    machine: str = "",
    executor: str = "auto",
    issuers: str = "one-thread",
) -> Report:
    """Return how copies that start together would run: schema polypath.joint_plan/1.

    Each transfer is (source, destination, nbytes). One thread issues them ("one-thread"), in this
    order or in another one that gains, or each has its own of several "threads" or "processes".
    """
    request = {
        "transfers": [
            {"source": source, "destination": destination, "bytes": whole_number("size", nbytes)}
            for source, destination, nbytes in report_texts.rows(
                "transfer", ("source", "destination", "nbytes"), transfers
            )
        ],
        "machine": machine,
        "executor": executor,
        "issuers": issuers,
    }
    return report_texts.dictionary(_core.joint_plan(report_texts.request_text(request)))


def pattern_plan(
    pattern: str,
    nbytes: int,
    *,
    gpus: int | None = None,
    machine: str = "",
    executor: str = "auto",
    issuers: str = "one-thread",
) -> Report:
    """Return how the copies of a pattern would run, of `nbytes` each: schema polypath.joint_plan/1.

    The patterns are those of `polypath plan` (docs/cli.md), over all GPUs or the first `gpus`.
    """
    request = {
        "pattern": pattern,
        "bytes": whole_number("size", nbytes),
        "gpus": None if gpus is None else whole_number("gpus", gpus),
        "machine": machine,
        "executor": executor,
        "issuers": issuers,
    }
    return report_texts.dictionary(_core.joint_plan(report_texts.request_text(request)))


def trace(
    source: str,
    destination: str,
    nbytes: int,
    *,
    machine: str = "",
    executor: str = "auto",
    paths: Sequence[str] | None = None,
    shares: Mapping[str, float] | None = None,
    chunks: Mapping[str, int] | None = None,
) -> Report:
    """Run one copy and return its timeline as Chrome trace events, which Perfetto opens.

    Their times are microseconds, as that format has them.
    """
    request = _transfer(source, destination, nbytes, machine, executor, paths, shares, chunks)
    return report_texts.dictionary(_core.trace(report_texts.request_text(request)))


def bench(
    operation: str,
    source: str,
    destination: str,
    sizes: Sequence[int],
    *,
    machine: str = "",
    window: int = 1,
    pieces: int | None = None,
    verify: bool = True,
    executor: str = "auto",
    paths: Sequence[str] | None = None,
    shares: Mapping[str, float] | None = None,
    chunks: Mapping[str, int] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Measure an operation, and native copies for comparison: schema polypath.bench/1.

    The operations are those of `polypath bench` (docs/cli.md). There is one result per size, in
    the order of `sizes`, with `window` copies (1 to 1024) in flight at a time. `pieces` (1 to
    65536, 512 if left out) is for the operation "many": so many copies of each size are asked for
    together. With `verify` every byte of every destination is compared, of `verified_bytes` if the
    simulated memories would be too large; without, no result is `verified`. With "all" as source
    and destination there is one result per size and ordered pair of places that "put", "bw",
    "bibw", "latency", "h2d" or "d2h" can run between.
    """
    request = {
        "operation": operation,
        "source": source,
        "destination": destination,
        "sizes": report_texts.numbers(sizes),
        "window": whole_number("window", window),
        "verify": verify,
        **_choices(machine, executor, paths, shares, chunks),
    }
    if pieces is not None:
        request["pieces"] = whole_number("pieces", pieces)
    return report_texts.dictionary(_core.bench(report_texts.request_text(request), progress))


def jacobi_bench(
    sizes: Sequence[int],
    *,
    machine: str = "",
    gpus: int | None = None,
    rows: int = 8,
    iterations: int = 20,
    executors: Sequence[str] = ("native", "stream", "graph", "program"),
    paths: Sequence[str] = ("auto",),
    kernel_efficiency: float = 1.0,
    verify: bool = True,
    values: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Measure a Jacobi solver over several GPUs: schema polypath.bench/1.

    `sizes` are bytes of a halo, which is a row of float32; each GPU has `rows` of them. There is
    one result per size and executor, of "stream" and "graph" one per choice of `paths` ("auto",
    "direct", "two", "three"). Simulated kernels get `kernel_efficiency` of the memory's bandwidth.
    With `verify` every value is compared with a serial solver's; `values` adds the last grid, if it
    has at most 65536. Error (invalid_argument): an odd number of iterations; sizes that are no
    multiples of 16; more GPUs than there are.
    """
    request: dict[str, Any] = {
        "machine": machine,
        "sizes": report_texts.numbers(sizes),
        "rows": whole_number("rows", rows),
        "iterations": whole_number("iterations", iterations),
        "executors": report_texts.names("executors", executors),
        "paths": report_texts.names("paths", paths),
        "kernel_efficiency": kernel_efficiency,
        "verify": verify,
        "values": values,
    }
    if gpus is not None:
        request["gpus"] = whole_number("gpus", gpus)
    return report_texts.dictionary(_core.jacobi_bench(json.dumps(request), progress))


def tune(
    sizes: Sequence[int],
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    machine: str = "",
    executors: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Search the best static plans of a simulated machine: schema polypath.tuned/1.

    One entry per (source, destination) of `pairs`, size and executor of `executors`, "stream" and
    "graph". Without pairs it is all that are worth it, without executors both.
    """
    request = {
        "sizes": report_texts.numbers(sizes),
        "pairs": None if pairs is None else [list(pair) for pair in pairs],
        "machine": machine,
        "executors": report_texts.names("executors", executors),
    }
    return report_texts.dictionary(_core.tune(report_texts.request_text(request), progress))


def calibrate(machine: str = "", *, progress: Progress | None = None) -> Report:
    """Measure every number of a machine and keep the result: schema polypath.calibration/1.

    Its `calibrated` is the machine with its measured numbers, schema polypath.machine/1. Without a
    name it is POLYPATH_MACHINE, else this computer's GPUs. Error (noisy machine) for measurements
    that do not repeat; then nothing is kept.
    """
    return report_texts.dictionary(_core.calibrate(machine, progress))


def calibration(machine: str = "") -> Report | None:
    """Return what an earlier calibration found: schema polypath.calibration/1; None without one."""
    kept = _core.calibration(machine)
    return report_texts.dictionary(kept) if kept else None


def learnt(machine: str = "") -> Report | None:
    """Return what transfers have taught: schema polypath.learnt/1; None if nothing was learnt."""
    kept = _core.learnt(machine)
    return report_texts.dictionary(kept) if kept else None


def _transfer(source: str, destination: str, nbytes: int, machine: str, *choices: Any) -> Report:
    ends = {"source": source, "destination": destination, "bytes": whole_number("size", nbytes)}
    return {**ends, **_choices(machine, *choices)}


def _choices(
    machine: str,
    executor: str,
    paths: Sequence[str] | None,
    shares: Mapping[str, float] | None,
    chunks: Mapping[str, int] | None,
) -> Report:
    """Return the part of a request that fixes what is otherwise chosen; None chooses."""
    return {
        "machine": machine,
        "executor": executor,
        "paths": report_texts.names("paths", paths),
        "shares": None if shares is None else dict(shares),
        "chunks": None if chunks is None else dict(chunks),
    }
