"""
The engine, and reports as JSON texts; polypath.reports makes dictionaries of them.

scripts/write_stub.py writes this stub; src/api/python has what it is made of.
"""

from collections.abc import (
    Callable,
    Hashable,
    Iterable,
    Mapping,
    Sequence
)
from typing import Any

import numpy
import numpy as np
from numpy import typing as npt
import numpy.typing


class Error(RuntimeError):
    """
    What every function of this package raises; the message says what to do.
    """

    code: str

def version() -> str:
    """Return the version of the library."""

def machines() -> str:
    """
    Return a list of {name, description, gpus, hosts}: the machines that come along.
    """

def machine(name: str = '') -> str:
    """Return a machine as schema polypath.machine/1, without patterns."""

def chosen(machine: str = '') -> tuple[bool, str]:
    """
    Return whether that choice, or none, is this computer's GPUs, and a line for people.
    """

def settings() -> str:
    """
    Return a list of {variable, value, default, meaning}: the POLYPATH_* settings.
    """

def plan(request: str) -> str:
    """
    Return how a transfer would run: schema polypath.plan/1 with a "timeline".
    """

def joint_plan(request: str) -> str:
    """
    Return how several transfers would run together: schema polypath.joint_plan/1.
    """

def patterns() -> list[str]:
    """Return the names of the sets of transfers that joint_plan knows."""

def collective_plan(request: str) -> str:
    """Return how a collective would run: schema polypath.collective_plan/1."""

def collectives() -> list[str]:
    """Return the names of the collectives."""

def trace(request: str) -> str:
    """Run one transfer and return its timeline as Chrome trace events."""

def bench(request: str, progress: Callable[[int, int], None] | None = None) -> str:
    """
    Measure an operation: schema polypath.bench/1; progress is called with (done, total).
    """

def collective_bench(request: str, progress: Callable[[int, int], None] | None = None) -> str:
    """
    Measure a collective: schema polypath.bench/1; progress is called with (done, total).
    """

def jacobi_bench(request: str, progress: Callable[[int, int], None] | None = None) -> str:
    """
    Measure a Jacobi solver: schema polypath.bench/1; progress is called with (done, total).
    """

def tune(request: str, progress: Callable[[int, int], None] | None = None) -> str:
    """Search the best static plans: schema polypath.tuned/1."""

def calibrate(machine: str = '', progress: Callable[[int, int], None] | None = None) -> str:
    """
    Measure a machine and keep the result: schema polypath.calibration/1 with "calibrated".

    Without a name it is POLYPATH_MACHINE, else this computer's GPUs.
    """

def calibration(machine: str = '') -> str:
    """
    Return an earlier calibration: schema polypath.calibration/1; empty without one.
    """

def learnt(machine: str = '') -> str:
    """
    Return what transfers have taught: schema polypath.learnt/1; empty without any.
    """

def parse_bytes(text: str) -> int:
    """
    Return the bytes of "64M", "1GiB" or "4096"; K, M, G and T are powers of 1024.
    """

def format_bytes(count: int) -> str:
    """
    Return the shortest exact form that parse_bytes reads back: "64M", "4097".
    """

def describe_bytes(count: int) -> str:
    """Return a size for people: "64 MiB", "1.5 KiB", "123 B"."""

def free_memory() -> int:
    """
    Return the bytes of this computer's memory that are left, in a container as well.
    """

def describe_seconds(seconds: float) -> str:
    """Return a time for people: "12.3 us", "4.567 ms", "1.234 s", "never"."""

def describe_bandwidth(bytes_per_second: float) -> str:
    """Return a rate in bytes/s for people: "393 GB/s", "8.25 GB/s"."""

class Stream:
    """A stream of a GPU: work on it runs in order. Made by Context.stream."""

    def synchronize(self) -> None:
        """Wait until all work on the stream has finished."""

    def __repr__(self) -> str: ...

