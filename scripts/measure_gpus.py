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
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
STEPS = ("test", "calibrate", "bench", "simulate", "issue")
SMALL = [8, 512, 4 * KIB, 64 * KIB, 256 * KIB]
LARGE = [MIB << i for i in range(11)]  # 1 MiB to 1 GiB
WITHOUT_PEERS = {"POLYPATH_PEER_ACCESS": "0"}

Json = dict[str, Any]


@dataclass
class Series:
    """One benchmark: what is asked, under which environment, and the native call it is beside."""

    name: str
    request: Json
    native: str
    environment: dict[str, str] = field(default_factory=dict)

    def command(self) -> str:
        """Return the command that measures the same."""
        asked = self.request
        settings = "".join(f"{name}={value} " for name, value in self.environment.items())
        sizes = ",".join(str(size) for size in asked["sizes"])
        pair = f"{asked['source']} {asked['destination']}"
        return f"{settings}polypath bench {asked['operation']} {pair} --sizes {sizes}"


@dataclass
class Target:
    """A ratio that a series must reach at these sizes."""

    series: str
    smallest: int
    largest: int
    ratio: float


def request(operation: str, source: str, destination: str, sizes: list[int]) -> Json:
    """Return a bench request."""
    return {"operation": operation, "source": source, "destination": destination, "sizes": sizes}


SERIES = [
    Series("put", request("put", "gpu0", "gpu1", SMALL + LARGE), "cuMemcpyDtoDAsync, peer access"),
    Series("bibw", request("bibw", "gpu0", "gpu1", SMALL + LARGE), "two cuMemcpyDtoDAsync"),
    Series("h2d", request("h2d", "host0", "gpu0", SMALL + LARGE), "cuMemcpyHtoDAsync, pinned"),
    Series("d2h", request("d2h", "gpu0", "host0", SMALL + LARGE), "cuMemcpyDtoHAsync, pinned"),
    Series(
        "pageable_h2d",
        request("pageable", "host0", "gpu0", SMALL + LARGE),
        "cuMemcpyHtoDAsync, malloc memory",
    ),
    Series(
        "pageable_d2h",
        request("pageable", "gpu0", "host0", SMALL + LARGE),
        "cuMemcpyDtoHAsync, malloc memory",
    ),
    Series(
        "put_without_peer_access",
        request("put", "gpu0", "gpu1", SMALL + LARGE),
        "cuMemcpyDtoDAsync, no peer access",
        WITHOUT_PEERS,
    ),
]

TARGETS = [
    Target("put", 256 * MIB, GIB, 1.10),
    Target("put", 64 * MIB, 64 * MIB, 1.03),
    Target("put_without_peer_access", 64 * MIB, GIB, 1.35),
    Target("bibw", 256 * MIB, GIB, 1.02),
    Target("bibw", 8, GIB, 0.99),
    Target("h2d", 64 * MIB, GIB, 2.6),
    Target("h2d", 16 * MIB, 16 * MIB, 2.2),
    Target("d2h", 64 * MIB, GIB, 2.0),
    Target("pageable_h2d", 256 * MIB, GIB, 4.0),
    Target("pageable_d2h", 256 * MIB, GIB, 2.5),
    *(Target(series.name, 8, GIB, 0.98) for series in SERIES),
]


class Machine:
    """The programs of the `gpu` preset, and where their answers go."""

    def __init__(self, build: Path, output: Path) -> None:
        self.build, self.output = build, output
        self.failures: list[str] = []
        self.series = [series.name for series in SERIES]
        output.mkdir(parents=True, exist_ok=True)

    def provide_programs(self) -> None:
        """Build the preset unless its programs are there."""
        if (self.build / "tests" / "polypath_report").exists():
            return
        jobs = str(os.cpu_count() or 2)
        subprocess.run(["cmake", "--preset", "gpu"], cwd=ROOT, check=True)
        subprocess.run(["cmake", "--build", "--preset", "gpu", "-j", jobs], cwd=ROOT, check=True)

    def ask(self, kind: str, asked: Json, environment: dict[str, str] | None = None) -> Json:
        """Return the answer to one request; raise if there is none."""
        run = subprocess.run(
            [str(self.build / "tests" / "polypath_report"), kind],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            env={**os.environ, **(environment or {})},
            check=False,
        )
        if run.returncode != 0:
            raise RuntimeError(run.stderr.strip() or f"{kind} exits with {run.returncode}")
        answer: Json = json.loads(run.stdout)
        return answer

    def write(self, name: str, content: object) -> None:
        """Write one JSON file of the results."""
        text = json.dumps(content, indent=1)
        (self.output / f"{name}.json").write_text(text + "\n", encoding="utf-8")

    def read(self, name: str) -> Json | None:
        """Return an earlier answer, if there is one."""
        path = self.output / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def heading(text: str) -> None:
    """Print a section heading."""
    print(f"\n==== {text}", flush=True)


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


