"""What became of the copies of a program and all its processes, put together after its end."""

from __future__ import annotations

import json
import os
from pathlib import Path

from rich.table import Table

from polypath.cli.output import Document
from polypath.cli.run_counts import Counts
from polypath.cli.sentences import Sentence
from polypath.cli.supervised_run import shell_status
from polypath.cli.tables import new_table
from polypath.cli.units import size_text, time_text
from polypath.launching import Launch


def report_of(launch: Launch, folder: str, counts: Counts | None, status: int) -> Document:
    """Return what the processes have written and counted: schema polypath.run/1."""
    processes = [json.loads(file.read_text("utf-8")) for file in Path(folder).glob("*.json")]
    reported = {(each["host"], each["process"]) for each in processes}
    for each in counts.processes() if counts is not None else ():
        if (each["host"], each["process"]) not in reported:
            processes.append(each)
    processes.sort(key=_order)
    return {
        "schema": "polypath.run/1",
        "command": [os.fsencode(part).decode("utf-8", "replace") for part in launch.arguments],
        "way": launch.way,
        "status": shell_status(status),
        "processes": [{**process, **_sums(process)} for process in processes],
    }


def _order(process: Document) -> tuple[int, str, int]:
    rank = process["rank"] or ""
    return (int(rank) if rank.isdigit() else 1 << 31, process["host"], process["process"])


def _sums(process: Document) -> dict[str, float]:
    counts = ("calls", "bytes", "large_bytes")
    sums: dict[str, float] = dict.fromkeys((f"accelerated_{what}" for what in counts), 0)
    sums |= dict.fromkeys((*counts, "missed_seconds"), 0)
    for outcome in process["outcomes"]:
        sums["missed_seconds"] += outcome["missed_seconds"]
        for what in counts:
            sums[what] += outcome[what]
            sums[f"accelerated_{what}"] += outcome[what] if outcome["accelerated"] else 0
    return sums


def report_table(report: Document) -> Table:
    """Return a row for each process that had a driver or made copies."""
    numbers = ("rank", "process", "copies", "bytes", "large ones", "missed")
    table = new_table("rank", "process", "program", *numbers[2:], "mostly", right=numbers)
    for process in _in_use(report):
        table.add_row(
            process["rank"] or "-",
            str(process["process"]),
            process["program"],
            str(process["calls"]),
            size_text(process["bytes"]),
            _coverage(process),
            time_text(process["missed_seconds"]) if process["missed_seconds"] else "-",
            Sentence(_main_reason(process)),
        )
    return table


def nccl_table(report: Document) -> Table | None:
    """Return a row for each operation and end of NCCL's calls, of all processes; None without."""
    calls: dict[tuple[str, str], list[int]] = {}
    for process in report["processes"]:
        for row in (process.get("nccl") or {}).get("calls", ()):
            counted = calls.setdefault((row["operation"], row["by"]), [0, 0])
            counted[0] += row["calls"]
            counted[1] += row["bytes"]
    if not calls:
        return None
    table = new_table("NCCL's", "calls", "bytes", "made by", right=("calls", "bytes"))
    for (operation, by), (count, size) in sorted(calls.items()):
        table.add_row(operation, str(count), size_text(size), Sentence(by))
    return table


def why_not_text(report: Document) -> str:
    """Return why communicators of NCCL are left to it; empty if none are."""
    reasons = {(each.get("nccl") or {}).get("why_not", "") for each in report["processes"]}
    said = " ".join(sorted(reason for reason in reasons if reason))
    return f"Communicators are left to NCCL: {said}" if said else ""


def _coverage(process: Document) -> str:
    """Say how much of its large copies was accelerated."""
    if not process["large_bytes"]:
        return "-"
    return f"{process['accelerated_large_bytes'] / process['large_bytes']:.0%}"


def _main_reason(process: Document) -> str:
    """Say by what most time was missed; if none was, what became of most bytes."""
    what = "missed_seconds" if process["missed_seconds"] else "bytes"
    most = max(process["outcomes"], key=lambda outcome: outcome[what], default=None)
    return most["text"] if most else "loaded, 0 copies"


def rest_text(report: Document) -> str:
    """Return a line on processes that are not in the table, or not whole; empty without any."""
    rest = len(report["processes"]) - len(_in_use(report))
    if not report["processes"]:
        return "No process has reported: the library was not loaded. 'polypath doctor' looks at it."
    cut = sum(not each["complete"] for each in _in_use(report))
    sentences = []
    if cut:
        sentences.append(
            f"{_processes(cut)} of these: killed, left by _exit or still there, counted up to then."
        )
    if rest:
        more = " more" if _in_use(report) else ""
        sentences.append(f"{_processes(rest, more)}: loaded, 0 copies, no driver.")
    return " ".join(sentences)


def _processes(count: int, more: str = "") -> str:
    return f"{count}{more} process{'' if count == 1 else 'es'}"


def _in_use(report: Document) -> list[Document]:
    return [each for each in report["processes"] if each["driver_open"] or each["calls"]]
