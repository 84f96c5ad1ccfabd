"""Operations of all GPUs together, for programs with tensors: one rank's end of them."""

from __future__ import annotations

import atexit
import operator
import os
import sys
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from polypath._core import CollectiveRank, Context, PersistentCall, ThreadGroup, fail_at_exit
from polypath.collective_calls import Calls
from polypath.collective_checks import (
    addresses_like,
    collective_name,
    counts_of,
    elements_of,
    operation_name,
)
from polypath.element_types import size_of, type_name
from polypath.process_context import process_context
from polypath.rank_meeting import Rounds, rank_place, rounds_of_mpi, rounds_of_torch
from polypath.state_sync import StateSync

_open: weakref.WeakSet[Collectives] = weakref.WeakSet()


class Collectives:
    """One rank of several whose GPUs reduce and exchange together, each a process or a thread.

    Ranks of several nodes send messages over TCP, or by what they meet by (MPI, PyTorch); each node
    has as many ranks. All ranks make the same calls in the same order; where they differ, all raise
    an error that says who differs. A call is enqueued and returns at once, but for the first one of
    its kind and size, which waits for all ranks; those of 8 MiB and more may wait for the others'
    for 1 ms, and for 0.1 s where they are captured. A captured stream takes calls that have been
    made or prepared before; all ranks capture them then, and replay them together. Tensors are
    contiguous, on this rank's GPU, of PyTorch or CuPy, polypath.Buffer, or anything with
    `__cuda_array_interface__`; they may be empty. Elements are float16, bfloat16, float32, float64
    or integers of 8 to 64 bits, and where nothing is reduced also bool or floats of 8 bits; `dtype`
    names the type where the memory does not say it (Buffer). `op` is "sum", "product", "min", "max"
    or "average". Names of NumPy, PyTorch and others do as well: np.float32, "bf16", "avg",
    ReduceOp.SUM. All ranks get the same bits, in every run. Among one rank calls are copies.

    Stream order: on `stream`, a handle or a stream of PyTorch or CuPy; None stands for the
    framework's current stream of this GPU. A Buffer without a stream waits until all is done.

    Errors: ValueError (counts, types, places, layouts, gradients), TypeError (no memory, no
    stream), polypath.Error (ranks that differ, are missing or have ended; the driver).
    """

    def __init__(self, rank: CollectiveRank, context: Context) -> None:
        """Use the from_... functions."""
        self._rank = rank
        self._calls = Calls(rank, context)
        self._state_sync = StateSync(rank, context)
        _open.add(self)

    # --- how ranks find one another ---

    @classmethod
    def from_file(
        cls, folder: Any, rank: int, size: int, gpu: Any = None, *,
        context: Context | None = None, timeout: float | None = None, node: str = "",
        host: str = "",
    ) -> Collectives:  # fmt: skip
        """Join the ranks that give the same folder, which all of them can write to.

        `gpu` is this rank's, as a number or a name; None: the current device of PyTorch or CuPy,
        else the one of the rank's number on its node. `context` is for simulated machines. Waits
        for all ranks for `timeout` seconds (POLYPATH_COMMUNICATOR_TIMEOUT); the error names those
        that are missing. `node` is what this rank's node is called, where the ranks that share
        memory are not those of a node: to try several on one computer. `host` is the name or
        address by which ranks of other nodes reach this one; without it an address is taken in
        whose network all nodes are.
        """
        used = context or process_context()
        place = rank_place(gpu, used, node, host)
        return cls(CollectiveRank.by_file(used, place, str(folder), rank, size, timeout), used)

    @classmethod
    def from_address(
        cls, address: str, rank: int, size: int, gpu: Any = None, *,
        context: Context | None = None, timeout: float | None = None, node: str = "",
        host: str = "",
    ) -> Collectives:  # fmt: skip
        """Join the ranks that give the same "host:port", where rank 0 listens; else as from_file.

        Nothing is encrypted, and who knows the address may join.
        """
        used = context or process_context()
        place = rank_place(gpu, used, node, host)
        return cls(CollectiveRank.by_address(used, place, address, rank, size, timeout), used)

    @classmethod
    def from_torch(
        cls, group: Any = None, gpu: Any = None, *, context: Context | None = None,
        node: str = "", host: str = "",
    ) -> Collectives:  # fmt: skip
        """Join the ranks of a group of torch.distributed, by default of the default group.

        The group is used when they meet and when a first call is prepared, for some hundred bytes;
        of several nodes each gets a group of its own. Between nodes another one sends the messages,
        if the group has Gloo for memory of the host; else they go over TCP. Else as from_file.
        """
        return cls._by_rounds(rounds_of_torch(group), gpu, context, node, host)

    @classmethod
    def from_mpi(
        cls, comm: Any, gpu: Any = None, *, context: Context | None = None, node: str = "",
        host: str = "",
    ) -> Collectives:  # fmt: skip
        """Join the ranks of a communicator of mpi4py; else as from_torch.

        Between nodes this MPI sends the messages, if it is initialised with MPI_THREAD_MULTIPLE, as
        mpi4py does; else they go over TCP. Close it before MPI is finalized.
        """
        return cls._by_rounds(rounds_of_mpi(comm), gpu, context, node, host)

    @classmethod
    def from_threads(
        cls, meeting: ThreadGroup, rank: int, gpu: Any = None, *, context: Context | None = None,
        timeout: float | None = None, node: str = "",
    ) -> Collectives:  # fmt: skip
        """Join the ranks that are threads of this process, by one polypath.ThreadGroup for all.

        Else as from_file.
        """
        used = context or process_context()
        place = rank_place(gpu, used, node)
        return cls(CollectiveRank.by_threads(used, place, meeting, rank, timeout), used)

    @classmethod
    def _by_rounds(
        cls, rounds: Rounds, gpu: Any, context: Context | None, node: str, host: str
    ) -> Collectives:
        used = context or process_context()
        place = rank_place(gpu, used, node, host)
        return cls(CollectiveRank.by_function(used, place, *rounds), used)

    @property
    def rank(self) -> int:
        """This rank, from 0 on."""
        return self._rank.rank

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self._rank.size

    @property
    def nodes(self) -> int:
        """On how many nodes the ranks are."""
        return self._rank.nodes

    @property
    def gpu(self) -> str:
        """This rank's GPU: "gpu0"."""
        return self._rank.gpu

    @property
    def carrier(self) -> str:
        """What carries messages between nodes: "tcp", "mpi" or "torch"; empty on one node."""
        return self._rank.carrier

    # --- what they do ---

    def all_reduce(
        self, tensor: Any, output: Any = None, op: Any = "sum", stream: Any = None, *,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        """Reduce all ranks' tensors, element by element, for all ranks; None: in place."""
        self._calls.run(("allreduce", op, 0, dtype, ()), tensor, output, stream)

    def reduce(
        self, tensor: Any, root: int = 0, output: Any = None, op: Any = "sum", stream: Any = None,
        *, dtype: Any = None,
    ) -> None:  # fmt: skip
        """Reduce all ranks' tensors for the root; the output counts there only."""
        output = output if self.rank == root else None
        self._calls.run(("reduce", op, root, dtype, ()), tensor, output, stream)

    def reduce_scatter(
        self, tensor: Any, output: Any = None, op: Any = "sum", stream: Any = None, *,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        """Reduce all ranks' tensors; rank r gets part r of as many parts as ranks.

        None: in place, where the part lies in the tensor; the other parts stay as they are.
        """
        self._calls.run(("reducescatter", op, 0, dtype, ()), tensor, output, stream)

    def all_gather(
        self, tensor: Any, output: Any = None, stream: Any = None, *, dtype: Any = None
    ) -> None:
        """Give all ranks' tensors to all ranks, one after another.

        None: in place, where the tensor is the output and rank r's part of it is what it gives.
        """
        self._calls.run(("allgather", "sum", 0, dtype, ()), tensor, output, stream)

    def all_to_all(
        self, tensor: Any, output: Any = None, stream: Any = None, *, dtype: Any = None
    ) -> None:
        """Give part r of each rank's tensor to rank r; None: in place."""
        self._calls.run(("alltoall", "sum", 0, dtype, ()), tensor, output, stream)

    def all_to_all_v(
        self, tensor: Any, counts: Sequence[Sequence[int]], output: Any = None, stream: Any = None,
        *, dtype: Any = None,
    ) -> None:  # fmt: skip
        """Give `counts[i][j]` elements of rank i's tensor to rank j; None: in place.

        All ranks pass the same counts. What goes to rank 0, 1, ... lies side by side in the tensor,
        what comes from rank 0, 1, ... in the output. In place `counts[i][j]` is
        `counts[j][i]`.
        """
        blocks = counts_of(counts, self.size)
        self._calls.run(("alltoallv", "sum", 0, dtype, blocks), tensor, output, stream)

    def send_receive(
        self, tensor: Any, source: int, destination: int, stream: Any = None, *,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        """Give one rank's tensor to another rank, into its own. All ranks call it.

        The others' tensors only say how many elements there are, and of which type.
        """
        self._calls.send(tensor, source, destination, dtype, stream)

    def broadcast(
        self, tensor: Any, root: int = 0, stream: Any = None, *, dtype: Any = None
    ) -> None:
        """Give the root's tensor to all ranks, into theirs."""
        self._calls.run(("broadcast", "sum", root, dtype, ()), tensor, None, stream)

    def sync(self, state_dict: Any, root: int = 0, stream: Any = None) -> None:
        """Give the root's tensors to all ranks, into theirs of the same names, in place.

        `state_dict` is a dictionary of tensors by name, or a module: trained weights go to the
        ranks that serve them. Small tensors are sent together, by a buffer of 64 MiB that is kept.
        Their order may differ. Each call first waits for all ranks, and compares names, types and
        shapes: ValueError at every rank for what differs or cannot be sent at one of them, before
        anything is written. It cannot be captured.
        """
        self._state_sync.run(state_dict, operator.index(root), stream)

    def prepare(
        self, collective: str, elements: int, dtype: Any, *, op: Any = "sum", root: int = 0,
        in_place: bool = True, counts: Sequence[Sequence[int]] = (),
    ) -> dict[str, Any]:  # fmt: skip
        """Make what such calls need, and return what was chosen for them.

        `collective` is a method's name, "all_reduce", or the command line's, "allreduce", of all
        but send_receive; `elements` counts what one rank gives of all_gather, gets of
        reduce_scatter, and gives each other rank of all_to_all; of all_to_all_v it is 1, and
        `counts` say the rest. Waits for all ranks, if such a call is the first.
        The answer has algorithm, executor, piece_bytes, several_paths and predicted_seconds, which
        is None among nodes: nothing is predicted there.
        """
        element = type_name(dtype)
        size = elements_of(elements) * size_of(element)
        collective = collective_name(collective)
        where = addresses_like(collective, size, in_place, self.rank)
        blocks = counts_of(counts, self.size) if counts else ()
        name = operation_name(op)
        call = PersistentCall(collective, element, name, root, elements, *where, blocks, in_place)
        self._rank.prepare(call)
        return self._rank.chosen(call)

    def choose_from(self, algorithms: Iterable[str] = (), executor: str = "auto") -> None:
        """Allow these algorithms only; for measurements. The same at all ranks, before any call."""
        self._rank.choose_from(list(algorithms), executor)

    def barrier(self, stream: Any = None) -> None:
        """Wait until all ranks have called this. Streams are not waited for.

        With a stream only that stream waits: what follows in it comes after all that was in
        the other ranks' streams before their barrier.
        """
        self._calls.barrier(stream)

    def synchronize(self) -> None:
        """Wait until all that this rank has called is done, and raise what any rank found wrong.

        A stream of PyTorch or CuPy ends also where its collectives have failed: what they wrote is
        not defined then, and their own synchronize does not say so. polypath.Stream's does.
        """
        self._calls.synchronize()

    def close(self) -> None:
        """End this rank, when its streams are done and all other ranks end theirs, too.

        Raise what any rank has found to be wrong, and that one does not end with the others, unless
        a call has raised it before.
        """
        self._rank.close()

    def __enter__(self) -> Collectives:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _where: object) -> None:
        if error is None or _is_success(error):
            self.close()
        else:
            self._abandon(error)

    def _abandon(self, error: BaseException) -> None:
        """Tell the others that this rank will not come, instead of waiting for them."""
        self._rank.abandon(f"{type(error).__name__}: {error}")

    def __repr__(self) -> str:
        return f"<polypath.Collectives, rank {self.rank} of {self.size} on {self.gpu}>"


def _is_success(error: BaseException) -> bool:
    """Return whether a program that ends by this has status 0."""
    return isinstance(error, SystemExit) and error.code in (None, 0)


def _leave() -> None:
    """End what is left at the end of a program. A rank that ends by an error is not waited for.

    An error that the program has not seen is printed, and is the program's status.
    """
    error = getattr(sys, "last_value", None)
    left = list(_open)
    if error is not None and not _is_success(error):
        for each in left:
            each._abandon(error)
        left = []
    try:
        problems = CollectiveRank.close_all([each._rank for each in left])
    except BaseException:
        fail_at_exit()
        raise
    for problem in problems:
        print(f"polypath: error: {problem}", file=sys.stderr)
        fail_at_exit()


atexit.register(_leave)
os.register_at_fork(after_in_child=_open.clear)