def size_text(size: int) -> str:
    """Return a size as people write it."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


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
        if series.name not in machine.series:
            continue
        heading(f"{series.name} beside {series.native}")
        try:
            answer = machine.ask("bench", series.request, series.environment)
        except RuntimeError as error:
            print(error)
            machine.failures.append(series.name)
            continue
        answer["native_call"] = series.native
        answer["command"] = series.command()
        machine.write(series.name, answer)
        for row in answer["results"]:
            print(row_text(row))
            if not row["verified"]:
                machine.failures.append(f"{series.name} {size_text(row['bytes'])}: wrong bytes")


def simulate(machine: Machine) -> None:
    """Compare the speed-ups that the simulator predicts for the calibrated machine."""
    table = []
    for series in SERIES:
        measured = machine.read(series.name)
        peers = "" if not series.environment else "_without_peer_access"
        path = machine.output / f"machine{peers}.json"
        if measured is None or not path.exists() or series.request["operation"] == "pageable":
            continue
        asked = {**series.request, "machine": str(path), "sizes": LARGE, "verify": False}
        simulated = {row["bytes"]: row for row in machine.ask("bench", asked)["results"]}
        for row in measured["results"]:
            if row["bytes"] not in simulated:
                continue
            expected = simulated[row["bytes"]]
            table.append(
                {
                    "series": series.name,
                    "bytes": row["bytes"],
                    "measured_speedup": row["speedup"],
                    "simulated_speedup": expected["speedup"],
                    "measured_seconds": row["seconds"],
                    "simulated_seconds": expected["seconds"],
                    "deviation": expected["speedup"] / row["speedup"] - 1,
                }
            )
            print(
                f"{series.name:24} {size_text(row['bytes']):>8} measured {row['speedup']:6.3f}x "
                f"simulated {expected['speedup']:6.3f}x {100 * table[-1]['deviation']:+6.1f} %"
            )
    machine.write("simulated", {"date": datetime.date.today().isoformat(), "results": table})


def issue(machine: Machine) -> None:
    """Measure how long the calling thread is busy."""
    sizes = [8, 64 * KIB, MIB, 16 * MIB, 64 * MIB, 256 * MIB, GIB]
    answers = []
    for source, destination in (("gpu0", "gpu1"), ("host0", "gpu0")):
        asked = {**request("put", source, destination, sizes), "repeats": 50}
        answer = machine.ask("issue", asked)
        answers.append(answer)
        print(f"{source} -> {destination}")
        for row in answer["results"]:
            print(
                f"{size_text(row['bytes']):>8} {row['how']:>22} {row['seconds'] * 1e6:8.2f} us "
                f"{row['nodes']:3} copies"
            )
    machine.write("issue", answers)


def judge(machine: Machine) -> None:
    """Print every target beside its worst figure."""
    heading("Targets")
    for target in TARGETS:
        answer = machine.read(target.series)
        rows = [
            row
            for row in (answer["results"] if answer else [])
            if target.smallest <= row["bytes"] <= target.largest
        ]
        if not rows:
            print(f"{target.series:24} not measured")
            continue
        worst = min(rows, key=lambda row: float(row["speedup"]))
        met = worst["speedup"] >= target.ratio
        sizes = f"{size_text(target.smallest):>8} to {size_text(target.largest):>8}"
        print(
            f"{target.series:24} {sizes} target {target.ratio:.2f} worst {worst['speedup']:.3f} "
            f"at {size_text(worst['bytes']):>8} {'met' if met else 'MISSED'}"
        )
        if not met:
            machine.failures.append(f"{target.series} target {target.ratio}")
    judge_predictions(machine)


def judge_predictions(machine: Machine) -> None:
    """Print the mean error of predictions above 4 MiB, one way and both ways."""
    for name, limit in (("put", 5), ("h2d", 5), ("d2h", 5), ("bibw", 8)):
        answer = machine.read(name)
        errors = [
            abs(row["predicted_seconds"] / row["seconds"] - 1)
            for row in (answer["results"] if answer else [])
            if row["bytes"] > 4 * MIB and row["predicted_seconds"] is not None
        ]
        if errors:
            mean = 100 * sum(errors) / len(errors)
            verdict = "met" if mean < limit else "MISSED"
            print(f"{name:24} mean prediction error {mean:.1f} % (limit {limit} %) {verdict}")


ACTIONS = {
    "test": run_tests,
    "calibrate": calibrate,
    "bench": bench,
    "simulate": simulate,
    "issue": issue,
}


def main() -> int:
    """Run the steps asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "gpu")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "this-computer")
    parser.add_argument("--only", nargs="*", choices=STEPS, default=list(STEPS))
    parser.add_argument("--series", nargs="*", choices=[series.name for series in SERIES])
    parser.add_argument("--skip", nargs="*", choices=STEPS, default=[])
    arguments = parser.parse_args()
    machine = Machine(arguments.build, arguments.output)
    machine.series = arguments.series or machine.series
    machine.provide_programs()
    for step in STEPS:
        if step in arguments.only and step not in arguments.skip:
            start = time.monotonic()
            heading(step)
            ACTIONS[step](machine)
            print(f"({step}: {time.monotonic() - start:.0f} s)", flush=True)
    judge(machine)
    for failure in machine.failures:
        print(f"failed: {failure}")
    return 1 if machine.failures else 0


if __name__ == "__main__":
    sys.exit(main())
