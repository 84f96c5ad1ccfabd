"""`polypath bench weights [SRC DST]`: weights onto a GPU and back, beside PyTorch's own copies."""

from __future__ import annotations

import importlib
import re
from typing import Any

from rich.table import Table
from rich.text import Text

from polypath import _core
from polypath.cli.arguments import pair
from polypath.cli.errors import UserError
from polypath.cli.output import Document, console_for, progress_bar, write_json
from polypath.cli.tables import heading, new_table
from polypath.cli.units import factor_text, gigabytes, size_text, time_text
from polypath.cli.weights import measure_weights

MOST_REPEATS = 1000


def bench_weights(
    source: str | None,
    destination: str | None,
    total: str,
    repeats: int,
    json_target: str | None,
) -> Document:
    """Measure, show and write what moving weights takes; return the document."""
    nbytes = _total(total)
    if not 1 <= repeats <= MOST_REPEATS:
        raise UserError(
            f"{repeats} repeats cannot be made", f"1 to {MOST_REPEATS} are possible", "Correct it."
        )
    gpu = _gpu(pair(source, destination) or ("host", "gpu0"))
    torch = _torch(gpu)
    document = _document(torch, gpu, nbytes, repeats)
    write_json(document, json_target)
    console = console_for(json_target)
    first = document["results"][0]
    heading(
        console,
        f"{document['machine']}: {first['tensors']} tensors, {size_text(first['bytes'])}, "
        "beside PyTorch's own copies",
    )
    console.print(_table(document["results"]))
    console.print("\nMedians. GB/s are 1e9 bytes/s; every byte compared.")
    return document


def refuse_for_weights(machine: str | None, plot: str | None, choice: str | None) -> None:
    """Refuse options of other operations that weights cannot obey."""
    for option, value in (("--machine", machine), ("--plot", plot), ("a choice of paths", choice)):
        if value is not None:
            raise UserError(
                f"weights take no {option.removeprefix('a ')}",
                "they are tensors on this computer's GPUs, moved as a program would",
                "Leave it out.",
            )


def _document(torch: Any, gpu: int, nbytes: int, repeats: int) -> Document:
    name = torch.cuda.get_device_name(gpu)
    try:
        with progress_bar(f"weights on {name}") as progress:
            results = measure_weights(torch, gpu, nbytes, repeats, progress)
    except torch.cuda.OutOfMemoryError:
        raise UserError(
            f"{size_text(nbytes)} of weights do not fit",
            f"GPU {gpu} has {size_text(torch.cuda.mem_get_info(gpu)[0])} free",
            "Ask for less with --total.",
        ) from None
    return {
        "schema": "polypath.bench/1",
        "machine": name,
        "driver": "cuda",
        "operation": "weights",
        "host": {"simulated": False, "torch": torch.__version__, "cuda": torch.version.cuda},
        "results": results,
    }


def _total(text: str) -> int:
    nbytes = _core.parse_bytes(text)
    if nbytes < 2 or nbytes % 2:
        raise UserError(
            f"a total of {text} cannot be used",
            "weights have 2 bytes each",
            "Write for example 4G.",
        )
    return nbytes


def _gpu(places: tuple[str, str]) -> int:
    """Return the number of the one GPU among two places."""
    gpus = [place for place in places if re.fullmatch(r"gpu\d+", place)]
    hosts = [place for place in places if re.fullmatch(r"host\d*", place)]
    if len(gpus) == len(hosts) == 1:
        return int(gpus[0][3:])
    raise UserError(
        f"weights cannot move from {places[0]} to {places[1]}",
        "they move between the host and one GPU, both ways",
        "Write for example: polypath bench weights host gpu1.",
    )


def _torch(gpu: int) -> Any:
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise UserError(
            "weights cannot be moved",
            "PyTorch is not installed here, and they are its tensors",
            "Install it: pip install torch.",
        ) from None
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if gpu < gpus:
        return torch
    raise UserError(
        f"weights cannot be moved to gpu{gpu}",
        f"PyTorch sees {gpus} GPUs, and a simulated one cannot hold tensors",
        "Run it where that GPU is; 'polypath bench h2d' works on simulated ones.",
    )


def _table(results: list[Document]) -> Table:
    numbers = ("time", "GB/s", "PyTorch's", "speed-up")
    table = new_table("from", "to", "host memory", *numbers, "verified", right=numbers)
    for result in results:
        gain = result["speedup"]
        style = "green" if gain >= 1.01 else "red" if gain < 0.99 else ""
        table.add_row(
            result["source"],
            result["destination"],
            result["memory"],
            time_text(result["seconds"]),
            gigabytes(result["bytes_per_second"]),
            gigabytes(result["native_bytes_per_second"]),
            Text(factor_text(gain), style=style),
            "yes" if result["verified"] else "no",
        )
    return table
