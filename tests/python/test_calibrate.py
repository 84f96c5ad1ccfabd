"""`polypath calibrate`: what it writes, keeps, shows and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import result_schemas
from cli_runner import assert_refused, polypath, succeed
from polypath import reports
from polypath.cli.calibration_tables import groups_of
from polypath.cli.plots.calibration import draw_rows, row_names
from polypath.cli.plots.style import new_figure

MACHINE_SCHEMA = json.loads((Path(__file__).parents[2] / "machines" / "schema.json").read_text())
CLOSE = 0.03


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.delenv("POLYPATH_MACHINE", raising=False)
    return folder


def kept(cache: Path) -> list[Path]:
    return list((cache / "polypath").glob("*")) if cache.exists() else []


def test_a_simulated_machine_gives_back_its_own_numbers():
    calibration = succeed("calibrate", "--machine", "h200x4", "--json", "-").json()

    jsonschema.Draft202012Validator(result_schemas.CALIBRATION).validate(calibration)
    assert len(calibration["numbers"]) == 20 * 2 + 23 + (5 + 5 + 4) + 2 * 2 + 10
    for number in calibration["numbers"]:
        assert number["measured"] == pytest.approx(number["nominal"], rel=CLOSE), number
        assert number["source"].startswith("measured 2")


def test_the_calibrated_machine_is_a_machine_file(tmp_path: Path):
    output = tmp_path / "measured.json"

    succeed("calibrate", "--machine", "narval", "--output", output)

    machine = json.loads(output.read_text())
    jsonschema.Draft202012Validator(MACHINE_SCHEMA).validate(machine)
    latency = machine["hops"][0]["latency"]
    assert latency["nominal"] == pytest.approx(3.3e-6)
    assert "fit error" in machine["sources"][latency["source"]]
    assert succeed("plan", "gpu0", "gpu1", "64M", "--machine", output, "--json", "-").json()


def test_plans_for_the_calibrated_machine_are_those_of_the_nominal_one(tmp_path: Path):
    output = tmp_path / "measured.json"
    succeed("calibrate", "--machine", "beluga", "--output", output)

    for pair in (("gpu0", "gpu1"), ("host", "gpu0"), ("gpu1", "host")):
        arguments = ("plan", *pair, "64M", "--json", "-")
        measured = succeed(*arguments, "--machine", output).json()
        nominal = succeed(*arguments, "--machine", "beluga").json()

        assert measured["predicted_seconds"] == pytest.approx(
            nominal["predicted_seconds"], rel=CLOSE
        )


def test_the_table_shows_measured_beside_nominal():
    shown = succeed("calibrate", "--machine", "h200x4").stdout

    for words in (
        "measured beside nominal",
        "deviation",
        "gpu[0-3].ingress",
        "397 GB/s",
        "Kept in",
    ):
        assert words in shown
    assert max(len(line) for line in shown.splitlines() if "Kept in" not in line) <= 80


def test_info_shows_what_was_kept(cache: Path):
    before = succeed("info", "--machine", "h200x4").stdout
    succeed("calibrate", "--machine", "h200x4")

    after = succeed("info", "--machine", "h200x4").stdout

    assert "Calibrated" not in before
    assert after.startswith(before)
    assert "Calibrated: measured beside nominal" in after
    assert [path.name for path in kept(cache)] == ["fde878542c1b6cad-sim.json"]


def test_info_shows_what_a_file_says(tmp_path: Path):
    output = tmp_path / "measured.json"
    succeed("calibrate", "--machine", "pcie4", "--output", output)

    assert "Calibrated: measured beside nominal" in succeed("info", "--machine", output).stdout


def test_a_damaged_calibration_is_refused_by_name(cache: Path):
    succeed("calibrate", "--machine", "h200x4")
    (file,) = kept(cache)
    file.write_text(file.read_text()[:1000])

    run = polypath("info", "--machine", "h200x4", "--json", "-")

    assert run.status == 2
    assert str(file) in run.stderr


def test_the_same_command_gives_the_same_output():
    arguments = ("calibrate", "--machine", "synthetic:3", "--json", "-")

    assert succeed(*arguments) == succeed(*arguments)


def test_without_gpus_it_says_what_to_do(cache: Path):
    run = polypath("calibrate")
    if run.status == 0:
        pytest.skip("this computer has GPUs")

    assert_refused(run)
    assert "GPU" in run.stderr and "--machine" in run.stderr
    assert kept(cache) == []


@pytest.mark.parametrize("machine", ["", "h200x5", "/nowhere/at/all.json"])
def test_a_machine_that_is_none_is_refused(machine: str, cache: Path):
    assert_refused(polypath("calibrate", "--machine", machine))
    assert kept(cache) == []


def test_a_cache_that_cannot_be_written_is_named(cache: Path):
    cache.write_text("a file where a folder should be")

    run = polypath("calibrate", "--machine", "beluga")

    assert_refused(run)
    assert str(cache) in run.stderr


def test_the_picture_has_a_row_for_every_kind_of_number(tmp_path: Path):
    picture = tmp_path / "calibration.svg"

    run = succeed("calibrate", "--machine", "h200x4", "--json", "-", "--plot", picture)

    text = picture.read_text()
    assert "h200x4: measured and nominal" in text
    for name in ("gpu[0-3] → gpu[0-3] bandwidth", "gpu[0-3].ingress capacity", "launch a graph"):
        assert name in text
    # Nominally zero: no ratio to draw, but the number stands there.
    assert any(number["nominal"] == 0 for number in run.json()["numbers"])
    assert "(nominal 0.00 us)" in text


def test_a_point_is_measured_by_nominal():
    axes = new_figure(3, 3).subplots()
    numbers = [
        {"of": f"gpu{i}.pcie", "quantity": "capacity", "unit": "B/s", "measured": measured,
         "nominal": 5e10, "at_least": False}
        for i, measured in enumerate((4e10, 6e10))
    ]  # fmt: skip

    draw_rows(axes, [numbers])

    points = {line.get_label(): list(line.get_xdata()) for line in axes.lines}
    assert points["measured"] == [pytest.approx(0.8), pytest.approx(1.2)]
    assert points["measured: at least"] == []


def test_rows_of_costs_for_every_node_say_of_which_call() -> None:
    numbers = reports.calibrate("beluga")["numbers"]

    names = row_names(groups_of(numbers))

    assert {"launch a graph, for every node", "make a graph executable, for every node"} <= {*names}
    assert len(names) == len({*names})


def test_a_picture_of_no_known_format_is_refused_before_the_work(cache: Path):
    assert_refused(polypath("calibrate", "--machine", "beluga", "--plot", "picture.txt"))
    assert kept(cache) == []
