"""Every command in the documentation's plain blocks runs, or is listed here with why it does not.

A plain block has no language. Its commands are run by bash, one after another in a folder of its
own, on simulated machines; each must end with 0. Benchmarks are run without comparing bytes, which
their own tests do. Blocks of kind "console" are test_tutorials.py's, and what is in the middle of a
sentence has its options checked by test_docs.py.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from mpi_search import needs_mpi
from test_tutorials import environment, needs_stand_in

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if path.name != "CHANGELOG.md"
)  # fmt: skip
PLAIN = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SET = r"(?:[A-Z_]+=(?:\S*\$\(.*?\)\S*|\S*)(?: +|$))*"
COMMAND = re.compile(
    rf"{SET}(?:polypath [a-z-]|export |make |pip |cmake |ctest |python |g?cc |mpicc |mpirun |srun "
    r"|apptainer |docker |spack |LD_LIBRARY_PATH=\S+ )|[A-Z_]+=\$\("
)
COPY = ROOT / "docs" / "c.md"

# What is not run here, and why.
NOT_RUN = {
    r"^make |^cmake |^ctest ": "builds and tests the project itself",
    r"^pip install|python -m pytest": "installs or tests: test_installed_package.py, and make test",
    r"srun|apptainer|docker|spack": "needs a cluster, a container or Spack",
    r"your_app|train\.py|\./program|COMMAND|program …|sanitize=": "the reader's own program",
    r"^polypath calibrate|^polypath weights": "needs GPUs",
    r"^polypath mpi (?!--driver stand-in)|polypath_mpi_bench|^UCX=|^SOURCE=|^KERNEL=": "needs GPUs",
    r"own_stream": "needs GPUs; tests/CMakeLists.txt builds it for the stand-in driver",
    r"\bscripts/|tests/gpu/": "measures on GPUs, or the project itself",
    r"plain_copies\.py": "needs GPUs; its block for machines without is in the same tutorial",
    r"build/default|STANDIN_CHAOS=7 program": "test programs of C++, which are run by ctest",
}
ENDS_WITH_ONE = ("polypath doctor",)  # where there are no GPUs


def commands_of(text: str) -> list[str]:
    """Return the commands of a block, each in one line and without its comment."""
    lines = re.sub(r" *\\\n *", " ", text).splitlines()
    return [re.sub(r"\s+#.*", "", line) for line in lines if COMMAND.match(line)]


def is_on_the_stand_in(block: list[str]) -> bool:
    return re.search("stand.in", " ".join(block)) is not None


def blocks_of(document: Path) -> list[list[str]]:
    text = document.read_text(encoding="utf-8")
    blocks = [commands_of(code) for language, code in PLAIN.findall(text) if not language]
    return [block for block in blocks if block]


def why_not_run(command: str) -> str:
    return next((why for words, why in NOT_RUN.items() if re.search(words, command)), "")


ALL = {(path.relative_to(ROOT).as_posix(), command)
       for path in DOCUMENTS for block in blocks_of(path) for command in block}  # fmt: skip
BLOCKS = [
    pytest.param(left, id=f"{path.stem}: {left[0]}",
                 marks=[needs_mpi, needs_stand_in] if is_on_the_stand_in(left) else [])
    for path in DOCUMENTS for block in blocks_of(path)
    if (left := [each for each in block if not why_not_run(each)])
]  # fmt: skip


def as_run(command: str) -> str:
    """Return a command as it is run here: the first that fails ends the block."""
    return re.sub(r"^(polypath bench .*)", r"\1 --no-verify", command) + " || exit $?"


def first_program_in_c() -> str:
    blocks = PLAIN.findall(COPY.read_text(encoding="utf-8"))
    return next(code for language, code in blocks if language == "c")


def before(block: list[str]) -> list[str]:
    """Return what the page has told to do before: to let pkg-config find the library."""
    told = [each for each in blocks_of(COPY)[0] if each.startswith("export ")]
    return told if "pkg-config" in " ".join(block) else []


@pytest.mark.parametrize("block", BLOCKS)
def test_commands_run(block: list[str], tmp_path: Path) -> None:
    if "pkg-config" in " ".join(block) and not shutil.which("pkg-config"):
        pytest.skip("there is no pkg-config")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "copy.c").write_text(first_program_in_c(), encoding="utf-8")
    seen = environment(tmp_path)
    if is_on_the_stand_in(block):  # which has GPUs of its own
        del seen["CUDA_VISIBLE_DEVICES"]

    ended = subprocess.run(
        ["bash", "-c", "\n".join([*before(block), *map(as_run, block)])],
        cwd=tmp_path, env=seen, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ended.returncode == int(block[0] in ENDS_WITH_ONE), ended.stderr


def test_most_commands_are_found() -> None:
    found = [command for _, command in ALL]

    assert len(found) > 80
    assert "polypath tune --machine narval --json -" in found
    assert "./allreduce" in " ".join(found)


@pytest.mark.parametrize("words", sorted(NOT_RUN))
def test_what_is_not_run_is_still_there(words: str) -> None:
    assert [command for _, command in ALL if re.search(words, command)]


def test_nothing_that_names_a_machine_is_left_out() -> None:
    assert [command for _, command in ALL if "--machine" in command and why_not_run(command)] == []
