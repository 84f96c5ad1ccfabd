"""polypath.copy and polypath.to: every kind of memory, stream order, and every refusal."""

from __future__ import annotations

import array
import os
import subprocess
import sys
import threading
import types
from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import Cupy, CupyStream, Torch, TorchStream
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polypath import memory, process_context
from polypath.frameworks import PYTORCH

MIB = 1 << 20


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> polypath.Context:
    """The process's context is one of a simulated machine."""
    opened = polypath.Context("h200x4")
    monkeypatch.setattr(process_context, "_context", opened)
    return opened


@pytest.fixture
def torch(context: polypath.Context, monkeypatch: pytest.MonkeyPatch) -> Torch:
    module = Torch(context)
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.fixture
def cupy(context: polypath.Context, monkeypatch: pytest.MonkeyPatch) -> Cupy:
    module = Cupy(context)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def pattern(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8)


def host_array(context: polypath.Context, count: int) -> np.ndarray:
    """An array of the host that the simulated machine knows; it counts as pinned."""
    return context.allocate("host0", count).numpy()


def wait(*streams: Any) -> None:
    for stream in streams:
        stream.synchronize()


# PyTorch.


def test_between_gpus_in_the_order_of_both_current_streams(
    context: polypath.Context, torch: Torch
) -> None:
    source, destination, after = (torch.tensor(gpu, 8 * MIB) for gpu in (0, 1, 1))
    before = context.allocate("host0", 8 * MIB)
    expected = pattern(8 * MIB)
    before.numpy()[:] = expected
    read = context.allocate("gpu1", 8 * MIB)

    # What writes the source, what the destination is used for before, and what reads it.
    context.copy_addresses(source.data_ptr(), before.address, 8 * MIB, "gpu0",
                           torch.current[0].cuda_stream)  # fmt: skip
    context.copy_addresses(read.address, destination.data_ptr(), 8 * MIB, "gpu1",
                           torch.current[1].cuda_stream)  # fmt: skip
    how = polypath.copy(destination, source)
    context.copy_addresses(after.data_ptr(), destination.data_ptr(), 8 * MIB, "gpu1",
                           torch.current[1].cuda_stream)  # fmt: skip
    wait(*torch.current.values())

    assert how in ("native", "stream", "graph")
    assert np.array_equal(after.array, expected)
    assert context.violations() == []


def test_a_stream_that_does_not_wait_is_found_by_these_tests(
    context: polypath.Context, torch: Torch
) -> None:
    source, destination = torch.tensor(0, 8 * MIB), torch.tensor(1, 8 * MIB)
    stranger = context.stream("gpu1")

    polypath.copy(destination, source)
    context.copy_addresses(source.data_ptr(), destination.data_ptr(), 8 * MIB, "gpu1", stranger)
    wait(stranger, *torch.current.values())

    assert context.violations() != []


def test_a_named_stream_counts_on_its_gpu_and_the_current_one_on_the_other(
    context: polypath.Context, torch: Torch
) -> None:
    source, destination, after = (torch.tensor(gpu, 4 * MIB) for gpu in (0, 1, 1))
    own = TorchStream(context, 0)
    source.array[:] = pattern(4 * MIB)

    polypath.copy(destination, source, own)
    context.copy_addresses(after.data_ptr(), destination.data_ptr(), 4 * MIB, "gpu1",
                           torch.current[1].cuda_stream)  # fmt: skip
    wait(own, *torch.current.values())

    assert np.array_equal(after.array, source.array)
    assert context.violations() == []
    assert ("record_stream", source, own) in torch.log
    assert ("record_stream", destination, own) not in torch.log


def test_a_stream_of_the_receiving_gpu_may_be_named(
    context: polypath.Context, torch: Torch
) -> None:
    source, destination = torch.tensor(0, 4 * MIB), torch.tensor(1, 4 * MIB)
    own = TorchStream(context, 1)
    source.array[:] = pattern(4 * MIB)

    polypath.copy(destination, source, stream=own)
    wait(own)

    assert np.array_equal(destination.array, source.array)
    assert ("record_stream", destination, own) in torch.log


