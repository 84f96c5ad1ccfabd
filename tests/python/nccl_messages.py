"""Ranks that send and receive by NCCL: `python nccl_messages.py FOLDER RANK RANKS SEED [WORD...]`.

RANK is a number, `threads` for all ranks as threads of this process, or `one` for all of them in
one thread. What is sent follows from the seed, and so all ranks know it. Prints "right" if every
byte is. With the word `gpus` it runs on GPUs and the real NCCL: what only the stand-in refuses is
left out. `few`, `many` and `freed` stand for other exchanges than all of them. With `mapped` their
memory lies at virtual addresses.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mapped_memory import Mapped
from nccl_ranks import FLOAT32, SUM, Gpu, Value, library, must, shared_id

UINT8 = 1
SMALL, LARGE = 5000, (1 << 20) + 4097
ROOM = 2 * LARGE
ROUNDS = 6


class Bytes:
    """Memory of a GPU."""

    def __init__(self, gpu: Gpu, count: int) -> None:
        self.gpu, self.count = gpu, count
        self.address = ctypes.c_uint64()
        self.mapped: Mapped | None = None
        gpu.use()
        if "mapped" in sys.argv[5:]:
            self.mapped = Mapped(gpu, gpu.number, count)
            self.address = self.mapped.address
        else:
            must(gpu.driver.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(count)))

    def free(self) -> None:
        """Give it back."""
        if self.mapped:
            self.mapped.free()
        else:
            must(self.gpu.driver.cuMemFree_v2(self.address))

    def at(self, offset: int) -> Value:
        """Return the address of a byte."""
        return Value(self.address.value + offset)

    def write(self, offset: int, data: bytes) -> None:
        """Put bytes there, and wait for that: streams of the program do not."""
        self.gpu.use()
        to = ctypes.c_uint64(self.address.value + offset)
        must(self.gpu.driver.cuMemcpyHtoD_v2(to, data, ctypes.c_size_t(len(data))))
        must(self.gpu.driver.cuStreamSynchronize(Value(0)))

    def read(self, offset: int, count: int) -> bytes:
        """Return what is there, once the stream is done."""
        self.gpu.use()
        must(self.gpu.driver.cuStreamSynchronize(self.gpu.stream))
        data = ctypes.create_string_buffer(count)
        of = ctypes.c_uint64(self.address.value + offset)
        must(self.gpu.driver.cuMemcpyDtoH_v2(data, of, ctypes.c_size_t(count)))
        return data.raw


class Rank:
    """One rank, with memory for a message to and from every rank."""

    def __init__(self, nccl: ctypes.CDLL, number: int, ranks: int, gpu: Gpu, comm: Value) -> None:
        self.nccl, self.number, self.ranks, self.gpu, self.comm = nccl, number, ranks, gpu, comm
        self.sent, self.received = Bytes(gpu, ROOM * ranks), Bytes(gpu, ROOM * ranks)

    def send(self, peer: int, data: bytes) -> None:
        """Send it to a rank."""
        self.sent.write(ROOM * peer, data)
        must(
            self.nccl.ncclSend(
                self.sent.at(ROOM * peer), len(data), UINT8, peer, self.comm, self.gpu.stream
            )
        )

    def receive(self, peer: int, count: int) -> None:
        """Receive from a rank."""
        must(
            self.nccl.ncclRecv(
                self.received.at(ROOM * peer), count, UINT8, peer, self.comm, self.gpu.stream
            )
        )

    def check(self, peer: int, data: bytes) -> None:
        """Look at what has come from a rank."""
        assert self.received.read(ROOM * peer, len(data)) == data, (self.number, peer, len(data))

    def settle(self) -> None:
        """Wait for the stream: what was sent may be written over."""
        self.gpu.use()
        must(self.gpu.driver.cuStreamSynchronize(self.gpu.stream))

    @contextmanager
    def group(self) -> Iterator[None]:
        """Make calls together."""
        must(self.nccl.ncclGroupStart())
        yield
        must(self.nccl.ncclGroupEnd())


Exchange = dict[tuple[int, int], bytes]
"""Messages by sender and receiver."""


def exchange(rank: Rank, messages: Exchange, chance: random.Random | None = None) -> None:
    """Make all messages of a rank in one group, in any order."""
    own = [each for each in messages if rank.number in each]
    calls: list[Callable[[], None]] = []
    for sender, receiver in own:
        data = messages[sender, receiver]
        if sender == rank.number:
            calls.append(lambda to=receiver, data=data: rank.send(to, data))
        if receiver == rank.number:
            calls.append(lambda of=sender, data=data: rank.receive(of, len(data)))
    if chance:
        chance.shuffle(calls)
    with rank.group():
        for call in calls:
            call()
    check(rank, messages)


def check(rank: Rank, messages: Exchange) -> None:
    """Look at all that a rank was sent."""
    for (sender, receiver), data in messages.items():
        if receiver == rank.number:
            rank.check(sender, data)
    rank.settle()


def some_size(chance: random.Random) -> int:
    """Return a number of bytes: below and above what may be ours."""
    return chance.choice((SMALL, LARGE, LARGE + chance.randrange(LARGE // 2)))


def random_pairs(rank: Rank, chance: random.Random) -> None:
    """Send from one rank to another, again and again, while the others do nothing."""
    for _ in range(4 * ROUNDS):
        sender, receiver = chance.sample(range(rank.ranks), 2)
        data = chance.randbytes(some_size(chance))
        if rank.number == sender:
            rank.send(receiver, data)
            rank.settle()
        elif rank.number == receiver:
            rank.receive(sender, len(data))
            rank.check(sender, data)


def both_ways(rank: Rank, chance: random.Random) -> None:
    """Let neighbours exchange, as stages of a pipeline do: one in a group, one call by call."""
    for number in range(ROUNDS):
        data = {pair: chance.randbytes(some_size(chance)) for pair in ((0, 1), (1, 0))}
        if rank.number == 0 or (rank.number == 1 and number % 2 == 0):
            exchange(rank, data, random.Random(rank.number))
        elif rank.number == 1:
            rank.receive(0, len(data[0, 1]))
            rank.send(0, data[1, 0])
            rank.check(0, data[0, 1])
            rank.settle()


def ring(rank: Rank, chance: random.Random) -> None:
    """Let each send to the next."""
    for _ in range(ROUNDS):
        size = some_size(chance)
        exchange(
            rank,
            {(each, (each + 1) % rank.ranks): chance.randbytes(size) for each in range(rank.ranks)},
        )


def uneven(rank: Rank, chance: random.Random) -> None:
    """Let each send to all, itself too, each another size."""
    for _ in range(ROUNDS):
        everyone = range(rank.ranks)
        exchange(
            rank,
            {
                (sender, receiver): chance.randbytes(some_size(chance))
                for sender in everyone
                for receiver in everyone
            },
            random.Random(rank.number),
        )


def with_collectives(rank: Rank, chance: random.Random) -> None:
    """Put messages of two ranks beside a sum of all."""
    count = 3000
    everyone = range(rank.ranks)
    values = [[float(i % 7 + each) for i in range(count)] for each in everyone]
    own, result = rank.gpu.memory(values[rank.number]), rank.gpu.memory([0.0] * count)
    for _ in range(ROUNDS):
        messages = {pair: chance.randbytes(some_size(chance)) for pair in ((0, 1), (1, 0))}
        with rank.group():
            must(
                rank.nccl.ncclAllReduce(
                    own, result, count, FLOAT32, SUM, rank.comm, rank.gpu.stream
                )
            )
            for (sender, receiver), data in messages.items():
                if sender == rank.number:
                    rank.send(receiver, data)
                if receiver == rank.number:
                    rank.receive(sender, len(data))
        check(rank, messages)
        sums = [sum(parts) for parts in zip(*values, strict=True)]
        assert rank.gpu.values(result, count) == sums


def pinned(rank: Rank, count: int) -> int:
    """Return the address of page-locked memory."""
    address = ctypes.c_void_p()
    rank.gpu.use()
    must(rank.gpu.driver.cuMemAllocHost_v2(ctypes.byref(address), ctypes.c_size_t(count)))
    return address.value or 0


def queued(rank: Rank, chance: random.Random) -> None:
    """Queue many messages: each fills, or empties, the same memory as the one before."""
    count, size = 3 * ROUNDS * 4, 1 << 20
    data = [chance.randbytes(size // 16) * 16 for _ in range(count)]
    if rank.number > 1:
        return
    host = pinned(rank, count * size)
    stream, driver = rank.gpu.stream, rank.gpu.driver
    if rank.number == 0:
        ctypes.memmove(host, b"".join(data), count * size)
    for number in range(count):
        there = ctypes.c_void_p(host + number * size)
        if rank.number == 0:
            to = ctypes.c_uint64(rank.sent.address.value)
            must(driver.cuMemcpyHtoDAsync_v2(to, there, ctypes.c_size_t(size), stream))
            must(rank.nccl.ncclSend(rank.sent.at(0), size, UINT8, 1, rank.comm, stream))
        else:
            of = ctypes.c_uint64(rank.received.address.value)
            must(rank.nccl.ncclRecv(rank.received.at(0), size, UINT8, 0, rank.comm, stream))
            must(driver.cuMemcpyDtoHAsync_v2(there, of, ctypes.c_size_t(size), stream))
    rank.settle()
    if rank.number == 1:
        assert ctypes.string_at(host, count * size) == b"".join(data)
    must(driver.cuMemFreeHost(Value(host)))


def in_two_streams(rank: Rank, chance: random.Random) -> None:
    """Send in one stream and receive in another, in one group: what comes later waits for both."""
    size, peer, driver = 1 << 20, 1 - rank.number, rank.gpu.driver
    data = [[chance.randbytes(size), chance.randbytes(size)] for _ in range(ROUNDS)]
    if rank.number > 1:
        return
    host, own, other = pinned(rank, 2 * size), rank.gpu.stream, Value()
    must(driver.cuStreamCreate(ctypes.byref(other), 1))
    given, taken = Value(host), Value(host + size)
    for of_round in data:
        ctypes.memmove(host, of_round[rank.number], size)
        to = ctypes.c_uint64(rank.sent.address.value)
        of = ctypes.c_uint64(rank.received.address.value)
        must(driver.cuMemcpyHtoDAsync_v2(to, given, ctypes.c_size_t(size), other))
        with rank.group():
            must(rank.nccl.ncclSend(rank.sent.at(0), size, UINT8, peer, rank.comm, own))
            must(rank.nccl.ncclRecv(rank.received.at(0), size, UINT8, peer, rank.comm, other))
        must(driver.cuMemcpyDtoHAsync_v2(taken, of, ctypes.c_size_t(size), own))
        must(driver.cuStreamSynchronize(own))
        assert ctypes.string_at(host + size, size) == of_round[peer]
    must(driver.cuStreamSynchronize(other))
    must(driver.cuStreamDestroy_v2(other))
    must(driver.cuMemFreeHost(Value(host)))


def captured(rank: Rank, chance: random.Random) -> None:
    """Capture a message: it is NCCL's, and the stand-in refuses it. Later ones are as before."""
    graph, driver, nccl = Value(), rank.gpu.driver, rank.nccl
    rank.gpu.use()
    must(driver.cuStreamBeginCapture_v2(rank.gpu.stream, 2))
    if rank.number == 0:
        assert nccl.ncclSend(rank.sent.at(0), LARGE, UINT8, 1, rank.comm, rank.gpu.stream) != 0
    if rank.number == 1:
        assert nccl.ncclRecv(rank.received.at(0), LARGE, UINT8, 0, rank.comm, rank.gpu.stream) != 0
    driver.cuStreamEndCapture(rank.gpu.stream, ctypes.byref(graph))
    ring(rank, chance)


