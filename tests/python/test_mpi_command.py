"""`polypath mpi`: rounds, ratios, what is written and what is refused. The ranks are fake."""

from __future__ import annotations

import shutil
from pathlib import Path

import bench_schemas
import jsonschema
import pytest
from cli_runner import Run, assert_refused, polypath, succeed
from fake_mpi import FakeMpi, install_fake_mpi
from polypath.cli.mpi import ranks

KIB = 1024


@pytest.fixture
def mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMpi:
    return install_fake_mpi(tmp_path, monkeypatch)


def bench(*arguments: object) -> Run:
    return succeed("mpi", *arguments, "--json", "-")


def test_the_speedup_is_the_median_of_the_ratios_within_rounds(mpi: FakeMpi) -> None:
    # Ratios of the rounds: 3/1, 2/2, 8/4 with the median 2. The ratio of the medians would be 3/2.
    mpi.plan(native=[3.0, 2.0, 8.0], planned=[1.0, 2.0, 4.0])

    (result,) = bench(
        "--operations", "bw", "--sizes", "64K", "--window", "4", "--repeats", "3"
    ).json()["results"]  # fmt: skip

    assert result["speedup"] == 2.0
    assert result["speedups"] == [3.0, 1.0, 2.0]
    assert (result["seconds"], result["native_seconds"]) == (2.0, 3.0)
    assert result["bytes_per_second"] == 4 * 64 * KIB / 2.0
    assert result["native_bytes_per_second"] == pytest.approx(4 * 64 * KIB / 3.0)
    assert result["messages_per_second"] == 4 / 2.0


def test_rounds_interleave_and_take_turns_in_going_first(mpi: FakeMpi) -> None:
    bench("--sizes", "1K", "--repeats", "3")

    planned = ["LD_PRELOAD" in start["ranks"] for start in mpi.starts()]

    assert planned == [False, True, True, False, False, True]


def test_the_first_and_the_last_round_compare_bytes(mpi: FakeMpi) -> None:
    (result,) = bench(
        "--operations", "bw", "--sizes", "1K", "--window", "2", "--repeats", "4"
    ).json()["results"]  # fmt: skip

    checked = ["--no-check" not in start["words"] for start in mpi.starts()]

    assert checked == [True, True, False, False, False, False, True, True]
    assert result["compared_bytes"] == 2 * 3 * 2 * KIB
    assert result["verified"] is True


@pytest.mark.usefixtures("mpi")
def test_without_a_check_nothing_claims_to_be_verified() -> None:
    run = bench("--sizes", "1K", "--no-check", "--repeats", "2")

    assert not any(result["verified"] for result in run.json()["results"])


@pytest.mark.usefixtures("mpi")
def test_every_operation_window_and_size_has_a_result_of_the_stated_schema() -> None:
    document = bench(
        "--operations", "latency,bw,ring", "--sizes", "1K,4K", "--window", "1,8"
    ).json()

    jsonschema.Draft202012Validator(bench_schemas.BENCH_MPI).validate(document)
    assert [(r["operation"], r["window"], r["bytes"]) for r in document["results"]] == [
        ("latency", 1, 1 * KIB), ("latency", 1, 4 * KIB),
        ("bw", 1, 1 * KIB), ("bw", 1, 4 * KIB), ("bw", 8, 1 * KIB), ("bw", 8, 4 * KIB),
        ("ring", 1, 1 * KIB), ("ring", 1, 4 * KIB), ("ring", 8, 1 * KIB), ("ring", 8, 4 * KIB),
    ]  # fmt: skip
    assert document["driver"] == "cuda" and document["machine"] == "Fake GPU"
    assert document["mpi"]["library"] == "Open MPI v5.0"
    assert document["repeats"] == 5


@pytest.mark.usefixtures("mpi")
def test_the_table_shows_the_gain_and_its_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")

    text = succeed("mpi", "--sizes", "1M", "--repeats", "2").stdout

    assert "Fake GPU" in text and "2.00x" in text and "2.00-2.00" in text
    assert "Medians of 2 rounds" in text


@pytest.mark.usefixtures("mpi")
def test_messages_between_host_buffers_name_no_gpu() -> None:
    document = bench("--buffers", "host", "--sizes", "1K", "--repeats", "2").json()

    assert document["driver"] == "none"
    assert document["results"][0]["source"] == "host0"


def test_the_worst_round_of_each_size_is_told(mpi: FakeMpi) -> None:
    mpi.plan(native=[4.0, 4.0, 4.0], planned=[2.0, 5.0, 4.0])

    document = bench("--operations", "latency,bw", "--sizes", "1K,64K", "--window", "4",
                     "--repeats", "3").json()  # fmt: skip

    ratios = [
        {"operation": "latency", "window": 1, "worst": 0.8, "median": 1.0},
        {"operation": "bw", "window": 4, "worst": 0.8, "median": 1.0},
    ]
    assert document["by_size"] == [
        {"bytes": 1 * KIB, "worst": 0.8, "ratios": ratios},
        {"bytes": 64 * KIB, "worst": 0.8, "ratios": ratios},
    ]


