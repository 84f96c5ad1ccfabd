"""Weights from files onto devices, over every link that helps."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from polypath.copy_checks import refuse_dtype
from polypath.read_ahead import ReadAhead
from polypath.tensors import copy_many
from polypath.weight_files import Weight, open_weights
from polypath.weight_paths import weight_paths
from polypath.weight_targets import Target, new_targets, own_memory

Progress = Callable[[int, int], object]  # bytes that are copied, and all

BATCH = 256 << 20  # bytes that are asked for together: replicas overlap within a batch


def load(
    path: Any, device: Any = "cuda", *, into: Any = None, progress: Any = None, dtype: Any = None
) -> Any:
    """Return the tensors of a file of weights by their names, on a device.

    `path` is a file of safetensors or of torch.save (tensors by name), an index (.index.json) of
    several, or a folder with one of these. Files are mapped and read ahead of the copies by a
    thread. `device` is what `to` takes; a list, or "all", for the same tensors on each, which
    cross a link of the host once where that is faster: then a list of dictionaries is returned; or
    a device map, {"model.layers.0": "cuda:0", "": "cuda:1"}, whose longest key that a name begins
    with counts. Tensors are PyTorch's, each with memory of its own. On "cpu" they are the mapped
    file: what is written to them stays in the process.

    `into` is memory that is there instead, by name: tensors, or anything that copy takes. Then
    `device` is not looked at, other tensors of the files are not read, and `into` is returned.
    `progress` is True for a bar on stderr, or a function of the bytes that are done and of all.
    All files and devices are checked before anything is copied. A `dtype` is refused: nothing is
    converted.

    Stream order: as copy, on the current streams. The interpreter's lock is free during copies.

    Errors: as copy. FileNotFoundError; ValueError for a file that is damaged or holds more than
    tensors, a device, a name or a shape that there is not; ImportError without PyTorch.
    """
    refuse_dtype(dtype, "a load does not convert")
    files = [open_weights(file) for file in weight_paths(path)]
    weights = [weight for file in files for weight in file.weights]
    if into is None:
        targets, is_list = new_targets(device, weights)
    else:
        targets, is_list = [own_memory(into, weights)], False
    with _reporting(progress) as report, ReadAhead([file.path for file in files]) as ahead:
        total = sum(weight.nbytes for weight in weights)
        for done in _copied(weights, targets):
            ahead.passed(done)
            report(done, total)
    if into is not None:
        return into
    return [target.tensors for target in targets] if is_list else targets[0].tensors


def _copied(weights: Sequence[Weight], targets: Sequence[Target]) -> Iterator[int]:
    """Copy in batches; yield after each how many bytes of the files have been passed."""
    done = waiting = 0
    batch: list[tuple[Weight, list[Any]]] = []
    for weight in weights:
        batch.append((weight, [target.take(weight) for target in targets]))
        waiting += weight.nbytes
        if waiting >= BATCH:
            _copy(batch)
            done, waiting, batch = done + waiting, 0, []
            yield done
    _copy(batch)
    yield done + waiting


def _copy(batch: Sequence[tuple[Weight, list[Any]]]) -> None:
    pairs = [
        (memory, weight.source) for weight, taken in batch for memory in taken if memory is not None
    ]
    copy_many(pairs)


@contextlib.contextmanager
def _reporting(progress: Any) -> Iterator[Progress]:
    if progress is not True:
        yield progress or (lambda _done, _total: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn())
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("load", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
