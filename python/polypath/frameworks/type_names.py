"""Types of elements by name, alike whichever object says them: "float32" of NumPy and of "<f4".

Records are named with their fields, "{a: float32 at 0, n: int32 at 4}". The other order of bytes
keeps its sign: ">f4".
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from polypath.messages import message

_BYTES = ("b", "B", "c")  # what plain buffers call bytes

_KINDS = {  # of NumPy's type strings: a name, and the bits of what the string counts
    "b": ("bool", 0), "f": ("float", 8), "i": ("int", 8), "u": ("uint", 8), "c": ("complex", 8),
    "S": ("bytes", 8), "U": ("str", 32), "M": ("datetime", 8), "m": ("timedelta", 8),
}  # fmt: skip
_TYPE_STRING = re.compile(r"([|<>=])([a-zA-Z])([0-9]+)(\[\w+\])?")
_CHARACTER = 4  # bytes of one in "<U5"


def refuse_objects(dtype: Any) -> None:
    """Raise TypeError for a type of NumPy's that has Python objects."""
    if dtype.hasobject:
        raise TypeError(
            message(
                "array of Python objects cannot be copied",
                "its bytes are addresses",
                "Convert it to numbers.",
            )
        )


def name_of_dtype(dtype: Any) -> str:
    """Return the name of a type of NumPy's."""
    if dtype.names:
        fields = [(name, *dtype.fields[name][:2]) for name in dtype.names]
        return f"{{{', '.join(f'{name} at {at}' for name, at in map(_field, fields))}}}"
    if dtype.subdtype is not None:
        element, shape = dtype.subdtype
        return f"{name_of_dtype(element)}{list(shape)}"
    return str(dtype.name if dtype.isnative else dtype.str)


def _field(of: tuple[str, Any, int]) -> tuple[str, int]:
    name, dtype, offset = of
    return f"{name}: {name_of_dtype(dtype)}", offset


def item_size_of(typestr: str) -> int:
    """Return the bytes of an element of a type string of NumPy's."""
    _, kind, count, _ = _parts(typestr)
    return count * (_CHARACTER if kind == "U" else 1)


def name_of_typestr(typestr: str) -> str:
    """Return the name of a type string's type; "" where it says nothing but a size."""
    order, kind, count, unit = _parts(typestr)
    if kind not in _KINDS:
        return ""
    if order == ">":
        return typestr
    name, bits = _KINDS[kind]
    return f"{name}{bits * count or ''}{unit}"


def name_of_interface(interface: dict[str, Any]) -> str:
    """Return the name of the type of what shows its memory as NumPy or CUDA do."""
    fields = interface.get("descr") or ()
    if not any(field[0] for field in fields):
        return name_of_typestr(interface["typestr"])
    import numpy as np

    return name_of_dtype(np.lib.format.descr_to_dtype(list(fields)))


def has_bytes(view: memoryview) -> bool:
    """Return whether the elements are plain bytes, which may become elements of any type."""
    return view.itemsize == 1 and view.format[-1:] in _BYTES


def name_of_buffer(view: memoryview) -> str:
    """Return the name of the type of a buffer's elements: its format, where NumPy knows none.

    TypeError for Python objects.
    """
    import numpy as np

    if view.format in _BYTES:  # of more than a byte: a union of C
        return f"{view.itemsize} bytes of a union"
    try:
        dtype = np.asarray(view).dtype
    except (ValueError, TypeError):  # NumPy knows no pointers, and no bit fields
        return view.format
    refuse_objects(dtype)
    return name_of_dtype(dtype)


@lru_cache
def _parts(typestr: str) -> tuple[str, str, int, str]:
    """Return the order of bytes, the kind, the size, and of times the unit."""
    found = _TYPE_STRING.fullmatch(typestr)
    if found is None:
        raise TypeError(
            message(
                f"type {typestr!r} cannot be read",
                "it is no type string of NumPy",
                'Let the object say one, such as "<f4".',
            )
        )
    order, kind, count, unit = found.groups()
    return order, kind, int(count), unit or ""
