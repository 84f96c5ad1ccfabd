"""Weights of a file onto one GPU and onto all of them, a model that leaves and comes back, blocks.

python examples/weights.py            with GPUs and PyTorch; 1 GiB, in a folder for temporary files
python examples/weights.py 64         with 64 MiB

Without PyTorch it uses memory of its own, as on the stand-in driver: there LD_LIBRARY_PATH is what
"from polypath import install; print(install.stand_in_dir())" prints, and times mean nothing. Every
byte is compared.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polypath

LAYERS, MIB = 8, 1 << 20
BLOCK = 64 << 10  # bytes of a block of the key-value cache


def write_weights(path: Path, nbytes: int) -> dict[str, np.ndarray]:
    """Write a file of safetensors, and return its tensors: 2 for each layer."""
    each = nbytes // (2 * LAYERS) // 512 * 512
    numbers = np.random.default_rng(1)
    names = [f"layers.{layer}.{part}" for layer in range(LAYERS) for part in ("query", "output")]
    tensors = {name: numbers.integers(0, 255, each, dtype=np.uint8) for name in names}
    header = {
        name: {"dtype": "U8", "shape": [each], "data_offsets": [n * each, (n + 1) * each]}
        for n, name in enumerate(tensors)
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.writelines(tensor.data for tensor in tensors.values())
    return tensors


def row(what: str, nbytes: int, do: Callable[[], Any], end: Callable[[], None]) -> Any:
    """Do it, and print how long it took until it was done everywhere."""
    end()
    start = time.perf_counter()
    result = do()
    end()
    seconds = time.perf_counter() - start
    print(f"{what:<36} {nbytes / MIB:>7.0f} MiB {1e3 * seconds:>9.1f} ms "
          f"{nbytes / seconds / 1e9:>7.1f} GB/s")  # fmt: skip
    return result


def check(right: bool) -> None:
    """End the program where bytes are not what they should be."""
    if not right:
        sys.exit("bytes are wrong")


def with_torch(torch: Any, path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Use tensors of PyTorch."""
    total = sum(tensor.nbytes for tensor in tensors.values())

    def end() -> None:
        for gpu in range(torch.cuda.device_count()):
            torch.cuda.synchronize(gpu)

    def is_right(loaded: dict[str, Any]) -> bool:
        return all(np.array_equal(loaded[name].cpu().numpy(), tensors[name]) for name in tensors)

    polypath.load(path, "cuda:0")  # the first time prepares
    loaded = row("load(path, 'cuda:0')", total, lambda: polypath.load(path, "cuda:0"), end)
    everywhere = row("load(path, 'all')", total, lambda: polypath.load(path, "all"), end)
    check(all(is_right(each) for each in (loaded, *everywhere)))
    module = torch.nn.ParameterDict(
        {name.replace(".", "-"): torch.nn.Parameter(tensor, False)
         for name, tensor in loaded.items()}
    )  # fmt: skip
    polypath.swap(polypath.swap(module, "cpu"), "cuda:0")  # the first time allocates
    row("swap(module, 'cpu')", total, lambda: polypath.swap(module, "cpu"), end)
    row("swap(module, 'cuda:0')", total, lambda: polypath.swap(module, "cuda:0"), end)
    check(is_right({name.replace("-", "."): tensor for name, tensor in module.items()}))

    count = total // BLOCK // 2
    on_host = torch.randint(0, 255, (count, BLOCK), dtype=torch.uint8).pin_memory()
    cache = torch.zeros((2 * count, BLOCK), dtype=torch.uint8, device="cuda:0")
    blocks(on_host, cache, count, end)
    back = torch.zeros_like(on_host).pin_memory()
    where = np.arange(count)
    polypath.copy_blocks(back, cache, np.stack([2 * where, where], axis=1))
    end()
    check(torch.equal(back, on_host))


def with_buffers(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Use memory of a polypath.Context, without PyTorch."""
    machine = polypath.Context()
    total = sum(tensor.nbytes for tensor in tensors.values())
    own = {name: machine.allocate("gpu0", tensor.nbytes) for name, tensor in tensors.items()}
    count = total // BLOCK // 2
    on_host = machine.allocate("host0", count * BLOCK).numpy()
    on_host[:] = np.random.default_rng(2).integers(0, 255, count * BLOCK, dtype=np.uint8)
    cache, found = (
        machine.allocate("gpu0", 2 * count * BLOCK),
        np.empty((count, 2, BLOCK), np.uint8),
    )

    row("load(path, into=buffers)", total, lambda: polypath.load(path, into=own), lambda: None)
    for name, tensor in tensors.items():
        back = np.empty_like(tensor)
        polypath.copy(back, own[name])
        check(np.array_equal(back, tensor))
    blocks(on_host, cache, count, lambda: polypath.copy(found, cache) and None)
    check(np.array_equal(found[:, 0].reshape(-1), on_host))


def blocks(on_host: Any, cache: Any, count: int, end: Callable[[], None]) -> None:
    """Scatter all blocks to every second one of a cache, in no order."""
    chosen = np.random.default_rng(3).permutation(count)
    pairs = np.stack([chosen, 2 * chosen], axis=1)
    size = {} if getattr(on_host, "ndim", 1) > 1 else {"block_bytes": BLOCK}
    row(
        f"copy_blocks of {count} blocks",
        count * BLOCK,
        lambda: polypath.copy_blocks(cache, on_host, pairs, **size),
        end,
    )


def main() -> None:
    """Run with what is installed."""
    nbytes = int(sys.argv[1] if sys.argv[1:] else 1024) * MIB
    try:
        import torch
    except ImportError:
        torch = None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        tensors = write_weights(path, nbytes)
        if torch is not None and torch.cuda.is_available():
            with_torch(torch, path, tensors)
        else:
            with_buffers(path, tensors)
    print("every byte is right")


if __name__ == "__main__":
    main()