def with_other_memory(rank: Rank, chance: random.Random) -> None:
    """Free memory that other ranks know, and go on with memory that may be where that was."""
    for _ in range(3):
        for each in (rank.sent, rank.received):
            each.free()
        rank.sent, rank.received = (Bytes(rank.gpu, ROOM * rank.ranks) for _ in range(2))
        uneven(rank, chance)


def in_large_groups(rank: Rank, chance: random.Random) -> None:
    """Put more messages of a pair into a group than it has flags and a launch has tasks."""
    size, count, peer = 1 << 20, 100, 1 - rank.number
    data = [chance.randbytes(size) for _ in range(2)]
    for _ in range(ROUNDS):
        with rank.group():
            for _ in range(count):
                rank.send(peer, data[rank.number])
                rank.receive(peer, size)
        rank.check(peer, data[peer])
        rank.settle()


def tell(what: str) -> None:
    """Tell the other ranks that something has been done."""
    (Path(sys.argv[1]) / what).touch()


def hear(what: str) -> None:
    """Wait until it has been done."""
    while not (Path(sys.argv[1]) / what).exists():
        time.sleep(0.001)


def freed_while_another_waits(rank: Rank, chance: random.Random) -> None:
    """Let rank 2 free memory that rank 0 has open, while rank 0's GPU waits for rank 1.

    Rank 1 comes once rank 0 has queued its next message.
    """
    for _ in range(ROUNDS):
        exchange(rank, {pair: chance.randbytes(LARGE) for pair in ((1, 0), (2, 0), (0, 2))})
    data = {sender: chance.randbytes(LARGE) for sender in (1, 2)}
    if rank.number == 0:
        hear("freed")
        rank.receive(1, LARGE)
        rank.receive(2, LARGE)
        tell("queued")
        rank.check(1, data[1])
        rank.check(2, data[2])
    if rank.number == 1:
        hear("queued")
        rank.send(0, data[1])
    if rank.number == 2:
        rank.settle()
        rank.received.free()
        rank.received = Bytes(rank.gpu, ROOM * rank.ranks)
        rank.send(0, data[2])
        tell("freed")
    rank.settle()


