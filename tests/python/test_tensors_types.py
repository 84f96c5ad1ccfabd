"""Elements of copies: their types are compared wherever an object says them."""

from __future__ import annotations

import array
import ctypes
from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import Torch
from polypath.tensors import memory_of
from tensor_memory import host_array, wait


class Record(ctypes.Structure):
    """A float and then an integer."""

    _fields_ = (("a", ctypes.c_float), ("n", ctypes.c_int32))


class Either(ctypes.Union):
    """A float or an integer."""

    _fields_ = (("a", ctypes.c_float), ("n", ctypes.c_int32))


class OnGpu:
    """Memory that an object shows by the array interface of CUDA, of a type that it is told."""

    def __init__(self, tensor: Any, typestr: str, **more: Any) -> None:
        item_size = 4 * int(typestr[2:]) if typestr[1] == "U" else int(typestr[2:].split("[")[0])
        self.__cuda_array_interface__ = {
            "shape": (tensor.array.nbytes // item_size,),
            "typestr": typestr,
            "data": (tensor.data_ptr(), False),
            "version": 3,
            **more,
        }


def memory_bytes(thing: Any) -> Any:
    """Return the bytes of what NumPy or the buffer protocol shows."""
    return thing.tobytes() if isinstance(thing, np.ndarray) else memoryview(thing)


FLOAT_FIRST = np.dtype([("a", "f4"), ("n", "i4")])
INTEGER_FIRST = np.dtype([("n", "i4"), ("a", "f4")])
WITH_A_GAP = np.dtype({"names": ["a", "n"], "formats": ["f4", "i2"], "offsets": [0, 4],
                       "itemsize": 8})  # fmt: skip
OTHER_NAMES = np.dtype([("x", "f4"), ("n", "i4")])
OTHER_ENDIAN = np.dtype([("a", ">f4"), ("n", "i4")])
NESTED = np.dtype([("a", "f4"), ("n", [("low", "i2"), ("high", "i2")])])
AN_ARRAY_WITHIN = np.dtype([("a", "f2", (2,)), ("n", "i4")])
TEXT = array.array("u", "ab")
SHORT_TEXT = np.zeros(2 if TEXT.itemsize == 4 else 1, np.float32)


@pytest.mark.parametrize(
    ("destination", "source"),
    [
        (np.zeros(2, np.float32), array.array("i", [1, 2])),
        (np.zeros(2, np.float64), (ctypes.c_int64 * 2)(1, 2)),
        (np.zeros(2, np.float32), memoryview(np.array([1, 2], np.int32))),
        (np.zeros(2, np.int64), memoryview(np.array([1, 2], "M8[s]").view(np.uint64))),
        (np.zeros(2, np.uint16), memoryview(np.zeros(2, np.float16))),
        (np.zeros(2, np.float32), (ctypes.c_float.__ctype_be__ * 2)(1, 2)),
        (np.zeros(2, np.complex64), memoryview(np.zeros(2, np.float64))),
        (np.zeros(2, np.uint8), memoryview(np.ones(2, bool))),
        (np.zeros(2, np.uint64), (ctypes.c_void_p * 2)(1, 2)),
        (np.zeros(2, np.float32), (Either * 2)()),
        (np.zeros(2, np.float64), (Record * 2)()),
        (SHORT_TEXT, TEXT),
        (array.array("f", [0, 0]), array.array("i", [1, 2])),
        (np.zeros(2, OTHER_NAMES), (Record * 2)()),
        (np.zeros(2, "M8[s]"), np.ones(2, "M8[ms]")),
        (np.zeros(2, FLOAT_FIRST), np.zeros(2, np.float64)),
        *(
            (np.zeros(2, FLOAT_FIRST), np.zeros(2, other))
            for other in (
                INTEGER_FIRST, WITH_A_GAP, OTHER_NAMES, OTHER_ENDIAN, NESTED, AN_ARRAY_WITHIN
            )
        ),
    ],
    ids=lambda value: str(getattr(value, "dtype", type(value).__name__))[:40],
)  # fmt: skip
def test_other_types_are_refused_and_nothing_is_written(destination: Any, source: Any) -> None:
    before = bytes(memory_bytes(destination))

    with pytest.raises(ValueError, match=r"elements of type .* do not become .* \(.+\) .*\."):
        polypath.copy(destination, source)

    assert bytes(memory_bytes(destination)) == before


@pytest.mark.parametrize(
    ("destination", "source"),
    [
        (np.zeros(2, np.int32), array.array("i", [1, 2])),
        (np.zeros(2, np.int64), (ctypes.c_int64 * 2)(1, 2)),
        (np.zeros(2, np.float16), memoryview(np.ones(2, np.float16))),
        (np.zeros(2, np.complex128), memoryview(np.ones(2, np.complex128))),
        (np.zeros(2, FLOAT_FIRST), (Record * 2)((1.5, 2), (3.5, 4))),
        (np.zeros(2, FLOAT_FIRST), np.ones(2, np.dtype(FLOAT_FIRST, align=True))),
        (np.zeros(2, FLOAT_FIRST), memoryview(np.ones(2, FLOAT_FIRST))),
        (np.zeros(8, np.uint8), array.array("b", b"polypath")),
        (np.zeros(2, np.float32), (ctypes.c_char * 8)(*b"polypath")),
        (np.zeros(2, np.float32), bytearray(np.ones(2, np.float32).tobytes())),
        ((ctypes.c_void_p * 2)(), (ctypes.c_void_p * 2)(1, 2)),
        ((Either * 2)(), (Either * 2)((1.5,), (2.5,))),
        (array.array("u", "xy"), array.array("u", "ab")),
    ],
    ids=lambda value: str(getattr(value, "dtype", type(value).__name__))[:40],
)
def test_equal_types_are_copied_whichever_object_says_them(destination: Any, source: Any) -> None:
    polypath.copy(destination, source)

    assert bytes(memory_bytes(destination)) == bytes(memory_bytes(source))


def test_bits_of_other_types_are_copied_where_they_are_asked_for() -> None:
    destination, source = np.zeros(2, FLOAT_FIRST), np.ones(2, INTEGER_FIRST)

    polypath.copy(destination, source, bits=True)

    assert destination.tobytes() == source.tobytes()


def test_a_buffer_of_python_objects_is_refused() -> None:
    with pytest.raises(TypeError, match="Python objects"):
        polypath.copy(np.zeros(1, np.uint64), (ctypes.py_object * 1)(object()))


def test_records_are_told_with_their_fields() -> None:
    with pytest.raises(
        ValueError,
        match=r"type {n: int32 at 0, a: float32 at 4} do not become {a: float32 at 0, n: int32 at",
    ):
        polypath.copy(np.zeros(2, FLOAT_FIRST), np.zeros(2, INTEGER_FIRST))


@pytest.mark.parametrize(
    "kind", ["<f4", "|b1", ">i2", "<M8[ms]", ">m8[3s]", "|S5", "<U3", "<c16"]
)  # fmt: skip
def test_the_cuda_array_interface_names_types_as_numpy_does(torch: Torch, kind: str) -> None:
    tensor = torch.tensor(0, 16 * np.dtype(kind).itemsize)

    memory = memory_of(OnGpu(tensor, kind))

    assert memory.element == memory_of(np.zeros(1, kind)).element
    assert memory.item_size == np.dtype(kind).itemsize
    assert memory.nbytes == tensor.array.nbytes


@pytest.mark.parametrize("other", [INTEGER_FIRST, OTHER_NAMES, WITH_A_GAP])
def test_records_of_the_cuda_array_interface_are_compared(
    context: polypath.Context, torch: Torch, other: np.dtype
) -> None:
    tensor = torch.tensor(0, 64)
    stream = context.stream("gpu0")
    given = OnGpu(tensor, "|V8", descr=np.lib.format.dtype_to_descr(other), stream=stream)
    destination = host_array(context, 64).view(other)
    tensor.array[:] = np.arange(64)

    with pytest.raises(ValueError, match="do not become"):
        polypath.copy(np.zeros(8, FLOAT_FIRST), given)
    polypath.copy(destination, given)
    wait(stream)

    assert destination.tobytes() == tensor.array.tobytes()


def test_elements_whose_type_is_not_said_fit_any(context: polypath.Context, torch: Torch) -> None:
    tensor, stream = torch.tensor(0, 64), context.stream("gpu0")
    destination = host_array(context, 64).view(FLOAT_FIRST)
    tensor.array[:] = np.arange(64)

    polypath.copy(destination, OnGpu(tensor, "|V8", stream=stream))
    wait(stream)

    assert destination.tobytes() == tensor.array.tobytes()
