"""The context of this process: copies on this computer's GPUs, opened when first needed."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Hashable
from typing import Any

from polypath._core import Context, Error

_lock = threading.Lock()
_context: Context | None = None
_kept: dict[Hashable, Any] = {}  # what belongs to a context, and that context


def process_context() -> Context:
    """Return the one context that all copies of tensors in this process use.

    A forked child opens its own. Error (unsupported) where there are no GPUs to drive.
    """
    global _context
    context = _context
    if context is None:
        with _lock:
            if _context is None:
                _context = _open()
            context = _context
    return context


def kept(key: Hashable, make: Callable[[Context], Any]) -> Any:
    """Return what is made once for the process's context, and goes with it."""
    context = process_context()
    with _lock:
        if _kept.get(None) is not context:
            _kept.clear()
            _kept[None] = context
        if key not in _kept:
            _kept[key] = make(context)
        return _kept[key]


def _open() -> Context:
    context = Context()
    if not context.simulated:
        return context
    named = os.environ.get("POLYPATH_MACHINE")
    why = f"POLYPATH_MACHINE={named} is simulated" if named else "no GPU of this computer is usable"
    remedy = "Unset it." if named else "'polypath info' says why; polypath.Context simulates."
    error = Error(f"tensors cannot be copied over several paths ({why}) {remedy}")
    error.code = "unsupported"
    raise error


def _close() -> None:
    """Give everything back while the driver is still there to take it."""
    global _context
    _kept.clear()
    _context = None


def _forget_the_parents() -> None:
    """Leave the parent's context to the parent: its handles mean nothing in a forked child."""
    global _context, _lock, _kept
    _parents.append(_kept)  # it is not given back either
    _kept = {}
    _context = None
    _lock = threading.Lock()


_parents: list[dict[Hashable, Any]] = []
atexit.register(_close)
os.register_at_fork(after_in_child=_forget_the_parents)
