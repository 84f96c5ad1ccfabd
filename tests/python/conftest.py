"""Shared by the tests of the Python package."""

from __future__ import annotations

import os
import signal
import sys

import polypath
import pytest
from fake_frameworks import Cupy, Torch
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