class Buffer:
    """
    Memory at a place of the machine. Made by Context.allocate.

    Freed with the last reference, once nothing queued uses it.
    """

    @property
    def nbytes(self) -> int:
        """Size in bytes."""

    @property
    def place(self) -> str:
        """Where it is, such as "gpu0"."""

    @property
    def address(self) -> int:
        """Where it starts."""

    def __repr__(self) -> str: ...

    def numpy(self) -> npt.NDArray[np.uint8]:
        """
        Return the bytes as an array, without a copy.

        Of memory of the host, and of all memory of simulated machines; Error (unsupported) for a real
        GPU's, which the host cannot reach. Synchronize the streams that use the buffer first.
        """

class Context:
    """
    Copies on one machine: "h200x4", "synthetic:7", a file; "" for the default.

    With trace=True it keeps the timeline of all copies.
    """

    def __init__(self, machine: str = '', trace: bool = False) -> None: ...

    def allocate(self, place: str, nbytes: int) -> Buffer:
        """Return memory of a GPU, or pinned memory of a host."""

    def stream(self, gpu: str) -> Stream:
        """Return a new stream of a GPU."""

    def copy(self, destination: Buffer, source: Buffer, nbytes: int | None = None, *, destination_offset: int = 0, source_offset: int = 0, stream: Stream | None = None, executor: str = 'auto', paths: Sequence[str] = [], shares: Mapping[str, float] = {}, chunks: Mapping[str, int] = {}) -> str:
        """
        Enqueue a copy of `nbytes` (default: as much as fits).

        Return how it runs: "native", "stream" or "graph". On `stream` it starts after what is there and
        ends before what comes next; without one the call waits until it is done. Offsets are bytes.
        `executor`, `paths`, `shares` and `chunks` are as in polypath.reports.

        Error (invalid argument) for what does not fit or belongs to another context.
        """

    def copy_addresses(self, destination: int, source: int, nbytes: int, gpu: str, stream: int | Stream, *, beside: Sequence[tuple[str, int | Stream]] = []) -> str:
        """
        Enqueue a copy of `nbytes` between memories that others have allocated.

        Return how it runs: "native", "stream" or "graph". It starts after what is on `stream`, a
        stream of `gpu` by CUDA's handle or of this context, and ends before what comes next there;
        the same holds for each (gpu, stream) of `beside`. With pageable memory at one end it blocks
        until the source has been read, or every byte is there. Handles need real GPUs.
        """

    def plan(self, source: str, destination: str, nbytes: int) -> dict[str, Any]:
        """
        Return the plan between two places: a dictionary of schema polypath.plan/1.
        """

    def predict_native(self, transfers: Sequence[tuple[str, str, int]]) -> float:
        """
        Return the seconds that native copies take which start together.

        Each is (source, destination, nbytes); "host" is the one nearest to the other end.
        """

    def copy_many(self, pairs: Sequence[tuple[Buffer, Buffer]], *, stream: Stream | None = None, executor: str = 'auto') -> list[str]:
        """
        Enqueue several copies that start together, planned together.

        Each pair is a destination and its source; as much is copied as fits. Return how each runs, as
        copy does. All start after what is on `stream` and end before what comes next; without one the
        call waits until all are done. The bytes are what they would be one after another; copies between
        different places run beside each other where none writes what another one reads or writes.

        Error (invalid argument) as copy, before anything is enqueued.
        """

    def copy_many_addresses(self, copies: Sequence[tuple[int, int, int, tuple[str, int | Stream], Sequence[tuple[str, int | Stream]]]]) -> list[str]:
        """
        Enqueue several copies between memories that others have allocated.

        Each is (destination, source, nbytes, (gpu, stream), beside), with the meaning that these have in
        copy_addresses; they run together as those of copy_many do. Return how each runs.
        """

    def copy_pieces(self, destinations: numpy.typing.NDArray[numpy.uint64], sources: numpy.typing.NDArray[numpy.uint64], sizes: numpy.typing.NDArray[numpy.uint64], stream: tuple[str, int | Stream], beside: Sequence[tuple[str, int | Stream]] = []) -> dict[str, int]:
        """
        Enqueue as many copies as the arrays have elements, in order with the same streams.

        They are those of copy_many_addresses, thousands of them without an object for each. Return how many
        ran in each way.
        """

    def close(self) -> None:
        """
        Wait for copies without a stream; calls after that are refused.

        Buffers and streams that are still there stay as they are. The end of `with` does it, too.
        """

    def __enter__(self) -> Context: ...

    def __exit__(self, kind: object, error: object, traceback: object) -> None: ...

    def place_of(self, address: int) -> str:
        """Return the place whose memory is at the address, such as "gpu0"."""

    def is_pageable(self, address: int) -> bool:
        """
        Return whether the driver does not know the host's memory at the address.
        """

    def nearest_host(self, gpu: str) -> str:
        """Return the host place nearest to a GPU, such as "host0"."""

    @property
    def simulated(self) -> bool:
        """Whether the machine is simulated."""

    @property
    def executor(self) -> str:
        """
        The executor of all copies, as the settings were at the opening: "auto" is usual.
        """

    def __repr__(self) -> str: ...

    def now(self) -> float:
        """Return seconds on the machine's clock; virtual when simulated."""

    def trace(self) -> dict[str, Any]:
        """
        Return the timeline so far as Chrome trace events, which Perfetto opens.

        Its times are microseconds, as that format has them. Only with trace=True has it copies.
        """

    def violations(self) -> list[str]:
        """Return races and other misuse that the simulated driver has found."""

    def statistics(self) -> dict[str, int]:
        """
        Return counts of transfers, executors, graph-cache hits, bytes and so on.
        """

