"""What a program's own libraries have for messages between nodes."""

from __future__ import annotations

import datetime
import functools
import sys
from typing import Any

from polypath._core import CalledMessages, Error, MpiMessages, OwnMessages

FOREVER = datetime.timedelta(days=365)


def messages_of_mpi(comm: Any) -> OwnMessages:
    """Return those of the MPI of a communicator of mpi4py; none of a communicator of others."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not isinstance(comm, mpi.Intracomm) or not hasattr(mpi, "_handleof"):
        return OwnMessages("the communicator is none of a known mpi4py")
    if mpi.Query_thread() != mpi.THREAD_MULTIPLE:
        return OwnMessages("MPI is initialised without MPI_THREAD_MULTIPLE")

    def split() -> int:
        part = comm.Split(0, comm.rank)  # a duplicate would have copies of the program's attributes
        part.Set_errhandler(mpi.ERRORS_RETURN)
        handle: int = mpi._handleof(part)
        return handle

    try:
        messages = MpiMessages(str(mpi.__file__), split)
    except Error as error:
        return OwnMessages(str(error))
    _watch_end(mpi)
    return messages


@functools.cache
def _watch_end(mpi: Any) -> None:
    """Let nothing call MPI any more when it begins to end, which deletes this first."""
    keyval = mpi.Comm.Create_keyval(delete_fn=lambda *_: MpiMessages.end())
    mpi.COMM_SELF.Set_attr(keyval, True)


def messages_of_torch(distributed: Any, group: Any) -> OwnMessages:
    """Return those of a group of torch.distributed that has Gloo for memory of the host."""
    config = getattr(distributed, "get_backend_config", lambda _: "")(group)
    devices = dict(each.split(":", 1) for each in str(config).split(",") if ":" in each)
    if devices.get("cpu") != "gloo":
        return OwnMessages("the group has no Gloo for memory of the host")

    def make() -> TorchCalls:
        ranks = distributed.get_process_group_ranks(group or distributed.group.WORLD)
        part = distributed.new_group(
            ranks, timeout=FOREVER, backend="gloo", use_local_synchronization=True
        )
        return TorchCalls(part)

    return CalledMessages("torch", make)


class TorchCalls:
    """Calls of a group's own send and receive, which nothing else uses."""

    def __init__(self, group: Any) -> None:
        self._group, self._torch = group, sys.modules["torch"]

    def send(self, to: int, lane: int, memory: memoryview) -> None:
        """Wait until it is sent."""
        self._group.send([self._tensor(memory)], to, lane).wait()

    def receive(self, source: int, lane: int, memory: memoryview) -> None:
        """Wait until it has come."""
        self._group.recv([self._tensor(memory)], source, lane).wait()

    def stop(self) -> None:
        """End all calls that wait: a wait that Gloo gives up ends the group's connections."""
        other = 1 if self._group.rank() == 0 else 0
        memory, unused_lane = memoryview(bytearray(1)), 9
        try:
            work = self._group.recv([self._tensor(memory)], other, unused_lane)
            work.wait(datetime.timedelta(milliseconds=1))
        except RuntimeError:
            pass

    def _tensor(self, memory: memoryview) -> Any:
        return self._torch.frombuffer(memory, dtype=self._torch.uint8)
