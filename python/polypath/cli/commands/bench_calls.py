"""`polypath bench load` and `polypath bench blocks`: calls of the Python package."""

from __future__ import annotations

import datetime
import importlib
import os
import re
from typing import Any

from rich.console import Console
from rich.table import Table

from polypath import _core, reports
from polypath.cli.block_copies import OnGpus, Setting, Simulated, measure_blocks
from polypath.cli.errors import UnknownPlaceError, UserError
from polypath.cli.file_loads import measure_loads
from polypath.cli.output import Document, progress_bar
from polypath.cli.tables import gain_text, heading, new_table
from polypath.cli.units import gigabytes, size_text, time_text
from polypath.cli.weight_copies import ITEM

BLOCKS = 512
LARGEST = 64 << 30  # bytes of all blocks, or of a file
OFTEN = 4  # so often all blocks may lie in this computer's memory: both ends, and copies of them
Places = tuple[str, str]


def load_document(places: Places, sizes: list[int], machine: str) -> Document:
    """Measure loads of files onto a GPU."""
    if machine:
        raise UserError(
            f"load cannot be measured on {machine}",
            "files are read in real time, and a simulated machine has its own",
            "Leave --machine out where there are GPUs; 'polypath bench h2d' works on simulated "
            "machines.",
        )
    _check_places(places, "")
    _check_total(sizes, "a file")
    _check_elements(sizes)
    gpu = _gpu_of(places[1]) if places[0].startswith("host") else None
    if gpu is None:
        raise UserError(
            f"load from {places[0]} to {places[1]} cannot be measured",
            "a load is from a file onto one GPU",
            "Write for example: polypath bench load host gpu0.",
        )
    with progress_bar("load on the GPUs") as progress:
        results = measure_loads(_torch_with(gpu), gpu, sizes, progress)
    return _document("load", "", results)


def blocks_document(places: Places, sizes: list[int], machine: str, count: int | None) -> Document:
    """Measure copies of blocks between two places."""
    count = BLOCKS if count is None else count
    _check_places(places, machine)
    _check_total(sizes, f"{count} blocks", count)
    gpu = next((place for place in places if _gpu_of(place) is not None), None)
    if gpu is None:
        raise UserError(
            f"blocks from {places[0]} to {places[1]} cannot be measured",
            "one of the places has to be a GPU",
            "Write for example: polypath bench blocks host gpu0.",
        )
    setting: Setting = Simulated(machine, gpu) if machine else OnGpus(_gpu_of(gpu) or 0)
    ends = tuple(setting.context.nearest_host(gpu) if p == "host" else p for p in places)
    with progress_bar(f"blocks on {machine or 'the GPUs'}") as progress:
        results = measure_blocks(setting, (ends[0], ends[1]), sizes, count, progress)
    return _document("blocks", machine, results)


def show_calls(console: Console, document: Document) -> None:
    """Print measurements as a table."""
    first = document["results"][0]
    where = "simulated" if document["driver"] == "sim" else "on the GPUs"
    what = f"{first['blocks']} blocks" if "blocks" in first else "files in memory"
    ends = f"{first['source']} to {first['destination']}"
    heading(console, f"{document['machine']} ({where}): {what}, {ends}, next to {_native(first)}")
    console.print(_table(document["results"]))
    console.print("\nMedians. GB/s are 1e9 bytes/s; every byte compared.")


def _native(result: Document) -> str:
    return {"driver": "the driver's own copies", "PyTorch": "PyTorch's .to()"}.get(
        result["native"], f"the driver's {result['native']}"
    )


def _table(results: list[Document]) -> Table:
    numbers = ("size", "time", "GB/s", "native", "speed-up")
    table = new_table(*numbers, "verified", right=numbers)
    for result in results:
        table.add_row(
            size_text(result["bytes"]),
            time_text(result["seconds"]),
            gigabytes(result["bytes_per_second"]),
            gigabytes(result["native_bytes_per_second"]),
            gain_text(result["speedup"]),
            "yes" if result["verified"] else "no",
        )
    return table


def _document(operation: str, machine: str, results: list[Document]) -> Document:
    described = reports.machine(machine)
    host: Document = {"simulated": bool(machine), "cores": os.cpu_count()}
    if not machine:
        today = datetime.date.today().isoformat()
        gpus = sum(place["kind"] == "gpu" for place in described["places"])
        host |= {"gpus": gpus, "date": today}
    return {
        "schema": "polypath.bench/1",
        "machine": described["name"],
        "driver": "sim" if machine else "cuda",
        "operation": operation,
        "host": host,
        "results": results,
    }


def _check_places(places: Places, machine: str) -> None:
    described = reports.machine(machine)
    names = [place["name"] for place in described["places"]]
    for place in places:
        if place not in (*names, "host"):
            raise UnknownPlaceError(place, described["name"], names)


def _check_total(sizes: list[int], what: str, count: int = 1) -> None:
    if min(sizes) < 1:
        raise UserError(
            f"{what} of 0 bytes cannot be measured", "a size is at least 1", "Correct --sizes."
        )
    largest = max(sizes)
    remedy = f"Ask for less with --sizes{'' if count == 1 else ' or --pieces'}."
    together = "" if count == 1 else f"together they have {size_text(largest * count)}, "
    if largest * count > LARGEST:
        why = f"{together}at most {size_text(LARGEST)} are possible"
        raise UserError(f"{what} of {size_text(largest)} cannot be measured", why, remedy)
    needed, free = largest * count * OFTEN, _core.free_memory()
    if what != "a file" and needed > free:
        why = f"with copies to compare they take {size_text(needed)}, {size_text(free)} are free"
        raise UserError(f"{what} of {size_text(largest)} cannot be measured", why, remedy)


def _check_elements(sizes: list[int]) -> None:
    for size in sizes:
        if size % ITEM:
            raise UserError(
                f"a file of {size} B cannot be measured",
                f"it holds elements of {ITEM} bytes",
                "Correct --sizes.",
            )


def _gpu_of(place: str) -> int | None:
    found = re.fullmatch(r"gpu(0|[1-9]\d{0,3})", place, re.ASCII)
    return int(found[1]) if found else None


def _torch_with(gpu: int) -> Any:
    """Return PyTorch if it is here and sees that GPU."""
    try:
        torch = importlib.import_module("torch")
    except (ImportError, OSError):
        return None
    usable = torch.cuda.is_available() and gpu < torch.cuda.device_count()
    return torch if usable else None
