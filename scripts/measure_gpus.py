"""Builds, checks, calibrates and measures Polypath on this computer's GPUs beside the targets.

Usage: measure_gpus.py [--build FOLDER] [--output FOLDER] [--skip STEP ...] [--only STEP ...]

Steps: test, calibrate, bench, simulate, issue. FOLDER (default build/gpu) holds the programs of the
CMake preset `gpu`; they are built if they are not there. Every figure is written to OUTPUT as JSON
(schemas in docs/json.md) with date, driver and the command that stands for it. Exit status 1 if a
check failed or a target was missed.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import time
from pathlib import Path

from figure_text import size_text
from gpu_programs import ROOT, Machine, heading
from gpu_targets import LARGE, SERIES, WITHOUT_PEERS, Json, Series, request
from judge_gpus import judge
from units import GIB, KIB, MIB

STEPS = ("test", "calibrate", "bench", "simulate", "issue")
ISSUED = [8, 64 * KIB, MIB, 16 * MIB, 64 * MIB, 256 * MIB, GIB]


def run_tests(machine: Machine) -> None:
    """Run the conformance suite and the property tests on the CUDA driver."""
    run = subprocess.run(
        [str(machine.build / "tests" / "test_gpu"), "--gtest_brief=1"],
        capture_output=True,
        text=True,
        check=False,
    )
    print(run.stdout[-4000:], run.stderr[-1000:])
    if run.returncode != 0:
        machine.failures.append("test_gpu")


def calibrate(machine: Machine) -> None:
    """Measure the machine, with peer access and without, and keep both files."""
    for name, environment in (("machine", {}), ("machine_without_peer_access", WITHOUT_PEERS)):
        start = time.monotonic()
        try:
            answer = machine.ask("calibrate", {}, environment)
        except RuntimeError as error:
            print(f"{name}: {error}")
            machine.failures.append(name)
            continue
        machine.write(name, answer.pop("calibrated"))
        machine.write(f"{name}_numbers", answer)
        print(f"{name}: {time.monotonic() - start:.1f} s")


def row_text(row: Json) -> str:
    """Return one measured size as a line."""
    predicted = row["predicted_seconds"]
    error = "      -" if predicted is None else f"{100 * (predicted / row['seconds'] - 1):+6.1f}%"
    paths = " ".join(f"{p['via']}:{100 * p['share']:.1f}%/{p['chunks']}" for p in row["paths"])
    rate, native = row["bytes_per_second"] / 1e9, row["native_bytes_per_second"] / 1e9
    return (
        f"{size_text(row['bytes']):>8} {row['executor']:>7} {row['seconds'] * 1e6:10.1f} us "
        f"{rate:7.1f} GB/s native {native:7.1f} {row['speedup']:6.3f}x model {error} "
        f"{'ok' if row['verified'] else 'WRONG'}  {paths}"
    )


def bench(machine: Machine) -> None:
    """Run every series on the GPUs."""
    for series in SERIES:
        if series.name in machine.series:
            heading(series.name)
            try:
                bench_series(machine, series)
            except RuntimeError as error:
                print(error)
                machine.failures.append(series.name)


def bench_series(machine: Machine, series: Series) -> None:
    """Measure, keep and print one series."""
    answer = machine.ask("bench", series.request, series.environment)
    answer["command"] = series.command()
    machine.write(series.name, answer)
    print(f"beside {answer['native_call']}")
    for row in answer["results"]:
        print(row_text(row))
        if not row["verified"]:
            machine.failures.append(f"{series.name} {size_text(row['bytes'])}: wrong bytes")


def simulate(machine: Machine) -> None:
    """Compare the speed-ups that the simulator predicts for the calibrated machine."""
    table = []
    for series in SERIES:
        for row in compared(machine, series):
            table.append(row)
            print(
                f"{row['series']:24} {size_text(row['bytes']):>8} measured "
                f"{row['measured_speedup']:6.3f}x simulated {row['simulated_speedup']:6.3f}x "
                f"{100 * row['deviation']:+6.1f} %"
            )
    machine.write("simulated", {"date": datetime.date.today().isoformat(), "results": table})


def compared(machine: Machine, series: Series) -> list[Json]:
    """Return a row for each size of a series that is both measured and simulated."""
    measured = machine.read(series.name)
    peers = "" if not series.environment else "_without_peer_access"
    path = machine.output / f"machine{peers}.json"
    if measured is None or not path.exists() or series.request["operation"] == "pageable":
        return []
    asked = {**series.request, "machine": str(path), "sizes": LARGE, "verify": False}
    simulated = {row["bytes"]: row for row in machine.ask("bench", asked)["results"]}
    return [
        comparison(series.name, row, simulated[row["bytes"]])
        for row in measured["results"]
        if row["bytes"] in simulated
    ]


def comparison(series: str, measured: Json, simulated: Json) -> Json:
    """Return one size of a series, measured beside simulated."""
    return {
        "series": series,
        "bytes": measured["bytes"],
        "measured_speedup": measured["speedup"],
        "simulated_speedup": simulated["speedup"],
        "measured_seconds": measured["seconds"],
        "simulated_seconds": simulated["seconds"],
        "deviation": simulated["speedup"] / measured["speedup"] - 1,
    }


def issue(machine: Machine) -> None:
    """Measure how long the calling thread is busy."""
    answers = []
    for source, destination in (("gpu0", "gpu1"), ("host0", "gpu0")):
        asked = {**request("put", source, destination, ISSUED), "repeats": 50}
        answers.append(machine.ask("issue", asked))
        print(f"{source} -> {destination}")
        for row in answers[-1]["results"]:
            print(
                f"{size_text(row['bytes']):>8} {row['how']:>22} {row['seconds'] * 1e6:8.2f} us "
                f"{row['nodes']:3} copies"
            )
    machine.write("issue", answers)


ACTIONS = {
    "test": run_tests,
    "calibrate": calibrate,
    "bench": bench,
    "simulate": simulate,
    "issue": issue,
}


def read_arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "gpu")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "this-computer")
    parser.add_argument("--only", nargs="*", choices=STEPS, default=list(STEPS))
    parser.add_argument("--series", nargs="*", choices=[series.name for series in SERIES])
    parser.add_argument("--skip", nargs="*", choices=STEPS, default=[])
    return parser.parse_args()


def run_steps(machine: Machine, steps: list[str]) -> None:
    """Run these steps in the order of STEPS, and say how long each takes."""
    for step in STEPS:
        if step in steps:
            start = time.monotonic()
            heading(step)
            ACTIONS[step](machine)
            print(f"({step}: {time.monotonic() - start:.0f} s)", flush=True)


def main() -> int:
    """Run the steps asked for."""
    arguments = read_arguments()
    machine = Machine(arguments.build, arguments.output)
    machine.series = arguments.series or machine.series
    machine.provide_programs()
    run_steps(machine, [step for step in arguments.only if step not in arguments.skip])
    judge(machine)
    for failure in machine.failures:
        print(f"failed: {failure}")
    return 1 if machine.failures else 0


if __name__ == "__main__":
    sys.exit(main())
