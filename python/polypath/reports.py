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
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Callable

from polypath import _core, messages

Report = dict[str, Any]
Progress = Callable[[int, int], None]


def machines() -> list[Report]:
    """Return the machines that come along: `name`, `description`, `gpus`, `hosts` of each."""
    listed: list[Report] = json.loads(_core.machines())
    return listed


def machine(name: str = "") -> Report:
    """Return a machine with every pattern expanded: schema polypath.machine/1."""
    return _dictionary(_core.machine(name))


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
    return _dictionary(_core.plan(_request_text(request)))


def joint_plan(
    transfers: Sequence[tuple[str, str, int]],
    *,
    machine: str = "",
    executor: str = "auto",
    issuers: str = "one-thread",
) -> Report:
    """Return how copies that start together would run: schema polypath.joint_plan/1.

    Each transfer is (source, destination, nbytes); they are issued in this order, by "one-thread",
    or each by its own of several "threads" or "processes".
    """
    request = {
        "transfers": [
            {"source": source, "destination": destination, "bytes": operator.index(nbytes)}
            for source, destination, nbytes in transfers
        ],
        "machine": machine,
        "executor": executor,
        "issuers": issuers,
    }
    return _dictionary(_core.joint_plan(_request_text(request)))


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
        "bytes": operator.index(nbytes),
        "gpus": None if gpus is None else operator.index(gpus),
        "machine": machine,
        "executor": executor,
        "issuers": issuers,
    }
    return _dictionary(_core.joint_plan(_request_text(request)))


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
    return _dictionary(_core.trace(_request_text(request)))


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
    """Measure an operation beside the same with native copies: schema polypath.bench/1.

    The operations are those of `polypath bench` (docs/cli.md). There is one result per size, in
    the order of `sizes`, with `window` copies (1 to 1024) in flight at a time. `pieces` (1 to
    65536, 512 if left out) is for the operation "many": so many copies of each size are asked for
    together. With `verify` every byte of every destination is compared; without, no result is
    `verified`.
    """
    request = {
        "operation": operation,
        "source": source,
        "destination": destination,
        "sizes": _numbers(sizes),
        "window": operator.index(window),
        "verify": verify,
        **_choices(machine, executor, paths, shares, chunks),
    }
    if pieces is not None:
        request["pieces"] = operator.index(pieces)
    return _dictionary(_core.bench(_request_text(request), progress))


def collective_plan(
    collective: str,
    nbytes: int,
    *,
    machine: str = "",
    ranks: int | None = None,
    algorithms: Sequence[str] | None = None,
    element_type: str = "float32",
    reduction: str = "sum",
    root: int = 0,
    in_place: bool = False,
    executor: str = "auto",
    paths: str = "auto",
    any_order: bool = False,
    nodes: int | None = None,
    counts: Sequence[int] | None = None,
) -> Report:
    """Return by which algorithm a collective would run, and why: schema polypath.collective_plan/1.

    The collectives are "allreduce", "reduce", "reducescatter", "allgather", "alltoall",
    "broadcast" and "alltoallv" of elements of `element_type`, "float16", "bfloat16", "float32",
    "float64" or an integer such as "int8" or "uint64", with the `reduction` "sum", "product",
    "min", "max" or, of floating-point types, "average"; `nbytes` is the largest memory that one of
    the GPUs has in it. `ranks` are the first so many GPUs, else all. Without `algorithms` all
    compete. `executor` is "auto", "stream" or "graph"; messages go over "one" path or "several",
    with "auto" whichever is faster. Where rounding depends on the order, those that compete keep to
    the order of the ranks, and have the same bits at every size; with `any_order`, and where they
    are named, so may others. Of "alltoallv" the part for rank j of rank i is in proportion to
    `counts`[i * ranks + j], else all are as large. `nodes` simulates so many of the machine, joined
    by its network; the ranks are then all GPUs of all of them.
    """
    request = _collective(
        collective,
        machine,
        ranks,
        algorithms,
        element_type,
        reduction,
        root,
        in_place,
        executor,
        paths,
        any_order,
        nodes,
        None if counts is None else _numbers(counts),
    )
    request["sizes"] = [operator.index(nbytes)]
    return _dictionary(_core.collective_plan(_request_text(request)))


