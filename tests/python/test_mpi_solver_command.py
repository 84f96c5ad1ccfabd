"""`polypath mpi --operations jacobi`: what the ranks are asked, and what is told. They are fake."""

from __future__ import annotations

from pathlib import Path

import bench_schemas
import jsonschema
import pytest
from cli_runner import Run, succeed
from fake_mpi import FakeMpi, install_fake_mpi


@pytest.fixture
def mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMpi:
    return install_fake_mpi(tmp_path, monkeypatch)


def bench(*arguments: object) -> Run:
    return succeed("mpi", *arguments, "--json", "-")


@pytest.mark.parametrize(
    ("options", "kernel"),
    [
        ((), "gpu"),
        (("--buffers", "managed"), "gpu"),
        (("--buffers", "pinned"), "host"),
        (("--buffers", "host"), "host"),
        (("--driver", "stand-in"), "host"),  # it runs no kernels
    ],
)
def test_a_solver_computes_where_its_memory_is(
    mpi: FakeMpi, tmp_path: Path, options: tuple[str, ...], kernel: str
) -> None:
    document = bench("--operations", "jacobi", "--sizes", "64K,1M", *options).json()

    jsonschema.Draft202012Validator(bench_schemas.BENCH_MPI).validate(document)
    for result in document["results"]:
        assert (result["kernel"], result["rows"], result["window"]) == (kernel, 8, 2)
        assert result["verified"] and result["verified_iterations"] == 20
    image = str(tmp_path / "package" / "jacobi.fatbin")
    assert [image in start["words"] for start in mpi.starts()] == [
        kernel == "gpu" for _ in mpi.starts()
    ]


def test_without_a_cuda_compiler_the_host_computes(mpi: FakeMpi, tmp_path: Path) -> None:
    (tmp_path / "package" / "jacobi.fatbin").unlink()

    (result,) = bench(
        "--operations", "jacobi", "--sizes", "1M", "--rows", "3", "--repeats", "2"
    ).json()["results"]  # fmt: skip

    assert (result["kernel"], result["rows"]) == ("host", 3)
    assert all("--image" not in start["words"] for start in mpi.starts())


def test_the_speedup_of_a_solver_is_that_of_its_iterations(mpi: FakeMpi) -> None:
    mpi.plan(native=[3.0, 2.0, 8.0], planned=[1.0, 2.0, 4.0])

    (result,) = bench(
        "--operations", "jacobi", "--sizes", "1M", "--repeats", "3"
    ).json()["results"]  # fmt: skip

    assert (result["seconds"], result["native_seconds"]) == (2.0, 3.0)
    assert (result["speedup"], result["speedups"]) == (2.0, [3.0, 1.0, 2.0])
    assert result["spread"]["seconds"]["maximum"] == 4.0


@pytest.mark.usefixtures("mpi")
def test_a_solver_has_a_table_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")

    text = succeed("mpi", "--operations", "bw,jacobi", "--sizes", "1M", "--repeats", "2").stdout

    heads = [line.split() for line in text.splitlines() if line.startswith("operation")]
    assert heads[1] == [
        "operation", "halo", "iteration", "native", "speed-up", "range", "kernel", "verified"
    ]  # fmt: skip
    rows = [line.split() for line in text.splitlines() if line.startswith("jacobi  ")]
    assert rows == [
        ["jacobi", "1", "MiB", "1.000", "s", "2.000", "s", "2.00x", "2.00-2.00", "gpu", "yes"]
    ]
    assert "8 rows of each rank are computed on GPUs" in " ".join(text.split())