def test_a_source_with_gaps_is_made_contiguous_on_its_stream(
    context: polypath.Context, torch: Torch
) -> None:
    source, destination = torch.tensor(0, (64, 64)), torch.tensor(1, (64, 64))
    source.array[:] = pattern(64 * 64).reshape(64, 64)
    source.array = source.array.T
    own = TorchStream(context, 0)

    polypath.copy(destination, source, own)
    wait(own)

    assert np.array_equal(destination.array, source.array)
    assert ("contiguous", own) in torch.log


def test_equal_layouts_are_copied_as_they_lie(torch: Torch) -> None:
    source, destination = torch.tensor(0, (8, 64, 4)), torch.tensor(1, (8, 64, 4))
    source.array = source.array.transpose(2, 0, 1)
    destination.array = destination.array.transpose(2, 0, 1)
    source.array[:] = pattern(8 * 64 * 4).reshape(4, 8, 64)

    polypath.copy(destination, source)
    wait(torch.current[0])

    assert np.array_equal(destination.array, source.array)
    assert all(entry[0] != "contiguous" for entry in torch.log)


def test_values_that_are_conjugated_when_read_are_resolved_first(torch: Torch) -> None:
    source, destination = torch.tensor(0, 64, conjugated=True), torch.tensor(1, 64)
    source.array[:] = pattern(64)
    expected = ~source.array

    polypath.copy(destination, source)
    wait(torch.current[0])

    assert np.array_equal(destination.array, expected)


def test_pinned_memory_is_made_known_to_the_allocator(torch: Torch) -> None:
    pinned, on_gpu = torch.tensor(None, 4096, pinned=True), torch.tensor(1, 4096)
    pinned.array[:] = pattern(4096)

    polypath.copy(on_gpu, pinned)
    wait(torch.current[1])

    assert ("copy_", 1, True) in torch.log
    assert np.array_equal(on_gpu.array, pinned.array)


def test_nothing_but_the_copy_enters_a_capture(torch: Torch) -> None:
    pinned, on_gpu = torch.tensor(None, 4096, pinned=True), torch.tensor(1, 4096)
    torch.capturing = True

    polypath.copy(on_gpu, pinned)

    assert [entry[0] for entry in torch.log] == ["write"]


def test_a_write_is_made_known_to_autograd(torch: Torch) -> None:
    source, destination = torch.tensor(0, 64), torch.tensor(1, 64)

    polypath.copy(destination, source)

    assert torch.log == [("write", destination)]


def test_between_host_tensors_the_framework_copies(torch: Torch) -> None:
    source, destination = torch.tensor(None, (5, 3), np.float32), torch.tensor(None, 15, np.int32)
    source.array[:] = np.arange(15).reshape(5, 3)

    assert polypath.copy(destination, source) == "native"

    assert destination.array.tobytes() == source.array.tobytes()
    assert ("copy_", 60, False) in torch.log


@pytest.mark.parametrize("device", ["cuda:1", "gpu1", "cuda1", 1])
def test_to_gives_a_tensor_on_the_gpu(torch: Torch, device: Any) -> None:
    source = torch.tensor(0, (3, 5), np.float32)
    source.array[:] = np.arange(15).reshape(3, 5)

    result = polypath.to(source, device)
    wait(torch.current[0])

    assert str(result.device) == "cuda:1"
    assert np.array_equal(result.array, source.array)


def test_to_the_cpu_is_complete_when_it_returns(torch: Torch) -> None:
    source = torch.tensor(1, 3 * MIB)
    source.array[:] = pattern(3 * MIB)

    result = polypath.to(source, "cpu")

    assert str(result.device) == "cpu"
    assert np.array_equal(result.array, source.array)


def test_to_keeps_the_order_in_memory(torch: Torch) -> None:
    source = torch.tensor(0, (16, 8))
    source.array[:] = pattern(128).reshape(16, 8)
    source.array = source.array.T

    result = polypath.to(source, "cuda:1")
    wait(torch.current[0])

    assert np.array_equal(result.array, source.array)
    assert result.array.strides == source.array.strides


