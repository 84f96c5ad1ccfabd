"""Tensors in files, mapped into memory: those of safetensors and of PyTorch."""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polypath.frameworks import PYTORCH
from polypath.messages import message
from polypath.weight_paths import TORCH, WeightPath, unreadable

LENGTH = 8  # bytes in front of the header of safetensors, which say how long it is
LONGEST_HEADER = 100_000_000  # of safetensors' own reader

# The types of safetensors: what PyTorch calls them, and their bytes.
_TYPES = {
    "F64": ("float64", 8), "F32": ("float32", 4), "F16": ("float16", 2), "BF16": ("bfloat16", 2),
    "F8_E4M3": ("float8_e4m3fn", 1), "F8_E5M2": ("float8_e5m2", 1),
    "F8_E8M0": ("float8_e8m0fnu", 1), "C64": ("complex64", 8), "I64": ("int64", 8),
    "I32": ("int32", 4), "I16": ("int16", 2), "I8": ("int8", 1), "U64": ("uint64", 8),
    "U32": ("uint32", 4), "U16": ("uint16", 2), "U8": ("uint8", 1), "BOOL": ("bool", 1),
}  # fmt: skip


@dataclass(frozen=True)
class Weight:
    """One tensor of a file."""

    name: str
    shape: tuple[int, ...]
    element: str  # its type, as PyTorch calls it
    nbytes: int
    source: Any  # bytes of the file, or a tensor over them
    key: Any  # equal for names that share one tensor
    begin: int | None = None  # where it begins in the file, if that is known


@dataclass(frozen=True)
class WeightFile:
    """A file of weights, in the order in which they lie there."""

    path: Path
    weights: list[Weight]


def open_weights(file: WeightPath) -> WeightFile:
    """Map the file and return its tensors. ValueError for one that is damaged, or lacks a name."""
    read = _torch_weights if file.path.suffix in TORCH else _safetensors
    weights = list(read(file.path))
    if file.names is not None:
        wanted = set(file.names)
        weights = [weight for weight in weights if weight.name in wanted]
        if missing := wanted - {weight.name for weight in weights}:
            raise unreadable(file.path, f"it has no tensor '{min(missing)}', which the index names")
    return WeightFile(file.path, weights)


def map_bytes(path: Path) -> Any:
    """Return the file's bytes; what a program writes to them stays in the process."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def _safetensors(path: Path) -> Iterator[Weight]:
    size = path.stat().st_size
    if size < LENGTH:
        raise unreadable(path, f"a file of safetensors has more than {size} bytes")
    mapped = memoryview(map_bytes(path))
    end = LENGTH + int.from_bytes(mapped[:LENGTH], "little")
    if end > size or end > LONGEST_HEADER:
        raise unreadable(path, "its header does not fit into it, so it is no file of safetensors")
    header = _header(path, bytes(mapped[LENGTH:end]))
    for name in sorted(header, key=lambda name: _range_of(path, name, header[name])):
        yield _weight(path, name, header[name], mapped, end)


def _header(path: Path, text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise unreadable(path, "its header is no JSON object, so it is no file of safetensors")
    header.pop("__metadata__", None)
    return header


def _range_of(path: Path, name: str, entry: Any) -> tuple[int, int]:
    try:
        begin, end = entry["data_offsets"]
        if 0 <= begin <= end and all(extent >= 0 for extent in entry["shape"]):
            return int(begin), int(end)
    except (TypeError, KeyError, ValueError):
        pass
    raise unreadable(path, f"its header does not say where tensor '{name}' is")


def _weight(path: Path, name: str, entry: Any, mapped: memoryview, data: int) -> Weight:
    begin, end = (data + offset for offset in _range_of(path, name, entry))
    shape = tuple(entry["shape"])
    if entry.get("dtype") not in _TYPES:
        raise unreadable(path, f"tensor '{name}' has elements of type {entry.get('dtype')}, "
                               "which cannot be moved")  # fmt: skip
    element, item_size = _TYPES[entry["dtype"]]
    if end > len(mapped):
        raise unreadable(path, f"tensor '{name}' ends behind the file, which was cut")
    if math.prod(shape) * item_size != end - begin:
        raise unreadable(path, f"tensor '{name}' has {end - begin} bytes, which is not its shape")
    return Weight(name, shape, element, end - begin, mapped[begin:end], (str(path), name), begin)


def _torch_weights(path: Path) -> Iterator[Weight]:
    torch = torch_to_hold(f"'{path}'")
    try:
        held = torch.load(path, map_location="cpu", mmap=True, weights_only=True)
    except RuntimeError as error:
        raise unreadable(path, f"PyTorch says: {str(error).splitlines()[0]}") from error
    tensors = held.items() if isinstance(held, dict) else ()
    if not tensors or not all(isinstance(tensor, torch.Tensor) for _, tensor in tensors):
        raise ValueError(
            message(
                f"'{path}' cannot be loaded",
                "it holds more than tensors by their names",
                "Call torch.load with mmap=True, then polypath.to.",
            )
        )
    for name, tensor in sorted(tensors, key=lambda each: each[1].data_ptr()):
        memory = PYTORCH.memory(tensor)
        key = (memory.address, memory.shape, memory.strides, memory.element)
        yield Weight(name, memory.shape, memory.element, memory.nbytes, tensor.detach(), key)


def torch_to_hold(what: str) -> Any:
    """Return PyTorch. ImportError where it is not installed."""
    try:
        import torch
    except ImportError:
        raise ImportError(
            message(
                f"{what} cannot be loaded",
                "PyTorch is not installed to hold it",
                "Install it: 'pip install torch'. With 'into' files of safetensors need none.",
            )
        ) from None
    return torch
