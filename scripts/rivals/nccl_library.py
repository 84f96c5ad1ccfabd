"""A libnccl.so.2 by its C interface, beside the one that PyTorch brings.

Both export the same names, and each calls its own by name. So this one is loaded with its names for
itself alone, and looks its own up first (RTLD_DEEPBIND).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from ctypes import POINTER, byref, c_byte, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import Any

MODE = os.RTLD_NOW | os.RTLD_LOCAL | getattr(os, "RTLD_DEEPBIND", 0)

# From nccl.h.
TYPES = {"int32": 2, "int64": 4, "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9}
OPERATORS = {"sum": 0, "max": 2, "min": 3}
UNDEFINED = -(1 << 31)  # NCCL_CONFIG_UNDEF_INT
MAGIC = 0xCAFEBEEF  # NCCL_API_MAGIC
SYMMETRIC = 1  # NCCL_WIN_COLL_SYMMETRIC
COPY_ENGINES = 2  # NCCL_CTA_POLICY_ZERO
NO_MULTICAST = (1 << 31) - 1  # ncclNvlsHostModeDisable
LAYOUT = 23100  # the version whose ncclConfig_t this is; it only ever grows, at its end


class UniqueId(ctypes.Structure):
    """ncclUniqueId."""

    _fields_ = (("internal", c_byte * 128),)


class Config(ctypes.Structure):
    """ncclConfig_t of 2.31: older ones are its beginning, and newer ones begin with it."""

    _fields_ = (
        ("size", c_size_t), ("magic", c_uint), ("version", c_uint),
        ("blocking", c_int), ("cgaClusterSize", c_int), ("minCTAs", c_int), ("maxCTAs", c_int),
        ("netName", c_char_p), ("splitShare", c_int), ("trafficClass", c_int),
        ("commName", c_char_p), ("collnetEnable", c_int), ("CTAPolicy", c_int),
        ("shrinkShare", c_int), ("nvlsCTAs", c_int), ("nChannelsPerNetPeer", c_int),
        ("nvlinkCentricSched", c_int), ("graphUsageMode", c_int), ("numRmaCtx", c_int),
        ("maxP2pPeers", c_int), ("graphStreamOrdering", c_int), ("launchOrderImplicit", c_int),
        ("numRmaSig", c_int), ("rmaEagerInit", c_int), ("hostCftMode", c_int),
        ("nvlsHostMode", c_int),
    )  # fmt: skip


def config(policy: int = UNDEFINED) -> Config:
    """Return what NCCL_CONFIG_INITIALIZER is, with a policy, and without multicast."""
    whole = {name: UNDEFINED for name, kind in Config._fields_ if kind is c_int}
    head = {"size": ctypes.sizeof(Config), "magic": MAGIC, "version": LAYOUT}
    return Config(**{**whole, **head, "CTAPolicy": policy, "nvlsHostMode": NO_MULTICAST})


# What is sent, what is got, elements of a part, their type, and then the communicator and stream.
HEAD: tuple[Any, ...] = (c_void_p, c_void_p, c_size_t, c_int)
TAIL: tuple[Any, ...] = (c_void_p, c_void_p)
COLLECTIVES = {
    "allreduce": "ncclAllReduce",
    "broadcast": "ncclBroadcast",
    "allgather": "ncclAllGather",
    "reducescatter": "ncclReduceScatter",
    "alltoall": "ncclAlltoAll",
}
WITH_CHOICE = ("allreduce", "broadcast", "reducescatter")  # an operator, or a root
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "ncclGetVersion": (POINTER(c_int),),
    "ncclGetUniqueId": (POINTER(UniqueId),),
    "ncclCommInitRankConfig": (POINTER(c_void_p), c_int, UniqueId, c_int, POINTER(Config)),
    "ncclCommDestroy": (c_void_p,),
    "ncclMemAlloc": (POINTER(c_void_p), c_size_t),
    "ncclMemFree": (c_void_p,),
    "ncclCommWindowRegister": (c_void_p, c_void_p, c_size_t, POINTER(c_void_p), c_int),
    "ncclCommWindowDeregister": (c_void_p, c_void_p),
    **{
        name: (*HEAD, *((c_int,) if operation in WITH_CHOICE else ()), *TAIL)
        for operation, name in COLLECTIVES.items()
    },
}


class NcclLibrary:
    """One libnccl.so.2. RuntimeError with what it says where it fails."""

    def __init__(self, path: str) -> None:
        """Load it. RuntimeError if that cannot be."""
        try:
            self._library = ctypes.CDLL(path, mode=MODE)
            self._functions = {name: getattr(self._library, name) for name in ARGUMENTS}
        except (OSError, AttributeError) as error:
            raise RuntimeError(
                f"{path} cannot be used ({error}) Give the path of libnccl.so.2, 2.28 or newer."
            ) from None
        for name, types in ARGUMENTS.items():
            self._functions[name].argtypes = types
        self._library.ncclGetErrorString.restype = c_char_p

    def version(self) -> str:
        """Return "2.32.3"."""
        number = c_int()
        self._call("ncclGetVersion", byref(number))
        major, rest = divmod(number.value, 10000)
        return f"{major}.{rest // 100}.{rest % 100}"

    def unique_id(self) -> bytes:
        """Return what rank 0 gives to all."""
        identity = UniqueId()
        self._call("ncclGetUniqueId", byref(identity))
        return bytes(identity)

    def communicator(self, identity: bytes, size: int, rank: int, policy: int) -> int:
        """Return this rank's communicator on the current GPU; at all ranks."""
        made, wanted = c_void_p(), config(policy)
        all_ranks = UniqueId.from_buffer_copy(identity)
        self._call("ncclCommInitRankConfig", byref(made), size, all_ranks, rank, byref(wanted))
        return made.value or 0

    def destroy(self, communicator: int) -> None:
        """Give it back; at all ranks."""
        self._call("ncclCommDestroy", communicator)

    def allocate(self, size: int) -> int:
        """Return memory of the current GPU, bytes, that can be a window."""
        made = c_void_p()
        self._call("ncclMemAlloc", byref(made), size)
        return made.value or 0

    def free(self, memory: int) -> None:
        """Give it back."""
        self._call("ncclMemFree", memory)

    def register(self, communicator: int, memory: int, size: int) -> int:
        """Return a symmetric window of it; at all ranks. RuntimeError where there are none."""
        made = c_void_p()
        self._call("ncclCommWindowRegister", communicator, memory, size, byref(made), SYMMETRIC)
        if not made.value:
            raise RuntimeError("memory cannot be registered (NCCL has no windows among these GPUs)")
        return made.value

    def deregister(self, communicator: int, window: int) -> None:
        """Give a window back; at all ranks."""
        self._call("ncclCommWindowDeregister", communicator, window)

    def collective(self, operation: str, arguments: tuple[int, ...], choice: int,
                   communicator: int) -> Callable[[int], None]:  # fmt: skip
        """Return what enqueues it on a stream; `arguments`: those of HEAD."""
        name = COLLECTIVES[operation]
        function = self._functions[name]
        chosen = (choice,) if operation in WITH_CHOICE else ()
        before = (*arguments, *chosen, communicator)

        def enqueue(stream: int) -> None:
            status = function(*before, stream)
            if status:
                self._fail(name, status)

        return enqueue

    def _call(self, name: str, *arguments: Any) -> None:
        status = self._functions[name](*arguments)
        if status:
            self._fail(name, status)

    def _fail(self, name: str, status: int) -> None:
        why = self._library.ncclGetErrorString(status).decode()
        raise RuntimeError(f"{name} has failed ({why})")