class ThreadGroup:
    """Where ranks that are threads of one process meet."""

    def __init__(self, size: int) -> None: ...

    @property
    def size(self) -> int:
        """How many ranks meet."""

def element_types() -> dict[str, tuple[int, bool]]:
    """
    Return types of elements: the bytes of each, and whether it can be reduced.
    """

def find_element_type(name: str) -> str | None:
    """
    Return the name here of a type that others call "bf16", "torch.half" or "<f4"; None of one that there is not.
    """

class RankPlace:
    """Where a rank is; what is empty is found."""

    def __init__(self, gpu: str = '', node: str = '', host: str = '') -> None:
        """
        A GPU's name, what its node is called, by which host other nodes reach it.
        """

class OwnMessages:
    """What the program's own library has for messages between nodes."""

    def __init__(self, why_not: str) -> None:
        """Have none, for a reason."""

class MpiMessages(OwnMessages):
    """Those of mpi4py's MPI."""

    def __init__(self, module: str, split: Callable[[], int]) -> None:
        """
        Use the MPI of a module's file; `split` returns the handle of a new communicator of all ranks.
        """

    @staticmethod
    def end() -> None:
        """MPI is about to end: nothing calls it any more."""

class CalledMessages(OwnMessages):
    """Those of functions that wait."""

    def __init__(self, carrier: str, make: Callable[[], object]) -> None:
        """
        Use what `make` returns: send(to, lane, memory), receive(from, lane, memory), stop().

        Each waits until it is done, in threads of their own for each rank, lane and direction.
        """

class PersistentCall:
    """What one rank asks for, and where its memory is; to be run often."""

    def __init__(self, collective: str, type: str, reduction: str, root: int, elements: int, input: int, output: int, counts: Sequence[int], in_place: bool) -> None:
        """
        Read the names; the counts are those of request.h.

        Equal addresses are in place; alltoallv, which alone has counts, says so.
        """

