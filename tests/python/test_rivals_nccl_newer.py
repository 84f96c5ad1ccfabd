"""scripts/rivals/gpu_nccl_newer.py, with stand-ins for NCCL, PyTorch and the ranks."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from fake_nccl import built, lines, names

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
Case = importlib.import_module("rivals.cases").Case
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


class Torch(MagicMock):
    """PyTorch: tensors know where they are, and nothing else."""

    def as_tensor(self, span: Any, device: Any) -> Any:
        del device
        tensor = MagicMock()
        tensor.data_ptr.return_value = span.__cuda_array_interface__["data"][0]
        tensor.view.return_value = tensor
        return tensor


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of the contender."""
    before = set(sys.modules)
    torch = Torch()
    torch.__version__ = "2.11"
    torch.cuda.current_stream.return_value.cuda_stream = STREAM
    for name in ("torch", "torch.distributed"):
        monkeypatch.setitem(sys.modules, name, torch)
    yield importlib.import_module("rivals.gpu_nccl_newer")
    for name in set(sys.modules) - before:
        del sys.modules[name]


def opened(newer: Any, path: str, way: int) -> Any:
    ranks = object.__new__(importlib.import_module("rivals.gpu_ranks").GpuRanks)
    ranks.rank, ranks.size, ranks.device = 0, 1, "cuda:0"
    ranks.agree = lambda mine: [mine]
    ranks.tensor = MagicMock()
    ranks.tensor.return_value.data_ptr.return_value = 4096
    contender = newer.NcclNewer(path, newer.WAYS[way])
    contender.open(ranks)
    return contender


@pytest.mark.usefixtures("calls")
def test_the_three_ways_have_names_of_their_own_and_the_librarys_version(
    newer: Any, path: str
) -> None:
    ways = [opened(newer, path, way) for way in range(3)]

    assert [each.name for each in ways] == [
        "NCCL newer", "NCCL newer, registered", "NCCL newer, registered, copy engines",
    ]  # fmt: skip
    assert {each.version for each in ways} == {"2.32.3"}


# The policy of copy engines is 2, and that of the others undefined.
@pytest.mark.parametrize(("way", "policy"), [(0, -(2**31)), (1, -(2**31)), (2, 2)])
def test_only_one_way_is_by_copy_engines(
    way: int, policy: int, newer: Any, path: str, calls: Path
) -> None:
    opened(newer, path, way)

    assert lines(calls)[-1].split()[-3] == str(policy)


# 16 KiB of float64 are 2048 elements; an all-gather of one rank has as much on both sides.
def test_windows_are_made_for_each_case_and_given_back(newer: Any, path: str, calls: Path) -> None:
    contender = opened(newer, path, 1)
    calls.write_text("", encoding="utf-8")

    contender.ready(Case("allgather", 16 << 10, "float64")).call()
    contender.ready(Case("allreduce", 16 << 10, "float64")).call()
    contender.close()

    window = ["ncclMemAlloc 16384", "ncclCommWindowRegister 16384 1"]
    back = ["ncclCommWindowDeregister", "ncclMemFree"]
    assert lines(calls) == [
        *window, *window, "ncclAllGather 2048 8 -1 1 7", *back, *back,
        *window, "ncclAllReduce 2048 8 0 1 7", *back, "ncclCommDestroy",
    ]  # fmt: skip


def test_the_plain_way_has_memory_of_pytorch(newer: Any, path: str, calls: Path) -> None:
    contender = opened(newer, path, 0)

    ready = contender.ready(Case("allreduce", 4096, "int64"))

    assert (ready.given, ready.taken) == (contender.ranks.tensor.return_value,) * 2
    assert "ncclMemAlloc" not in names(calls)


def test_gpus_without_windows_take_no_part_in_the_registered_way(
    newer: Any, path: str, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NCCL_NO_WINDOWS", "1")
    contender = opened(newer, path, 1)

    with pytest.raises(RuntimeError, match="memory cannot be registered"):
        contender.ready(Case("allreduce", 4096))

    assert names(calls)[-1] == "ncclMemFree"


@pytest.mark.usefixtures("calls")
def test_nobody_waits_for_a_rank_0_that_has_no_identity(
    newer: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NCCL_FAILS", "ncclGetUniqueId")

    with pytest.raises(RuntimeError, match="the ranks cannot meet"):
        opened(newer, path, 0)


# --- who takes part ---

WITH_WINDOWS = ["NCCL newer", "NCCL newer, registered", "NCCL newer, registered, copy engines"]
SHOTS = ["torch symmetric memory, one-shot", "torch symmetric memory, two-shot"]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["polypath", "NCCL", *SHOTS]),
        ({"nccl": "lib"}, ["polypath", "NCCL", *SHOTS, *WITH_WINDOWS]),
        ({"nccl": "lib", "without_peers": "plain"}, ["polypath", "NCCL", "NCCL newer"]),
        ({"nccl": "lib", "without_peers": "memcpy"}, ["polypath", "NCCL"]),
        ({"nccl": "lib", "rivals": False}, ["polypath"]),
    ],
)
@pytest.mark.usefixtures("newer")
def test_those_take_part_that_can(options: dict[str, Any], names: list[str]) -> None:
    plan = importlib.import_module("rivals.plan").Plan([], 1, ["auto"], "stream", **options)

    line_up = importlib.import_module("rivals.gpu_line_up").contenders_of(plan)

    assert [each.name for each in line_up] == names
