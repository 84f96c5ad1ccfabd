"""Shared by the tests of the Python package."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def without_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the shell that runs the tests must not change their results."""
    for variable in os.environ:
        if variable.startswith("POLYPATH_"):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("COLUMNS", "80")
