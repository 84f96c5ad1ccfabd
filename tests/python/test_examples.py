"""The programs of examples/ do what they say; test_collectives.py has that of collectives."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from polypath import install, reports

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
# Where the CUDA headers are: a toolkit's, or those of the packages in requirements/build.txt.
CUDA_HEADERS = [
    folder
    for folder in (
        *(Path(path) / "nvidia/cu13/include" for path in sys.path),
        Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include"),
    )
    if (folder / "cuda.h").exists()
]

needs_stand_in = pytest.mark.skipif(
    not (install.stand_in_dir() / "libcuda.so.1").exists(),
    reason="the package was built without the stand-in driver",
)


def on_the_stand_in(*command: object, **settings: str) -> subprocess.CompletedProcess[str]:
    seen = {**os.environ, **settings, "LD_LIBRARY_PATH": str(install.stand_in_dir())}
    seen["STANDIN_STRICT"] = "1"
    return subprocess.run(
        [str(word) for word in command], env=seen, capture_output=True, text=True, check=False
    )


@needs_stand_in
def test_plain_copies_know_nothing_of_polypath() -> None:
    run = on_the_stand_in(sys.executable, EXAMPLES / "plain_copies.py")

    assert run.returncode == 0, run.stderr
    assert re.fullmatch(r"8 copies of 64 MiB in [\d.]+ ms, every byte right\n", run.stdout)


@needs_stand_in
@pytest.mark.skipif(not install.preload_library().exists(), reason="there is no preload library")
def test_plain_copies_take_several_paths_under_it(tmp_path: Path) -> None:
    program = (sys.executable, EXAMPLES / "plain_copies.py")
    report = tmp_path / "report.json"

    run = on_the_stand_in(
        *(sys.executable, "-m", "polypath.cli", "run", "--report", report, "--", *program),
        POLYPATH_PREPARE="now",
        STANDIN_MACHINE="beluga",
    )

    assert run.returncode == 0, run.stderr
    (process,) = (p for p in json.loads(report.read_text())["processes"] if p["driver_open"])
    assert process["accelerated_bytes"] >= 8 * (64 << 20)


@needs_stand_in
@pytest.mark.skipif(not CUDA_HEADERS, reason="there is no cuda.h")
def test_own_stream(tmp_path: Path) -> None:
    program, library = tmp_path / "own_stream", install.library_dir()
    driver = install.stand_in_dir() / "libcuda.so.1"

    subprocess.run(
        ["cc", "-Wall", "-Wextra", "-Werror", EXAMPLES / "own_stream.c", "-o", program,
         f"-I{CUDA_HEADERS[0]}", f"-I{install.include_dir()}", f"-L{library}", "-lpolypath",
         driver, f"-Wl,-rpath,{library}"],
        check=True,
    )  # fmt: skip
    run = on_the_stand_in(program)

    assert (run.returncode, run.stdout) == (0, "268435456 bytes are right\n"), run.stderr


def test_allreduce_in_c(tmp_path: Path) -> None:
    program, library = tmp_path / "allreduce", install.library_dir()

    subprocess.run(
        ["cc", "-Wall", "-Wextra", "-Werror", EXAMPLES / "allreduce.c", "-o", program,
         f"-I{install.include_dir()}", f"-L{library}", "-lpolypath", f"-Wl,-rpath,{library}",
         "-pthread"],
        check=True,
    )  # fmt: skip
    run = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)

    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.startswith("1048576 sums are right after ")


@needs_stand_in
def test_weights(tmp_path: Path) -> None:
    run = on_the_stand_in(sys.executable, EXAMPLES / "weights.py", 32, TMPDIR=str(tmp_path))

    assert run.returncode == 0, run.stderr
    *rows, last = run.stdout.splitlines()
    assert [row.split("  ")[0] for row in rows] == [
        "load(path, into=buffers)",
        "copy_blocks of 256 blocks",
    ]
    assert last == "every byte is right"
    assert run.stderr == ""


def test_faster_pcie_doubles_what_the_host_carries(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"

    subprocess.run([sys.executable, EXAMPLES / "faster_pcie.py", file], check=True)

    def from_host(machine: str) -> float:
        (hop,) = (h for h in reports.machine(machine)["hops"] if (h["from"], h["to"]) == HOST_HOP)
        rate: float = hop["bandwidth"]["value"]
        return rate

    assert from_host(str(file)) == 2 * from_host("beluga")


HOST_HOP = ("host0", "gpu0")
