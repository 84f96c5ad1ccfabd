"""Planting faults, finding them, and comparing what was found. Nothing is built."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from fault_findings import (  # noqa: E402
    Finding,
    is_worse,
    read_findings,
    side_by_side,
    table_of_layers,
    write_findings,
)
from fault_list import (  # noqa: E402
    CPP_SWITCH,
    PYTHON_SWITCH,
    Fault,
    FaultError,
    planted_text,
    read_faults,
)
from fault_tests import SUITES, Survey, Test, ctest_tests, in_order, run, survey  # noqa: E402
from fault_tree import planted_files, write_tree  # noqa: E402
from find_faults import find, main, suites_for  # noqa: E402

SUM = Fault("K1", "src/kernels/sum.cc", old="a + b", new="a - b", harm="sums are wrong")
PYTHON = Fault("Y1", "python/polypath/sums.py", old="a + b", new="a - b", harm="the same")
SOURCE = "from __future__ import annotations\n\n\ndef sum_of(a, b):\n    return a + b\n"


def planted(fault: Fault, text: str) -> str:
    return planted_text(text, [(7, fault)])


def test_every_fault_of_the_list_fits_the_sources() -> None:
    faults = read_faults(ROOT / "tests" / "faults" / "faults.json")
    files = {fault.file: (ROOT / fault.file).read_bytes() for fault in faults}

    planted_files(files, faults)

    assert len(faults) >= 40
    assert {fault.layer for fault in faults} == set(SUITES) - {"chaos"}  # that has no sources
    assert all(fault.harm.endswith(".") for fault in faults)


def test_an_expression_asks_whether_it_is_planted() -> None:
    text = planted(SUM, "return a + b;\n")

    assert (
        text == '#include "core/planted.h"\nreturn (::polypath::planted(7) ? (a - b) : (a + b));\n'
    )


def test_a_statement_may_be_left_out() -> None:
    dropped = replace(SUM, old="wait(a);", new="")

    text = planted(dropped, "for (;;) wait(a);\n")

    assert "for (;;) if (::polypath::planted(7)) {  } else { wait(a); }\n" in text


def test_a_declaration_says_itself_where_it_asks() -> None:
    lock = replace(SUM, old="scoped_lock lock(m);", both="unique_lock lock(m, PLANTED);")

    assert "unique_lock lock(m, ::polypath::planted(7));" in planted(lock, "scoped_lock lock(m);")


@pytest.mark.parametrize(("text", "times"), [("a - b", 0), ("a + b, a + b", 2)])
def test_text_that_is_not_there_once_is_refused(text: str, times: int) -> None:
    with pytest.raises(FaultError, match=f"K1: its text occurs {times} times in src/kernels"):
        planted(SUM, text)


@pytest.mark.parametrize("old", ["  wait(a);", "wait(a);\n", "if (a < b)", "return a"])
def test_text_that_is_no_whole_statement_is_refused(old: str) -> None:
    fault = Fault("K1", "src/kernels/sum.cc", old=old, new="", harm="the same")

    with pytest.raises(FaultError, match="K1: its text is neither an expression nor a statement"):
        planted(fault, f"{old}\n")


@pytest.mark.parametrize("before", ["driver.", "driver->", "sim::"])
def test_text_that_begins_behind_a_name_is_refused(before: str) -> None:
    fault = Fault("K1", "src/kernels/sum.cc", old="wait(a);", new="", harm="the same")

    with pytest.raises(FaultError, match="K1: its text is neither an expression nor a statement"):
        planted(fault, f"{before}wait(a);\n")


def test_all_faults_that_do_not_fit_are_named() -> None:
    with pytest.raises(FaultError, match=r"K1.*\nK2"):
        planted_files({}, [SUM, replace(SUM, name="K2", file="src/other.cc")])


@pytest.mark.parametrize(
    ("file", "layer"),
    [
        ("src/core/text.cc", "core"),
        ("src/driver/sim/memory.cc", "driver"),
        ("src/api/preload/session.cc", "preload"),
        ("src/api/python/buffer.cc", "python"),
        ("python/polypath/tensors.py", "python"),
    ],
)
def test_a_fault_is_of_the_layer_that_its_file_is_in(file: str, layer: str) -> None:
    assert replace(SUM, file=file).layer == layer


def test_two_faults_of_one_name_are_refused(tmp_path: Path) -> None:
    one = '{"name": "K1", "file": "f", "old": "a", "new": "b", "harm": "."}'
    listed = tmp_path / "faults.json"
    listed.write_text(f'{{"faults": [{one}, {one}]}}')

    with pytest.raises(FaultError, match="two faults are called K1"):
        read_faults(listed)


def test_only_what_differs_is_written(tmp_path: Path) -> None:
    files = {SUM.file: (b"a + b", 0o644), "run": (b"#!/bin/sh\n", 0o755)}
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "made").write_text("")
    (tmp_path / "old.cc").write_text("")

    assert write_tree(tmp_path, files, [SUM])
    assert not write_tree(tmp_path, files, [SUM])

    found = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()}
    assert found == {SUM.file, "run", "build/made", CPP_SWITCH, PYTHON_SWITCH}
    assert (tmp_path / "run").stat().st_mode & 0o111


# What runs: programs in Python.


def python_test(code: str, suite: str = "core", name: str = "", **more: object) -> Test:
    test = Test(name or code, suite, (sys.executable, "-c", code), str(ROOT))
    return replace(test, **more)  # type: ignore[arg-type]


def test_a_test_passes_by_its_status_or_by_what_it_says() -> None:
    assert run(python_test("")).passed
    assert not run(python_test("raise SystemExit(1)")).passed
    assert run(python_test("print('all right'); raise SystemExit(1)", says="right|well")).passed
    assert not run(python_test("print('wrong')", says="right")).passed


def test_a_test_has_its_environment() -> None:
    shows = "import os; print(os.environ['ONE'], os.environ['TWO'])"

    assert run(python_test(shows, environment=("ONE=1=1",)), TWO="2").output == "1=1 2\n"


def test_a_test_that_takes_too_long_is_ended() -> None:
    waits = "import subprocess; subprocess.run(['sleep', '100'])"

    outcome = run(python_test(waits, limit=0.5))

    assert outcome.timed_out and not outcome.passed and outcome.seconds < 20


def test_what_ctest_knows_is_read(tmp_path: Path) -> None:
    (tmp_path / "CTestTestfile.cmake").write_text(
        'add_test(Some.Test "/bin/echo" "well")\n'
        'set_tests_properties(Some.Test PROPERTIES LABELS "engine" ENVIRONMENT "A=1;B=2"\n'
        '  PASS_REGULAR_EXPRESSION "well" WORKING_DIRECTORY "/tmp")\n'
    )

    (test,) = ctest_tests(tmp_path)

    assert test == Test(
        "Some.Test", "engine", ("/bin/echo", "well"), "/tmp", ("A=1", "B=2"), says="well"
    )


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with a fault."""
    write_tree(tmp_path, {PYTHON.file: (SOURCE.encode(), 0o644)}, [PYTHON])
    package = tmp_path / "python" / "polypath"
    (package / "__init__.py").touch()  # else the installed one is found first
    return package.parent


