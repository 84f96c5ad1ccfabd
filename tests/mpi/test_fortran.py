"""Fortran programs on memory of GPUs, under the preload library, with Debian's MPI packages."""

from __future__ import annotations

from pathlib import Path

import pytest
from stack import WITH_FORTRAN, Library

SOURCES = Path(__file__).parent / "program"
# The older module knows nothing of calls that pass an array and then one number.
OPTIONS = {"mpi": ("-fallow-argument-mismatch", "-Wno-error"), "mpi_f08": ("-DF08", "-Wno-error")}


@pytest.fixture(scope="session", params=WITH_FORTRAN, ids=lambda library: str(library.name))
def library(request: pytest.FixtureRequest) -> Library:
    """Each MPI in turn."""
    found: Library = request.param
    needed = [found.environment / "bin" / name for name in (found.compiler, found.launcher)]
    if not all(command.exists() for command in [*needed, Path("/usr/bin/gfortran")]):
        pytest.skip(f"{needed[0].name} is not installed: 'scripts/bootstrap mpi' tries to")
    return found


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("module", OPTIONS)
def test_calls_of_fortran_are_right_and_ours(
    library: Library,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    module: str,
    ranks: int,
) -> None:
    program = library.compile(
        tmp_path / "fortran",
        *("-cpp", *OPTIONS[module]),
        *(SOURCES / name for name in ("fortran.f90", "fortran_memory.c", "memory.c")),
    )

    outcome = library.ranks(
        ranks, program,
        LD_PRELOAD=str(request.config.getoption("--preload-library")), POLYPATH_STATS="1",
    )  # fmt: skip

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right"]
    assert outcome.errors.count("MPI allreduce                    3 calls by Polypath") == ranks
    assert "by MPI" not in outcome.errors, outcome.errors
