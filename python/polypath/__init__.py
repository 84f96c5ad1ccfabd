"""One transfer over every path that helps: multi-path GPU copies, modelled and simulated."""

from __future__ import annotations

from polypath._core import Buffer, Context, Error, Stream, format_bytes, parse_bytes, version

__version__ = version()

__all__ = [
    "Buffer",
    "Context",
    "Error",
    "Stream",
    "__version__",
    "format_bytes",
    "parse_bytes",
    "version",
]
