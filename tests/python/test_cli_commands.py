"""Every command: exit status, the JSON that docs/json.md promises, and what people see."""

from __future__ import annotations

import json
from pathlib import Path

import bench_schemas
import jsonschema
import pytest
import result_schemas
from cli_runner import assert_refused, polypath, succeed

ZOO = [machine["name"] for machine in succeed("machines", "--json", "-").json()["machines"]]
MACHINE_SCHEMA = json.loads((Path(__file__).parents[2] / "machines" / "schema.json").read_text())
MIB = 1 << 20


def check(document: object, schema: result_schemas.Schema) -> None:
    jsonschema.Draft202012Validator(schema).validate(document)


# The list of commands, with smaller sizes where only their number differs.


def test_plan_explains_every_path():
    run = succeed("plan", "gpu0", "gpu1", "512M", "--machine", "h200x4")

    for word in ("direct", "gpu2", "gpu3", "host0", "512 MiB", "predicted"):
        assert word in run.stdout
    assert run.stderr == ""


def test_bench_put_with_paths_and_graphs():
    bench = succeed(
        "bench", "put", "gpu0", "gpu1", "--machine", "beluga", "--sizes", "1M:64M",
        "--paths", "direct,gpu2,gpu3,host", "--executor", "graph", "--json", "-",
    ).json()  # fmt: skip

    check(bench, bench_schemas.BENCH)
    assert [result["bytes"] for result in bench["results"]] == [MIB << i for i in range(7)]
    assert all(result["verified"] for result in bench["results"])
    assert {path["via"] for path in bench["results"][-1]["paths"]} == {
        "direct", "gpu2", "gpu3", "host0",
    }  # fmt: skip


def test_bench_from_the_host_with_a_picture(tmp_path: Path):
    picture = tmp_path / "h2d.png"

    run = succeed(
        "bench", "h2d", "host", "gpu0", "--machine", "h200x4", "--sizes", "1M:64M",
        "--json", "-", "--plot", picture,
    )  # fmt: skip

    check(run.json(), bench_schemas.BENCH)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert run.json()["results"][-1]["speedup"] > 2


def test_bench_both_ways_with_a_window():
    bench = succeed(
        "bench", "bibw", "gpu0", "gpu1", "--machine", "beluga", "--window", "16",
        "--sizes", "1M:16M", "--json", "-",
    ).json()  # fmt: skip

    check(bench, bench_schemas.BENCH)
    assert all(result["window"] == 16 and result["verified"] for result in bench["results"])


def test_tune_writes_all_as_json_and_keeps_for_use_what_gains(tmp_path: Path):
    output = tmp_path / "tuned.json"

    run = succeed(
        "tune", "gpu0", "gpu1", "--machine", "narval", "--sizes", "1M,8M", "--json", "-",
        "--output", output,
    )  # fmt: skip

    found, kept = run.json(), json.loads(output.read_text())
    check(found, result_schemas.TUNED)
    assert {entry["executor"] for entry in found["entries"]} == {"stream", "graph"}
    assert kept["entries"] == [
        entry for entry in found["entries"] if entry["speedup"] > entry["automatic_speedup"]
    ]
    assert 0 < len(kept["entries"]) < len(found["entries"])
    assert f"export POLYPATH_TUNED={output}" in run.stderr


@pytest.mark.parametrize("asked", ["h200x4 --sizes 1M host gpu0", "pcie4 --sizes 8M gpu0 gpu1"])
def test_tune_advises_nothing_where_nothing_gains(asked: str, tmp_path: Path):
    output = tmp_path / "tuned.json"

    run = succeed("tune", "--machine", *asked.split(), "--output", output)

    assert json.loads(output.read_text())["entries"] == []
    assert "None is faster" in run.stdout and "POLYPATH_TUNED" not in run.stdout


