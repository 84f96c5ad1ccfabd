"""What was found of planted faults, and how that stands beside what was found before."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SCHEMA = "polypath.found_faults/1"


@dataclass(frozen=True)
class Finding:
    """What became of one fault."""

    name: str
    layer: str
    suite: str  # that found it; empty: none
    test: str
    seconds: float  # until then, or of all that was run
    tests: int  # that were run
    coming_by: int  # tests that come by the fault

    @property
    def found(self) -> bool:
        """Return whether a test found it."""
        return bool(self.suite)

    def words(self) -> str:
        """Return what became of it, for people."""
        if self.found:
            return f"{self.suite} {self.test}, {self.seconds:.1f} s"
        if self.coming_by == 0:
            return "no test comes by"
        return f"not found by {self.tests} of {self.coming_by} tests, {self.seconds:.0f} s"


def share(findings: Sequence[Finding]) -> float:
    """Return the part that was found."""
    return sum(each.found for each in findings) / max(len(findings), 1)


def write_findings(path: Path, commit: str, findings: Sequence[Finding]) -> None:
    """Write them as JSON."""
    document = {
        "schema": SCHEMA,
        "commit": commit,
        "found": sum(each.found for each in findings),
        "of": len(findings),
        "faults": [asdict(each) for each in findings],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


def read_findings(path: Path) -> tuple[str, list[Finding]]:
    """Return the commit and the findings of a file."""
    document: dict[str, Any] = json.loads(path.read_text())
    if document.get("schema") != SCHEMA:
        raise ValueError(f"{path} is not of schema {SCHEMA}")
    return document["commit"], [Finding(**each) for each in document["faults"]]


def side_by_side(before: Sequence[Finding], now: Sequence[Finding]) -> list[str]:
    """Return a line for each fault, then one for the share; of faults that both know."""
    earlier = {each.name: each for each in before}
    both = [(earlier[each.name], each) for each in now if each.name in earlier]
    lines = [f"{'fault':<6} {'layer':<13} {'before':<62} now"]
    for old, new in both:
        lines.append(f"{new.name:<6} {new.layer:<13} {_cut(old.words(), 62):<62} {new.words()}")
    lines.append(
        f"found: {_count([old for old, _ in both])} before, {_count([new for _, new in both])} now"
    )
    return lines


def is_worse(before: Sequence[Finding], now: Sequence[Finding]) -> bool:
    """Return whether a smaller share was found of the faults that both know."""
    known = {each.name for each in before} & {each.name for each in now}
    return share([each for each in now if each.name in known]) < share(
        [each for each in before if each.name in known]
    )


def table_of_layers(before: Sequence[Finding], now: Sequence[Finding]) -> list[str]:
    """Return a table in Markdown, a row for each layer and one for all."""
    layers = list(dict.fromkeys(each.layer for each in now))
    lines = ["| layer | faults | found before | found now | median seconds before | now |"]
    lines.append("|---|---|---|---|---|---|")
    for layer in (*layers, ""):
        old = [each for each in before if layer in ("", each.layer)]
        new = [each for each in now if layer in ("", each.layer)]
        found = f"{sum(each.found for each in old)} | {sum(each.found for each in new)}"
        times = f"{_median(old)} | {_median(new)}"
        lines.append(f"| {f'`{layer}`' if layer else 'all'} | {len(new)} | {found} | {times} |")
    return lines


def _median(findings: Sequence[Finding]) -> str:
    seconds = [each.seconds for each in findings if each.found]
    return f"{statistics.median(seconds):.1f}" if seconds else ""


def _count(findings: Sequence[Finding]) -> str:
    found = sum(each.found for each in findings)
    return f"{found} of {len(findings)} ({100 * share(findings):.0f} %)"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
