"""The solver of the MPI program, under the MPI that is there: on hosts, and on a GPU that is fake.

The fake one (fake_gpu.c) runs a kernel when its stream is waited for, in memory of the host.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from mpi_program import QUICK, Ended, run
from mpi_search import ROOT, needs_mpi
from polypath import install

pytestmark = [needs_mpi, pytest.mark.usefixtures("mpi_on_the_path")]

ON_GPU = ("--operations", "jacobi", "--warm-up", "1", "--iterations", "3")
ON_HOST = (*QUICK, "--operations", "jacobi")
CHECKS = 2  # before what is timed, and after it
HALOS = 2  # of a rank, compared as well


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the fake driver; beside it is an image that it takes."""
    folder = tmp_path_factory.mktemp("gpu")
    source = Path(__file__).with_name("fake_gpu.c")
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", source]
    subprocess.run([*command, "-o", folder / "libcuda.so.1"], check=True)
    (folder / "jacobi.fatbin").write_bytes(b"image\0of the kernel")
    return folder


def run_on(gpu: Path, program: Path, ranks: int, *arguments: str, **variables: str) -> Ended:
    """Run the solver on the fake GPU; MPI sees memory of the host."""
    return run(program, ranks, *ON_GPU, *arguments, LD_LIBRARY_PATH=str(gpu), **variables)


def assert_solved(ended: Ended, ranks: int, sizes: list[int], rows: int, kernel: str) -> None:
    assert ended.status == 0, ended.errors
    assert [result["bytes"] for result in ended.results] == sizes
    for result in ended.results:
        assert result["verified"] is True
        compared = CHECKS * ranks * (rows + HALOS) * result["bytes"]
        assert result["compared_bytes"] == compared
        assert (result["kernel"], result["rows"], result["ranks"]) == (kernel, rows, ranks)
        assert result["verified_iterations"] == 20
        # Halos of all ranks over the time of an iteration.
        moved = result["bytes_per_second"] * result["seconds"]
        assert moved == pytest.approx(HALOS * ranks * result["bytes"])


# A word, several pieces of what is solved at a time, and a last piece that is a part of one.
SIZES = [16, 4096, 100_000]


@pytest.mark.parametrize(("ranks", "rows"), [(2, 8), (3, 1), (4, 5)])
def test_every_rank_has_the_serial_solvers_rows(program: Path, ranks: int, rows: int) -> None:
    sizes = ",".join(map(str, SIZES))

    ended = run(program, ranks, *ON_HOST, "--sizes", sizes, "--rows", str(rows))

    assert_solved(ended, ranks, SIZES, rows, "host")


def test_large_halos_say_after_how_few_iterations_they_are_compared(program: Path) -> None:
    ended = run(program, 2, *ON_HOST, "--sizes", "64K,2M")

    assert [result["verified_iterations"] for result in ended.results] == [20, 8]
    assert all(result["verified"] for result in ended.results)
    # Twice 2 ranks with 8 rows and 2 halos, each of the whole 2 MiB.
    assert ended.results[1]["compared_bytes"] == 2 * 2 * 10 * 2**21


@pytest.mark.parametrize(("ranks", "rows"), [(2, 8), (3, 2)])
def test_the_kernel_solves_the_same(program: Path, gpu: Path, ranks: int, rows: int) -> None:
    sizes = ",".join(map(str, SIZES))

    ended = run_on(gpu, program, ranks, "--sizes", sizes, "--rows", str(rows),
                   "--image", str(gpu / "jacobi.fatbin"))  # fmt: skip

    assert_solved(ended, ranks, SIZES, rows, "gpu")


def test_without_an_image_the_host_computes_between_copies(program: Path, gpu: Path) -> None:
    ended = run_on(gpu, program, 2, "--sizes", "64K")

    assert_solved(ended, 2, [65536], 8, "host")


def test_memory_that_kernels_do_not_compute_in_leaves_it_to_the_host(
    program: Path, gpu: Path
) -> None:
    ended = run_on(gpu, program, 2, "--sizes", "64K", "--buffers", "pinned",
                   "--image", str(gpu / "jacobi.fatbin"))  # fmt: skip

    assert_solved(ended, 2, [65536], 8, "host")


def test_a_kernel_that_rounds_in_another_order_is_found(program: Path, gpu: Path) -> None:
    ended = run_on(gpu, program, 2, "--sizes", "64K", "--image", str(gpu / "jacobi.fatbin"),
                   FAULT="kernel")  # fmt: skip

    assert ended.status == 1
    assert ended.results[0]["verified"] is False and ended.results[0]["wrong_bytes"] > 0
    assert any("wrong elements after 20 iterations" in line for line in ended.errors)


@pytest.mark.parametrize("fault", ["lose all", "flip all", "repeat"])
def test_a_mistake_of_the_mpi_is_found(program: Path, faults: Path, fault: str) -> None:
    ended = run(program, 2, *ON_HOST, "--sizes", "64K", LD_PRELOAD=str(faults), FAULT=fault)

    (result,) = ended.results
    assert ended.status == 1
    assert result["verified"] is False and result["wrong_bytes"] > 0
    assert ended.events[-1]["wrong_bytes"] == result["wrong_bytes"]


def test_without_a_check_nothing_claims_to_be_verified(program: Path) -> None:
    ended = run(program, 2, *ON_HOST, "--sizes", "64K", "--no-check")

    (result,) = ended.results
    assert result["verified"] is False
    assert (result["compared_bytes"], result["verified_iterations"]) == (0, 0)


@pytest.mark.parametrize(("content", "words"), [(None, "cannot be opened"), (b"no", "IMAGE")])
def test_an_image_that_cannot_be_used_is_an_error(
    program: Path, gpu: Path, tmp_path: Path, content: bytes | None, words: str
) -> None:
    image = tmp_path / "image"
    if content is not None:
        image.write_bytes(content)

    ended = run_on(gpu, program, 2, "--sizes", "64K", "--image", str(image))

    assert ended.status == 1
    assert ended.results == []
    assert any(words in line for line in ended.errors), ended.errors


REFUSED = [
    (("--sizes", "1000"), "1000 bytes"),
    (("--buffers", "host,pinned"), "two kinds"),
    (("--rows", "0"), "from 1"),
    (("--rows", "2000"), "1024"),
]


@pytest.mark.parametrize(("arguments", "word"), REFUSED, ids=[" ".join(a) for a, _ in REFUSED])
def test_what_cannot_be_solved_is_refused_once(
    program: Path, arguments: tuple[str, ...], word: str
) -> None:
    ended = run(program, 2, *ON_HOST, *arguments)

    assert ended.status == 2
    assert ended.events == []
    assert len(ended.errors) == 1 and word in ended.errors[0]


def test_the_launch_is_shaped_as_the_library_shapes_it() -> None:
    layout = (ROOT / "src/kernels/jacobi_layout.h").read_text(encoding="utf-8")
    library = (ROOT / "src/kernels/jacobi.cc").read_text(encoding="utf-8")
    program = (install.mpi_source_dir() / "jacobi_kernel.c").read_text(encoding="utf-8")

    def number(name: str, text: str) -> int:
        found = re.search(rf"\b{name} = ([\d']+)", text)
        assert found, name
        return int(found[1].replace("'", ""))

    assert number("THREADS", program) == number("kJacobiThreads", layout)
    assert number("COLUMNS_OF_BLOCK", program) == number("kJacobiColumnsOfBlock", layout)
    assert number("MOST_BLOCKS", program) == number("kMostJacobiBlocks", library)
