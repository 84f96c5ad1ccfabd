"""One transfer over every path that helps: multi-path GPU copies, modelled and simulated."""

from __future__ import annotations

from polypath import reports
from polypath._core import (
    Buffer,
    Context,
    Error,
    Meeting,
    Stream,
    format_bytes,
    parse_bytes,
    version,
)
from polypath.collectives import Collectives
from polypath.tensors import copy, copy_many, to

__version__ = version()

__all__ = [
    "Buffer",
    "Collectives",
    "Context",
    "Error",
    "Meeting",
    "Stream",
    "__version__",
    "copy",
    "copy_many",
    "format_bytes",
    "parse_bytes",
    "reports",
    "to",
    "version",
]
