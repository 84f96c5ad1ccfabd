"""One transfer over every path that helps: multi-path GPU copies, modelled and simulated.

Each name is loaded when it is first used: the command `polypath` needs few of them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own would load typing
if TYPE_CHECKING:
    from polypath import reports
    from polypath._core import (
        Buffer,
        Error,
        Stream,
        ThreadGroup,
        format_bytes,
        parse_bytes,
        version,
    )
    from polypath.blocks import copy_blocks
    from polypath.collectives import Collectives
    from polypath.context import Context
    from polypath.moving import to
    from polypath.swapping import swap
    from polypath.tensors import copy, copy_many
    from polypath.weights import load

    __version__: str

__all__ = [
    "Buffer",
    "Collectives",
    "Context",
    "Error",
    "Stream",
    "ThreadGroup",
    "__version__",
    "copy",
    "copy_blocks",
    "copy_many",
    "format_bytes",
    "load",
    "parse_bytes",
    "reports",
    "swap",
    "to",
    "version",
]

_MODULES = {
    "Collectives": "collectives",
    "Context": "context",
    "copy": "tensors",
    "copy_blocks": "blocks",
    "copy_many": "tensors",
    "load": "weights",
    "swap": "swapping",
    "to": "moving",
}  # of the names that are not the library's own, which are in _core


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = _load(name)
    return value


def _load(name: str) -> object:
    from importlib import import_module

    if name == "reports":
        return import_module("polypath.reports")
    module = import_module(f"polypath.{_MODULES.get(name, '_core')}")
    return module.version() if name == "__version__" else getattr(module, name)


def __dir__() -> list[str]:
    """Return what the package offers: its modules and what they import are its own business."""
    own = (name for name in globals() if name.startswith("__"))
    return sorted({*own, *__all__})
