"""Collectives as dictionaries: how one would run, and what it takes. Part of polypath.reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polypath import _core
from polypath.report_texts import Progress, Report, dictionary, names, numbers, request_text
from polypath.whole_numbers import whole_number


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
    one, and have the same bits at every size: that of the ranks, on several nodes that of the ranks
    of each and then of the nodes; with `any_order`, and where they are named, so may others. Of
    "alltoallv" the part for rank j of rank i is in proportion to `counts`[i * ranks + j], else all
    are as large. `nodes` simulates so many of the machine, joined by its network; the ranks are
    then all GPUs of all of them.
    """
    request = _request(
        collective=collective,
        machine=machine,
        ranks=ranks,
        algorithms=algorithms,
        type=element_type,
        reduction=reduction,
        root=root,
        in_place=in_place,
        executor=executor,
        paths=paths,
        any_order=any_order,
        nodes=nodes,
        counts=counts,
        sizes=[nbytes],
    )
    return dictionary(_core.collective_plan(request_text(request)))


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
    request = _request(
        collective=collective,
        machine=machine,
        ranks=ranks,
        algorithms=algorithms,
        type=element_type,
        reduction=reduction,
        root=root,
        in_place=in_place,
        executor=executor,
        paths=paths,
        any_order=any_order,
        nodes=nodes,
        counts=counts,
        sizes=sizes,
        verify=verify,
    )
    return dictionary(_core.collective_bench(request_text(request), progress))


def _request(
    *,
    ranks: int | None,
    algorithms: Sequence[str] | None,
    counts: Sequence[int] | None,
    sizes: Sequence[int],
    **fixed: Any,
) -> Report:
    """Return a request: numbers and names of any kind as JSON has them, the rest as it is."""
    return {
        **fixed,
        "ranks": None if ranks is None else whole_number("ranks", ranks),
        "algorithms": names("algorithms", algorithms),
        "counts": None if counts is None else numbers(counts),
        "sizes": numbers(sizes),
    }