def asking(package: Path, right: str, suite: str = "python") -> Test:
    code = f"from polypath.sums import sum_of; assert {right}"
    return python_test(code, suite, environment=(f"PYTHONPATH={package}",))


def test_a_planted_fault_is_there_when_it_is_switched_on(package: Path) -> None:
    test = asking(package, "sum_of(3, 2) == 5")

    assert run(test).passed
    assert run(test, PLANTED_FAULT="Y2").passed
    assert not run(test, PLANTED_FAULT="Y1").passed


def surveyed(tests: list[Test], faults: list[Fault], folder: Path) -> Survey:
    return survey(tests, faults, Survey(), 1, folder / "survey.json")


def test_the_survey_says_who_comes_by_which_fault(package: Path, tmp_path: Path) -> None:
    calls, imports = asking(package, "sum_of(3, 2)"), asking(package, "sum_of")

    known = surveyed([calls, imports], [PYTHON], tmp_path)

    assert known.tests[calls.name].reached == ("Y1",)
    assert known.tests[imports.name].reached == ()
    assert Survey.read(tmp_path / "survey.json").tests == known.tests


def test_tests_of_the_own_layer_come_first(package: Path, tmp_path: Path) -> None:
    fault = replace(PYTHON, file="src/engine/sums.py")
    tests = [
        asking(package, f"sum_of(3, {number})", suite)
        for number, suite in enumerate(("bench", "engine", "preload", "core"))
    ]
    known = surveyed(tests, [fault], tmp_path)

    assert [test.suite for test in in_order(fault, tests, known)] == ["engine", "bench", "core"]


