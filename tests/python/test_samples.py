"""Runs that are kept: what measuring on GPUs writes of them, and what is said and drawn of them."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path
from typing import Any

import bench_schemas
import jsonschema
import polypath
import pytest
from matplotlib.collections import LineCollection
from polypath import reports
from polypath.cli import provenance
from polypath.cli.plots import curves, jacobi, style
from test_standin import run_on_standin

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
HOST = {"simulated": False, "gpus": 2, "gpu": "GPU of a test", "driver_version": "1.2.3",
        "processor": "CPU of a test", "date": "2026-01-02"}  # fmt: skip


def quartiles(lower: float, median: float, upper: float) -> dict[str, float]:
    return {"minimum": lower, "lower_quartile": lower, "median": median,
            "upper_quartile": upper, "maximum": upper}  # fmt: skip


def result(size: int, kept: bool) -> dict[str, Any]:
    """Return a result of 2 ms; half of the runs take 1 to 4 ms, half of the speed-ups are 1 to 3"""
    found: dict[str, Any] = {
        "bytes": size, "window": 1, "source": "gpu0", "destination": "gpu1", "seconds": 0.002,
        "bytes_per_second": size / 0.002, "native_bytes_per_second": size / 0.004,
        "speedup": 2.0, "predicted_seconds": None,
    }  # fmt: skip
    if kept:
        found["samples"] = {"runs": 20}
        found["spread"] = {
            "seconds": quartiles(0.001, 0.002, 0.004),
            "native_seconds": quartiles(0.004, 0.004, 0.004),
            "speedup": quartiles(1.0, 2.0, 3.0),
        }
    return found


def bench(*results: dict[str, Any], driver: str = "cuda") -> dict[str, Any]:
    return {"machine": "one of a test", "driver": driver, "operation": "put", "host": HOST,
            "results": list(results)}  # fmt: skip


def bars_of(axes: Any) -> list[tuple[float, float]]:
    """Return the lower and the upper end of each bar."""
    found = [c for c in axes.collections if isinstance(c, LineCollection)]
    segments = [segment for collection in found for segment in collection.get_segments()]
    return [(float(segment[0][1]), float(segment[1][1])) for segment in segments]


@pytest.mark.skipif(
    not (Path(polypath.__file__).parent / "standin").exists(),
    reason="the stand-in driver is not installed",
)
def test_runs_on_a_driver_are_kept(tmp_path: Path) -> None:
    done = run_on_standin(tmp_path, "bench", "put", "--sizes", "4K,16M", "--json", "-")

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    jsonschema.validate(report, bench_schemas.BENCH_ON_GPUS)
    assert report["native_call"] == "cuMemcpyDtoDAsync, peer access"
    for one in report["results"]:
        samples, spread = one["samples"], one["spread"]
        assert samples["runs"] >= 20
        assert one["seconds"] == spread["seconds"]["median"]
        if samples["kept"] == "all":
            assert len(samples["seconds"]) == len(samples["native_seconds"]) == samples["runs"]
            assert statistics.median(samples["seconds"]) == pytest.approx(one["seconds"])
        else:
            assert samples["runs"] > 256 and len(samples["seconds"]) == 101
            assert samples["seconds"][50] == pytest.approx(one["seconds"])
        moved = one["bytes_per_second"] * one["seconds"]
        assert spread["native_seconds"]["median"] == pytest.approx(
            moved / one["native_bytes_per_second"]
        )
    assert "runs. The middle half of the times spans" in " ".join(done.stderr.split())


def test_a_simulation_has_no_runs_and_says_so() -> None:
    report = reports.bench("put", "gpu0", "gpu1", [MIB], machine="beluga")

    assert not {"samples", "spread"} & set(report["results"][0])
    assert "All runs take equally long" in provenance.footer_text(report)
    assert provenance.origin_text(report) == "Simulated: beluga, in virtual time."


# 64 MiB in 1, 2 and 4 ms: 67.1, 33.6 and 16.8 GB/s.
def test_error_bars_span_the_quartiles() -> None:
    upper, lower = style.new_figure(4, 4).subplots(2, 1)

    curves.draw_bandwidth(upper, [result(64 * MIB, kept=True)])
    curves.draw_speedup(lower, [result(64 * MIB, kept=True)])

    planned, native = bars_of(upper)
    gigabytes = 64 * MIB / 1e9
    assert planned == pytest.approx((gigabytes / 0.004, gigabytes / 0.001))
    assert native == pytest.approx((gigabytes / 0.004, gigabytes / 0.004))
    assert bars_of(lower) == [(1.0, 3.0)]
    assert lower.get_ylim()[0] < 1.0 and lower.get_ylim()[1] > 3.0


def test_without_runs_there_are_no_bars() -> None:
    axes = style.new_figure(4, 4).subplots()

    curves.draw_speedup(axes, [result(MIB, kept=False), result(2 * MIB, kept=False)])

    assert bars_of(axes) == []


PAIRS = {"latency": ("gpu0", "gpu1"), "many": ("host", "gpu0")}


def figure_of(operation: str, *sizes: int) -> Any:
    pair = PAIRS[operation]
    return curves.figure_of(reports.bench(operation, *pair, sizes, machine="h200x4", verify=False))


def test_latency_is_drawn_as_times() -> None:
    upper, lower = figure_of("latency", MIB, 64 * MIB).axes

    assert upper.get_ylabel() == "time, us" and lower.get_ylabel() == "speed-up over native"
    ends = {line.get_label(): line.get_ydata() for line in upper.lines}
    assert ends["Polypath"][1] < ends["native copy"][1]
    assert ends["predicted"] == pytest.approx(ends["Polypath"], rel=0.05)


def test_a_prediction_that_there_is_not_leaves_a_gap() -> None:
    upper, _ = figure_of("many", MIB // 16, 16 * MIB).axes

    (predicted,) = (line for line in upper.lines if line.get_label() == "predicted")
    assert [math.isnan(value) for value in predicted.get_ydata()] == [False, True]


@pytest.mark.parametrize(("operation", "side"), [("latency", "right"), ("many", "left")])
def test_the_best_gain_is_written_within_the_axes(operation: str, side: str) -> None:
    (text,) = figure_of(operation, MIB // 16, 64 * MIB).axes[1].texts

    assert text.get_horizontalalignment() == side


def test_a_picture_says_what_was_measured_on_what() -> None:
    on = "Measured on 2 \u00d7 GPU of a test, driver 1.2.3, CPU of a test, 2026-01-02."

    kept = provenance.footer_text(bench(result(MIB, kept=True)))
    older = provenance.footer_text(bench(result(MIB, kept=False)))

    assert kept == f"{on} Medians of 20 runs. {provenance.BARS}"
    assert older == f"{on} Medians; the single runs were not kept."
    assert "mean nothing" in provenance.footer_text(bench(result(MIB, False), driver="stand-in"))


# (4 ms - 1 ms) / 2 ms = 150 %.
def test_below_a_table_stands_how_far_runs_differ() -> None:
    text = provenance.scatter_text(bench(result(MIB, kept=False), result(64 * MIB, kept=True)))

    assert text == (
        "Medians of 20 runs. The middle half of the times spans 150.0 % of the median at 64 MiB, "
        "less elsewhere."
    )


@pytest.mark.parametrize("name", ["put", "pageable_h2d", "bibw"])
def test_results_without_runs_can_still_be_drawn(name: str) -> None:
    stored = json.loads((ROOT / "results" / "h200x4" / f"{name}.json").read_text())

    assert curves.draw(stored, "svg").startswith(b"<?xml")


def test_times_of_jacobi_are_numbers_one_can_read() -> None:
    report = reports.jacobi_bench([MIB, 64 * MIB], machine="beluga", verify=False)

    picture = jacobi.draw(report, "svg").decode()

    assert "mathdefault" not in picture
