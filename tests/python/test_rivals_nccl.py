"""scripts/rivals/nccl_library.py, on a library that stands in for NCCL."""

from __future__ import annotations

import ctypes
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fake_nccl import built, lines

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
nccl = importlib.import_module("rivals.nccl_library")

# By hand from nccl.h of 2.32.3: a size_t, then 4 bytes each, pointers at multiples of 8.
OFFSETS = {
    "size": 0, "magic": 8, "version": 12, "blocking": 16, "cgaClusterSize": 20, "minCTAs": 24,
    "maxCTAs": 28, "netName": 32, "splitShare": 40, "trafficClass": 44, "commName": 48,
    "collnetEnable": 56, "CTAPolicy": 60, "shrinkShare": 64, "nvlsCTAs": 68,
    "nChannelsPerNetPeer": 72, "nvlinkCentricSched": 76, "graphUsageMode": 80, "numRmaCtx": 84,
    "maxP2pPeers": 88, "graphStreamOrdering": 92, "launchOrderImplicit": 96, "numRmaSig": 100,
    "rmaEagerInit": 104, "hostCftMode": 108, "nvlsHostMode": 112,
}  # fmt: skip
STREAM = 7


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return built(tmp_path_factory.mktemp("nccl"))


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "calls"
    file.touch()
    monkeypatch.setenv("FAKE_NCCL_CALLS", str(file))
    return file


def test_the_configuration_is_laid_out_as_nccl_h_says() -> None:
    assert {name: getattr(nccl.Config, name).offset for name, _ in nccl.Config._fields_} == OFFSETS
    assert ctypes.sizeof(nccl.Config) == 120
    assert ctypes.sizeof(nccl.UniqueId) == 128


def test_what_is_not_configured_is_undefined() -> None:
    made = nccl.config()

    assert (made.size, made.magic, made.version) == (120, 0xCAFEBEEF, 23100)
    assert (made.blocking, made.CTAPolicy, made.hostCftMode) == (-(2**31),) * 3
    assert (made.netName, made.commName) == (None, None)


# INT_MAX is ncclNvlsHostModeDisable.
def test_multicast_is_never_used() -> None:
    assert nccl.config().nvlsHostMode == nccl.config(nccl.COPY_ENGINES).nvlsHostMode == 2**31 - 1


def test_ranks_meet_by_an_identity_that_may_hold_zeros(path: str, calls: Path) -> None:
    library = nccl.NcclLibrary(path)

    identity = library.unique_id()
    library.destroy(library.communicator(identity, 4, 3, nccl.COPY_ENGINES))

    assert library.version() == "2.32.3"
    assert len(identity) == 128
    assert lines(calls)[1:] == [
        "ncclCommInitRankConfig 4 3 23203z 120 cafebeef 23100 1 1 2 1 1", "ncclCommDestroy",
    ]  # fmt: skip


# 3 elements of bfloat16 (9), of which ncclMax is 2, on stream 7. Rank 1 is the root.
@pytest.mark.parametrize(
    ("operation", "choice", "line"),
    [
        ("allreduce", 2, "ncclAllReduce 3 9 2 1 7"),
        ("broadcast", 1, "ncclBroadcast 3 9 1 1 7"),
        ("reducescatter", 2, "ncclReduceScatter 3 9 2 1 7"),
        ("allgather", 0, "ncclAllGather 3 9 -1 1 7"),
        ("alltoall", 0, "ncclAlltoAll 3 9 -1 1 7"),
    ],
)
def test_collectives_are_called_as_nccl_h_declares_them(
    operation: str, choice: int, line: str, path: str, calls: Path
) -> None:
    given, taken = ctypes.create_string_buffer(b"abcdef", 6), ctypes.create_string_buffer(6)
    library = nccl.NcclLibrary(path)
    arguments = (ctypes.addressof(given), ctypes.addressof(taken), 3, nccl.TYPES["bfloat16"])

    library.collective(operation, arguments, choice, 1 << 40)(STREAM)

    assert lines(calls) == [line]
    assert taken.raw == b"abcdef"


def test_a_failure_says_which_function_and_why(
    path: str, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lines(calls) == []
    monkeypatch.setenv("FAKE_NCCL_FAILS", "ncclMemAlloc")

    with pytest.raises(RuntimeError, match=r"ncclMemAlloc has failed \(invalid usage\)"):
        nccl.NcclLibrary(path).allocate(8)


@pytest.mark.parametrize("content", [b"", b"no library"])
def test_what_is_no_library_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "libnccl.so.2"
    file.write_bytes(content)

    with pytest.raises(RuntimeError, match=r"cannot be used \(.*\) Give the path"):
        nccl.NcclLibrary(str(file))


# The other one's names are there for everybody; this one's own calls must not go there.
def test_it_does_not_call_the_nccl_that_is_there_already(path: str, tmp_path: Path) -> None:
    older = built(tmp_path / "older", "-DFAKE_NCCL_VERSION=22809")
    program = (
        "import ctypes, sys; older, path = sys.argv[1:]\n"
        "first = ctypes.CDLL(older, mode=ctypes.RTLD_GLOBAL)\n"
        "from rivals.nccl_library import NcclLibrary\n"
        "print(NcclLibrary(path).unique_id()[1:6].decode())"
    )
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS), "FAKE_NCCL_CALLS": os.devnull}

    said = subprocess.run([sys.executable, "-c", program, older, path], env=environment,
                          capture_output=True, text=True, check=True)  # fmt: skip

    assert said.stdout == "23203\n"