def collective_bench(
    collective: str,
    sizes: Sequence[int],
    *,
    machine: str = "",
    ranks: int | None = None,
    algorithms: Sequence[str] | None = None,
    element_type: str = "float32",
    reduction: str = "sum",
    root: int = 0,
    in_place: bool = False,
    executor: str = "auto",
    paths: str = "auto",
    any_order: bool = False,
    nodes: int | None = None,
    counts: Sequence[int] | None = None,
    verify: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Measure a collective on a simulated machine: schema polypath.bench/1.

    As collective_plan; one of the `algorithms` may be "auto". There is one result per size and
    algorithm, in their order. With `verify` every element of every rank is compared with float64
    on the host. Error (unsupported) on real GPUs.
    """
    request = _collective(
        collective,
        machine,
        ranks,
        algorithms,
        element_type,
        reduction,
        root,
        in_place,
        executor,
        paths,
        any_order,
        nodes,
        None if counts is None else _numbers(counts),
    )
    request.update({"sizes": _numbers(sizes), "verify": verify})
    return _dictionary(_core.collective_bench(_request_text(request), progress))


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
        "sizes": _numbers(sizes),
        "rows": operator.index(rows),
        "iterations": operator.index(iterations),
        "executors": list(executors),
        "paths": list(paths),
        "kernel_efficiency": kernel_efficiency,
        "verify": verify,
        "values": values,
    }
    if gpus is not None:
        request["gpus"] = operator.index(gpus)
    return _dictionary(_core.jacobi_bench(json.dumps(request), progress))


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
        "sizes": _numbers(sizes),
        "pairs": None if pairs is None else [list(pair) for pair in pairs],
        "machine": machine,
        "executors": None if executors is None else list(executors),
    }
    return _dictionary(_core.tune(_request_text(request), progress))


def calibrate(machine: str = "", *, progress: Progress | None = None) -> Report:
    """Measure every number of a machine and keep the result: schema polypath.calibration/1.

    Its `calibrated` is the machine with its measured numbers, schema polypath.machine/1. Without a
    name it is POLYPATH_MACHINE, else this computer's GPUs. Error (noisy machine) for measurements
    that do not repeat; then nothing is kept.
    """
    return _dictionary(_core.calibrate(machine, progress))


def calibration(machine: str = "") -> Report | None:
    """Return what an earlier calibration found: schema polypath.calibration/1; None without one."""
    kept = _core.calibration(machine)
    return _dictionary(kept) if kept else None


def learnt(machine: str = "") -> Report | None:
    """Return what transfers have taught: schema polypath.learnt/1; None if nothing was learnt."""
    kept = _core.learnt(machine)
    return _dictionary(kept) if kept else None


def _transfer(source: str, destination: str, nbytes: int, machine: str, *choices: Any) -> Report:
    ends = {"source": source, "destination": destination, "bytes": operator.index(nbytes)}
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
        "paths": None if paths is None else list(paths),
        "shares": None if shares is None else dict(shares),
        "chunks": None if chunks is None else dict(chunks),
    }


_OF_COLLECTIVES = (
    "type",
    "reduction",
    "root",
    "in_place",
    "executor",
    "paths",
    "any_order",
    "nodes",
    "counts",
)


def _collective(
    collective: str,
    machine: str,
    ranks: int | None,
    algorithms: Sequence[str] | None,
    *others: Any,
) -> Report:
    """Return the part of a request that says which collective, and what of it is fixed."""
    named = zip(_OF_COLLECTIVES, others)
    return {
        "collective": collective,
        "machine": machine,
        "ranks": None if ranks is None else operator.index(ranks),
        "algorithms": None if algorithms is None else list(algorithms),
        **dict(named),
    }


def _numbers(sizes: Sequence[int]) -> list[int]:
    """Return whole numbers of any kind as those that JSON has."""
    return [operator.index(size) for size in sizes]


def _request_text(request: Report) -> str:
    """Return the request as JSON; Error (invalid argument) for a text that UTF-8 does not have."""
    text = json.dumps(request, ensure_ascii=False)
    if messages.is_utf8(text):
        return text
    error = _core.Error(
        messages.message(
            f"{ascii(text)[1:-1]} cannot be asked for",
            "a name in it has bytes that are not UTF-8",
            "Correct the name.",
        )
    )
    error.code = "invalid argument"
    raise error


def _dictionary(text: str) -> Report:
    report: Report = json.loads(text)
    return report