@pytest.mark.parametrize(("gpu", "device"), [(0, "cuda"), (0, "cuda:0"), (None, "cpu")])
def test_to_returns_what_is_there_already(torch: Torch, gpu: int | None, device: str) -> None:
    source = torch.tensor(gpu, 64, requires_grad=True)

    assert polypath.to(source, device) is source


def test_a_tensor_with_gradient_must_be_detached(torch: Torch) -> None:
    watched, other = torch.tensor(0, 64, requires_grad=True), torch.tensor(1, 64)

    for call in (
        lambda: polypath.to(watched, "cpu"),
        lambda: polypath.copy(other, watched),
        lambda: polypath.copy(watched, other),
    ):
        with pytest.raises(ValueError, match=r"requires_grad .*detach\(\)"):
            call()

    torch.grad_enabled = False
    assert polypath.copy(other, watched) in ("native", "stream", "graph")


def test_nothing_moves_to_the_cpu_while_its_stream_is_captured(torch: Torch) -> None:
    torch.capturing = True

    with pytest.raises(RuntimeError, match=r"cannot be moved to the CPU now \("):
        polypath.to(torch.tensor(0, 64), "cpu")


def test_a_sparse_tensor_is_refused(torch: Torch) -> None:
    with pytest.raises(TypeError, match="layout sparse_coo"):
        polypath.copy(torch.tensor(0, 64), torch.tensor(1, 64, layout="sparse_coo"))


# CuPy, and frameworks among each other.


