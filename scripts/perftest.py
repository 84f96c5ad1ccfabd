"""UCX's own benchmark, ucx_perftest, between two GPUs."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from rounds_in_turn import TimedPart, Timings, output_of, started
from units import GIB, KIB, MIB

COMMAND = "taskset -c CORE polypath run -- ucx_perftest localhost -f -v -b FILE"
SIZES = [8, 64 * KIB, MIB, 16 * MIB, 64 * MIB, 128 * MIB, 256 * MIB]  # of bandwidth
TESTS = {
    "ucp_put_bw": SIZES,
    "tag_bw": SIZES,
    "ucp_put_lat": [8, 64 * KIB],
    "tag_lat": [8, 64 * KIB],
}


def perftest_part(name: str, largest: int) -> TimedPart:
    """Return UCX's benchmark with messages up to a size; it checks no bytes."""
    try:
        program = f"ucx_perftest of libucx-cu13 {importlib.metadata.version('libucx-cu13')}"
    except importlib.metadata.PackageNotFoundError:
        program = "ucx_perftest"
    return TimedPart(name, program, COMMAND, lambda planned: _timings(planned, largest))


def _find() -> tuple[str, dict[str, str]]:
    """Return the program and its environment: of the wheel, else of the PATH."""
    package = importlib.util.find_spec("libucx")
    if package is not None and package.origin is not None:
        folder = Path(package.origin).parent
        earlier = os.environ.get("LD_LIBRARY_PATH", "")  # which may lead to the system's UCX
        variables = {"LD_LIBRARY_PATH": f"{folder / 'lib'}:{earlier}"}
        return str(folder / "bin" / "ucx_perftest"), variables
    program = shutil.which("ucx_perftest")
    if program is None:
        raise RuntimeError("there is no ucx_perftest: pip install libucx-cu13")
    return program, {}


def _batch(largest: int) -> str:
    """Return one line per measurement, as ucx_perftest -b wants it."""
    lines = []
    for test, sizes in TESTS.items():
        for size in (size for size in sizes if size <= largest):
            count = max(40, min(20000, (8 * GIB) // size))
            lines.append(f"{test}:{size} -t {test} -m cuda -s {size} -n {count} -w {count // 10}")
    return "\n".join(lines) + "\n"


def _free_port() -> str:
    """Return a TCP port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return str(listener.getsockname()[1])


def _wait_for_listener(port: str, server: subprocess.Popen[bytes]) -> None:
    """Wait until the server listens on its port, without connecting to it."""
    sought = f":{int(port):04X} 00000000:0000 0A"
    for _ in range(200):
        if sought in Path("/proc/net/tcp").read_text(encoding="ascii"):
            return
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"nobody listens on port {port}")


def _timings(planned: bool, largest: int) -> Timings:
    """Run server and client on two GPUs and a core each; return the times of one message."""
    program, variables = _find()
    with tempfile.NamedTemporaryFile("w", suffix=".batch") as batch:
        batch.write(_batch(largest))
        batch.flush()
        words = [program, "-b", batch.name, "-p", _free_port()]
        return _read(_client_output(words, planned, variables))


def _client_output(words: list[str], planned: bool, variables: dict[str, str]) -> str:
    cores = sorted(os.sched_getaffinity(0))
    first, second = ["taskset", "-c", str(cores[0])], ["taskset", "-c", str(cores[len(cores) // 2])]
    server = subprocess.Popen(
        [*first, *started(words, planned)],
        stdout=subprocess.DEVNULL,  # its errors are shown
        env={**os.environ, **variables},
    )
    try:
        _wait_for_listener(words[-1], server)
        client = [*words, "localhost", "-f", "-v"]
        return output_of([*second, *started(client, planned)], False, **variables)
    finally:
        server.kill()
        server.wait()


def _read(text: str) -> Timings:
    timings: Timings = {}
    for line in text.splitlines():
        name, *columns = line.split(",")
        if ":" in name:
            test, size = name.split(":")
            timings[test, int(size)] = float(columns[3]) * 1e-6  # the overall time
    return timings