ALL = (
    random_pairs,
    both_ways,
    ring,
    uneven,
    with_collectives,
    queued,
    in_two_streams,
    with_other_memory,
    captured,  # the last one: from then on messages of one direction are NCCL's
)


def exchanges_of(words: list[str]) -> tuple[Callable[[Rank, random.Random], None], ...]:
    """Return what a rank does."""
    if "freed" in words:
        return (freed_while_another_waits,)
    if "many" in words:
        return ring, in_large_groups
    return (with_collectives,) if "few" in words else ALL


def be_rank(rank: Rank, seed: int) -> None:
    """Make the exchanges."""
    for number, each in enumerate(exchanges_of(sys.argv[5:])):
        if each is not captured or "gpus" not in sys.argv:
            each(rank, random.Random(1000 * seed + number))


def be_left_alone(rank: Rank, seed: int) -> None:
    """Exchange, then end if this is rank 1; else send to it, and be told that it has ended."""
    ring(rank, random.Random(seed))
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        exchange(rank, {pair: chance.randbytes(LARGE) for pair in ((0, 1), (1, 0))})
    if rank.number > 0:
        os.kill(os.getpid(), signal.SIGKILL)
    rank.send(1, chance.randbytes(LARGE))
    error, end = ctypes.c_int(0), time.monotonic() + 30
    while error.value == 0:
        assert time.monotonic() < end, "nothing is said"
        must(rank.nccl.ncclCommGetAsyncError(rank.comm, ctypes.byref(error)))
    must(rank.gpu.driver.cuStreamSynchronize(rank.gpu.stream))
    must(rank.nccl.ncclCommAbort(rank.comm))
    rank.nccl.ncclGetLastError.restype = ctypes.c_char_p
    print(f"error {error.value}: {rank.nccl.ncclGetLastError(None).decode()}", flush=True)
    os._exit(0)  # the stand-in's communicator would wait for the other rank


