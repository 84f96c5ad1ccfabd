"""What a program's file says about whether a library can be put into it; loads nothing but `os`."""

# ruff: noqa: PTH116, PTH123
from __future__ import annotations

import os

TYPE_CHECKING = False  # typing's own would load typing
if TYPE_CHECKING:
    from typing import BinaryIO

_SET_ID = 0o6000  # set-user-id and set-group-id: the system ignores LD_PRELOAD
_SANITIZERS = (b"libasan.so", b"libclang_rt.asan")

# Of ELF files of 64 bits (elf.h): types of segments, tags of the dynamic section.
_LOADED, _DYNAMIC, _INTERPRETER = 1, 2, 3
_END, _NEEDED, _STRINGS = 0, 1, 5
_SEGMENT, _ENTRY = 56, 16  # bytes
_MOST_BYTES = 1 << 20  # of a table that is believed


def privilege(file: str) -> str:
    """Return what makes the system ignore LD_PRELOAD for a program; empty if nothing does."""
    if os.stat(file).st_mode & _SET_ID:
        return "a set-user-id program"
    try:
        has_more = os.getuid() != 0 and bool(os.getxattr(file, "security.capability"))
    except OSError:
        has_more = False
    return "a program with capabilities of its own" if has_more else ""


def obstacle(file: str, around: dict[str, str]) -> str:
    """Return a line on why a program is not reached, or does not start; empty for all others."""
    try:
        with open(file, "rb") as binary:
            has_linker, libraries = _linked(binary)
    except (OSError, OverflowError, ValueError):  # a file that is not what it says
        return ""
    if not has_linker:
        return (
            f"'{file}' is not reached (it is linked statically, and LD_PRELOAD is for the dynamic "
            "linker) Programs that it starts are."
        )
    sanitized = any(library.startswith(_SANITIZERS) for library in libraries)
    if sanitized and "verify_asan_link_order=0" not in around.get("ASAN_OPTIONS", ""):
        return (
            f"'{file}' will end at its start (it is linked with the address sanitizer, which wants "
            "to be the first library) Set ASAN_OPTIONS=verify_asan_link_order=0."
        )
    return ""


def _linked(file: BinaryIO) -> tuple[bool, list[bytes]]:
    """Return whether the dynamic linker starts a program, and the libraries that it needs.

    What is no ELF file of this kind of processor is started by something else.
    """
    head = file.read(64)
    if head[:6] != b"\x7fELF\x02\x01":
        return True, []
    count = _number(head, 56, 2)
    table = _read(file, _number(head, 32), count * _SEGMENT)
    segments = [table[at * _SEGMENT : (at + 1) * _SEGMENT] for at in range(count)]
    kinds = [_number(segment, 0, 4) for segment in segments]
    if _INTERPRETER not in kinds:
        return False, []
    if _DYNAMIC not in kinds:
        return True, []
    dynamic = segments[kinds.index(_DYNAMIC)]
    loaded = [segment for segment, kind in zip(segments, kinds) if kind == _LOADED]
    return True, _needed(file, _read(file, _number(dynamic, 8), _number(dynamic, 32)), loaded)


def _needed(file: BinaryIO, entries: bytes, loaded: list[bytes]) -> list[bytes]:
    names, strings = [], 0
    for at in range(0, len(entries) - _ENTRY + 1, _ENTRY):
        tag, value = _number(entries, at), _number(entries, at + 8)
        if tag == _END:
            break
        names += [value] if tag == _NEEDED else []
        strings = value if tag == _STRINGS else strings
    for segment in loaded:
        offset, address, size = (_number(segment, at) for at in (8, 16, 32))
        if address <= strings < address + size:
            text = _read(file, offset + strings - address, max(names, default=0) + 256)
            return [text[name:].split(b"\0", 1)[0] for name in names]
    return []


def _read(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(min(size, _MOST_BYTES))


def _number(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at : at + size], "little")
