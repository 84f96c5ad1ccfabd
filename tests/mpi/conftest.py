"""Open MPI and UCX on the stand-in driver, plainly or with something put in between.

`--launch plain,preload,plugin` says how programs are started: as they are, with a library put
before the driver (`--preload-library`), or with a module for UCX (`--plugin-folder`). The tests are
the same.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from stack import BUILD, ENVIRONMENT, LIBRARIES, Launch, Library, Stack, why_not_here

SOURCES = Path(__file__).parent / "program"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--launch", default="plain", help="plain, preload, plugin; comma between")
    parser.addoption("--preload-library", default=BUILD / "src/api/preload/libpolypath_preload.so")
    parser.addoption("--plugin-folder", default=BUILD / "src/api/preload/ucx")


def launches(config: pytest.Config) -> list[Launch]:
    known = {
        "plain": Launch("plain"),
        "preload": Launch("preload", {"LD_PRELOAD": str(config.getoption("--preload-library"))}),
        "plugin": Launch("plugin", {"UCX_PLUGIN_PATH": str(config.getoption("--plugin-folder"))}),
    }
    return [known[name] for name in str(config.getoption("--launch")).split(",")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "launch" in metafunc.fixturenames:
        metafunc.parametrize(
            "launch", launches(metafunc.config), ids=lambda launch: launch.name, scope="session"
        )


@pytest.fixture(scope="session")
def stack(launch: Launch) -> Stack:
    """How programs run; the way they are started is the only parameter."""
    if reason := why_not_here():
        pytest.skip(reason)
    for needed, remedy in (
        (ENVIRONMENT / "bin" / "mpirun", "scripts/bootstrap mpi"),
        (BUILD / "standin" / "libcuda.so.1", "cmake --build --preset default"),
    ):
        assert needed.exists(), f"{needed} is missing: run '{remedy}'"
    return Stack(launch)


@pytest.fixture(scope="session")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The MPI program of these tests, compiled by Open MPI's own compiler command."""
    program = tmp_path_factory.mktemp("mpi") / "exchange"
    names = ("main.c", "operations.c", "message.c", "memory.c")
    compiler = str(ENVIRONMENT / "bin" / "mpicc")
    sources = [str(SOURCES / name) for name in names]
    subprocess.run(
        [compiler, "-O2", "-Wall", "-Werror", "-o", program, *sources, "-ldl"], check=True
    )
    return program


@pytest.fixture(scope="session")
def cuda_runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ucx_perftest needs of the CUDA runtime, to be preloaded."""
    library = tmp_path_factory.mktemp("cudart") / "libcudart_standin.so"
    source = str(SOURCES / "cudart.c")
    command = ["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl"]
    subprocess.run(command, check=True)
    return library


@pytest.fixture(scope="session", params=LIBRARIES, ids=lambda library: str(library.name))
def library(request: pytest.FixtureRequest) -> Library:
    """Each MPI in turn."""
    if reason := why_not_here():
        pytest.skip(reason)
    found: Library = request.param
    assert (found.environment / "bin/mpirun").exists(), "run 'scripts/bootstrap mpi mpich'"
    return found


@pytest.fixture(scope="session")
def preload(request: pytest.FixtureRequest) -> str:
    """The library that is put before the driver and MPI."""
    return str(request.config.getoption("--preload-library"))
