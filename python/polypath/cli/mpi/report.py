"""Rounds as one document, schema polypath.bench/1."""

from __future__ import annotations

import datetime
import os
import re
import shlex
import statistics
from pathlib import Path

from polypath.cli.mpi.request import Request
from polypath.cli.mpi.rounds import Round
from polypath.cli.mpi.stack import Stack
from polypath.cli.output import Document

KEY = ("operation", "bytes", "window")
OF_COLLECTIVE = ("staged",)
OF_SOLVER = ("kernel", "rows", "verified_iterations")


def document_of(request: Request, stack: Stack, rounds: list[Round]) -> Document:
    """Return what the rounds measured."""
    start = rounds[0].planned.start
    results = [_result(request, rounds, index) for index in range(request.points)]
    processor = processor_name()
    return {
        "schema": "polypath.bench/1",
        "machine": start.get("gpu") or processor,
        "driver": _driver(request),
        "operation": "mpi",
        "ranks": request.ranks,
        "buffers": request.buffers,
        "buffer_per_message": request.buffer_per_message,
        "repeats": request.repeats,
        "mpi": {
            "library": " ".join(start["mpi"].split(", ")[0].split()),
            "ucx": start["ucx"] or None,
            "nodes": start["nodes"],
            "launcher": shlex.join(stack.launcher),
        },
        "host": _host(request, start, processor),
        "results": results,
        "by_size": _by_size(results),
    }


def _driver(request: Request) -> str:
    if request.stand_in:
        return "stand-in"
    return "cuda" if request.needs_gpu else "none"


def _host(request: Request, start: Document, processor: str) -> Document:
    host: Document = {
        "simulated": request.stand_in,
        "cores": os.cpu_count(),
        "processor": processor,
        "date": datetime.date.today().isoformat(),
    }
    if "gpu" in start:
        host.update(gpus=start["gpus"], gpu=start["gpu"], cuda=start["cuda"])
    return host


def processor_name() -> str:
    """Return what the system calls this computer's processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else "unknown processor"


def _result(request: Request, rounds: list[Round], index: int) -> Document:
    """Return one measurement: medians over the rounds, and the ratios within them."""
    planned = [one.planned.results[index] for one in rounds]
    native = [one.native.results[index] for one in rounds]
    runs = _runs(planned, native)
    seconds, native_seconds, speedup = (
        runs["spread"][name]["median"] for name in ("seconds", "native_seconds", "speedup")
    )
    first = planned[0]
    moved = first["bytes_per_second"] * first["seconds"]  # bytes in one of these times
    return {
        **{name: first[name] for name in KEY},
        **_places(request, rounds[0].planned.start, first),
        "ranks": first["ranks"],
        "paths": [],
        "executor": None,
        "seconds": seconds,
        "native_seconds": native_seconds,
        "bytes_per_second": moved / seconds,
        "native_bytes_per_second": moved / native_seconds,
        "messages_per_second": moved / first["bytes"] / seconds,
        "speedup": speedup,
        "speedups": _ratios(planned, native),
        "predicted_seconds": None,
        **runs,
        "iterations": first["iterations"],
        "compared_bytes": int(sum(result["compared_bytes"] for result in planned)),
        "wrong_bytes": int(sum(result["wrong_bytes"] for result in planned)),
        "verified": _verified(rounds, planned),
        "native_verified": _verified(rounds, native),
        **{name: first[name] for name in OF_SOLVER if name in first},
        **{f"native_{name}": native[0][name] for name in OF_COLLECTIVE if name in native[0]},
    }


def _runs(planned: list[Document], native: list[Document]) -> Document:
    """Return the rounds one by one, and how far they lie apart."""
    seconds = [result["seconds"] for result in planned]
    native_seconds = [result["seconds"] for result in native]
    return {
        "samples": {
            "runs": len(seconds),
            "kept": "all",
            "seconds": seconds,
            "native_seconds": native_seconds,
        },
        "spread": {
            "seconds": _spread(seconds),
            "native_seconds": _spread(native_seconds),
            "speedup": _spread(_ratios(planned, native)),
        },
    }


def _ratios(planned: list[Document], native: list[Document]) -> list[float]:
    """Return the speed-up of each round."""
    return [before["seconds"] / after["seconds"] for before, after in zip(native, planned)]


def _spread(values: list[float]) -> Document:
    """Return the quartiles, on the lines between neighbouring values."""
    several = values if len(values) > 1 else 2 * values
    lower, middle, upper = statistics.quantiles(several, n=4, method="inclusive")
    return {
        "minimum": min(values),
        "lower_quartile": lower,
        "median": middle,
        "upper_quartile": upper,
        "maximum": max(values),
    }


def _by_size(results: list[Document]) -> list[Document]:
    """Return the worst ratio of any round, size by size: what has lost most, and by how much."""
    sizes = sorted({result["bytes"] for result in results})
    return [_of_size(size, [r for r in results if r["bytes"] == size]) for size in sizes]


def _of_size(size: int, results: list[Document]) -> Document:
    ratios = [
        {
            "operation": result["operation"],
            "window": result["window"],
            "worst": min(result["speedups"]),
            "median": result["speedup"],
        }
        for result in results
    ]
    return {"bytes": size, "worst": min(one["worst"] for one in ratios), "ratios": ratios}


def _verified(rounds: list[Round], results: list[Document]) -> bool:
    checked = [result for one, result in zip(rounds, results) if one.checked]
    return bool(checked) and all(result["verified"] for result in checked)


def _places(request: Request, start: Document, result: Document) -> Document:
    """Return where the first rank's messages lie, and where they go."""
    receiver = result["ranks"] // 2 if result["operation"] == "mbw" else 1
    gpus = start.get("rank_gpus", [])
    sides = {"source": (request.sent_from, 0), "destination": (request.received_into, receiver)}
    return {
        side: "host0" if kind in ("host", "pinned") else f"gpu{gpus[rank]}"
        for side, (kind, rank) in sides.items()
    }
