"""DLPack's functions of C (1.3, DLPackExchangeAPI) for stand-ins of PyTorch's tensors."""

from __future__ import annotations

import ctypes
from typing import Any

KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # of NumPy's types, DLDataTypeCode
CPU, CUDA = 1, 2
FAILED = -1


class Tensor(ctypes.Structure):
    """As DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("device_number", ctypes.c_int32),
        ("dimensions", ctypes.c_int32),
        ("kind", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
    ]


FROM_OBJECT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))


class Exchange(ctypes.Structure):
    """As DLPackExchangeAPI, without what makes tensors or knows streams."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("older", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_from_object", ctypes.c_void_p),
        ("managed_to_object", ctypes.c_void_p),
        ("memory_of", FROM_OBJECT),
        ("current_stream", ctypes.c_void_p),
    ]


@FROM_OBJECT
def _memory_of(thing: Any, said: Any) -> int:
    if thing.layout != "strided":
        return FAILED
    out, array = said.contents, thing.array
    out.data = thing.data_ptr()
    out.device, out.device_number = (CPU, 0) if thing.gpu is None else (CUDA, thing.gpu)
    out.kind, out.bits, out.lanes = KINDS[array.dtype.kind], 8 * array.itemsize, 1
    out.dimensions = array.ndim
    axes = ctypes.c_int64 * array.ndim
    thing.axes = axes(*array.shape), axes(*thing.stride())  # they live as long as the tensor
    out.shape, out.strides = (ctypes.addressof(each) for each in thing.axes)
    return 0


_NAME = ctypes.create_string_buffer(b"dlpack_exchange_api")


def capsule(exchange: Exchange) -> Any:
    """Return what a class of tensors has as `__dlpack_c_exchange_api__`."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.addressof(exchange), ctypes.cast(_NAME, ctypes.c_char_p), None)


EXCHANGE = Exchange(1, 3, None, None, None, None, _memory_of, None)
CAPSULE = capsule(EXCHANGE)