def test_tuned_plans_are_used_where_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    output = tmp_path / "tuned.json"
    succeed(
        "tune", "gpu0", "gpu1", "--machine", "nop2p4", "--sizes", "64M", "--executor", "stream",
        "--json", output,
    )  # fmt: skip
    shares = json.loads(output.read_text())["entries"][0]["shares"]

    monkeypatch.setenv("POLYPATH_TUNED", str(output))
    plan = succeed(
        "plan", "gpu0", "gpu1", "64M", "--machine", "nop2p4", "--executor", "stream", "--json", "-"
    ).json()

    planned = {path["via"]: path["share"] for path in plan["paths"] if path["included"]}
    assert planned == pytest.approx({k: v for k, v in shares.items() if v > 0}, abs=0.005)


def test_trace_opens_in_perfetto(tmp_path: Path):
    output = tmp_path / "trace.json"

    run = succeed("trace", "gpu0", "gpu1", "64M", "--machine", "beluga", "--output", output)

    document = json.loads(output.read_text())
    check(document, result_schemas.TRACE)
    assert "ui.perfetto.dev" in run.stdout
    assert "simulated on beluga" in " ".join(run.stdout.split())


def test_a_simulated_trace_names_what_moves_and_begins_at_zero(tmp_path: Path):
    output = tmp_path / "trace.json"

    succeed("trace", "gpu0", "gpu1", "64M", "--machine", "beluga", "--output", output)

    events = json.loads(output.read_text())["traceEvents"]
    copies = [event for event in events if event["ph"] == "X"]
    names = {
        event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"
    }
    assert min(copy["ts"] for copy in copies) == 0
    assert set(names) == {copy["tid"] for copy in copies}
    staged = [
        copy for copy in copies if copy["name"].startswith("gpu0 -> gpu1 via gpu2, chunk 1 of ")
    ]
    assert {names[copy["tid"]] for copy in staged} == {"gpu0 -> gpu2", "gpu2 -> gpu1"}
    assert all("MiB" in copy["name"] for copy in staged)


@pytest.mark.parametrize("operation", ["put", "bw", "bibw", "latency", "mbw", "h2d", "d2h"])
def test_every_operation_has_default_places(operation: str):
    run = succeed("bench", operation, "--machine", "beluga", "--sizes", "64K,4M", "--json", "-")

    check(run.json(), bench_schemas.BENCH)
    assert all(result["verified"] for result in run.json()["results"])


def test_many_blocks_use_the_links_of_other_gpus():
    run = succeed(
        "bench", "many", "host", "gpu0", "--machine", "h200x4", "--pieces", "512",
        "--sizes", "64K,1M", "--json", "-",
    )  # fmt: skip

    results = run.json()["results"]
    check(run.json(), bench_schemas.BENCH_MANY)
    assert all(result["verified"] and result["speedup"] >= 1.5 for result in results)
    assert [result["pieces"] for result in results] == [512, 512]


@pytest.mark.parametrize("machine", [*ZOO, "synthetic:7"])
def test_every_machine_is_shown_and_drawn(machine: str, tmp_path: Path):
    picture = tmp_path / "machine.svg"

    run = succeed("info", "--machine", machine, "--json", "-", "--plot", picture)

    check(run.json(), MACHINE_SCHEMA)
    assert picture.read_text().startswith("<?xml")
    for place in run.json()["places"]:
        assert place["name"] in run.stderr  # the tables, as JSON has stdout


@pytest.mark.parametrize("machine", ZOO)
def test_plans_of_every_machine_satisfy_the_schema(machine: str):
    for pair in (("gpu0", "gpu1"), ("host", "gpu0"), ("gpu1", "host")):
        plan = succeed("plan", *pair, "64M", "--machine", machine, "--json", "-").json()

        check(plan, result_schemas.PLAN)
        used = [path for path in plan["paths"] if path["included"]]
        assert sum(path["bytes"] for path in used) == 64 * MIB
        assert sum(path["share"] for path in used) == pytest.approx(1)
        assert plan["predicted_seconds"] <= 1.001 * plan["native_seconds"]