def test_cupy_between_gpus_and_to_numpy(
    context: polypath.Context, cupy: Cupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def empty_in_known_memory(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        count = int(np.prod(shape)) * dtype.itemsize
        return host_array(context, count).view(dtype).reshape(shape)

    monkeypatch.setattr(np, "empty", empty_in_known_memory)
    source = cupy.empty((6, 7), np.float64)
    source.array[:] = np.arange(42).reshape(6, 7)

    moved = polypath.to(source, "cuda:2")
    back = polypath.to(moved, "cpu")

    assert moved.device.id == 2
    assert isinstance(back, np.ndarray) and np.array_equal(back, source.array)
    assert polypath.to(source, 0) is source
    assert context.violations() == []


def test_cupy_with_gaps_on_a_stream_of_its_own(context: polypath.Context, cupy: Cupy) -> None:
    source, destination = cupy.empty((32, 16)), cupy.empty((16, 32))
    source.array[:] = pattern(512).reshape(32, 16)
    source.array = source.array.T
    stream = CupyStream(context, 0)

    polypath.copy(destination, source, stream)
    wait(stream)

    assert np.array_equal(destination.array, source.array)


def test_streams_of_two_frameworks_are_ordered(
    context: polypath.Context, torch: Torch, cupy: Cupy
) -> None:
    source, destination = torch.tensor(0, 4 * MIB), cupy.empty(4 * MIB)
    after = context.allocate("gpu0", 4 * MIB)
    source.array[:] = pattern(4 * MIB)

    polypath.copy(destination, source)
    context.copy_addresses(after.address, destination.data.ptr, 4 * MIB, "gpu0",
                           cupy.current[0].ptr)  # fmt: skip
    wait(cupy.current[0])

    assert np.array_equal(after.numpy(), source.array)
    assert context.violations() == []


def test_pinned_memory_of_pytorch_is_waited_for_when_another_framework_receives(
    torch: Torch, cupy: Cupy
) -> None:
    pinned, destination = torch.tensor(None, MIB, pinned=True), cupy.empty(MIB)
    pinned.array[:] = pattern(MIB)

    polypath.copy(destination, pinned, CupyStream(torch.context, 0))

    assert np.array_equal(destination.array, pinned.array)


# NumPy, buffers and interfaces.


def test_numpy_to_a_gpu_and_back(context: polypath.Context, torch: Torch) -> None:
    source, back = host_array(context, 2 * MIB), host_array(context, 2 * MIB)
    on_gpu = torch.tensor(2, 2 * MIB)
    source[:] = pattern(2 * MIB)

    polypath.copy(on_gpu, source)
    polypath.copy(back, on_gpu)
    wait(torch.current[2])

    assert np.array_equal(back, source)
    assert context.violations() == []


@pytest.mark.parametrize("installed", ["cupy", "torch"])
def test_numpy_goes_to_a_gpu_as_what_is_installed(
    context: polypath.Context, monkeypatch: pytest.MonkeyPatch, installed: str
) -> None:
    module = Cupy(context) if installed == "cupy" else Torch(context)
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, installed, module)
    if isinstance(module, Torch):
        module.from_numpy = lambda like: types.SimpleNamespace(dtype=like.dtype)
        module.empty = lambda shape, dtype, device: module.tensor(int(device[5:]), shape, dtype)
    source = host_array(context, 4096).view(np.float32)
    source[:] = np.arange(1024)

    result = polypath.to(source, "gpu0")
    wait(module.current[0])

    assert isinstance(result, getattr(module, "ndarray", None) or module.Tensor)
    assert np.array_equal(result.array, source)


def test_numpy_without_a_framework_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setitem(sys.modules, "torch", None)

    with pytest.raises(ImportError, match="pip install"):
        polypath.to(np.zeros(4), "cuda:0")


def test_numpy_stays_on_the_cpu() -> None:
    source = np.zeros(4)

    assert polypath.to(source, "cpu") is source


@given(
    shape=st.lists(st.integers(0, 9), min_size=1, max_size=3),
    order=st.sampled_from("CF"),
    kind=st.sampled_from(["u1", "i2", "f4", "c16"]),
)
def test_numpy_to_numpy_of_any_shape(shape: list[int], order: Any, kind: str) -> None:
    count = int(np.prod(shape))
    source = np.arange(count).astype(kind).reshape(shape, order=order)
    destination = np.zeros(shape, kind)

    polypath.copy(destination, source)

    assert np.array_equal(destination, source)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(nbytes=st.integers(1, 3 * MIB), first=st.integers(0, 700), second=st.integers(0, 700))
def test_odd_sizes_and_offsets(torch: Torch, nbytes: int, first: int, second: int) -> None:
    source, destination = torch.tensor(0, nbytes + 700), torch.tensor(1, nbytes + 700)
    source.array[:] = pattern(nbytes + 700)
    destination.array[:] = 7

    polypath.copy(destination[second : second + nbytes], source[first : first + nbytes])
    wait(torch.current[0])

    got = destination.array
    assert np.array_equal(got[second : second + nbytes], source.array[first : first + nbytes])
    assert (got[:second] == 7).all() and (got[second + nbytes :] == 7).all()


@pytest.mark.parametrize(
    "source",
    [
        b"polypath",
        bytearray(b"polypath"),
        memoryview(b"_polypath")[1:],
        memoryview(b"p_o_l_y_p_a_t_h_")[::2],
        array.array("b", b"polypath"),
        np.frombuffer(b"polypath", np.uint8),
    ],
    ids=lambda source: type(source).__name__,
)
def test_plain_buffers_are_read(source: Any) -> None:
    destination = np.zeros(2, np.uint32)

    if isinstance(source, np.ndarray) or getattr(source, "strides", None) == (2,):
        destination = destination.view(np.uint8)
    polypath.copy(destination, source)

    assert destination.tobytes() == b"polypath"


def test_plain_buffers_are_written() -> None:
    destination = bytearray(8)

    polypath.copy(destination, np.arange(2, dtype=np.uint32))

    assert destination == b"\0\0\0\0\1\0\0\0"


def test_buffers_of_a_context_take_part(context: polypath.Context, torch: Torch) -> None:
    source, destination = context.allocate("host0", 4096), torch.tensor(1, 4096)
    source.numpy()[:] = pattern(4096)

    polypath.copy(destination, source)
    wait(torch.current[1])

    assert np.array_equal(destination.array, source.numpy())


class Interface:
    """A library's own array on a GPU."""

    def __init__(self, tensor: Any, **more: Any) -> None:
        self.tensor = tensor
        self.__cuda_array_interface__ = {
            "shape": tensor.shape,
            "typestr": "|u1",
            "data": (tensor.data_ptr(), False),
            "version": 3,
            **more,
        }


def test_the_cuda_array_interface_is_read(context: polypath.Context, torch: Torch) -> None:
    source, destination = torch.tensor(3, (16, 4)), torch.tensor(0, 64)
    source.array[:] = pattern(64).reshape(16, 4)
    stream = context.stream("gpu3")

    polypath.copy(destination, Interface(source, stream=stream, strides=(4, 1)))
    wait(stream)

    assert np.array_equal(destination.array, source.array.reshape(-1))
    assert context.violations() == []


@pytest.mark.parametrize(("stated", "handle"), [(None, 0), (1, 0), (2, 2), (4096, 4096)])
def test_the_interface_names_the_stream(torch: Torch, stated: Any, handle: int) -> None:
    thing = Interface(torch.tensor(3, 64), stream=stated)

    with pytest.raises(polypath.Error, match=f"stream 0x{handle:x} cannot be used"):
        polypath.copy(torch.tensor(3, 64), thing)


def test_an_interface_with_gaps_is_refused(torch: Torch) -> None:
    thing = Interface(torch.tensor(3, (8, 8)), strides=(1, 8))

    with pytest.raises(ValueError, match="source of type Interface is not contiguous"):
        polypath.copy(torch.tensor(0, 64), thing, torch.current[3])


def test_dlpack_on_the_cpu_is_read() -> None:
    class Exporter:
        def __init__(self, kind: int) -> None:
            self.values, self.kind = np.arange(6.0), kind

        def __dlpack__(self, **options: Any) -> Any:
            return self.values.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.kind, 0

    destination = np.zeros(6)

    polypath.copy(destination, Exporter(1))

    assert np.array_equal(destination, np.arange(6.0))
    with pytest.raises(TypeError, match="type Exporter"):
        polypath.copy(destination, Exporter(2))


# Refusals.


def read_only() -> np.ndarray:
    values = np.zeros(8, np.uint8)
    values.flags.writeable = False
    return values


@pytest.mark.parametrize(
    ("destination", "source", "kind", "words"),
    [
        (np.zeros(8, np.uint8), np.zeros(9, np.uint8), ValueError, "9 bytes does not fill 8"),
        (np.zeros(2, np.float64), np.zeros(4, np.float32), ValueError, "elements of 4 bytes"),
        (read_only(), np.zeros(8, np.uint8), ValueError, "destination is read-only"),
        (b"12345678", np.zeros(8, np.uint8), ValueError, "destination is read-only"),
        (np.zeros((4, 4))[:, :2], np.zeros(8), ValueError, "destination is not contiguous"),
        (np.zeros((2, 4)).T, np.zeros(8), ValueError, "destination is not contiguous"),
        (np.zeros(8), [0.0] * 8, TypeError, "type list"),
        ("text", np.zeros(8), TypeError, "type str"),
        (np.zeros(1), np.array([object()]), TypeError, "Python objects"),
    ],
    ids=lambda value: None if isinstance(value, np.ndarray) else str(value)[:24],
)
def test_a_copy_that_makes_no_sense_is_refused(
    destination: Any, source: Any, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=rf"{words}.* \(.+\) [A-Z].*\."):
        polypath.copy(destination, source)


@pytest.mark.parametrize(
    ("stream", "kind"), [("0", TypeError), (True, TypeError), (-1, ValueError), (1.5, TypeError)]
)
def test_what_is_no_stream_is_refused(torch: Torch, stream: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="cannot be used"):
        polypath.copy(torch.tensor(0, 64), torch.tensor(1, 64), stream)


@pytest.mark.parametrize("device", ["meta", "cuda:x", "gpu", -1, True, "tpu:0", None])
def test_what_is_no_device_is_refused(torch: Torch, device: Any) -> None:
    if device == "gpu":
        assert polypath.to(torch.tensor(0, 64), device) is not None
        return
    with pytest.raises(ValueError, match=r"device '.*' cannot be used"):
        polypath.to(torch.tensor(0, 64), device)


def test_only_tensors_move(context: polypath.Context) -> None:
    for thing in (b"bytes", [1, 2], context.allocate("gpu0", 64)):
        with pytest.raises(TypeError, match=r"cannot be moved .*polypath\.copy"):
            polypath.to(thing, "cpu")


def test_streams_may_be_given_in_any_form(context: polypath.Context) -> None:
    class CudaStream:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 77

    own = context.stream("gpu2")
    forms = [own, 5, CudaStream(), TorchStream(context, 3), CupyStream(context, 1)]

    found = [memory.given_stream(form, 2) for form in forms]

    assert [(one.gpu, one.handle) for one in found] == [
        (2, own), (2, 5), (2, 77), (3, forms[3].cuda_stream), (1, forms[4].ptr),
    ]  # fmt: skip


def test_handles_become_streams_of_pytorch(torch: Torch) -> None:
    named = PYTORCH.stream_of(memory.GpuStream(2, 4096))

    assert (named.device.index, named.cuda_stream) == (2, 4096)
    assert PYTORCH.stream_of(memory.GpuStream(1, 0)) == "the default stream of 1"
    assert PYTORCH.stream_of(memory.GpuStream(3, 5, torch.current[3])) is torch.current[3]


def test_nothing_is_copied_for_no_bytes(torch: Torch) -> None:
    assert polypath.copy(torch.tensor(0, 0), torch.tensor(1, 0)) == "native"


def test_memory_that_nobody_knows_is_refused_by_the_engine(torch: Torch) -> None:
    with pytest.raises(polypath.Error, match="is not known to the driver"):
        polypath.copy(torch.tensor(0, 64), np.zeros(64, np.uint8))


# The context of the process.


def test_threads_copy_beside_each_other(context: polypath.Context, torch: Torch) -> None:
    results: list[bool] = []

    def work(seed: int) -> None:
        source, destination = torch.tensor(seed, 2 * MIB), torch.tensor((seed + 1) % 4, 2 * MIB)
        source.array[:] = pattern(2 * MIB, seed)
        stream = TorchStream(context, seed)
        for _ in range(5):
            polypath.copy(destination, source, stream)
        wait(stream)
        results.append(np.array_equal(destination.array, source.array))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [True] * 4


def test_a_simulated_machine_has_no_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_context, "_context", None)
    monkeypatch.setenv("POLYPATH_MACHINE", "beluga")

    with pytest.raises(polypath.Error, match=r"POLYPATH_MACHINE=beluga is simulated\) Unset") as no:
        process_context.process_context()

    assert no.value.code == "unsupported"