def test_what_fails_without_a_fault_finds_nothing(package: Path, tmp_path: Path) -> None:
    broken = asking(package, "sum_of(3, 2) == 1")

    assert in_order(PYTHON, [broken], surveyed([broken], [PYTHON], tmp_path)) == []


def test_the_first_test_that_fails_has_found_it(package: Path) -> None:
    blind = asking(package, "sum_of(3, 0) == 3")
    finds, never_asked = asking(package, "sum_of(3, 2) == 5"), asking(package, "sum_of(4, 2) == 6")

    finding = find(PYTHON, [blind, finds, never_asked], 60)

    assert (finding.suite, finding.test) == ("python", finds.name)
    assert (finding.tests, finding.coming_by) == (2, 3)


def test_a_test_that_also_fails_without_it_has_not(package: Path) -> None:
    finding = find(PYTHON, [asking(package, "sum_of(3, 2) == 1")], 60)

    assert not finding.found and finding.words().startswith("not found by 1 of 1 tests")


def test_the_search_ends_with_its_time(package: Path) -> None:
    finding = find(PYTHON, [asking(package, "sum_of(3, 2) == 5")], -1)

    assert finding.words() == "not found by 0 of 1 tests, 0 s"


def test_suites_below_the_lowest_fault_are_not_needed() -> None:
    assert suites_for([SUM], None)[0] == "kernels"
    assert "python" not in suites_for([SUM], None)
    assert "python" in suites_for([SUM, PYTHON], None)
    assert suites_for([SUM], ["engine"]) == ["engine"]


# What was found.

FOUND = Finding("C1", "engine", "engine", "Copy.IsRight", 2.5, 3, 9)
MISSED = Finding("C2", "engine", "", "", 41.0, 9, 9)
BEFORE = [replace(FOUND, seconds=10.0), MISSED]


def test_findings_are_kept(tmp_path: Path) -> None:
    write_findings(tmp_path / "found.json", "92d49a3", BEFORE)

    assert read_findings(tmp_path / "found.json") == ("92d49a3", BEFORE)


def test_both_findings_of_a_fault_stand_side_by_side() -> None:
    lines = side_by_side(BEFORE, [FOUND, replace(FOUND, name="C2", test="Copy.IsLeft")])

    assert "engine Copy.IsRight, 10.0 s" in lines[1] and lines[1].endswith("2.5 s")
    assert "not found by 9 of 9 tests, 41 s" in lines[2] and "Copy.IsLeft" in lines[2]
    assert lines[3] == "found: 1 of 2 (50 %) before, 2 of 2 (100 %) now"


def test_a_smaller_share_is_worse_whatever_else_was_looked_for() -> None:
    missed = replace(FOUND, suite="", test="")

    assert is_worse(BEFORE, [missed, MISSED])
    assert not is_worse(BEFORE, [FOUND])
    assert not is_worse(BEFORE, [FOUND, MISSED, replace(MISSED, name="new")])


def test_the_table_has_a_row_per_layer_and_one_for_all() -> None:
    table = table_of_layers(BEFORE, [FOUND, MISSED])

    assert table[2:] == [
        "| `engine` | 2 | 1 | 1 | 10.0 | 2.5 |",
        "| all | 2 | 1 | 1 | 10.0 | 2.5 |",
    ]


def test_a_fault_that_no_test_comes_by_is_said_to_be_so() -> None:
    assert replace(MISSED, tests=0, coming_by=0).words() == "no test comes by"


def test_a_fault_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "none"]) == 2
    assert "there is no fault called none" in capsys.readouterr().err


def test_help_says_what_it_does() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "find_faults.py"), "--help"]

    shown = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "one-line faults" in shown.stdout
