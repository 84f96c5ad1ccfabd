"""Weights from files onto devices, over every link that helps."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from polypath.copy_checks import refuse_dtype
from polypath.messages import message
from polypath.read_ahead import ReadAhead, Span
from polypath.tensors import copy_many
from polypath.weight_files import Weight, WeightFile, open_weights
from polypath.weight_paths import weight_paths
from polypath.weight_targets import Target, new_targets, own_memory

Progress = Callable[[int, int], object]  # bytes that are copied, and all

BATCH = 256 << 20  # bytes that are asked for together: replicas overlap within a batch


def load(
    path: Any, device: Any = None, *, into: Any = None, ranks: Any = None, progress: Any = None,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """Return the tensors of a file of weights by their names, on a device.

    `path` is a file of safetensors or of torch.save (tensors by name), an index (.index.json) of
    several, or a folder with one of these. Files are mapped and read ahead of the copies by a
    thread. `device` is what `to` takes, by default the current GPU; a list, or "all", for the same
    tensors on each, which cross a link of the host once where that is faster: then a list of
    dictionaries is returned; or a device map, {"model.layers.0": "cuda:0", "": "cuda:1"}, whose
    longest key that a name begins with counts. Tensors are PyTorch's, each with memory of its own.
    On "cpu" they are the mapped file: what is written to them stays in the process.

    `into` is memory that is there instead, by name: tensors, or anything that copy takes. Then
    `device` is not looked at, other tensors of the files are not read, and `into` is returned.
    With `ranks`, a polypath.Collectives, all of them load the same: each reads a part, onto its own
    GPU, and gives it to the others as their sync does. `progress` is True for a bar on stderr, or a
    function of the bytes that are done and of all. All files and devices are checked before
    anything is copied. A `dtype` is refused: nothing is converted.

    Stream order: as copy, on the current streams. The interpreter's lock is free during copies.

    Errors: as copy. FileNotFoundError; ValueError for a file that is damaged or holds more than
    tensors, a device, a name or a shape that there is not; ImportError without PyTorch.
    """
    refuse_dtype(dtype, "a load does not convert")
    files = [open_weights(file) for file in weight_paths(path)]
    weights = [weight for file in files for weight in file.weights]
    if into is not None:
        targets, result = [own_memory(into, weights)], into
    else:
        targets, is_list = new_targets(_device(device, ranks), weights)
        made = [target.tensors for target in targets]
        result = made if is_list else made[0]
    _check_one(targets, ranks)
    taken = {weight.name: [target.take(weight) for target in targets] for weight in weights}
    needed = [weight for weight in weights if _is_needed(taken[weight.name])]
    if ranks is None:
        _read(files, needed, taken, progress)
    else:
        parts = _parts(needed, ranks.size)
        _read(files, parts[ranks.rank], taken, progress)
        _share(ranks, parts, taken)
    return result


def _is_needed(memories: Sequence[Any]) -> bool:
    return any(memory is not None for memory in memories)


def _device(device: Any, ranks: Any) -> Any:
    """Return the device that is meant where none is named."""
    if device is not None:
        return device
    return "cuda" if ranks is None else ranks.gpu


def _check_one(targets: Sequence[Target], ranks: Any) -> None:
    if ranks is not None and len(targets) > 1:
        raise ValueError(
            message("several devices cannot be used", "each rank has one GPU", "Name one or none.")
        )


def _parts(weights: Sequence[Weight], ranks: int) -> list[list[Weight]]:
    """Return what each rank reads: a range of the files."""
    parts: list[list[Weight]] = [[] for _ in range(ranks)]
    total, before = max(sum(weight.nbytes for weight in weights), 1), 0
    for weight in weights:
        middle = before + weight.nbytes // 2
        parts[min(middle * ranks // total, ranks - 1)].append(weight)
        before += weight.nbytes
    return parts


def _share(ranks: Any, parts: Sequence[list[Weight]], taken: dict[str, list[Any]]) -> None:
    for root, part in enumerate(parts):
        ranks.sync({weight.name: taken[weight.name][0] for weight in part}, root)


def _read(
    files: Sequence[WeightFile], weights: Sequence[Weight], taken: dict[str, list[Any]],
    progress: Any,
) -> None:  # fmt: skip
    """Copy the weights to where they are taken, and read ahead of that."""
    total = sum(weight.nbytes for weight in weights)
    with _reporting(progress) as report, ReadAhead(_spans(files, weights)) as ahead:
        for done in _copied(weights, taken):
            ahead.passed(done)
            report(done, total)


def _spans(files: Sequence[WeightFile], own: Sequence[Weight]) -> Iterator[Span]:
    """Yield where the weights lie; all of a file where that is not known."""
    names = {weight.name for weight in own}
    for file in files:
        held = [weight for weight in file.weights if weight.name in names]
        if any(weight.begin is None for weight in held):
            yield Span(file.path, 0, file.path.stat().st_size)
            continue
        for weight in held:
            begin = weight.begin or 0
            yield Span(file.path, begin, begin + weight.nbytes)


def _copied(weights: Sequence[Weight], taken: dict[str, list[Any]]) -> Iterator[int]:
    """Copy in batches; yield after each how many bytes of the files have been passed."""
    done = waiting = 0
    batch: list[tuple[Any, Any]] = []
    for weight in weights:
        batch += [(memory, weight.source) for memory in taken[weight.name] if memory is not None]
        waiting += weight.nbytes
        if waiting >= BATCH:
            copy_many(batch)
            done, waiting, batch = done + waiting, 0, []
            yield done
    copy_many(batch)
    yield done + waiting


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
