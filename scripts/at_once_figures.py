"""What all GPUs of a machine do with the host's memory at the same time, as Markdown."""

from __future__ import annotations

from pathlib import Path

from figure_text import GAINS, Document, size_text, table
from program_figures import host_text, read

PATTERNS = ("scatter", "collect", "ring", "pairs", "fan-out", "gather")


def at_once_block(folder: Path) -> str:
    """Return what patterns of copies gain, and a model's weights on one GPU and on all."""
    parts = (
        patterns_text(read(folder, "copy_many")),
        weights_text(read(folder, "weights_at_once")),
    )
    return "\n\n".join(parts)


def patterns_text(document: Document) -> str:
    """Return the speed-up of each pattern, a size per column."""
    results = document["results"]
    refuse_unverified([each for name in PATTERNS for each in results[name]])
    sizes = [each["bytes"] for each in results[PATTERNS[0]]]
    rows = [
        [f"`{name}`", *(gain(each) for each in sorted(results[name], key=lambda r: r["bytes"]))]
        for name in PATTERNS
    ]
    said = f"{host_text(document['host'])}; `{document['command']}`:"
    return f"{said}\n\n{table(['pattern', *map(size_text, sizes)], rows)}"


def weights_text(document: Document) -> str:
    """Return what loading, storing and swapping gains, on one GPU and on several at once."""
    results = document["results"]
    refuse_unverified(results)
    rows = [
        [
            f"{each['gpus']} GPU{'s' if each['gpus'] > 1 else ''}", each["way"],
            f"{1e3 * each['native_seconds']:.0f}", f"{1e3 * each['seconds']:.0f}",
            f"{each['native_bytes_per_second'] / 1e9:.1f}", f"{each['bytes_per_second'] / 1e9:.1f}",
            gain(each),
        ]
        for each in results
    ]  # fmt: skip
    said = (
        f"{host_text(document['host'])}; {document['program']}; `{document['command']}`, "
        f"{size_text(results[0]['bytes'])} for each GPU, pinned:"
    )
    head = ["GPUs", "way", "PyTorch, ms", "ms", "PyTorch's GB/s", "GB/s", "speed-up"]
    return f"{said}\n\n{table(head, rows)}"


def gain(result: Document) -> str:
    """Return a speed-up, bold where there is a gain."""
    speedup = float(result["speedup"])
    return f"**{speedup:.2f}**" if speedup >= GAINS else f"{speedup:.2f}"


def refuse_unverified(results: list[Document]) -> None:
    """End the program if something was not compared, or was wrong."""
    if not all(each["verified"] for each in results):
        raise SystemExit("a result of what was done at once is not verified")
