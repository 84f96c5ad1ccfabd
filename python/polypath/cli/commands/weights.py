"""`polypath weights [SRC DST]`: weights onto a GPU and back, next to PyTorch's own copies."""

from __future__ import annotations

import importlib
import re
from typing import Annotated, Any

from rich.console import Console
from rich.table import Table

from polypath import parse_bytes
from polypath.cli.arguments import pair
from polypath.cli.commands.bench import check_verified
from polypath.cli.declared import Option
from polypath.cli.errors import UserError
from polypath.cli.options import CsvOption, JsonOption, OptionalDestination, OptionalSource
from polypath.cli.output import Document, progress_bar
from polypath.cli.results import Results
from polypath.cli.suggestions import meant_place
from polypath.cli.tables import gain_text, heading, new_table
from polypath.cli.units import gigabytes, size_text, time_text
from polypath.cli.weight_copies import measure_weights

MOST_REPEATS = 1000


def weights(
    source: OptionalSource = None,
    destination: OptionalDestination = None,
    total: Annotated[str, Option("--total", metavar="SIZE", help="Bytes of all tensors.")] = "16G",
    repeats: Annotated[
        int, Option("--repeats", metavar="COUNT", help="How often each copy is timed.")
    ] = 5,
    json_target: JsonOption = None,
    csv: CsvOption = None,
) -> None:
    """Move a model's weights onto a GPU and back, next to PyTorch's own copies.

    Without SRC and DST it is host gpu0. It needs PyTorch.
    """
    results = Results(json_target, csv).checked()
    nbytes = _total(total)
    _check_repeats(repeats)
    gpu = _gpu(pair(source, destination) or ("host", "gpu0"))
    document = _document(_torch(gpu), gpu, nbytes, repeats)
    results.write(document)
    show_weights(results.console(), document)
    check_verified(document, wanted=True)


def show_weights(console: Console, document: Document) -> None:
    """Print the measurements as a table."""
    first = document["results"][0]
    heading(
        console,
        f"{document['machine']}: {first['tensors']} tensors, {size_text(first['bytes'])}, "
        "next to PyTorch's own copies",
    )
    console.print(_table(document["results"]))
    console.print("\nMedians. GB/s are 1e9 bytes/s; every byte compared.")


def _check_repeats(repeats: int) -> None:
    if not 1 <= repeats <= MOST_REPEATS:
        raise UserError(
            f"{repeats} repeats cannot be made", f"1 to {MOST_REPEATS} are possible", "Correct it."
        )


def _document(torch: Any, gpu: int, nbytes: int, repeats: int) -> Document:
    _check_fits(torch, gpu, nbytes)
    name = torch.cuda.get_device_name(gpu)
    try:
        with progress_bar(f"weights on {name}") as progress:
            results = measure_weights(torch, gpu, nbytes, repeats, progress)
    except torch.cuda.OutOfMemoryError:
        raise _too_large(nbytes, _free_text(torch, gpu)) from None
    except RuntimeError as error:  # what PyTorch raises where the host has too little
        if "memory" not in str(error):
            raise
        raise _too_large(nbytes, f"PyTorch says: {str(error).splitlines()[0]}") from None
    return {
        "schema": "polypath.bench/1",
        "machine": name,
        "driver": "cuda",
        "operation": "weights",
        "host": {"simulated": False, "torch": torch.__version__, "cuda": torch.version.cuda},
        "results": results,
    }


def _check_fits(torch: Any, gpu: int, nbytes: int) -> None:
    """Refuse what a GPU's free memory cannot hold, before its tensors are listed and made."""
    if nbytes > torch.cuda.mem_get_info(gpu)[0]:
        raise _too_large(nbytes, _free_text(torch, gpu))


def _free_text(torch: Any, gpu: int) -> str:
    return f"GPU {gpu} has {size_text(torch.cuda.mem_get_info(gpu)[0])} free"


def _too_large(nbytes: int, why: str) -> UserError:
    return UserError(
        f"{size_text(nbytes)} of weights do not fit", why, "Ask for less with --total."
    )


def _total(text: str) -> int:
    nbytes = parse_bytes(text)
    if nbytes < 2 or nbytes % 2:
        raise UserError(
            f"a total of {text} cannot be used",
            "weights have 2 bytes each",
            "Write for example 4G.",
        )
    return nbytes


def _gpu(places: tuple[str, str]) -> int:
    """Return the number of the one GPU among two places."""
    gpu = _gpu_among(places)
    if gpu is not None:
        return gpu
    meant = tuple(meant_place(place) for place in places)
    suggested = f" Did you mean {' '.join(meant)}?" if _gpu_among(meant) is not None else ""
    raise UserError(
        f"weights cannot move from {places[0]} to {places[1]}",
        "they move between the host and one GPU, both ways",
        f"Write for example: polypath weights host gpu1.{suggested}",
    )


def _gpu_among(places: tuple[str, ...]) -> int | None:
    gpus = [place for place in places if re.fullmatch(r"gpu(0|[1-9]\d{0,3})", place, re.ASCII)]
    hosts = [place for place in places if re.fullmatch(r"host\d*", place, re.ASCII)]
    return int(gpus[0].removeprefix("gpu")) if len(gpus) == len(hosts) == 1 else None


def _loaded_torch() -> Any:
    problem, remedy = "weights cannot be moved", "Install it: pip install torch."
    try:
        return importlib.import_module("torch")
    except (ImportError, OSError) as error:
        if getattr(error, "name", None) in ("torch", None) and isinstance(error, ImportError):
            why = "PyTorch is not installed here, and they are its tensors"
            raise UserError(problem, why, remedy) from None
        why = f"PyTorch cannot be loaded: {error}"
        raise UserError(problem, why, "Install it anew: pip install torch.") from None


def _torch(gpu: int) -> Any:
    torch = _loaded_torch()
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
        table.add_row(
            result["source"],
            result["destination"],
            result["memory"],
            time_text(result["seconds"]),
            gigabytes(result["bytes_per_second"]),
            gigabytes(result["native_bytes_per_second"]),
            gain_text(result["speedup"]),
            "yes" if result["verified"] else "no",
        )
    return table
