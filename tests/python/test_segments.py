"""Collectives of memory in expandable segments, as PyTorch has it, over the stand-ins.

The long form is `segment_ranks.py` with other seeds.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from polypath import preloading
from standin_copies import AROUND, on_the_stand_in

PROGRAM = Path(__file__).parent / "segment_ranks.py"
LIMIT = 240
COUNT = re.compile(r"^standin\[\d+\]: (cu\w+) called (\d+)$", re.MULTILINE)
HANDED_OVER = (
    "cuMemExportToShareableHandle",
    "cuMemImportFromShareableHandle",
    "cuMemSetAccess",
    "cuMemRetainAllocationHandle",
)

pytestmark = on_the_stand_in
Counts = dict[str, int]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder in which all programs keep what they have measured: that takes long."""
    return str(tmp_path_factory.mktemp("cache"))


def start(folder: Path, words: list[str], seed: int, **more: str) -> subprocess.Popen[str]:
    """Start one rank, before whose NCCL the preload library stands."""
    around = {
        **os.environ,
        **AROUND,
        "STANDIN_MACHINE": "h200x4",
        "STANDIN_CHAOS": str(seed),
        "STANDIN_STRICT": "1",
        "STANDIN_STATISTICS": "1",
        "STANDIN_NCCL_SLOW": "3",
        "POLYPATH_NCCL_MEASURED": "1M",
        "POLYPATH_STATS": f"{folder}/",
        **more,
    }
    if "nccl" in words:
        around["LD_PRELOAD"] = preloading.library()
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(folder), *words],
        env=around,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(folder: Path, ranks: int, seed: int, words: str, cache: str) -> list[Counts]:
    """Run all ranks; how often each has called each function of the driver."""
    folder.mkdir(exist_ok=True)
    programs = [
        start(
            folder, [str(rank), str(ranks), str(seed), *words.split()], seed, XDG_CACHE_HOME=cache
        )
        for rank in range(ranks)
    ]
    counts = []
    for program in programs:
        output, errors = program.communicate(timeout=LIMIT)
        assert program.returncode == 0, errors
        assert output.startswith("right "), errors
        counts.append({name: int(count) for name, count in COUNT.findall(errors)})
    return counts


def check_given_back(counts: Counts) -> None:
    """Every reference to memory has been given back."""
    made = ("cuMemCreate", "cuMemImportFromShareableHandle", "cuMemRetainAllocationHandle")
    assert sum(counts.get(name, 0) for name in made) == counts["cuMemRelease"]
    assert counts["cuMemAddressReserve"] == counts["cuMemAddressFree"]


@pytest.mark.parametrize(("ranks", "seed"), [(2, 1), (3, 5), (4, 4)])
@pytest.mark.parametrize("words", ["ours", "ours copies"])
def test_collectives_are_right_wherever_their_memory_is_mapped(
    tmp_path: Path, ranks: int, seed: int, words: str, cache: str
) -> None:
    for counts in run(tmp_path, ranks, seed, words, cache):
        check_given_back(counts)


@pytest.mark.parametrize(("ranks", "seed"), [(2, 1), (2, 2), (3, 5)])
def test_calls_of_nccl_are_right_wherever_their_memory_is_mapped(
    tmp_path: Path, ranks: int, seed: int, cache: str
) -> None:
    for counts in run(tmp_path, ranks, seed, "nccl", cache):
        check_given_back(counts)

    reports = [json.loads(file.read_text()) for file in tmp_path.glob("*-*.json")]
    rows = [row for each in reports for row in each["nccl"]["calls"]]
    assert any(row["by"] == "Polypath" for row in rows)


@pytest.mark.parametrize("words", ["nccl", "ours copies"])
def test_a_call_on_the_same_memory_hands_nothing_over_again(
    tmp_path: Path, words: str, cache: str
) -> None:
    few = run(tmp_path / "few", 2, 3, f"{words} repeat=12", cache)
    many = run(tmp_path / "many", 2, 3, f"{words} repeat=24", cache)

    assert any(counts.get("cuMemImportFromShareableHandle", 0) for counts in few)
    for before, after in zip(few, many, strict=True):
        for name in HANDED_OVER:
            assert before.get(name, 0) == after.get(name, 0), name
