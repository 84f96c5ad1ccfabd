"""polypath.reports: machines, plans and measurements as dictionaries."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Callable

import bench_schemas
import jsonschema
import numpy as np
import polypath
import pytest
import result_schemas
from polypath import reports

MIB = 1 << 20
PUBLIC = [
    function
    for name, function in inspect.getmembers(reports, inspect.isfunction)
    if not name.startswith("_")
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_plan_is_a_dictionary() -> None:
    plan = reports.plan("gpu0", "gpu1", 64 * MIB, machine="beluga", executor="stream")

    jsonschema.validate(plan, result_schemas.PLAN)
    assert (plan["machine"], plan["bytes"], plan["executor"]) == ("beluga", 64 * MIB, "stream")


def test_what_is_fixed_is_obeyed() -> None:
    shares, chunks = {"direct": 0.5, "gpu2": 0.5}, {"gpu2": 3}

    plan = reports.plan("gpu0", "gpu1", 8 * MIB, machine="beluga", shares=shares, chunks=chunks)

    used = {path["via"]: path for path in plan["paths"] if path["included"]}
    assert {via: path["share"] for via, path in used.items()} == shares
    assert used["gpu2"]["chunks"] == 3


def test_a_joint_plan_is_a_dictionary() -> None:
    transfers = [("gpu0", "gpu1", 64 * MIB), ("gpu1", "gpu0", np.int64(16 * MIB))]

    plan = reports.joint_plan(transfers, machine="beluga", executor="stream", issuers="threads")

    jsonschema.validate(plan, result_schemas.JOINT_PLAN)
    assert (plan["machine"], plan["pattern"], plan["issuers"]) == ("beluga", None, "threads")
    assert [(each["source"], each["bytes"]) for each in plan["transfers"]] == [
        ("gpu0", 64 * MIB), ("gpu1", 16 * MIB),
    ]  # fmt: skip


def test_a_pattern_is_the_joint_plan_of_its_transfers() -> None:
    pattern = reports.pattern_plan("gather", 16 * MIB, gpus=3, machine="beluga")

    transfers = [("gpu1", "gpu0", 16 * MIB), ("gpu2", "gpu0", 16 * MIB)]
    named = reports.joint_plan(transfers, machine="beluga")
    jsonschema.validate(pattern, result_schemas.JOINT_PLAN)
    assert pattern == {**named, "pattern": "gather"}


def test_a_benchmark_has_one_result_per_size_and_tells_its_progress() -> None:
    steps: list[tuple[int, int]] = []

    bench = reports.bench(
        "put", "gpu0", "gpu1", (MIB, 4 * MIB), machine="beluga", paths=("direct", "gpu2"),
        progress=lambda done, total: steps.append((done, total)),
    )  # fmt: skip

    jsonschema.validate(bench, bench_schemas.BENCH)
    assert [result["bytes"] for result in bench["results"]] == [MIB, 4 * MIB]
    assert {path["via"] for path in bench["results"][1]["paths"]} == {"direct", "gpu2"}
    assert steps and steps[-1][0] == steps[-1][1]


def test_without_verification_no_result_is_verified() -> None:
    bench = reports.bench("put", "gpu0", "gpu1", [MIB], machine="beluga", verify=False)

    assert [result["verified"] for result in bench["results"]] == [False]


def test_a_trace_has_events_in_microseconds() -> None:
    trace = reports.trace("gpu0", "gpu1", 8 * MIB, machine="beluga", executor="native")

    (copy,) = (event for event in trace["traceEvents"] if event["ph"] == "X")
    assert copy["args"]["bytes"] == 8 * MIB
    assert copy["dur"] > 1


def test_tuning_takes_pairs_and_executors() -> None:
    tuned = reports.tune([MIB], pairs=[("gpu0", "gpu1")], machine="mist", executors=["stream"])

    jsonschema.validate(tuned, result_schemas.TUNED)
    (entry,) = tuned["entries"]
    assert (entry["source"], entry["destination"], entry["executor"]) == ("gpu0", "gpu1", "stream")


def test_a_calibration_is_kept() -> None:
    assert reports.calibration("pcie4") is None

    measured = reports.calibrate("pcie4")

    kept = reports.calibration("pcie4")
    assert measured["calibrated"]["name"] == "pcie4"
    assert kept is not None and kept["numbers"] == measured["numbers"]


def test_machines_and_settings_are_listed() -> None:
    names = [machine["name"] for machine in reports.machines()]

    assert "beluga" in names
    assert reports.machine("beluga")["name"] == "beluga"
    assert "POLYPATH_MACHINE" in [entry["variable"] for entry in reports.settings()]


@pytest.mark.parametrize(
    ("ask", "code", "words"),
    [
        (lambda: reports.plan("gpu0", "gpu9", MIB, machine="beluga"), "invalid argument", "gpu9"),
        (lambda: reports.plan("gpu0", "gpu1", -1, machine="beluga"), "invalid argument", "bytes"),
        (lambda: reports.plan("gpu0", "gpu1", MIB, machine="none"), "invalid argument", "none"),
        (lambda: reports.joint_plan([], machine="beluga"), "invalid argument", "no transfers"),
        (lambda: reports.pattern_plan("star", MIB, machine="beluga"), "invalid argument", "ring"),
        (
            lambda: reports.pattern_plan("ring", MIB, machine="beluga", issuers="nobody"),
            "invalid argument",
            "nobody",
        ),
        (
            lambda: reports.bench("putt", "gpu0", "gpu1", [MIB], machine="beluga"),
            "invalid argument",
            "putt",
        ),
        (
            lambda: reports.bench("put", "gpu0", "gpu1", [MIB], machine="beluga", window=0),
            "invalid argument",
            "window",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_an_error(
    ask: Callable[[], Any], code: str, words: str
) -> None:
    with pytest.raises(polypath.Error, match=words) as refused:
        ask()

    assert refused.value.code == code


def test_what_is_no_number_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        reports.plan("gpu0", "gpu1", object(), machine="beluga")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: reports.plan("gpu0", "gpu1", 1, paths="direct"), "paths 'direct' is no list"),
        (lambda: reports.tune([1 << 20], executors="graph"), "executors 'graph' is no list"),
        (lambda: reports.jacobi_bench([1 << 20], paths="two"), "paths 'two' is no list"),
        (
            lambda: reports.collective_plan("allreduce", 1 << 20, algorithms="ring"),
            "algorithms 'ring' is no list",
        ),
        (lambda: reports.plan("gpu0", "gpu1", "64M"), r"size '64M' .*parse_bytes\('64M'\)"),
        (lambda: reports.pattern_plan("ring", None), "size None .* no whole number"),
        (lambda: reports.bench("put", "gpu0", "gpu1", 1 << 20), "sizes 1048576 are no list"),
        (lambda: reports.bench("put", "gpu0", "gpu1", "1M:2M"), "sizes '1M:2M' are no list"),
        (lambda: reports.bench("put", "gpu0", "gpu1", ["1M"]), r"size '1M' .*parse_bytes"),
        (
            lambda: reports.bench("put", "gpu0", "gpu1", [1], window="2"),
            "window '2' cannot be used",
        ),
        (lambda: reports.joint_plan("gpu0:gpu1:1M"), "transfer 0 is 'g'"),
        (
            lambda: reports.joint_plan([("gpu0", "gpu1", 1), ("gpu1", "gpu2")]),
            r"transfer 1 is \('gpu1', 'gpu2'\) \(each is \(source, destination, nbytes\)\)",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_text_is_no_list_and_each_transfer_has_three_parts(
    ask: Callable[[], Any], words: str
) -> None:
    with pytest.raises(TypeError, match=words):
        ask()


def test_sizes_of_numpy_are_numbers() -> None:
    sizes = np.array([MIB, 2 * MIB])

    bench = reports.bench("put", "gpu0", "gpu1", sizes, machine="beluga")

    assert [result["bytes"] for result in bench["results"]] == [MIB, 2 * MIB]


def test_a_collective_is_planned_and_measured_alike() -> None:
    plan = reports.collective_plan("allreduce", 4 * MIB, machine="cedar", ranks=3)
    bench = reports.collective_bench(
        "allreduce", [4 * MIB], machine="cedar", ranks=3, algorithms=["auto", "ring"]
    )

    automatic, ring = bench["results"]
    assert bench["schema"] == "polypath.bench/1"
    assert automatic["chosen"] == plan["algorithms"][0]["algorithm"]
    assert automatic["seconds"] == pytest.approx(plan["predicted_seconds"], rel=0.05)
    assert automatic["seconds"] <= 1.05 * ring["seconds"]
    assert all(result["verified"] and result["ranks"] == 3 for result in bench["results"])
    # 2 (n - 1) / n of the message over each link.
    assert ring["bus_bytes_per_second"] == pytest.approx(ring["bytes_per_second"] * 4 / 3)


def test_each_algorithm_has_a_reason() -> None:
    plan = reports.collective_plan("allgather", MIB, machine="mist", algorithms=["auto"])

    assert {each["algorithm"] for each in plan["algorithms"]} >= {"ring", "exchange", "bruck"}
    assert [each["chosen"] for each in plan["algorithms"]].count(True) == 1
    assert all(each["reason"] for each in plan["algorithms"])


@pytest.mark.parametrize("function", PUBLIC, ids=lambda function: function.__name__)
def test_every_report_is_described_and_typed(function: Callable[..., Any]) -> None:
    signature = inspect.signature(function)

    assert len(PUBLIC) == 15
    assert function.__doc__ is not None
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty
        assert parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


def test_the_trace_of_a_context_is_a_dictionary() -> None:
    with polypath.Context("beluga", trace=True) as context:
        source, destination = context.allocate("gpu0", MIB), context.allocate("gpu1", MIB)
        context.copy(destination, source)

        trace = context.trace()

    copies = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert sum(event["args"]["bytes"] for event in copies) == MIB
