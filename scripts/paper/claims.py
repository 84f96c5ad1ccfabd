"""The speed-ups that the papers state, and ours under the paths that they used."""

from __future__ import annotations

from dataclasses import dataclass

from figure_text import size_text, table
from simulations import measure, results_of

SIZES = "32M:512M"  # the papers' largest messages


@dataclass(frozen=True)
class Claim:
    """A speed-up that a paper states for one GPU-to-GPU put."""

    machine: str
    paths: str
    executor: str
    stated: str
    source: str

    @property
    def file(self) -> str:
        """The name of its measurement."""
        return f"{self.machine}-put-as-in-paper-{self.executor}"


ALL_PATHS, HOST_PATH = "direct,gpu2,gpu3,host", "direct,host"
CLAIMS = (
    Claim("beluga", ALL_PATHS, "stream", "2.85", "2024, 2026"),
    Claim("beluga", ALL_PATHS, "graph", "2.95", "2026"),
    Claim("narval", ALL_PATHS, "stream", "2.75", "2024, 2026"),
    Claim("narval", ALL_PATHS, "graph", "2.85", "2026"),
    Claim("mist", HOST_PATH, "stream", "1.67", "2021"),
    Claim("cedar", HOST_PATH, "stream", "1.18", "2021"),
)


def simulate() -> None:
    """Simulate what the papers measured."""
    for claim in CLAIMS:
        options = ("--sizes", SIZES, "--paths", claim.paths, "--executor", claim.executor)
        measure(claim.file, "put", claim.machine, *options)


def claims_table() -> str:
    """Return the papers' stated speed-ups beside ours under the same paths."""
    rows = []
    for claim in CLAIMS:
        best = max(results_of(claim.file), key=lambda result: float(result["speedup"]))
        rows.append([
            f"`{claim.machine}`", claim.paths.replace(",", ", "), claim.executor, claim.stated,
            claim.source, f"{best['speedup']:.2f}", size_text(best["bytes"]),
        ])  # fmt: skip
    head = ["machine", "paths", "executor", "paper, measured", "paper", "ours, simulated", "at"]
    return table(head, rows)
