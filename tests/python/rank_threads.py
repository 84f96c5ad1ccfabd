"""Ranks of collectives as threads of a test, over one simulated machine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import polypath
from polypath import Collectives

LONGEST = 60  # seconds


def on_threads(size: int, be: Callable[[int], Any]) -> list[Any]:
    """Be every rank at the same time; return what each returns, or raise what one raises."""
    returned: list[Any] = [None] * size
    raised: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            returned[rank] = be(rank)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST)
        assert not thread.is_alive(), "a rank has not ended"
    if raised:
        raise raised[0]
    return returned


def among_ranks(
    context: polypath.Context, size: int, what: Callable[[Collectives], Any]
) -> list[Any]:
    """Do it at every rank of a group; return what each returns."""
    meeting = polypath.ThreadGroup(size)

    def be(rank: int) -> Any:
        with Collectives.from_threads(meeting, rank, context=context) as collectives:
            result = what(collectives)
            collectives.barrier()
            return result

    return on_threads(size, be)


def numbers(rank: int, count: int, dtype: Any = np.float32) -> np.ndarray:
    """Return small whole numbers, whose sums are exact in every type."""
    return ((np.arange(count) * 3 + rank * 7) % 11).astype(dtype)


def buffer_of(context: polypath.Context, gpu: str, contents: np.ndarray) -> polypath.Buffer:
    """Return memory of a GPU with these contents."""
    buffer = context.allocate(gpu, max(contents.nbytes, 1))
    buffer.numpy()[: contents.nbytes] = contents.view(np.uint8)
    return buffer
