"""How other libraries move weights and caches; knows nothing of Polypath.

scripts/weight_judges.py runs each as a process of its own, and says what each one does. Times are
of whole calls, up to the end on all GPUs, and every byte is compared.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.metadata
import importlib.util
import multiprocessing
import os
import socket
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from units import GIB, MIB

PASSES = 4
FILE_TENSOR = 64 * MIB
Json = dict[str, Any]
Times = list[tuple[str, int, list[float]]]  # what was timed, bytes, and seconds of every pass


class MissingError(Exception):
    """A judge cannot run here; the text says why."""


def gpus() -> list[str]:
    """Return the places that tensors are put on; without GPUs, twice the host."""
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return [f"cuda:{gpu}" for gpu in range(count)] or ["cpu", "cpu"]


def gpu() -> str:
    """Return the first GPU; raise if there is none."""
    if gpus()[0] == "cpu":
        raise MissingError("there is no GPU")
    return gpus()[0]


def synchronize() -> None:
    """Wait for all GPUs."""
    import torch

    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        torch.cuda.synchronize(number)


def seconds_of(act: Callable[[], object]) -> float:
    """Return how long it takes, up to the end on all GPUs."""
    synchronize()
    start = time.perf_counter()
    act()
    synchronize()
    return time.perf_counter() - start


def require(right: bool, what: str) -> None:
    """Raise if bytes have arrived changed."""
    if not right:
        raise SystemExit(f"{what}: bytes have arrived changed")


# --- LMCache ---

LAYERS, HEADS, HEAD_SIZE, CHUNK_TOKENS, PAGE_TOKENS = 32, 8, 128, 256, 16
HIDDEN = HEADS * HEAD_SIZE
CHUNK_BYTES = 2 * LAYERS * CHUNK_TOKENS * HIDDEN * 2  # keys and values of bfloat16
PIN_CHUNK = 64 * MIB  # what LMCache pins at a time; its copies are cut there


def lmcache_kernels() -> Any:
    """Return LMCache's compiled module, without the package around it, which wants a server's."""
    found = importlib.util.find_spec("lmcache")
    if found is None or not found.submodule_search_locations:
        raise MissingError("lmcache is not installed")
    for folder in found.submodule_search_locations:
        for name in ("c_ops", "cuda_ops"):
            for path in Path(folder).glob(f"{name}.*.so"):
                loader = importlib.machinery.ExtensionFileLoader(f"lmcache.{name}", str(path))
                spec = importlib.util.spec_from_loader(loader.name, loader)
                assert spec is not None
                module = importlib.util.module_from_spec(spec)
                loader.exec_module(module)
                return module
    raise MissingError("lmcache has no compiled kernels")


class PagedCache:
    """Keys and values of all layers on a GPU, in pages, and as many bytes pinned by LMCache."""

    def __init__(self, ops: Any, total: int, place: str) -> None:
        import torch

        self.ops, self.place = ops, torch.device(place)
        self.chunks = max(1, total // CHUNK_BYTES)
        self.slots = self.chunks * CHUNK_TOKENS
        shape = (2, self.slots // PAGE_TOKENS, PAGE_TOKENS, HEADS, HEAD_SIZE)
        self.layers = [
            torch.randint(-(1 << 15), 1 << 15, shape, dtype=torch.int16, device=place)
            for _ in range(LAYERS)
        ]
        self.first = [layer.clone() for layer in self.layers]
        addresses = [layer.data_ptr() for layer in self.layers]
        self.addresses = torch.tensor(addresses, dtype=torch.int64, device=place)
        self.slot_of = torch.randperm(self.slots // PAGE_TOKENS, device=place).repeat_interleave(
            PAGE_TOKENS
        ) * PAGE_TOKENS + torch.arange(PAGE_TOKENS, device=place).repeat(self.slots // PAGE_TOKENS)
        self.host = pinned_by(ops, self.chunks * CHUNK_BYTES).view(
            self.chunks, 2, LAYERS, CHUNK_TOKENS, HIDDEN
        )
        self.buffer = torch.empty(self.host.shape[1:], dtype=torch.bfloat16, device=place)

    def move(self, chunk: int, memory: Any, way: Any) -> None:
        """Let the kernel move one chunk between pages and memory of either kind."""
        mine = self.slot_of[chunk * CHUNK_TOKENS : (chunk + 1) * CHUNK_TOKENS]
        layout = self.ops.EngineKVFormat.NL_X_TWO_NB_BS_NH_HS
        self.ops.multi_layer_kv_transfer(
            *(memory, self.addresses, mine, self.place, self.slots, way, layout),
            block_size=PAGE_TOKENS,
            head_size=HEAD_SIZE,
        )

    def copy(self, chunk: int, way: Any) -> None:
        """Copy one chunk between pinned memory and the buffer."""
        ends = [self.host[chunk].data_ptr(), self.buffer.data_ptr()]
        if way == self.ops.TransferDirection.H2D:
            ends.reverse()
        self.ops.lmcache_memcpy_async(*ends, CHUNK_BYTES, way, chunk * CHUNK_BYTES, PIN_CHUNK)

    def store(self, staged: bool) -> None:
        """Bring all chunks to the host; LMCache waits for each."""
        out = self.ops.TransferDirection.D2H
        for chunk in range(self.chunks):
            self.move(chunk, self.buffer if staged else self.host[chunk], out)
            if staged:
                self.copy(chunk, out)
            synchronize()

    def load(self, staged: bool) -> None:
        """Bring all chunks back."""
        into = self.ops.TransferDirection.H2D
        for chunk in range(self.chunks):
            if staged:
                self.copy(chunk, into)
            self.move(chunk, self.buffer if staged else self.host[chunk], into)

    def clear(self) -> None:
        """Forget what is on the GPU."""
        for layer in self.layers:
            layer.zero_()

    def is_right(self) -> bool:
        """Return whether all pages are as at first."""
        import torch

        return all(torch.equal(*both) for both in zip(self.layers, self.first, strict=True))


def pinned_by(ops: Any, nbytes: int) -> Any:
    """Return memory that LMCache has pinned, as a tensor. It is never freed."""
    import torch

    block = (ctypes.c_char * nbytes).from_address(ops.alloc_pinned_ptr(nbytes, 0))
    return torch.frombuffer(block, dtype=torch.bfloat16).zero_()


def judge_lmcache(total: int, _folder: Path) -> Times:
    """Time stores and loads of a paged cache, by kernels alone and by a buffer and copies."""
    place = gpu()
    cache = PagedCache(lmcache_kernels(), total, place)
    times: Times = []
    for kind in ("kernels", "copies"):
        staged = kind == "copies"
        stores, loads = [], []
        for _ in range(PASSES):
            stores.append(seconds_of(partial(cache.store, staged)))
            cache.clear()
            loads.append(seconds_of(partial(cache.load, staged)))
            require(cache.is_right(), f"lmcache {kind}")
            cache.host.zero_()
        times += [(f"store {kind}", cache.host.nbytes, stores)]
        times += [(f"load {kind}", cache.host.nbytes, loads)]
    return times


# --- NIXL ---

NIXL_BYTES = (256 * MIB, GIB)


def pattern(nbytes: int, salt: int, place: str) -> Any:
    """Return bytes that differ by place and by salt."""
    import torch

    return torch.arange(nbytes // 4, dtype=torch.int32, device=place) * 3 + salt


def nixl_target(pipe: Any, sizes: list[int], place: str) -> None:
    """Be the process whose memory is written: hand out what describes it, and compare."""
    import torch
    from nixl_cu13 import nixl_agent

    agent = nixl_agent("target")
    memory = torch.zeros(max(sizes) // 4, dtype=torch.int32, device=place)
    synchronize()
    agent.register_memory(memory)
    described = [agent.get_serialized_descs(agent.get_xfer_descs(memory[: n // 4])) for n in sizes]
    pipe.send((agent.get_agent_metadata(), described))
    for size, salt in iter(pipe.recv, None):
        pipe.send(torch.equal(memory[: size // 4], pattern(size, salt, place)))


def nixl_write(agent: Any, handle: Any) -> None:
    """Write once, up to the end."""
    state = agent.transfer(handle)
    while state == "PROC":
        state = agent.check_xfer_state(handle)
    if state != "DONE":
        raise SystemExit(f"a transfer of NIXL ends with {state}")


def judge_nixl(total: int, _folder: Path) -> Times:
    """Time writes from a GPU of this process to one of another process."""
    from nixl_cu13 import nixl_agent

    places, sizes = gpus(), [min(size, total) for size in NIXL_BYTES]
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    target = context.Process(target=nixl_target, args=(other, sizes, places[-1]), daemon=True)
    target.start()
    other.close()
    agent = nixl_agent("initiator")
    source = pattern(max(sizes), 0, places[0])
    synchronize()
    agent.register_memory(source)
    metadata, described = pipe.recv()
    name = agent.add_remote_agent(metadata)
    times = []
    for size, text in zip(sizes, described, strict=True):
        ends = agent.get_xfer_descs(source[: size // 4]), agent.deserialize_descs(text)
        seconds = []
        for salt in range(PASSES):
            source.copy_(pattern(max(sizes), salt, places[0]))
            handle = agent.initialize_xfer("WRITE", *ends, name)
            seconds.append(seconds_of(partial(nixl_write, agent, handle)))
            agent.release_xfer_handle(handle)
            pipe.send((size, salt))
            require(pipe.recv(), f"nixl {size}")
        times.append((f"write {size // MIB} MiB", size, seconds))
    pipe.send(None)
    target.join()
    return times


# --- files ---


def judge_fastsafetensors(total: int, folder: Path) -> Times:
    """Time loads of one file, which is in memory."""
    import torch
    from fastsafetensors import SafeTensorsFileLoader, SingleGroup
    from safetensors.torch import save_file

    place, count = gpus()[0], max(1, total // FILE_TENSOR)
    first = torch.arange(min(total, FILE_TENSOR) // 4, dtype=torch.int32)
    path = folder / "judge.safetensors"
    if not path.exists():
        save_file({f"layers.{each}.weight": first + each for each in range(count)}, path)
    expected = first.to(place)
    times = []
    for _ in range(PASSES):
        loader = SafeTensorsFileLoader(SingleGroup(), place, nogds=True)
        found: list[Any] = []

        def load(loader: Any = loader, found: list[Any] = found) -> None:
            loader.add_filenames({0: [str(path)]})
            found.append(loader.copy_files_to_device())

        times.append(seconds_of(load))
        tensors = (found[0].get_tensor(f"layers.{each}.weight") for each in range(count))
        right = all(torch.equal(tensor, expected + each) for each, tensor in enumerate(tensors))
        require(right, "fastsafetensors")
        found[0].close()
        loader.close()
    return [("load", path.stat().st_size, times)]


# --- weights that sleep ---


def judge_torch_memory_saver(total: int, _folder: Path) -> Times:
    """Time sleep and wake: the host's copy is made anew each time, and kept from then on."""
    place = gpu()
    import torch
    from torch_memory_saver import torch_memory_saver as saver

    saver.hook_mode = "torch"
    first = torch.arange(FILE_TENSOR // 4, dtype=torch.int32, device=place)
    with saver.region(enable_cpu_backup=True):
        weights = [first + each for each in range(max(1, total // FILE_TENSOR))]
    times: Times = []
    for kind in ("new", "kept"):
        saver.retain_cpu_backup = kind == "kept"
        pauses, resumes = [], []
        for _ in range(PASSES):
            pauses.append(seconds_of(saver.pause))
            resumes.append(seconds_of(saver.resume))
            right = all(torch.equal(each, first + n) for n, each in enumerate(weights))
            require(right, f"torch_memory_saver {kind}")
        nbytes = len(weights) * FILE_TENSOR
        times += [(f"sleep {kind}", nbytes, pauses), (f"wake {kind}", nbytes, resumes)]
    return times


# --- DeepSpeed ---

WIDTH = 4096


def deepspeed_config() -> Json:
    """Return what turns the optimizer's offload on, with an optimizer of PyTorch's."""
    offload = {"device": "cpu", "pin_memory": True}
    return {
        "train_micro_batch_size_per_gpu": 1,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": 2, "offload_optimizer": offload},
        "zero_force_ds_cpu_optimizer": False,
        "zero_allow_untested_optimizer": True,
    }


def alone(backend: str) -> None:
    """Be the only rank."""
    import deepspeed

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    deepspeed.init_distributed(dist_backend=backend, auto_mpi_discovery=False, verbose=False)


def judge_deepspeed(total: int, _folder: Path) -> Times:
    """Time steps, of weights of a quarter of the bytes: gradients out, trained weights back."""
    place = gpus()[0]
    os.environ.setdefault("DS_ACCELERATOR", place.split(":")[0])
    import deepspeed
    import torch
    from deepspeed.utils import safe_get_full_fp32_param

    alone("gloo" if place == "cpu" else "nccl")
    width = min(WIDTH, int((total // 8) ** 0.5))
    layers = [torch.nn.Linear(width, width, bias=False) for _ in range(total // 8 // width**2)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=deepspeed_config())
    data = torch.ones(16, width, dtype=torch.bfloat16, device=place)

    def step() -> None:
        engine.backward(engine(data).float().square().mean())
        engine.step()

    times = [seconds_of(step) for _ in range(PASSES)]
    for weight in engine.module.parameters():
        master = safe_get_full_fp32_param(weight)
        require(torch.equal(master.to(weight.device, weight.dtype), weight), "deepspeed")
    return [("step", 2 * len(layers) * width**2, times)]


JUDGES: dict[str, Callable[[int, Path], Times]] = {
    "lmcache": judge_lmcache,
    "nixl": judge_nixl,
    "fastsafetensors": judge_fastsafetensors,
    "torch_memory_saver": judge_torch_memory_saver,
    "deepspeed": judge_deepspeed,
}
PACKAGES = {"nixl": "nixl-cu13", "torch_memory_saver": "torch_memory_saver"}


def version_of(name: str) -> str:
    """Return a judge's version."""
    try:
        return importlib.metadata.version(PACKAGES.get(name, name))
    except importlib.metadata.PackageNotFoundError:
        return "of no version"


def judge(name: str, total: int, folder: Path) -> Json:
    """Run one judge; return first passes and medians of the others, or what it lacks."""
    try:
        import torch

        times = JUDGES[name](total, folder)
    except (ImportError, OSError, MissingError) as error:
        return {"missing": f"{type(error).__name__}: {error}".splitlines()[0]}
    timings = [
        row
        for what, nbytes, each in times
        for row in (
            (f"{name}: first {what}", nbytes, each[0]),
            (f"{name}: later {what}", nbytes, statistics.median(each[1:])),
        )
    ]
    program = f"{name} {version_of(name)}, PyTorch {torch.__version__}"
    return {"program": program, "timings": timings}