def test_one_context_is_opened_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[polypath.Context] = []

    def open_slowly() -> polypath.Context:
        opened.append(polypath.Context("beluga"))
        return opened[-1]

    monkeypatch.setattr(process_context, "_context", None)
    monkeypatch.setattr(process_context, "_open", open_slowly)
    found: list[polypath.Context] = []
    threads = [
        threading.Thread(target=lambda: found.append(process_context.process_context()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(opened) == 1 and set(map(id, found)) == {id(opened[0])}


FORKS = """
import os, sys, threading
import polypath
from polypath import process_context as shared

shared._open = lambda: polypath.Context("beluga")
parents = shared.process_context()
a, b = (shared.process_context().allocate(place, 8 << 20) for place in ("gpu0", "gpu1"))
shared._lock.acquire()  # another thread may hold it while this one forks
child = os.fork()
if child == 0:
    assert shared.process_context() is not parents
    c, d = (shared.process_context().allocate(place, 8 << 20) for place in ("gpu0", "gpu1"))
    c.numpy()[:] = 3
    shared.process_context().copy(d, c)
    assert (d.numpy() == 3).all()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
shared._lock.release()
assert shared.process_context() is parents
shared.process_context().copy(b, a)
"""


def test_a_forked_child_opens_its_own_context() -> None:
    run = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=60, check=False
    )

    assert (run.returncode, run.stderr) == (0, "")


def test_no_framework_is_imported_by_the_package() -> None:
    code = "import sys, polypath; print(sorted({'torch', 'cupy', 'numpy'} & set(sys.modules)))"

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                         env={**os.environ, "PYTHONPATH": ""})  # fmt: skip

    assert run.stdout == "[]\n"