class CollectiveRank:
    """One rank's end of collectives; polypath.Collectives is over it."""

    @staticmethod
    def by_file(context: Context, place: RankPlace, folder: str, rank: int, size: int, timeout: float | None = None) -> CollectiveRank:
        """
        Join ranks that share a folder; `timeout` seconds are for the others to come.
        """

    @staticmethod
    def by_address(context: Context, place: RankPlace, address: str, rank: int, size: int, timeout: float | None = None) -> CollectiveRank:
        """Join ranks by TCP, of which rank 0 listens at HOST:PORT."""

    @staticmethod
    def by_threads(context: Context, place: RankPlace, meeting: ThreadGroup, rank: int, timeout: float | None = None) -> CollectiveRank:
        """Join ranks that are threads of this process."""

    @staticmethod
    def by_function(context: Context, place: RankPlace, all_gather: Callable[[bytes], Iterable[bytes]], split: Callable[[int, int, list[int]], Callable[[bytes], Iterable[bytes]]], rank: int, size: int, messages: OwnMessages | None = None) -> CollectiveRank:
        """
        Join ranks by a function that gives the bytes of all for each rank's own.

        `split` gives such a function for the ranks of a node: of its number, of this rank's number there
        and of the ranks that are its members. All ranks call it, if there are several nodes. `messages` go
        between nodes, if all ranks have some; else TCP's do.
        """

    def run(self, call: PersistentCall, stream: int | Stream) -> None:
        """
        Enqueue this rank's part. The first of its kind and size waits for all ranks.
        """

    def prepare(self, call: PersistentCall) -> None:
        """Make what such calls need, and enqueue nothing. Waits for all ranks."""

    def chosen(self, call: PersistentCall) -> dict[str, Any]:
        """Return what was chosen for a call that has been prepared."""

    def choose_from(self, algorithms: Sequence[str], executor: str = 'auto') -> None:
        """
        Allow these algorithms only. The same at all ranks, before the first call.
        """

    def barrier(self, stream: int | Stream | None = None) -> None:
        """
        Wait until all ranks are here, or let a stream wait for those of all ranks.
        """

    def await_messages(self) -> None:
        """Wait for all ranks, and until no message between nodes is under way."""

    def synchronize(self) -> None:
        """
        Wait for what this rank has enqueued; Error for what any rank has found to be wrong.
        """

    def finish_call(self, stream: Stream) -> None:
        """
        Wait for the stream of a call that waits for its own end; errors are the call's.
        """

    def close(self) -> None:
        """
        End this rank when its work is done and all other ranks end, too; Error if something is wrong that no call has raised.
        """

    def abandon(self, why: str) -> None:
        """End this rank without waiting: calls of the others fail and say why."""

    @staticmethod
    def close_all(ranks: Sequence[CollectiveRank]) -> list[str]:
        """
        End several ranks of this process, each as close does, and those that were dropped.

        Return what the program has not been told of, in words.
        """

    @property
    def rank(self) -> int:
        """This rank."""

    @property
    def size(self) -> int:
        """How many ranks there are."""

    @property
    def nodes(self) -> int:
        """On how many nodes they are."""

    @property
    def gpu(self) -> str:
        """This rank's GPU."""

    @property
    def carrier(self) -> str:
        """What carries messages between nodes; empty on one."""

class TensorCalls:
    """Calls of PyTorch's tensors that have been checked, to be run often."""

    def __init__(self, rank: CollectiveRank, gpu: int, tensor: type, note_write: Callable[[Any], object] | None, is_grad_enabled: Callable[[], bool], current_stream: Callable[[int], int | Stream] | None = None) -> None:
        """
        Use a rank, the class of tensors and functions of PyTorch.

        The class has what DLPack calls a C exchange API; Error if not. That knows the current stream if
        `current_stream` is None.
        """

    def keep(self, what: Hashable, tensor: Any, output: Any, call: PersistentCall) -> None:
        """Remember a call; what it asks for is compared by its value."""

    def run(self, what: Hashable, tensor: Any, output: Any) -> bool:
        """
        Enqueue the call on the current stream; do nothing and return False if it is not remembered.
        """

def fail_at_exit() -> None:
    """
    Let this program's status be 1 where it would be 0, once everything else has ended.
    """
