"""scripts/check_programs.py says what is the same and what is not, and is not stopped by hangs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from paired_runs import Run, differences, run, same_line, verdict_of  # noqa: E402


def ended(output: str, status: int = 0) -> Run:
    return Run(status=status, seconds=0.1, output=output, errors="")


def test_the_same_is_the_same() -> None:
    assert verdict_of(ended("right\nend\n"), ended("right\nend\n")) == "same"


def test_another_line_differs_and_is_said() -> None:
    native, other = ended("bytes: right\n"), ended("bytes: 7 bytes wrong\n")
    assert verdict_of(native, other) == "differs"
    assert differences(native, other) == ["'bytes: 7 bytes wrong', natively 'bytes: right'"]


def test_a_line_too_few_differs() -> None:
    assert verdict_of(ended("a\nend\n"), ended("a\n")) == "differs"


def test_remarks_do_not_count() -> None:
    assert verdict_of(ended("# 3 threads\nend\n"), ended("# 19 threads\nend\n")) == "same"


def test_another_status_differs() -> None:
    assert verdict_of(ended("end\n"), ended("end\n", status=-11)) == "differs"


@pytest.mark.parametrize(
    ("native", "other", "same"),
    [
        ("cuMemFree: blocked", "cuMemFree: did not block", True),
        ("cuMemFree: did not block", "cuMemFree: blocked", False),
        ("allocations ~1: 100", "allocations ~1: 99", True),
        ("allocations ~1: 100", "allocations ~1: 98", False),
        ("allocations ~1: 100", "allocations ~1: 140", True),
        ("allocations ~1: 100", "others ~1: 100", False),
    ],
)
def test_what_may_differ(native: str, other: str, same: bool) -> None:
    assert same_line(native, other) is same


def test_a_hang_is_ended_with_all_that_it_started() -> None:
    command = [sys.executable, "-c", "import subprocess; subprocess.run(['sleep', '100'])"]
    ended_run = run(command, {}, seconds=1.5)
    assert verdict_of(ended("end\n"), ended_run) == "hangs"
    assert ended_run.seconds < 60


def test_programs_that_fail_natively_are_no_fault_of_polypath() -> None:
    assert verdict_of(ended("", status=3), None) == "native fails"
    assert verdict_of(ended("", status=77), None) == "cannot run here"


@pytest.fixture()
def programs(tmp_path: Path) -> Path:
    """Two programs: one minds Polypath, of one scenario."""
    script = tmp_path / "preload_harm_some"
    script.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --list ]; then echo good 1; echo bad 2; exit 0; fi\n'
        'if [ "$1" = bad ] && [ -n "$POLYPATH_MARK" ]; then echo wrong; else echo right; fi\n'
    )
    script.chmod(0o755)
    return tmp_path


def test_all_scenarios_are_run_and_written(programs: Path) -> None:
    out = programs / "report.json"
    command = [sys.executable, str(ROOT / "scripts" / "check_programs.py"), "--programs"]
    command += [str(programs), "--preload", "/nowhere/none.so", "--out", str(out)]
    checked = subprocess.run(
        [*command, "--set", "POLYPATH_MARK=1"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 1, checked.stderr
    written = json.loads(out.read_text())
    verdicts = {result["scenario"]: result["verdict"] for result in written["results"]}
    assert verdicts == {"harm_some good": "same", "harm_some bad": "differs"}
    assert written["counts"] == {"differs": 1, "same": 1}
