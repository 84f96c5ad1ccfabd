"""Programs that use NCCL under the preload library, over the stand-in driver and its NCCL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from polypath import preloading
from standin_copies import AROUND, on_the_stand_in

PROGRAM = Path(__file__).parent / "nccl_ranks.py"
RANKS = 2
LIMIT = 120

pytestmark = on_the_stand_in


def environment_of(folder: Path, preloaded: bool, **more: str) -> dict[str, str]:
    """Return the variables of a rank, whose statistics go to the folder."""
    around = {
        **os.environ,
        **AROUND,
        "STANDIN_MACHINE": "h200x4",
        "STANDIN_CHAOS": "3",
        "STANDIN_STRICT": "1",
        "XDG_CACHE_HOME": str(folder),
        **more,
    }
    if preloaded:
        around["POLYPATH_NCCL_MEASURED"] = "16K"
        around |= {"LD_PRELOAD": preloading.library(), "POLYPATH_STATS": f"{folder}/"}
    return around


def start_ranks(
    folder: Path, *words: str, preloaded: tuple[bool, bool] = (True, True), **more: str
) -> list[subprocess.Popen[str]]:
    """Start all ranks."""
    shown = {rank: {"CUDA_VISIBLE_DEVICES": str(2 - rank)} for rank in range(RANKS)}
    return [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), str(folder), str(rank), str(RANKS), *words],
            env=environment_of(folder, preloaded[rank], **more)
            | (shown[rank] if "sees-one" in words else {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]


def run_ranks(
    folder: Path, *words: str, preloaded: tuple[bool, bool] = (True, True), **more: str
) -> list[dict[str, object] | None]:
    """Run all ranks; what each has counted, or None if nothing stood before its NCCL."""
    programs = start_ranks(folder, *words, preloaded=preloaded, **more)
    for program in programs:
        output, errors = program.communicate(timeout=LIMIT)
        assert (program.returncode, output) == (0, "right\n"), errors
    files = [list(folder.glob(f"*-{program.pid}.json")) for program in programs]
    return [json.loads(found[0].read_text()).get("nccl") if found else None for found in files]


def calls(counted: dict[str, object] | None, accelerated: bool) -> int:
    """Return how many calls were ours, or NCCL's."""
    assert counted is not None
    rows = counted["calls"]
    assert isinstance(rows, list)
    return sum(row["calls"] for row in rows if row["accelerated"] == accelerated)


def test_they_run_on_the_stand_in_alone(tmp_path: Path) -> None:
    assert run_ranks(tmp_path, "split", preloaded=(False, False)) == [None, None]


@pytest.mark.parametrize("seed", ["1", "2"])
def test_their_calls_are_ours_and_right(tmp_path: Path, seed: str) -> None:
    counted = run_ranks(tmp_path, "split", STANDIN_CHAOS=seed)

    for each in counted:
        assert calls(each, True) + calls(each, False) == 12
        assert calls(each, True) >= 6
        assert each is not None
        assert each["why_not"] == ""


def test_ranks_that_see_one_gpu_each_have_calls_of_ours(tmp_path: Path) -> None:
    for each in run_ranks(tmp_path, "split", "sees-one"):
        assert each is not None
        assert each["why_not"] == ""
        assert calls(each, True) >= 6


def test_a_rank_without_polypath_is_no_reason_to_wait(tmp_path: Path) -> None:
    counted = run_ranks(tmp_path, preloaded=(True, False))

    assert calls(counted[0], False) == 6
    assert counted[0] is not None
    assert "without Polypath" in str(counted[0]["why_not"])


def test_nothing_stands_before_nccl_if_a_setting_says_so(tmp_path: Path) -> None:
    assert run_ranks(tmp_path, POLYPATH_NCCL="0") == [None, None]


def test_a_rank_that_is_killed_is_an_asynchronous_error(tmp_path: Path) -> None:
    first, second = start_ranks(tmp_path, "left-alone", STANDIN_STRICT="0")

    output, errors = first.communicate(timeout=LIMIT)

    assert first.returncode == 0, errors
    assert output.startswith("error 6: Rank 1 has ended"), output
    assert "Rank 1 has ended" in errors
    second.communicate()