def test_a_table_has_the_worst_and_the_median_ratio_by_size(mpi: FakeMpi) -> None:
    mpi.plan(native=[4.0, 4.0, 4.0], planned=[2.0, 5.0, 4.0])

    text = succeed(
        "mpi", "--operations", "bw", "--sizes", "1K,64K", "--window", "1,16",
        "--repeats", "3",
    ).stdout  # fmt: skip

    table = text[text.index("bw: worst and median ratio by size") :]
    assert table.split()[7:11] == ["size", "window", "1", "window"]
    assert [line.split() for line in table.splitlines() if "KiB" in line] == [
        ["1", "KiB", "0.80x", "1.00x", "0.80x", "1.00x"],
        ["64", "KiB", "0.80x", "1.00x", "0.80x", "1.00x"],
    ]


@pytest.mark.parametrize(
    ("buffers", "places", "driver"),
    [
        ("device,device", ("device", "gpu0", "gpu1"), "cuda"),
        ("host,device", ("host,device", "host0", "gpu1"), "cuda"),
        ("device,host", ("device,host", "gpu0", "host0"), "cuda"),
        ("pinned, device", ("pinned,device", "host0", "gpu1"), "cuda"),
        ("managed", ("managed", "gpu0", "gpu1"), "cuda"),
        ("host,host", ("host", "host0", "host0"), "none"),
    ],
)
def test_the_memory_of_each_side_is_chosen(
    mpi: FakeMpi, buffers: str, places: tuple[str, str, str], driver: str
) -> None:
    document = bench(
        "--buffers", buffers, "--operations", "bw", "--sizes", "1K", "--repeats", "2"
    ).json()

    (result, *_) = document["results"]
    said = (document["buffers"], result["source"], result["destination"])
    assert said == places
    assert document["driver"] == driver
    words = mpi.starts()[0]["words"]
    assert words[words.index("--buffers") + 1] == places[0]
    jsonschema.Draft202012Validator(bench_schemas.BENCH_MPI).validate(document)


@pytest.mark.parametrize(
    ("option", "per_message"), [((), False), (("--buffer-per-message",), True)]
)
def test_all_messages_of_a_window_lie_in_one_buffer_unless_asked_otherwise(
    mpi: FakeMpi, option: tuple[str, ...], per_message: bool
) -> None:
    document = bench("--sizes", "1K", "--repeats", "2", *option).json()

    assert document["buffer_per_message"] is per_message
    assert ["--buffer-per-message" in start["words"] for start in mpi.starts()] == [per_message] * 4


@pytest.mark.usefixtures("mpi")
def test_a_picture_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "mpi.png"

    succeed("mpi", "--sizes", "1K:1M", "--repeats", "2", "--plot", picture)

    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_stand_in_comes_first_and_only_bytes_count(mpi: FakeMpi) -> None:
    run = bench("--driver", "stand-in", "--sizes", "1K", "--operations", "bw", "--window", "1")

    assert run.json()["driver"] == "stand-in"
    assert run.json()["host"]["simulated"] is True
    assert "only whether they are right counts" in " ".join(run.stderr.split())
    assert "speed-up" not in run.stderr
    for start in mpi.starts():
        assert start["ranks"]["LD_LIBRARY_PATH"].split(":")[0].endswith("/standin")
        assert start["ranks"]["STANDIN_STRICT"] == "1"
    assert len(mpi.starts()) == 2  # one round: there is nothing to time


@pytest.mark.usefixtures("mpi")
def test_no_picture_is_drawn_of_times_that_mean_nothing(tmp_path: Path) -> None:
    run = polypath("mpi", "--driver", "stand-in", "--plot", tmp_path / "x.png")

    assert_refused(run)


@pytest.mark.parametrize(("kind", "how"), [("planned", "with"), ("native", "without")])
def test_wrong_bytes_are_an_error(mpi: FakeMpi, kind: str, how: str) -> None:
    mpi.plan(native=[1.0] * 2, planned=[1.0] * 2, wrong={kind: 7})

    run = polypath("mpi", "--operations", "bw", "--sizes", "64K", "--window", "1", "--repeats", "2")

    assert run.status == 1
    assert f"wrong bytes {how} Polypath: bw of 64 KiB" in run.stderr


