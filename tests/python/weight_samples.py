"""Files of weights for tests, and as much of torch as their tensors need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polypath
from fake_frameworks import Torch, TorchTensor

_TYPES = {"float32": "F32", "float16": "F16", "uint8": "U8", "int64": "I64", "bool": "BOOL"}

Arrays = Mapping[str, np.ndarray]


def arrays(count: int, nbytes: int = 64 << 10) -> dict[str, np.ndarray]:
    """Return matrices of float32 with contents of their own: layers.0.weight, and so on."""
    made = {}
    for number in range(count):
        bits = np.random.default_rng(number).integers(0, 1 << 20, nbytes // 4)
        made[f"layers.{number}.weight"] = bits.astype(np.float32).reshape(16, -1)
    return made


def write_safetensors(path: Path, tensors: Arrays, **more: Any) -> Path:
    """Write them as safetensors does; `more` replaces fields of every entry."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    position = 0
    for name, array in tensors.items():
        where = [position, position + array.nbytes]
        entry = {"dtype": _TYPES[array.dtype.name], "shape": array.shape, "data_offsets": where}
        header[name] = {**entry, **more}
        position += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(array.tobytes() for array in tensors.values())
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def write_shards(folder: Path, *shards: Arrays) -> Path:
    """Write a file per shard, and the index, which is returned."""
    names = {}
    for number, tensors in enumerate(shards):
        file = f"model-{number + 1:05}-of-{len(shards):05}.safetensors"
        write_safetensors(folder / file, tensors)
        names.update(dict.fromkeys(tensors, file))
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": names}))
    return index


class WeightTorch(Torch):
    """A torch that makes tensors of files, too."""

    float32, float16, int64, bool = np.float32, np.float16, np.int64, np.bool_

    def __init__(self, context: polypath.Context) -> None:
        super().__init__(context)
        self.files: dict[str, Any] = {}  # what torch.load returns
        self.cuda.device_count = lambda: 4

    def empty(self, shape: Any, dtype: Any, device: str = "cpu") -> TorchTensor:
        return self.tensor(None if device == "cpu" else int(device[5:]), shape, dtype)

    def frombuffer(self, buffer: Any, dtype: Any) -> TorchTensor:
        return TorchTensor(self, np.frombuffer(buffer, dtype), None)

    def load(self, path: Any, map_location: str, mmap: bool, weights_only: bool) -> Any:
        assert (map_location, mmap, weights_only) == ("cpu", True, True)
        return self.files[str(path)]
