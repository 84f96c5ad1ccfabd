"""Calls of collectives as the extension module runs them, made of tensors that were checked."""

from __future__ import annotations

from typing import Any

from polypath._core import CollectiveCall
from polypath.collective_checks import Call, Member, arguments_of, message_arguments
from polypath.frameworks import framework_of
from polypath.memory import Elements


def checked_call(call: Call, tensor: Any, output: Any, of: Member) -> CollectiveCall:
    """Return one rank's call; without an output it is in place. Errors as Collectives says."""
    given = _checked_elements(tensor, call.dtype)
    taken = None if output is None else _checked_elements(output, call.dtype)
    return CollectiveCall(*arguments_of(call, given, taken, of))


def checked_message(
    source: int, destination: int, tensor: Any, dtype: str | None, of: Member
) -> CollectiveCall:
    """Return one rank's call where one rank sends another one a tensor. The same errors."""
    elements = _checked_elements(tensor, dtype)
    return CollectiveCall(*message_arguments(source, destination, elements, dtype, of))


def _checked_elements(tensor: Any, dtype: str | None) -> Elements:
    framework = framework_of(tensor)
    elements = framework.elements(tensor, dtype)
    framework.check_gradient(tensor)
    return elements
