"""What a program's own libraries have for messages between nodes."""

from __future__ import annotations

import functools
import sys
from typing import Any

from polypath._core import Error, MpiMessages, OwnMessages


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
