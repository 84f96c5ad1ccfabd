"""The figures of automatic plans on simulated machines, as Markdown."""

from __future__ import annotations

from figure_text import factor, shares_text, size_text, table
from simulations import PLACES, RESULTS, measure, polypath, results_of

MACHINES = ("beluga", "narval", "mist", "cedar", "h200x4", "dgx-a100")
SIZES = "2M,8M,32M,128M,512M"


def simulate() -> None:
    """Simulate all operations on all machines, and the plan that a picture shows."""
    plans = RESULTS / "plans"
    plans.mkdir(parents=True, exist_ok=True)
    for machine in MACHINES:
        for operation in PLACES:
            measure(f"{machine}-{operation}", operation, machine, "--sizes", SIZES)
    polypath(
        "plan", "gpu0", "gpu1", "64M", "--machine", "beluga",  # as the tutorial does
        "--json", str(plans / "beluga-64M.json"),
    )  # fmt: skip


def summary_table() -> str:
    """Return the speed-ups of automatic plans at two sizes, a machine per row."""
    sizes = (32 << 20, 512 << 20)
    rows = []
    for machine in MACHINES:
        row = [f"`{machine}`"]
        for operation in PLACES:
            by_size = {result["bytes"]: result for result in results_of(f"{machine}-{operation}")}
            row.append(" / ".join(factor(by_size[size]) for size in sizes))
        rows.append(row)
    return table(["machine", *(f"`{operation}`" for operation in PLACES)], rows)


def full_table(machine: str) -> str:
    """Return every automatic result of one machine."""
    rows = []
    for operation in PLACES:
        for result in results_of(f"{machine}-{operation}"):
            rows.append([
                f"`{operation}`", size_text(result["bytes"]),
                f"{result['native_bytes_per_second'] / 1e9:.1f}",
                f"{result['bytes_per_second'] / 1e9:.1f}", factor(result), result["executor"],
                shares_text(result),
            ])  # fmt: skip
    head = ["operation", "size", "native GB/s", "GB/s", "speed-up", "runs as", "shares"]
    return table(head, rows)


def performance_block() -> str:
    """Return what stands between the markers of docs/performance.md."""
    return "\n\n".join(f"#### {machine}\n\n{full_table(machine)}" for machine in MACHINES)
