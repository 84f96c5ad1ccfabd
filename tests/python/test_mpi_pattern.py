"""The bytes of the MPI program's messages, and how wrong ones are counted."""

from __future__ import annotations

import ctypes
import subprocess

import pytest
from polypath import install

SEEDS = (1, 2**63 + 5)
LENGTHS = (1, 7, 8, 9, 64, 1003)


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("pattern") / "libpattern.so"
    source = install.mpi_source_dir() / "pattern.c"
    subprocess.run(["cc", "-std=c11", "-O2", "-shared", "-fPIC", source, "-o", path], check=True)
    library = ctypes.CDLL(str(path))
    size, word = ctypes.c_size_t, ctypes.c_uint64
    for name in ("write_pattern", "write_complement"):
        getattr(library, name).argtypes = [word, size, ctypes.c_void_p, size]
    library.count_wrong.argtypes = [word, size, ctypes.c_void_p, size, ctypes.POINTER(size)]
    library.count_wrong.restype = size
    library.message_seed.argtypes = [word, ctypes.c_int, ctypes.c_int]
    library.message_seed.restype = word
    return library


def written(write: object, seed: int, offset: int, length: int) -> ctypes.Array[ctypes.c_char]:
    """Return the bytes that a function writes, and see to it that it writes no more."""
    buffer = ctypes.create_string_buffer(b"?" * (length + 8), length + 8)
    write(seed, offset, buffer, length)  # type: ignore[operator]
    assert buffer.raw[length:] == b"?" * 8
    return buffer


def wrong(pattern: ctypes.CDLL, seed: int, data: object, length: int) -> tuple[int, int]:
    first = ctypes.c_size_t(2**40)
    count = pattern.count_wrong(seed, 0, data, length, ctypes.byref(first))
    return count, first.value


@pytest.mark.parametrize("length", LENGTHS)
def test_right_bytes_are_right_and_their_complement_is_all_wrong(
    pattern: ctypes.CDLL, length: int
) -> None:
    for seed in SEEDS:
        right = written(pattern.write_pattern, seed, 0, length)
        poison = written(pattern.write_complement, seed, 0, length)

        assert wrong(pattern, seed, right, length)[0] == 0
        assert wrong(pattern, seed, poison, length) == (length, 0)


@pytest.mark.parametrize("length", LENGTHS)
def test_every_single_wrong_byte_is_found_where_it_is(pattern: ctypes.CDLL, length: int) -> None:
    data = written(pattern.write_pattern, 3, 0, length)

    for index in range(length):
        data[index] = bytes([data.raw[index] ^ 0x10])
        assert wrong(pattern, 3, data, length) == (1, index)
        data[index] = bytes([data.raw[index] ^ 0x10])


def test_a_message_in_pieces_is_the_message_in_one(pattern: ctypes.CDLL) -> None:
    whole = written(pattern.write_pattern, 5, 0, 1003).raw

    for start in (8, 64, 1000):
        piece = written(pattern.write_pattern, 5, start, 1003 - start).raw

        assert piece[: 1003 - start] == whole[start:1003]


def test_messages_differ_by_exchange_sender_and_number(pattern: ctypes.CDLL) -> None:
    seeds = {
        pattern.message_seed(exchange, sender, message)
        for exchange in range(1, 9)
        for sender in range(8)
        for message in range(64)
    }

    assert len(seeds) == 8 * 8 * 64


def words(pattern: ctypes.CDLL, seed: int) -> list[bytes]:
    """Return the words of the first 256 KiB of a message, which have four keys."""
    data = written(pattern.write_pattern, seed, 0, 1 << 18).raw[: 1 << 18]
    return [data[at : at + 8] for at in range(0, len(data), 8)]


def test_no_word_of_a_message_is_another_ones_or_comes_twice(pattern: ctypes.CDLL) -> None:
    one = words(pattern, pattern.message_seed(1, 0, 0))
    other = words(pattern, pattern.message_seed(1, 0, 1))

    assert len({*one, *other}) == len(one) + len(other)


def test_a_shift_by_one_word_is_wrong(pattern: ctypes.CDLL) -> None:
    data = written(pattern.write_pattern, 7, 8, 4096)

    assert wrong(pattern, 7, data, 4096)[0] > 4000
