"""What today's model predicts of transfers that were measured on GPUs, beside what was predicted.

Usage: measured_predictions.py [--build FOLDER] [--rows]

For every row of put, h2d, d2h and bibw in results/h200x4 and results/h200x2 the very plan that ran
(its shares and chunks) is predicted anew on the calibrated machine of results/h200x4, without and
with what this calibration did not measure yet: the burst of the host's memory and what two threads
hold each other up. Both are found from measured rows as calibration finds them (probe/bursts.h,
probe/hold_up.h), so those rows are no test of the model; all others are. FOLDER (default
build/default) has the program polypath_report.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import tempfile
from pathlib import Path

from figure_text import size_text
from gpu_programs import ROOT, Machine
from gpu_targets import Json
from judge_gpus import LARGEST_ERRORS, PREDICTED_ABOVE
from units import MIB

RESULTS = ROOT / "results"
SOURCE = {"source": "rows"}
FEW, MORE, LONG, LONGER = 16 * MIB, 32 * MIB, 256 * MIB, 512 * MIB
HELD_UP = (1 * MIB, 4 * MIB, 16 * MIB)
CALLS_OF_A_COPY = 2  # the copy, and the wait for it


def rows_of(folder: str, series: str) -> list[Json]:
    """Return the rows of a series that was measured."""
    path = RESULTS / folder / f"{series}.json"
    rows: list[Json] = json.loads(path.read_text(encoding="utf-8"))["results"]
    return rows


def burst_of(rows: list[Json]) -> tuple[float, float, float]:
    """Return the rate and the size of a burst, and the rate that lasts, as calibration would."""
    time = {row["bytes"]: row["seconds"] for row in rows}
    rate = (MORE - FEW) / (time[MORE] - time[FEW])
    lasting = (LONGER - LONG) / (time[LONGER] - time[LONG])
    fixed = time[FEW] - FEW / rate
    return rate, LONG - lasting * (time[LONG] - fixed), lasting


def hold_up_of(rows: list[Json]) -> float:
    """Return what a call costs more while another thread calls."""
    more = [row["seconds"] - row["predicted_seconds"] for row in rows if row["bytes"] in HELD_UP]
    return float(sum(more)) / len(more) / CALLS_OF_A_COPY


def completed(machine: Json, folder: str) -> Json:
    """Return the machine with what its calibration did not measure yet."""
    machine = copy.deepcopy(machine)
    machine["sources"]["rows"] = f"Measured: rows of results/{folder}."
    rate, size, lasting = burst_of(rows_of("h200x4", "d2h"))
    for resource in machine["resources"]:
        if resource["name"] == "host0.write":
            resource["capacity"] = {"value": lasting, "unit": "B/s", **SOURCE}
            resource["burst"] = {
                "rate": {"value": rate, "unit": "B/s", **SOURCE},
                "size": {"value": int(size), "unit": "B", **SOURCE},
            }
    hold_up = hold_up_of(rows_of(folder, "bibw"))
    machine["costs"]["threads_hold_up"] = {"value": hold_up, "unit": "s", **SOURCE}
    return machine


def with_gpus(machine: Json, gpus: int) -> Json:
    """Return the machine with its first GPUs only."""
    gone = re.compile(rf"\bgpu([{gpus}-9])\b")
    kept = {
        key: [entry for entry in machine[key] if not gone.search(entry.get("name", ""))]
        for key in ("places", "resources")
    }
    hops = [hop for hop in machine["hops"] if not gone.search(f"{hop['from']} {hop['to']}")]
    return {**machine, **kept, "hops": hops}


def predicted(report: Machine, machine: Path, series: str, row: Json) -> float:
    """Return the predicted time of a row's plan."""
    asked: Json = {
        "machine": str(machine), "operation": series, "source": row["source"],
        "destination": row["destination"], "sizes": [row["bytes"]], "verify": False,
    }  # fmt: skip
    if row["executor"] == "native":
        asked["executor"] = "native"
    else:
        asked["executor"] = row["executor"]
        asked["shares"] = {path["via"]: path["share"] for path in row["paths"]}
        asked["chunks"] = {
            path["via"]: path["chunks"] for path in row["paths"] if path["via"] != "direct"
        }
    return float(report.ask("bench", asked)["results"][0]["predicted_seconds"])


def was_used(folder: str, series: str, row: Json) -> bool:
    """Return whether a number was taken from the row."""
    if series == "d2h":
        return folder == "h200x4" and row["bytes"] in (FEW, MORE, LONG, LONGER)
    return series == "bibw" and row["bytes"] in HELD_UP


def mean_error(errors: list[float]) -> str:
    """Return the mean of the magnitudes."""
    return f"{100 * sum(map(abs, errors)) / len(errors):.1f} %"


def judge(report: Machine, folder: str, machines: list[Path], series: str, all_rows: bool) -> None:
    """Print how far predictions of one series are off above 4 MiB."""
    before, same, after, unused = [], [], [], []
    for row in rows_of(folder, series):
        if row["bytes"] <= PREDICTED_ABOVE:
            continue
        without, completed_one = (predicted(report, each, series, row) for each in machines)
        before.append(row["predicted_seconds"] / row["seconds"] - 1)
        same.append(without / row["seconds"] - 1)
        after.append(completed_one / row["seconds"] - 1)
        if not was_used(folder, series, row):
            unused.append(after[-1])
        if all_rows:
            print(
                f"  {size_text(row['bytes']):>8} {1e6 * row['seconds']:9.1f} us, off "
                f"{before[-1]:+.1%} then, {same[-1]:+.1%} without, {after[-1]:+.1%} with"
            )
    print(
        f"{folder} {series:5} {mean_error(before)} then, {mean_error(same)} without burst and "
        f"hold-up, {mean_error(after)} with (limit {LARGEST_ERRORS[series]} %), "
        f"{mean_error(unused)} of rows that no number was taken from"
    )


def main() -> None:
    """Predict every measured row anew."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "default")
    parser.add_argument("--rows", action="store_true", help="every row, not only the means")
    options = parser.parse_args()
    calibrated = json.loads((RESULTS / "h200x4" / "machine.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as name:
        report = Machine(options.build, Path(name))
        for folder, gpus in (("h200x4", 4), ("h200x2", 2)):
            machines = []
            for kind, machine in (
                ("without", calibrated),
                ("with", completed(calibrated, folder)),
            ):
                report.write(f"{folder}-{kind}", with_gpus(machine, gpus))
                machines.append(Path(name) / f"{folder}-{kind}.json")
            for series in LARGEST_ERRORS:
                judge(report, folder, machines, series, options.rows)


if __name__ == "__main__":
    main()
