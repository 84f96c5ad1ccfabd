"""The pictures of the documentation show what is stored; and what those of GPUs are drawn from."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from test_gpu_figures import bench, result, stored

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
LARGEST_PICTURE = 160_000  # bytes: a clone should stay small
MIB = 1 << 20

sys.path.insert(0, str(ROOT / "scripts"))
pictures = importlib.import_module("pictures")
gpu_pictures = importlib.import_module("gpu_pictures")
style = importlib.import_module("polypath.cli.plots.style")


def image_files() -> set[str]:
    return {path.name for path in IMAGES.iterdir() if path.suffix != ".json"}


def speedups(folder: Path, **series: dict[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = gpu_pictures.speedup_data(stored(folder, **series))
    return data


# What is stored.


@pytest.mark.parametrize("picture", pictures.PICTURES, ids=lambda picture: picture.name)
def test_a_picture_was_drawn_from_what_is_stored_now(picture: Any) -> None:
    noted = pictures.recorded()[picture.name]

    assert noted["data"] == picture.digest(), "run scripts/figures.py"
    assert noted["picture"] == pictures.digest_of((IMAGES / picture.name).read_bytes())


def test_every_picture_has_a_source_and_is_shown() -> None:
    documents = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {
        Path(target).name
        for document in documents
        for target in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", document.read_text(encoding="utf-8"))
    }

    assert image_files() == set(pictures.recorded()) == shown


def test_pictures_are_small() -> None:
    large = [n for n in image_files() if (IMAGES / n).stat().st_size > LARGEST_PICTURE]

    assert large == []


def test_writing_notes_what_was_drawn_and_leaves_out_what_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = bench(result(MIB, 1.0), result(64 * MIB, 1.2))
    measured = stored(tmp_path, put=put)
    drawn = pictures.Picture(
        "one.svg", lambda: gpu_pictures.speedup_data(measured), gpu_pictures.draw_speedups
    )
    absent = pictures.Picture("two.svg", lambda: {}, gpu_pictures.draw_speedups)
    monkeypatch.setattr(pictures, "PICTURES", (drawn, absent))
    monkeypatch.setattr(pictures, "IMAGES", tmp_path)
    monkeypatch.setattr(pictures, "SOURCES", tmp_path / "sources.json")

    pictures.write()

    assert not (tmp_path / "two.svg").exists()
    assert list(pictures.recorded()) == ["one.svg"]
    assert pictures.recorded()["one.svg"]["data"] == drawn.digest()
    stored(tmp_path, put=bench(result(MIB, 1.0), result(64 * MIB, 1.3)))
    assert pictures.recorded()["one.svg"]["data"] != drawn.digest()


# What is drawn.


def test_the_same_data_give_the_same_picture(tmp_path: Path) -> None:
    data = speedups(tmp_path, put=bench(result(MIB, 1.0), result(64 * MIB, 1.2)))

    first, again = (gpu_pictures.draw_speedups(data, "svg") for _ in range(2))

    assert first == again and first.startswith(b"<?xml")


def lines_of(series: dict[str, Any], label: str) -> list[tuple[list[float], list[float]]]:
    axes = style.new_figure(3, 3).subplots()
    gpu_pictures.speedup_panel(axes, series)
    return [
        (list(line.get_xdata()), list(line.get_ydata()))
        for line in axes.lines
        if line.get_label() == label
    ]


def test_simulated_speedups_stand_beside_those_of_their_series(tmp_path: Path) -> None:
    rows = [
        {"series": name, "bytes": size, "simulated_speedup": speedup}
        for name, size, speedup in (("put", 2 * MIB, 1.3), ("put", MIB, 1.1), ("h2d", MIB, 2.0))
    ]
    put = bench(result(MIB, 1.0), result(2 * MIB, 1.2))

    series = speedups(tmp_path, put=put, simulated={"results": rows})["put"]

    assert lines_of(series, "simulated") == [([MIB, 2 * MIB], [1.1, 1.3])]
    assert lines_of(series, "measured") == [([MIB, 2 * MIB], [1.0, 1.2])]


def test_bandwidths_leave_out_sizes_that_show_nothing(tmp_path: Path) -> None:
    measured = stored(tmp_path, put=bench(result(8, 1.0), result(MIB, 1.0)))

    data = gpu_pictures.bandwidth_data(measured)

    assert [row["bytes"] for row in data["put"]["results"]] == [MIB]
    assert gpu_pictures.draw_bandwidths(data, "svg").startswith(b"<?xml")


def test_what_is_not_predicted_or_measured_can_be_drawn(tmp_path: Path) -> None:
    measured = stored(
        tmp_path, pageable_h2d=bench(result(MIB, 1.0, None), result(2 * MIB, 2, None))
    )

    assert gpu_pictures.draw_bandwidths(gpu_pictures.bandwidth_data(measured), "png")
    assert gpu_pictures.calibration_data(measured) == {}