def typed_library() -> ctypes.CDLL:
    """Return NCCL with the types of what is called."""
    nccl = library()
    for function in (nccl.ncclSend, nccl.ncclRecv):
        function.argtypes = [Value, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, Value, Value]
    return nccl


def with_communicator(nccl: ctypes.CDLL, folder: Path, number: int, ranks: int) -> Rank:
    """Return a rank, once all ranks are there."""
    gpu = Gpu(number)
    comm = Value()
    unique = shared_id(nccl, folder, number)
    must(nccl.ncclCommInitRank(ctypes.byref(comm), ranks, unique, number))
    return Rank(nccl, number, ranks, gpu, comm)


def be_threads(nccl: ctypes.CDLL, folder: Path, ranks: int, seed: int) -> None:
    """Be all ranks, a thread each."""
    failed: list[BaseException] = []

    def be_one(number: int) -> None:
        try:
            rank = with_communicator(nccl, folder, number, ranks)
            be_rank(rank, seed)
            must(nccl.ncclCommDestroy(rank.comm))
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=be_one, args=(number,)) for number in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def be_one_thread(nccl: ctypes.CDLL, ranks: int, seed: int) -> None:
    """Be all ranks in one thread, as nccl-tests do: their calls are one group."""
    gpus = [Gpu(number) for number in range(ranks)]
    comms = (Value * ranks)()
    gpus[0].use()
    must(nccl.ncclCommInitAll(comms, ranks, None))
    all_ranks = [Rank(nccl, i, ranks, gpus[i], Value(comms[i])) for i in range(ranks)]
    chance = random.Random(seed)
    everyone = range(ranks)
    for _ in range(ROUNDS):
        messages = {(a, b): chance.randbytes(some_size(chance)) for a in everyone for b in everyone}
        with all_ranks[0].group():
            for (sender, receiver), data in messages.items():
                all_ranks[sender].send(receiver, data)
                all_ranks[receiver].receive(sender, len(data))
        for rank in all_ranks:
            check(rank, messages)
    for rank in all_ranks:
        must(nccl.ncclCommDestroy(rank.comm))


def main() -> None:
    """Be one rank, or all."""
    folder, which, ranks, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    nccl = typed_library()
    if which == "threads":
        be_threads(nccl, folder, ranks, seed)
    elif which == "one":
        be_one_thread(nccl, ranks, seed)
    else:
        rank = with_communicator(nccl, folder, int(which), ranks)
        if "left-alone" in sys.argv[5:]:
            be_left_alone(rank, seed)
        be_rank(rank, seed)
        must(nccl.ncclCommDestroy(rank.comm))
    print("right")


if __name__ == "__main__":
    main()
