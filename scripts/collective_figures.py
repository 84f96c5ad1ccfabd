"""Collectives against other libraries on real GPUs, as Markdown, from the file of one machine."""

from __future__ import annotations

import json
from pathlib import Path

from figure_text import GAINS, Document, size_text, table
from program_figures import host_text

NCCL = "NCCL"
AUTOMATIC = "auto"
MODES = ("eager", "graph")
NOTHING = "-"
GUIDE_SIZES = (64 << 10, 1 << 20, 64 << 20, 256 << 20, 1 << 30)
NO_FILE = "No measurement is stored."


def collectives_block(folder: Path, only: str = "", name: str = "collectives.json") -> str:
    """Return a table for each collective of a file, or for one kind of them."""
    file = folder / name
    if not file.exists():
        return NO_FILE
    document = json.loads(file.read_text(encoding="utf-8"))
    results = [each for each in document["results"] if each["algorithm"] == AUTOMATIC]
    if not all(each["verified"] for each in results):
        raise SystemExit(f"{name} holds a result that is not verified")
    kinds = list(dict.fromkeys(kind_of(each) for each in results))
    kinds = [kind for kind in kinds if only in ("", kind)]
    said = (
        f"{host_text(document['host'])}. One process per GPU, all libraries in turn in one run, "
        f"every element checked; `{document['command']}`. Microseconds, eager / captured graph, of "
        "the slowest rank, the median of the rounds; the ratios are the strongest rival's and "
        "NCCL's time over ours."
    )
    parts = [section(kind, [each for each in results if kind_of(each) == kind]) for kind in kinds]
    return "\n\n".join([said, *parts])


def product_block(folder: Path, name: str = "beside_product.json") -> str:
    """Return what a matrix product and an all-reduce lose beside each other, by library."""
    file = folder / name
    if not file.exists():
        return NO_FILE
    document = json.loads(file.read_text(encoding="utf-8"))
    head = ["library", "all-reduce alone", "together", "product alone", "together", "it loses"]
    rows = []
    by_algorithm = {each["chosen"]: each for each in reversed(document["results"])}
    own = [{"name": f"polypath ({name})", **each} for name, each in reversed(by_algorithm.items())]
    for each in (*own, *own[0]["rivals"]):
        alone, beside = each["product_alone_seconds"], each["product_seconds"]
        times = (each["alone_seconds"], each["seconds"], alone, beside)
        rows.append([each["name"], *(f"{time * 1e6:.0f}" for time in times),
                     f"{100 * (beside / alone - 1):.1f} %"])  # fmt: skip
    said = f"{host_text(document['host'])}; `{document['command']}`. Microseconds:"
    return f"{said}\n\n{table(head, rows)}"


def kind_of(result: Document) -> str:
    """Return what a table is about: the collective, the type and the reduction."""
    words = [result["operation"], result["type"], result.get("reduction", "")]
    return " ".join(word for word in words if word)


def section(kind: str, results: list[Document]) -> str:
    """Return one table, a size per row, with a column for each rival."""
    names = list(dict.fromkeys(rival["name"] for each in results for rival in each["rivals"]))
    versions = dict.fromkeys(f"{r['name']} {r['version']}" for e in results for r in e["rivals"])
    head = ["size", "polypath", "by", *names, "strongest rival / ours", f"{NCCL} / ours"]
    rows = [row(size, results, names) for size in sorted({each["bytes"] for each in results})]
    against = f" against {', '.join(versions)}" if versions else ""
    return f"`{kind}`{against}:\n\n{table(head, rows)}"


def row(size: int, results: list[Document], names: list[str]) -> list[str]:
    """Return the row of one size."""
    ours = {each["mode"]: each for each in results if each["bytes"] == size}
    rivals = {
        (rival["name"], rival["mode"]): rival["seconds"]
        for each in ours.values()
        for rival in each["rivals"]
    }
    chosen = list(dict.fromkeys(each["chosen"] for each in ours.values()))
    return [
        size_text(size),
        both({mode: each["seconds"] for mode, each in ours.items()}, 1e6, 1),
        ", ".join(chosen),
        *(both({m: rivals[name, m] for m in MODES if (name, m) in rivals}, 1e6, 1)
          for name in names),
        both(ratios(ours, rivals, names), 1, 2),
        both(ratios(ours, rivals, [NCCL]), 1, 2),
    ]  # fmt: skip


def ratios(
    ours: dict[str, Document], rivals: dict[tuple[str, str], float], names: list[str]
) -> dict[str, float]:
    """Return the time of the fastest of these rivals over ours, by mode."""
    found = {}
    for mode, own in ours.items():
        times = [rivals[name, mode] for name in names if (name, mode) in rivals]
        if times:
            found[mode] = min(times) / own["seconds"]
    return found


def both(by_mode: dict[str, float], unit: float, digits: int) -> str:
    """Return "13.0 / 10.6", eager and graph."""
    if not by_mode:
        return NOTHING
    texts = (f"{by_mode[m] * unit:.{digits}f}" if m in by_mode else NOTHING for m in MODES)
    return " / ".join(texts)


def guide_block(files: list[Path]) -> str:
    """Return NCCL's time over ours on each of several computers, a collective per row."""
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    hosts = "; ".join(host_text(document["host"]) for document in documents)
    rows = [line for document in documents for line in guide_rows(document)]
    said = f"{hosts}. NCCL's time over Polypath's, eager / captured graph:"
    return f"{said}\n\n{table(['GPUs', 'float32', *map(size_text, GUIDE_SIZES)], rows)}"


def guide_rows(document: Document) -> list[list[str]]:
    """Return the rows of one computer."""
    host = document["host"]
    gpus = f"{host['gpus']} \u00d7 {host['gpu'].removeprefix('NVIDIA ').split()[0]}"
    results = [
        each
        for each in document["results"]
        if each["algorithm"] == AUTOMATIC and each["type"] == "float32"
    ]
    operations = dict.fromkeys(each["operation"] for each in results)
    return [
        [
            gpus,
            f"`{name}`",
            *(guide_cell(name, size, results) for size in GUIDE_SIZES),
        ]
        for name in operations
    ]


def guide_cell(operation: str, size: int, results: list[Document]) -> str:
    """Return both ratios of one collective and size; bold where both are gains."""
    ours = {
        each["mode"]: each
        for each in results
        if (each["operation"], each["bytes"]) == (operation, size)
    }
    rivals = {
        (rival["name"], rival["mode"]): rival["seconds"]
        for each in ours.values()
        for rival in each["rivals"]
    }
    found = ratios(ours, rivals, [NCCL])
    gains = bool(found) and min(found.values()) >= GAINS
    return f"**{both(found, 1, 2)}**" if gains else both(found, 1, 2)
