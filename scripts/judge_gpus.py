"""What was measured on GPUs beside what it should reach."""

from __future__ import annotations

from figure_text import size_text
from gpu_programs import Machine, heading
from gpu_targets import TARGETS, Json, Target
from units import MIB

PREDICTED_ABOVE = 4 * MIB  # below, calls and waits outweigh what is predicted
LARGEST_ERRORS = {"put": 5, "h2d": 5, "d2h": 5, "bibw": 8}  # per cent, of a series' mean


def judge(machine: Machine) -> None:
    """Print every target beside its worst figure, and how far predictions are off."""
    heading("Targets")
    for target in TARGETS:
        rows = [
            row
            for row in rows_of(machine, target.series)
            if target.smallest <= row["bytes"] <= target.largest
        ]
        if rows:
            judge_target(machine, target, min(rows, key=lambda row: float(row["speedup"])))
        else:
            print(f"{target.series:24} not measured")
    for name, limit in LARGEST_ERRORS.items():
        judge_predictions(machine, name, limit)


def rows_of(machine: Machine, series: str) -> list[Json]:
    """Return the results of a series; none if it was not measured."""
    answer = machine.read(series)
    rows: list[Json] = answer["results"] if answer else []
    return rows


def judge_target(machine: Machine, target: Target, worst: Json) -> None:
    """Print a target beside the worst of its figures, and note a miss."""
    met = worst["speedup"] >= target.ratio
    sizes = f"{size_text(target.smallest):>8} to {size_text(target.largest):>8}"
    print(
        f"{target.series:24} {sizes} target {target.ratio:.2f} worst {worst['speedup']:.3f} "
        f"at {size_text(worst['bytes']):>8} {'met' if met else 'MISSED'}"
    )
    if not met:
        machine.failures.append(f"{target.series} target {target.ratio}")


def judge_predictions(machine: Machine, name: str, limit: float) -> None:
    """Print the mean error of a series' predictions of large messages."""
    errors = [
        abs(row["predicted_seconds"] / row["seconds"] - 1)
        for row in rows_of(machine, name)
        if row["bytes"] > PREDICTED_ABOVE and row["predicted_seconds"] is not None
    ]
    if errors:
        mean = 100 * sum(errors) / len(errors)
        verdict = "met" if mean < limit else "MISSED"
        print(f"{name:24} mean prediction error {mean:.1f} % (limit {limit} %) {verdict}")
