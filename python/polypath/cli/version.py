"""`polypath --version`."""

from __future__ import annotations

import polypath


def show_version() -> None:
    """Print the version of the package."""
    print(f"polypath {polypath.__version__}")
