"""`polypath doctor` and the completion of shells."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from email.message import Message
from importlib import metadata
from pathlib import Path

import jsonschema
import pytest
import result_schemas
from cli_runner import polypath
from polypath import __version__ as version
from polypath import _core
from polypath.cli import diagnosis


def states(run_json: dict) -> dict[str, str]:
    return {finding["what"]: finding["state"] for finding in run_json["findings"]}


def test_without_gpus_it_ends_with_1_and_says_what_is_missing():
    if _core.chosen()[0]:
        pytest.skip("there are GPUs here")

    run = polypath("doctor", "--json", "-")

    document = run.json()
    assert run.status == 1
    jsonschema.Draft202012Validator(result_schemas.DOCTOR).validate(document)
    assert not document["healthy"]
    assert states(document)["GPUs"] == "missing"
    assert states(document)["one transfer"] == "note"
    assert all(len(row) <= 80 for row in run.stderr.splitlines())


def test_the_library_is_said_to_be_missing_where_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(diagnosis, "preload_library", lambda: tmp_path / "none.so")

    run = polypath("doctor", "--json", "-")

    assert run.status == 1
    assert states(run.json())["library of run"] == "missing"


def metadata_with(*addresses: str) -> Message:
    """Return the metadata of a package with these addresses."""
    made = Message()
    for address in addresses:
        made["Project-URL"] = address
    return made


@pytest.mark.parametrize(
    ("addresses", "said"),
    [
        (["Repository, https://a.example/p", "Issue Tracker, https://a.example/i"], "a.example/i"),
        (["repository, https://a.example/p"], "https://a.example/p"),
        (["Documentation, https://a.example/d"], "to the people that it is from"),
        ([], "to the people that it is from"),
    ],
)
def test_it_says_where_bug_reports_go(
    addresses: list[str], said: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(metadata, "metadata", lambda _name: metadata_with(*addresses))

    run = polypath("doctor", "--json", "-")

    (row,) = (each for each in run.json()["findings"] if each["what"] == "version")
    assert row["found"] == f"polypath {version}." and said in row["remedy"]


def test_the_package_and_the_citation_name_one_repository():
    root = Path(__file__).parents[2]
    urls = (root / "pyproject.toml").read_text("utf-8").partition("\n[project.urls]\n")[2]

    named = re.search(r'(?m)^repository *= *"([^"]*)"', urls.partition("\n[")[0])
    cited = re.search(r"(?m)^repository-code: *(\S+)", (root / "CITATION.cff").read_text("utf-8"))

    assert (named and named[1]) == (cited and cited[1].strip("'\""))


def test_a_bad_setting_is_a_finding(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POLYPATH_EXECUTOR", "slow")

    run = polypath("doctor", "--json", "-")

    assert run.status == 1
    assert states(run.json())["settings"] == "missing"
    assert "POLYPATH_EXECUTOR" in run.json()["findings"][0]["found"]


def test_shells_complete_the_names_of_commands():
    around = {
        **os.environ,
        "_POLYPATH_COMPLETE": "complete_bash",
        "COMP_WORDS": "polypath do",
        "COMP_CWORD": "1",
    }

    ended = subprocess.run(
        [sys.executable, "-c", "from polypath.cli import main; main()"],
        env=around,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.stdout.split() == ["doctor"]


def test_a_machine_that_there_is_not_is_a_finding(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POLYPATH_MACHINE", "belug")

    run = polypath("doctor", "--json", "-")

    assert run.status == 1
    assert states(run.json())["machine"] == "missing"
    assert "Did you mean beluga?" in run.stdout


def keep_pairs(folder: Path, pairs: list[dict], boot: str | None = None) -> None:
    here = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    (folder / "polypath").mkdir(parents=True)
    document = {"schema": "polypath.peers/1", "boot": boot or here, "driver": "580", "pairs": pairs}
    (folder / "polypath" / "peers.json").write_text(json.dumps(document))


def test_gpus_whose_bytes_were_lost_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pair = {"accessing": "0000:1b:00.0", "owner": "0000:2a:00.0", "right": False}
    keep_pairs(tmp_path, [pair, {**pair, "owner": "0000:39:00.0", "right": True}])

    finding = diagnosis._pairs()

    assert finding.state == "missing"
    assert "0000:1b:00.0 and 0000:2a:00.0" in finding.found
    assert "0000:39:00.0" not in finding.found


def test_pairs_that_are_right_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    keep_pairs(tmp_path, [{"accessing": "a", "owner": "b", "right": True}])

    assert diagnosis._pairs().state == "ok"


@pytest.mark.parametrize("text", [None, "", "[]", '{"boot": "another", "pairs": [{}]}'])
def test_pairs_of_another_start_count_for_nothing(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if text is not None:
        (tmp_path / "polypath").mkdir()
        (tmp_path / "polypath" / "peers.json").write_text(text)

    assert diagnosis._pairs().state == "note"
