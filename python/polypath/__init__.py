"""One transfer over every path that helps: multi-path GPU copies, modelled and simulated."""

from __future__ import annotations

from polypath._core import Error, format_bytes, parse_bytes, version

__version__ = version()

__all__ = ["Error", "__version__", "format_bytes", "parse_bytes", "version"]
