"""The one table of README.md: what transfers gain on GPUs, and where they gain nothing.

A row is made of all rounds of one kind of transfer; where there are several, cells are ranges.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

from figure_text import Document, size_text, table
from one_gpu_figures import Rounds, rounds_of
from program_figures import host_text, read

SIZES = (16 << 20, 64 << 20, 256 << 20)
CLEARLY = 1.02  # less could be the difference of two runs
FOUR = {
    "host to GPU, pinned": "h2d",
    "GPU to host, pinned": "d2h",
    "GPU to GPU": "put",
    "GPU to GPU, both ways": "bibw",
}


def readme_table(four: Path, ones: list[Path]) -> str:
    """Return the table: transfers of four GPUs, pageable memory of one, all GPUs at once."""
    kinds = {name: [read(four, file)] for name, file in FOUR.items()}
    many = read(four, "copy_many")
    together = {"host": many["host"], "results": many["results"]["scatter"]}
    pageable = [each for folder in ones for each in rounds_of(folder)]
    lists = [*kinds.values(), pageable, [together]]
    refuse_unverified(lists)
    rows = [row(name, rounds) for name, rounds in kinds.items()]
    rows += [row("host to GPU, pageable, one GPU", pageable)]
    rows += [row("host to all GPUs at once, pinned", [together])]
    head = ["transfer", *map(size_text, SIZES), "GB/s at 256 MiB: native, Polypath", "gains from"]
    others = "; ".join(dict.fromkeys(host_text(each["host"]) for each in pageable))
    return (
        f"**Measured** on {host_text(together['host'])}. Of pageable memory on {others}; "
        f"{len(pageable)} runs. Each cell is the time of the driver's own copy over that of "
        "Polypath; bold where every run gained 2 % or more, as from the size in the last column "
        f"on.\n\n{table(head, rows)}"
    )


def row(name: str, rounds: Rounds) -> list[str]:
    """Return one kind of transfer: ratios, rates of the largest size, and from where it gains."""
    large = [result for each in rounds for result in of_size(each, SIZES[-1])]
    native = median(result["native_bytes_per_second"] for result in large) / 1e9
    ours = median(result["bytes_per_second"] for result in large) / 1e9
    ratios = [ratio_text([r for each in rounds for r in of_size(each, size)]) for size in SIZES]
    return [name, *ratios, f"{native:.1f}, {ours:.1f}", gains_from(rounds)]


def of_size(document: Document, size: int) -> list[Document]:
    """Return the results of one size."""
    return [result for result in document["results"] if result["bytes"] == size]


def ratio_text(results: list[Document]) -> str:
    """Return a speed-up, or from where to where it goes; bold if all of them are gains."""
    found = sorted(result["speedup"] for result in results)
    text = " to ".join(dict.fromkeys(f"{value:.2f}" for value in (found[0], found[-1])))
    return f"**{text}**" if found[0] >= CLEARLY else text


def gains_from(rounds: Rounds) -> str:
    """Return the least size from which on every size gained clearly in every round."""
    results = [result for each in rounds for result in each["results"]]
    sizes = sorted({result["bytes"] for result in results}, reverse=True)
    least = None
    for size in sizes:
        if min(r["speedup"] for r in results if r["bytes"] == size) < CLEARLY:
            break
        least = size
    return "nowhere" if least is None else size_text(least)


def refuse_unverified(lists: list[Rounds]) -> None:
    """End the program if something was not compared, or was wrong."""
    if not all(r["verified"] for rounds in lists for each in rounds for r in each["results"]):
        raise SystemExit("a result of the table of README.md is not verified")
