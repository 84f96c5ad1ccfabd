"""polypath.Collectives of ranks of torch.distributed: on several nodes a group sends messages."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import polypath
import pytest

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="PyTorch is not here")

STANDIN = Path(polypath.__file__).parent / "standin"
PROGRAM = Path(__file__).parent / "torch_ranks.py"
LONGEST = 100  # seconds
SECONDS = "5"  # until a rank that is silent is an error


def ended(
    folder: Path, size: int, end: str, awaited: int | None = None
) -> list[tuple[int, str, str]]:
    """Run all ranks; return the status, output and errors of the first ones, by default of all."""
    environment = {
        **os.environ, "LD_LIBRARY_PATH": str(STANDIN), "STANDIN_MACHINE": "h200x8",
        "STANDIN_CHAOS": "7", "STANDIN_STRICT": "1", "POLYPATH_COMMUNICATOR_TIMEOUT": SECONDS,
    }  # fmt: skip
    processes = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), str(rank), str(size), str(folder / "meeting"), end],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(size)
    ]  # fmt: skip
    try:
        said = [each.communicate(timeout=LONGEST) for each in processes[:awaited]]
    finally:
        for process in processes:
            process.kill()
    return [(process.returncode, *each) for process, each in zip(processes, said)]


@pytest.mark.parametrize("size", [2, 4, 8])
def test_messages_between_nodes_are_torchs(tmp_path: Path, size: int) -> None:
    for status, output, errors in ended(tmp_path, size, "well"):
        assert (status, output) == (0, "right by torch.\n"), errors


def test_a_rank_that_ends_by_an_error_is_named_at_all_others(tmp_path: Path) -> None:
    *others, _ = ended(tmp_path, 4, "error")

    for _, output, errors in others:
        assert "Rank 3 has given up (KeyError: 'no more gradients')" in output, output + errors


def test_a_process_that_is_gone_is_named_at_all_others(tmp_path: Path) -> None:
    *others, _ = ended(tmp_path, 4, "killed")

    gone = re.compile(
        "[Rr]ank 3 on 1 (has ended|that cannot end)|ranks 2 and 3, .*: Rank 1 has ended"
    )
    for _, output, errors in others:
        assert gone.search(output), output + errors


def test_a_node_whose_processes_have_stopped_is_named(tmp_path: Path) -> None:
    for _, output, errors in ended(tmp_path, 4, "stopped", awaited=2):
        assert re.search("timed out waiting for rank [23] on 1", output), output + errors
