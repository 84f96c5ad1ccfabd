"""Shared by the tests of the Python package."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import polypath
import pytest
from fake_frameworks import Cupy, Torch
from mpi_program import compile_faults, compile_program
from mpi_search import SEARCH
from polypath import process_context
from polypath.frameworks import PYTORCH

# A shell's background job starts with the signal ignored, and so would the programs that the tests
# interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def without_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the shell that runs the tests must not change their results."""
    for variable in os.environ:
        if variable.startswith("POLYPATH_"):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("COLUMNS", "80")


# For the tests of tensors.


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> polypath.Context:
    """The process's context is one of a simulated machine."""
    opened = polypath.Context("h200x4")
    monkeypatch.setattr(process_context, "_context", opened)
    return opened


@pytest.fixture
def torch(context: polypath.Context, monkeypatch: pytest.MonkeyPatch) -> Torch:
    module = Torch(context)
    monkeypatch.setattr(PYTORCH, "exact", None)  # what it knows is of the last test's module
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.fixture
def cupy(context: polypath.Context, monkeypatch: pytest.MonkeyPatch) -> Cupy:
    module = Cupy(context)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


# For the tests of the MPI program.


@pytest.fixture(scope="module")
def mpi_on_the_path() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", SEARCH)
        yield


@pytest.fixture(scope="module")
def program(
    mpi_on_the_path: None,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    return compile_program(tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="module")
def faults(
    mpi_on_the_path: None,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    return compile_faults(tmp_path_factory.mktemp("faults"))
