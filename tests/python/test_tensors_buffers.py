"""polypath.copy and polypath.to with NumPy, plain buffers and the array interfaces."""

from __future__ import annotations

import array
import sys
import types
from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import Cupy, Torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensor_memory import host_array, pattern, wait

MIB = 1 << 20


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