def test_shares_and_chunks_fix_the_plan():
    plan = succeed(
        "plan", "gpu0", "gpu1", "64M", "--machine", "h200x4",
        "--shares", "direct=0.9,host=0.1", "--chunks", "host=8", "--json", "-",
    ).json()  # fmt: skip

    used = {path["via"]: path for path in plan["paths"] if path["included"]}
    assert set(used) == {"direct", "host0"}
    assert used["host0"]["share"] == pytest.approx(0.1, abs=0.001)
    assert used["host0"]["chunks"] == 8


def test_a_machine_that_was_shown_can_be_read_back(tmp_path: Path):
    copy = tmp_path / "copy.json"
    succeed("info", "--machine", "cedar", "--json", copy)

    original = succeed("plan", "gpu0", "gpu1", "64M", "--machine", "cedar", "--json", "-")
    again = succeed("plan", "gpu0", "gpu1", "64M", "--machine", copy, "--json", "-")

    assert again.json() == original.json()


def test_settings_are_listed_with_their_values(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POLYPATH_MIN_CHUNK", "128K")

    settings = succeed("info", "--settings", "--json", "-").json()

    check(settings, result_schemas.SETTINGS)
    values = {entry["variable"]: entry for entry in settings["settings"]}
    assert values["POLYPATH_MIN_CHUNK"]["value"] == "128K"
    assert values["POLYPATH_MIN_CHUNK"]["default"] == "64K"


def test_the_machine_comes_from_the_option_then_the_setting_then_the_default(
    monkeypatch: pytest.MonkeyPatch,
):
    default = succeed("info")
    monkeypatch.setenv("POLYPATH_MACHINE", "narval")
    setting = succeed("info")
    option = succeed("info", "--machine", "mist")

    assert default.stdout.startswith("h200x4") and "no GPU" in default.stderr
    assert setting.stdout.startswith("narval") and "POLYPATH_MACHINE" in setting.stderr
    assert option.stdout.startswith("mist") and option.stderr == ""


DETERMINISTIC = [
    ("plan", "gpu0", "gpu1", "64M", "--machine", "beluga"),
    ("plan", "ring", "64M", "--machine", "beluga", "--explain"),
    ("bench", "put", "--machine", "h200x8", "--sizes", "1M,16M"),
    ("bench", "bibw", "--machine", "mist", "--sizes", "4M", "--window", "3"),
    ("tune", "gpu0", "gpu1", "--machine", "h200x4", "--sizes", "2M"),
    ("info", "--machine", "synthetic:3"),
]


@pytest.mark.parametrize("arguments", DETERMINISTIC, ids=" ".join)
def test_the_same_command_gives_the_same_output(arguments: tuple[str, ...]):
    assert succeed(*arguments, "--json", "-") == succeed(*arguments, "--json", "-")
    assert succeed(*arguments) == succeed(*arguments)


@pytest.mark.parametrize("command", ["plan", "bench", "info"])
def test_the_same_command_draws_the_same_picture(command: str, tmp_path: Path):
    arguments = {
        "plan": ("gpu0", "gpu1", "64M"),
        "bench": ("put", "--sizes", "1M,8M"),
        "info": (),
    }[command]
    pictures = []
    for name in ("one.svg", "two.svg", "one.png", "two.png"):
        succeed(command, *arguments, "--machine", "beluga", "--plot", tmp_path / name)
        pictures.append((tmp_path / name).read_bytes())

    assert pictures[0] == pictures[1]
    assert pictures[2] == pictures[3]


@pytest.mark.parametrize("columns", [80, 120])
def test_tables_fit_their_width_and_cut_nothing(columns: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    for arguments in (
        ("machines",),
        ("info", "--machine", "dgx-a100"),
        ("info", "--settings"),
        ("plan", "gpu0", "gpu1", "512M", "--machine", "h200x8"),
        ("bench", "h2d", "--machine", "h200x4", "--sizes", "4M,16M"),
    ):
        output = succeed(*arguments).stdout

        assert max(map(len, output.splitlines())) <= columns
        assert "…" not in output and "\x1b" not in output


def test_help_and_version():
    assert "plan" in succeed().stdout
    assert "bench" in succeed("--help").stdout
    assert succeed("--version").stdout.startswith("polypath ")
    for command in ("machines", "info", "plan", "bench", "weights", "mpi", "tune", "trace", "demo"):
        assert "Usage" in polypath(command, "--help").stdout


OWN_OPTIONS = {"bench": "--shares", "weights": "--total", "mpi": "--mpirun"}


@pytest.mark.parametrize("command", OWN_OPTIONS)
def test_commands_that_measure_list_only_their_own_options(command: str) -> None:
    text = polypath(command, "--help").stdout

    listed = {option for option in OWN_OPTIONS.values() if option in text}

    assert listed == {OWN_OPTIONS[command]}


def test_a_collective_is_measured_by_each_algorithm():
    bench = succeed(
        "bench", "allreduce", "--machine", "cedar", "--sizes", "1M,4M",
        "--algorithms", "flat,hierarchical,auto", "--json", "-",
    ).json()  # fmt: skip

    results = bench["results"]
    assert bench["schema"] == "polypath.bench/1"
    assert [result["algorithm"] for result in results] == ["flat", "hierarchical", "auto"] * 2
    assert all(result["verified"] and result["nodes"] == 1 for result in results)
    for flat, hierarchical, auto in (results[:3], results[3:]):
        assert auto["seconds"] <= 1.05 * min(flat["seconds"], hierarchical["seconds"])


def test_a_collective_is_planned_with_reasons():
    run = succeed("plan", "allreduce", "64M", "--machine", "cedar", "--any-order")

    for word in ("By trees", "hierarchical", "times as long", "one path"):
        assert word in run.stdout


@pytest.mark.parametrize(
    ("options", "competes"),
    [
        ((), False),
        (("--reduction", "average", "--type", "bfloat16"), False),
        (("--any-order",), True),
        (("--type", "int32"), True),
        (("--reduction", "max"), True),
    ],
)
def test_another_order_competes_only_where_it_has_the_same_bits(
    options: tuple[str, ...], competes: bool
) -> None:
    plan = succeed(
        "plan", "allreduce", "1M", "--machine", "mist", "--paths", "direct", *options,
        "--json", "-",
    ).json()  # fmt: skip

    names = {algorithm["algorithm"] for algorithm in plan["algorithms"]}
    assert "chain" in names
    assert ("knomial" in names) == competes


def test_an_alltoall_has_blocks_of_any_size():
    counts = [0, 20, 1, 1, 20, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0]
    listed = ",".join(str(count) for count in counts)
    plan = succeed(
        "plan", "alltoallv", "64M", "--machine", "beluga", "--counts", listed, "--json", "-"
    ).json()

    assert plan["counts"] == counts
    # Rank 0 sends 22 counts in all: 64 MiB of 4-byte elements.
    assert plan["elements"] == (64 << 20) // 4 // 22
    assert plan["algorithms"][0]["several_paths"]


@pytest.mark.parametrize("counts", ["1,2,3", "1,-2,3,4", "1,x", "0,0,0,0"])
def test_counts_that_mean_nothing_are_refused(counts: str) -> None:
    run = polypath(
        "plan", "alltoallv", "1M", "--machine", "cedar", "--gpus", "2", "--counts", counts
    )

    assert_refused(run)
    assert "count" in run.stderr


def test_alltoall_is_a_pattern_unless_algorithms_are_named():
    pattern = succeed("plan", "alltoall", "1M", "--machine", "cedar", "--json", "-").json()
    collective = succeed(
        "plan", "alltoall", "1M", "--machine", "cedar", "--algorithms", "auto", "--json", "-"
    ).json()

    assert pattern["schema"] == "polypath.joint_plan/1"
    assert collective["schema"] == "polypath.collective_plan/1"
