"""What an experiment comes to: rows beside the papers' figures, and curves.

Deviation of a row: d = ours / paper - 1. |d| <= 0.1 is `agrees`; beyond it a row is `explained` by
its sentence and a command. A paper's `<= x` is kept if ours <= x. A shape (no figure) `holds` or is
`explained`. A number that a machine file was fitted to is `fitted`: it confirms nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

from polypath import reports
from polypath.cli.papers.sources import Paper

TOLERANCE = 0.10
MIB = 1 << 20
Result = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One figure or one observation of a paper, beside ours."""

    papers: tuple[Paper, ...]
    what: str
    machine: str
    stated: str  # as the paper has it: "2.85", "up to 1.15", or what it observed
    ours: float | None  # the figure that compares with it; None for an observation
    found: str  # ours as people read it
    sentence: str
    command: str
    paper: float | None = None
    at_most: bool = False  # the paper's figure is a bound
    holds: bool | None = None  # of an observation
    fitted: bool = False

    @property
    def deviation(self) -> float | None:
        """Return ours / paper - 1, where there are two figures to compare."""
        if self.ours is None or not self.paper or self.at_most:
            return None
        return self.ours / self.paper - 1

    @property
    def verdict(self) -> str:
        """Return `fitted`, `agrees`, `holds` or `explained`."""
        if self.fitted:
            return "fitted"
        if self.deviation is not None:
            return "agrees" if abs(self.deviation) <= TOLERANCE else "explained"
        return "holds" if self._keeps() else "explained"

    def _keeps(self) -> bool:
        if self.at_most and self.ours is not None and self.paper is not None:
            return self.ours <= self.paper
        return bool(self.holds)


@dataclass(frozen=True)
class Curve:
    """A line of a plot: y over x."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Plot:
    """Curves that belong together; x is a size in bytes unless `x` says otherwise."""

    title: str
    y: str
    curves: tuple[Curve, ...]
    x: str = "bytes"


@dataclass
class Outcome:
    """Rows and plots of one experiment."""

    rows: list[Row] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)


@dataclass
class Bench:
    """Measures what experiments ask for, each thing once."""

    progress: Callable[[], None] = lambda: None
    _kept: dict[str, list[Result]] = field(default_factory=dict)

    def copies(self, operation: str, machine: str, sizes: list[int], **how: Any) -> list[Result]:
        """Return what reports.bench measures between gpu0 and gpu1, without comparing bytes."""
        key = repr((operation, machine, sizes, sorted(how.items())))
        if key not in self._kept:
            document = reports.bench(
                operation, "gpu0", "gpu1", sizes, machine=machine, verify=False, **how
            )
            self._kept[key] = document["results"]
            self.progress()
        return self._kept[key]

    def collective(
        self,
        name: str,
        machine: str,
        size: int,
        algorithm: str,
        paths: str,
        nodes: int | None = None,
    ) -> float:
        """Return the seconds that a collective takes by one algorithm."""
        document = reports.collective_bench(
            name,
            [size],
            machine=machine,
            nodes=nodes,
            algorithms=[algorithm],
            paths=paths,
            verify=False,
        )
        self.progress()
        return float(document["results"][0]["seconds"])

    def jacobi(
        self, machine: str, size: int, executor: str, paths: str = "auto", efficiency: float = 1
    ) -> Result:
        """Return what a Jacobi solver takes in one way, with halos of `size` bytes."""
        key = repr(("jacobi", machine, size, executor, paths, efficiency))
        if key not in self._kept:
            document = reports.jacobi_bench(
                [size],
                machine=machine,
                executors=[executor],
                paths=[paths],
                kernel_efficiency=efficiency,
                verify=False,
            )
            self._kept[key] = document["results"]
            self.progress()
        return self._kept[key][0]


def doubling(first: int, last: int) -> list[int]:
    """Return `first` doubled up to `last`, in MiB each, as bytes."""
    sizes = [first * MIB]
    while sizes[-1] < last * MIB:
        sizes.append(sizes[-1] * 2)
    return sizes


def best(results: list[Result]) -> Result:
    """Return the result with the highest speed-up."""
    return max(results, key=lambda result: float(result["speedup"]))


def speedups(name: str, results: list[Result]) -> Curve:
    """Return speed-up over size."""
    return Curve(name, tuple((r["bytes"], round(r["speedup"], 4)) for r in results))