@pytest.mark.parametrize(("kind", "how"), [("planned", "with"), ("native", "without")])
def test_ranks_that_fail_say_why_in_one_line(mpi: FakeMpi, kind: str, how: str) -> None:
    mpi.plan(native=[1.0], planned=[1.0], fails=[kind])

    run = polypath("mpi", "--sizes", "1K", "--repeats", "2")

    assert run.status == 1
    assert run.stderr == (
        f"polypath: the ranks {how} Polypath failed: rank 1: it broke (on purpose) Mend it.\n"
    )


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"unfinished": ["planned"]}, "ended with status"),
        ({"status": 3}, "status 3"),
        ({"lost": True}, "not loaded"),
    ],
)
def test_a_run_that_came_to_no_good_end_is_an_error(
    mpi: FakeMpi, fault: dict[str, object], words: str
) -> None:
    mpi.plan(native=[1.0] * 2, planned=[1.0] * 2, noise="a warning", **fault)

    run = polypath("mpi", "--sizes", "1K", "--repeats", "2")

    assert run.status == 1
    assert words in run.stderr and "a warning" in run.stderr
    assert run.stdout == ""


def test_ranks_that_hang_are_ended(mpi: FakeMpi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "SILENCE", 4.0)  # of which the others need to start
    mpi.plan(native=[1.0], planned=[1.0], hangs=["planned"])

    run = polypath("mpi", "--sizes", "1K", "--repeats", "2")

    assert run.status == 1
    assert "with Polypath failed: they gave no result" in run.stderr


def test_what_the_ranks_say_is_passed_on_once_but_statistics_as_often_as_they_come(
    mpi: FakeMpi,
) -> None:
    table = "polypath:   3  12 MiB  accelerated"
    mpi.plan(
        native=[1.0] * 2,
        planned=[1.0] * 2,
        noise=f"[node:12] hm\n[node:13] hm\n{table}\n{table}",
    )

    run = bench("--sizes", "1K", "--repeats", "2")

    assert run.stderr.count("hm") == 2  # once with and once without Polypath
    assert run.stderr.splitlines().count(table) == 4


REFUSED = [
    (("--operations", "jacobi", "--sizes", "1M,1000"), "1000 bytes"),
    (("--operations", "jacobi", "--buffers", "host,device"), "two kinds"),
    (("--operations", "jacobi", "--rows", "0"), "0 rows"),
    (("--operations", "bw", "--rows", "8"), "--rows"),
    (("--operations", "bcast,reduce", "--sizes", "1002"), "reduce cannot have 1002 bytes"),
    (("--operations", "latency", "--window", "4"), "latency has one message"),
    (("--operations", "latency", "--buffer-per-message"), "--buffer-per-message"),
    (("--mpirun", "/tmp"), "it is a folder"),
    (("--mpicc", "/tmp"), "it is a folder"),
    (("--mpicc", "/etc/passwd"), "not executable"),
    (("--mpicc", shutil.which("true") or "true"), "has written no program"),
    (("--json", "x.png", "--plot", "x.png"), "--json and --plot"),
    (("--ranks", "1"), "ranks"),
    (("--ranks", "3", "--operations", "mbw"), "pairs"),
    (("--operations", "bww"), "Did you mean bw?"),
    (("--operations", "bw,"), "operation ''"),
    (("--sizes", "2G"), "2147483647"),
    (("--sizes", "0"), "0"),
    (("--sizes", "4M:1M"), "4M:1M"),
    (("--window", "0"), "windows"),
    (("--window", "2000"), "1024"),
    (("--window", "many"), "many"),
    (("--buffers", "gpu"), "device, host, pinned, managed"),
    (("--buffers", "host,"), "buffers ''"),
    (("--buffers", "host,device,host"), "two sides"),
    (("--driver", "standin"), "Did you mean stand-in?"),
    (("--repeats", "1"), "repeats"),
    (("--seconds", "0"), "seconds"),
    (("--seconds", "nan"), "seconds"),
    (("--mpirun", ""), "--mpirun"),
    (("--mpirun", "'"), "--mpirun"),
    (("--mpirun", "no-such-mpirun"), "no-such-mpirun"),
    (("--mpicc", "no-such-mpicc"), "no-such-mpicc"),
    (("--json", "no/such/folder/x.json"), "no/such/folder"),
    (("--executor", "graph"), "--executor"),
    (("gpu0",), "gpu0"),
]


@pytest.mark.usefixtures("mpi")
@pytest.mark.parametrize(("arguments", "word"), REFUSED, ids=[" ".join(a) for a, _ in REFUSED])
def test_a_bad_request_is_refused_in_one_line(arguments: tuple[str, ...], word: str) -> None:
    run = polypath("mpi", *arguments)

    assert_refused(run)
    assert word in run.stderr


@pytest.mark.usefixtures("mpi")
def test_a_bad_setting_is_refused_before_ranks_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPATH_MIN_CHUNK", "much")

    assert_refused(polypath("mpi"))


@pytest.mark.usefixtures("mpi")
@pytest.mark.parametrize("missing", ["libpolypath_preload.so", "libcuda.so.1"])
def test_a_package_without_a_part_says_so(missing: str, tmp_path: Path) -> None:
    next((tmp_path / "package").rglob(missing)).unlink()

    run = polypath("mpi", "--driver", "stand-in")

    assert_refused(run)
    assert missing in run.stderr
