"""What `polypath run --report` says: how much was accelerated, what was missed, and why."""

from __future__ import annotations

import csv
from typing import Any

from polypath.cli.csv_files import write_csv
from polypath.cli.run_report import nccl_table, report_of, report_table, why_not_text
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


def test_csv_has_a_row_per_outcome(tmp_path: Any) -> None:
    write_csv(report(tmp_path, *SEVERAL), str(tmp_path / "out.csv"))

    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    assert [row["text"] for row in rows] == ["by streams", "preparing", "in use"]
    assert [row["process"] for row in rows] == ["7", "7", "7"]
    assert sum(float(row["missed_seconds"]) for row in rows) == 0.004


def test_a_process_without_copies_is_a_row_of_csv(tmp_path: Any) -> None:
    write_csv(report(tmp_path), str(tmp_path / "out.csv"))

    (row,) = csv.DictReader((tmp_path / "out.csv").open())
    assert (row["program"], row["complete"]) == ("app", "True")
    assert (row["calls"], row["bytes"], row["text"]) == ("0", "0", "")


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


def nccl_row(operation: str, by: str, calls: int, size: int) -> dict[str, Any]:
    """Return calls of one operation and size."""
    accelerated = by == "Polypath"
    counted = {"calls": calls, "bytes": size, "accelerated": accelerated}
    return {"operation": operation, "least_bytes": 1024, "by": by, **counted}


def test_calls_of_nccl_are_added_up_over_processes_and_sizes(tmp_path: Any) -> None:
    made = report(tmp_path, *SEVERAL)
    first = made["processes"][0]
    first["nccl"] = {
        "why_not": "",
        "calls": [
            nccl_row("allreduce", "Polypath", 3, 3 * MIB),
            nccl_row("allreduce", "NCCL", 1, 5),
        ],
    }
    second = {**first, "nccl": {"why_not": "no kernels", "calls": first["nccl"]["calls"][:1]}}
    made["processes"].append(second)
    console = Console(width=120)

    with console.capture() as captured:
        console.print(nccl_table(made))

    lines = [" ".join(line.split()) for line in captured.get().splitlines()]
    assert "allreduce 6 6 MiB Polypath" in lines
    assert "allreduce 1 5 B NCCL" in lines
    assert why_not_text(made) == "Communicators are left to NCCL: no kernels"


def test_without_nccl_nothing_is_said_of_it(tmp_path: Any) -> None:
    made = report(tmp_path, *SEVERAL)

    assert nccl_table(made) is None
    assert why_not_text(made) == ""
