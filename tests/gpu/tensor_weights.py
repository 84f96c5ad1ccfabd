"""Checks on GPUs: files of weights, modules that leave and come back, ranks' tensors, blocks."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Callable

import polypath
import torch
from tensor_support import LARGE, MIB, keep_busy, need_gpus, same, synchronize, values

Tensors = dict[str, torch.Tensor]


def tensors_of(count: int = 6) -> Tensors:
    sizes = (LARGE, 5, 3 * MIB + 1, 511)
    return {f"layers.{k}.weight": values(sizes[k % len(sizes)], k) for k in range(count)}


def write_safetensors(path: Path, tensors: Tensors) -> None:
    header, end = {}, 0
    for name, tensor in tensors.items():
        where = [end, end + tensor.numel()]
        header[name] = {"dtype": "U8", "shape": list(tensor.shape), "data_offsets": where}
        end += tensor.numel()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.writelines(tensor.numpy().data for tensor in tensors.values())


@contextmanager
def file_of(tensors: Tensors, name: str = "model.safetensors") -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        torch.save(tensors, path) if name.endswith(".pt") else write_safetensors(path, tensors)
        yield path


def all_same(got: Tensors, expected: Tensors) -> None:
    assert got.keys() == expected.keys()
    for name, tensor in expected.items():
        same(got[name], tensor)


def files_onto_a_gpu_and_the_cpu() -> None:
    tensors = tensors_of()
    for name in ("model.safetensors", "model.pt"):
        with file_of(tensors, name) as path:
            for device in ("cuda", "cpu"):
                loaded = polypath.load(path, device)
                assert {each.device.type for each in loaded.values()} == {device}
                all_same(loaded, tensors)


def types_of_safetensors() -> None:
    weights = torch.randn(33, 65).to(torch.bfloat16)
    with file_of({}) as path:
        entry = {"dtype": "BF16", "shape": [33, 65], "data_offsets": [0, 33 * 65 * 2]}
        text = json.dumps({"w": entry}).encode()
        bits = weights.view(torch.uint8).numpy().tobytes()
        path.write_bytes(len(text).to_bytes(8, "little") + text + bits)  # not aligned
        loaded = polypath.load(path, "cuda:0")["w"]
        assert (loaded.dtype, loaded.shape) == (weights.dtype, weights.shape)
        same(loaded.view(torch.uint8), weights.view(torch.uint8))


def one_file_onto_all_gpus() -> None:
    need_gpus(2)
    tensors = tensors_of()
    with file_of(tensors) as path:
        for loaded in polypath.load(path, "all"):
            all_same(loaded, tensors)


def replicas_in_order_with_current_streams() -> None:
    need_gpus(2)
    gpus = range(torch.cuda.device_count())
    for pinned in (True, False):
        source = values(LARGE, 9)
        source = source.pin_memory() if pinned else source
        targets = [torch.zeros(LARGE, dtype=torch.uint8, device=f"cuda:{gpu}") for gpu in gpus]
        before = [torch.empty_like(target) for target in targets]
        synchronize()
        for gpu, (kept, target) in enumerate(zip(before, targets)):
            with torch.cuda.device(gpu):
                keep_busy(gpu)
                kept.copy_(target)  # reads what is overwritten
        polypath.copy_many([(target, source) for target in targets])
        after = []
        for gpu, target in enumerate(targets):
            with torch.cuda.device(gpu):
                after.append(target + 1)
        for kept, target, added in zip(before, targets, after):
            assert not kept.any()
            same(target, source)
            same(added, source + 1)


def module_of_tied_layers() -> torch.nn.Module:
    module = torch.nn.Sequential(
        torch.nn.Embedding(5000, 1024), torch.nn.LayerNorm(1024), torch.nn.BatchNorm1d(1024),
        torch.nn.Linear(1024, 5000, bias=False),
    )  # fmt: skip
    module[3].weight = module[0].weight
    return module.to("cuda:0")


def a_module_leaves_and_comes_back() -> None:
    for pinned in (True, False):
        module = module_of_tied_layers()
        module[3].weight.grad = torch.randn_like(module[3].weight)
        expected = {name: tensor.cpu().clone() for name, tensor in module.state_dict().items()}
        parameters = list(module.parameters())
        addresses = []
        for _ in range(2):
            polypath.swap(module, "cpu", pinned=pinned)
            assert {each.device.type for each in module.state_dict().values()} == {"cpu"}
            assert module[0].weight.is_pinned() == pinned
            all_same(module.state_dict(), expected)
            addresses.append(module[0].weight.data_ptr())
            polypath.swap(module, "cuda:0")
            assert module[0].weight.grad.device.type == "cuda"
            assert module[0].weight.data_ptr() == module[3].weight.data_ptr()
            all_same(module.state_dict(), expected)
        assert addresses[0] == addresses[1]
        assert all(one is other for one, other in zip(parameters, module.parameters()))


def a_module_leaves_after_what_writes_it() -> None:
    module = module_of_tied_layers()
    polypath.swap(polypath.swap(module, "cpu"), "cuda:0")
    keep_busy()
    with torch.no_grad():
        module[0].weight.fill_(7)
    polypath.swap(module, "cpu")
    assert bool((module[0].weight == 7).all())


def tensors_of_one_rank_for_all() -> None:
    need_gpus(2)
    size = torch.cuda.device_count()
    meeting = polypath.ThreadGroup(size)
    wrong: list[BaseException] = []

    def be(rank: int) -> None:
        try:
            torch.cuda.set_device(rank)
            with polypath.Collectives.from_threads(meeting, rank, rank) as ranks:
                state = {name: each.to(f"cuda:{rank}") + rank for name, each in expected.items()}
                for _ in range(2):
                    ranks.sync(state, root=0)
                all_same(state, expected)
        except BaseException as error:
            wrong.append(error)

    expected = tensors_of(9)
    threads = [threading.Thread(target=be, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]


def blocks_in_any_order() -> None:
    for nbytes in (4096, 65536, 2 * MIB):
        count = min(4096, 64 * MIB // nbytes)
        pinned = values(count * nbytes, 1).view(count, nbytes).pin_memory()
        places = [pinned, pinned.to("cuda:0"), pinned.to(f"cuda:{torch.cuda.device_count() - 1}")]
        pairs = torch.stack([torch.randperm(count), torch.randperm(count)], dim=1)
        expected = torch.zeros_like(pinned)
        expected[pairs[:, 1]] = pinned[pairs[:, 0]]
        for source in places:
            for place in places:
                layers = [torch.zeros_like(place).pin_memory() if place is pinned
                          else torch.zeros_like(place) for _ in range(2)]  # fmt: skip
                polypath.copy_blocks(layers, [source, source], pairs)
                synchronize()
                for layer in layers:
                    same(layer.flatten(), expected.flatten())


def blocks_in_order_with_the_current_stream() -> None:
    pinned = values(64 * MIB, 2).view(1024, -1).pin_memory()
    cache = torch.zeros(1024, 2, 65536, dtype=torch.uint8, device="cuda:0")
    pairs = [(block, 1023 - block) for block in range(1024)]
    polypath.copy_blocks(cache[:, 0], pinned, pairs)
    synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        keep_busy()
        cache.fill_(3)
        polypath.copy_blocks(cache[:, 0], pinned, pairs)
        after = cache + 1
    synchronize()
    same(after[:, 0].flatten(), (pinned.flip(0) + 1).flatten())
    assert bool((after[:, 1] == 4).all())


CHECKS: tuple[Callable[[], None], ...] = (
    files_onto_a_gpu_and_the_cpu,
    types_of_safetensors,
    one_file_onto_all_gpus,
    replicas_in_order_with_current_streams,
    a_module_leaves_and_comes_back,
    a_module_leaves_after_what_writes_it,
    tensors_of_one_rank_for_all,
    blocks_in_any_order,
    blocks_in_order_with_the_current_stream,
)
