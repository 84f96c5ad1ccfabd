"""What `polypath run --report` says: how much was accelerated, what was missed, and why."""

from __future__ import annotations

from typing import Any

from polypath.cli.run_report import report_of, report_table
from polypath.launching import Launch
from rich.console import Console

MIB = 1 << 20


def outcome(text: str, accelerated: bool, large: int, missed: float) -> dict[str, Any]:
    """Return an outcome of one large copy and a small one."""
    return {
        "text": text,
        "accelerated": accelerated,
        "calls": 2,
        "bytes": large + 10,
        "large_bytes": large,
        "missed_seconds": missed,
    }


SEVERAL = (
    outcome("by streams", True, 6 * MIB, 0),
    outcome("preparing", False, 2 * MIB, 0.003),
    outcome("in use", False, 0, 0.001),
)


class CountedProcesses:
    """Processes that did not report at their end."""

    def __init__(self, *outcomes: dict[str, Any]) -> None:
        """Make one with these outcomes."""
        self.outcomes = list(outcomes)

    def processes(self) -> list[dict[str, Any]]:
        """Return it."""
        known = {"process": 7, "rank": None, "program": "app", "host": "here"}
        return [{**known, "driver_open": True, "complete": True, "outcomes": self.outcomes}]


def report(folder: Any, *outcomes: dict[str, Any]) -> dict[str, Any]:
    """Return the report of one process."""
    counted: Any = CountedProcesses(*outcomes)
    return report_of(Launch(("app",)), str(folder), counted, 0)


def text_of(made: dict[str, Any]) -> str:
    """Return the table as it is printed."""
    console = Console(width=120)
    with console.capture() as captured:
        console.print(report_table(made))
    return captured.get()


def test_the_sums_are_of_all_outcomes(tmp_path: Any) -> None:
    made = report(tmp_path, *SEVERAL)

    process = made["processes"][0]
    assert process["calls"] == 6
    assert process["accelerated_calls"] == 2
    assert process["large_bytes"] == 8 * MIB
    assert process["accelerated_large_bytes"] == 6 * MIB
    assert process["missed_seconds"] == 0.004


def test_the_table_says_what_cost_most_and_how_much(tmp_path: Any) -> None:
    made = report(tmp_path, *SEVERAL)

    row = text_of(made).splitlines()[-1]

    assert "75%" in row
    assert "4.000 ms" in row
    assert "preparing" in row


def test_without_large_copies_there_is_no_figure(tmp_path: Any) -> None:
    row = text_of(report(tmp_path, outcome("small", False, 0, 0))).splitlines()[-1]

    assert "%" not in row
    assert "small" in row
