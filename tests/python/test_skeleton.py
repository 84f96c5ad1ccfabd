"""`polypath skeleton`: a machine file to fill in, from what `nvidia-smi topo -m` prints."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_runner import Run, assert_refused, polypath, succeed
from polypath import reports

TOPOLOGIES = Path(__file__).parent / "topologies"
ALL = sorted(path.stem for path in TOPOLOGIES.glob("*.txt"))
SCHEMA = json.loads((Path(__file__).parents[2] / "machines" / "schema.json").read_text())

Machine = dict[str, Any]


def text_of(name: str) -> str:
    return (TOPOLOGIES / f"{name}.txt").read_text()


def skeleton(folder: Path, name: str, *options: str) -> Path:
    file = folder / f"{name}.json"
    succeed("skeleton", TOPOLOGIES / f"{name}.txt", "--output", file, *options)
    return file


def machine(folder: Path, name: str, *options: str) -> Machine:
    """Return the machine with its patterns expanded."""
    return reports.machine(str(skeleton(folder, name, *options)))


def from_stdin(monkeypatch: pytest.MonkeyPatch, text: str) -> Run:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return polypath("skeleton", "-")


def hop(machine: Machine, source: str, destination: str) -> Machine:
    ends = (source, destination)
    return next(each for each in machine["hops"] if (each["from"], each["to"]) == ends)


def uses(machine: Machine, source: str, destination: str) -> list[str]:
    return [use["resource"] for use in hop(machine, source, destination)["uses"]]


def rate(machine: Machine, source: str, destination: str) -> float:
    return hop(machine, source, destination)["bandwidth"]["value"] / 1e9


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_odd_about_a_skeleton(name: str, tmp_path: Path) -> None:
    file = skeleton(tmp_path, name)

    checked = succeed("info", "--check", file)

    assert "nothing is wrong or odd" in checked.stdout


@pytest.mark.parametrize("name", ALL)
def test_a_skeleton_satisfies_the_schema(name: str, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")

    written = json.loads(skeleton(tmp_path, name).read_text())

    jsonschema.Draft202012Validator(SCHEMA).validate(written)


@pytest.mark.parametrize("name", ALL)
def test_every_number_says_that_it_is_a_placeholder(name: str, tmp_path: Path) -> None:
    written = skeleton(tmp_path, name).read_text()

    sources = json.loads(written)["sources"]
    assert all(text.startswith("Placeholder: ") for text in sources.values())
    assert all(f'"source": "{key}"' in written for key in sources)


@pytest.mark.parametrize("name", ALL)
def test_every_pair_can_be_planned(name: str, tmp_path: Path) -> None:
    file = skeleton(tmp_path, name)

    planned = succeed("plan", "alltoall", "1M", "--gpus", 3, "--machine", file, "--json", "-")

    assert len(planned.json()["transfers"]) == 6


def test_a_mesh_has_links_of_their_own_counts(tmp_path: Path) -> None:
    mesh = machine(tmp_path, "dgx1v")

    assert uses(mesh, "gpu0", "gpu3") == ["gpu0-gpu3.link"]
    assert rate(mesh, "gpu0", "gpu3") == 2 * rate(mesh, "gpu0", "gpu1")


def test_gpus_of_other_sockets_without_links_are_staged_by_the_driver(tmp_path: Path) -> None:
    mesh = machine(tmp_path, "dgx1v")

    assert hop(mesh, "gpu0", "gpu5")["kind"] == "driver_staged"
    assert hop(mesh, "gpu0", "gpu4")["kind"] == "peer"
    assert "sockets.0-1" in uses(mesh, "gpu0", "gpu5")


def test_numa_nodes_are_taken_from_cpus_where_they_are_not_printed(tmp_path: Path) -> None:
    places = {place["name"]: place for place in machine(tmp_path, "dgx1v")["places"]}

    assert [places[f"gpu{n}"]["numa_node"] for n in range(8)] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert places["host1"]["model"] == "CPUs 20-39,60-79"


def test_numa_nodes_keep_their_printed_numbers(tmp_path: Path) -> None:
    places = {place["name"]: place for place in machine(tmp_path, "dgx-a100")["places"]}

    assert [places[f"host{n}"]["numa_node"] for n in range(4)] == [1, 3, 5, 7]
    assert places["gpu0"]["numa_node"] == 3


def test_more_links_than_a_gpu_has_lead_to_a_switch(tmp_path: Path) -> None:
    switched = machine(tmp_path, "h100x8")

    assert uses(switched, "gpu2", "gpu5") == ["gpu2.peer_engine", "gpu2.egress", "gpu5.ingress"]


def test_four_gpus_with_four_links_each_have_no_switch(tmp_path: Path) -> None:
    direct = machine(tmp_path, "mesh4")
    switched = machine(tmp_path, "mesh4", "--nvlink", "switch")

    assert uses(direct, "gpu0", "gpu1") == ["gpu0-gpu1.link"]
    assert "gpu0.egress" in uses(switched, "gpu0", "gpu1")


def test_gpus_without_links_go_over_pcie(tmp_path: Path) -> None:
    pcie = machine(tmp_path, "pcie4")

    assert hop(pcie, "gpu0", "gpu1")["kind"] == "peer"
    assert {"gpu0.pcie_out", "gpu1.pcie_in"} <= set(uses(pcie, "gpu0", "gpu1"))
    assert hop(pcie, "gpu0", "gpu2")["kind"] == "driver_staged"


def test_gpus_below_a_switch_share_its_uplink_to_the_host_only(tmp_path: Path) -> None:
    below = machine(tmp_path, "switches")

    assert "switch0.out" in uses(below, "gpu0", "host0")
    assert "switch0.out" in uses(below, "gpu3", "host0")
    assert "switch1.in" in uses(below, "host0", "gpu7")
    assert not [name for name in uses(below, "gpu0", "gpu3") if name.startswith("switch")]


def test_adapters_tell_which_gpus_with_links_share_an_uplink(tmp_path: Path) -> None:
    pairs = machine(tmp_path, "dgx-a100")
    single = machine(tmp_path, "h100x8")

    assert "switch1.out" in uses(pairs, "gpu2", "host0")
    assert "switch1.out" in uses(pairs, "gpu3", "host0")
    assert not [each for each in single["resources"] if each["name"].startswith("switch")]


def test_far_hosts_are_behind_the_link_between_sockets(tmp_path: Path) -> None:
    two = machine(tmp_path, "pcie4")

    assert "sockets.0-1" in uses(two, "gpu0", "host1")
    assert "sockets.1-0" in uses(two, "host1", "gpu0")
    assert "sockets.0-1" not in uses(two, "gpu0", "host0")


def test_a_topology_may_come_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    run = from_stdin(monkeypatch, text_of("mesh4"))

    assert json.loads(run.stdout)["name"] == "mine"
    assert "4 GPUs, 4 NUMA nodes, direct NVLinks" in run.stderr


def test_uplinks_are_named_in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    run = from_stdin(monkeypatch, text_of("switches"))

    assert "gpu[0-3] share a PCIe uplink, gpu[4-7] share a PCIe uplink" in run.stderr


def test_one_gpu_is_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    lone = "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-7\t0\t\tN/A\n"

    run = from_stdin(monkeypatch, lone)

    assert [place["name"] for place in json.loads(run.stdout)["places"]] == ["gpu0", "host0"]
    assert "1 GPU, 1 NUMA node, no NVLinks" in run.stderr


def test_without_a_topology_the_command_is_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f'#!/bin/sh\n[ "$*" = "topo -m" ] && cat {TOPOLOGIES}/pcie4.txt\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    run = succeed("skeleton")

    assert len(json.loads(run.stdout)["places"]) == 6


def test_where_there_is_no_such_command_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    run = polypath("skeleton")

    assert_refused(run)
    assert "nvidia-smi topo -m > topo.txt" in run.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("GPU", "TPU"), "no line is the header"),
        (lambda text: "\n".join(text.splitlines()[:4]), "the row of GPU3 cannot be read"),
        (lambda text: text.replace("\tSYS", "", 1), "GPU0 to GPU3 is '0-15,32-47'"),
        (lambda text: text.replace("NODE", "NODD", 1), "GPU0 to GPU1 is 'NODD'"),
        (lambda text: text.replace("NODE", "PIX", 1), "'PIX', and back it is 'NODE'"),
    ],
)
def test_a_damaged_topology_is_refused(
    change: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = from_stdin(monkeypatch, change(text_of("pcie4")))

    assert_refused(run)
    assert said in run.stderr


@pytest.mark.parametrize(
    "options",
    [("--name", "a b"), ("--name", ""), ("--model", ""), ("--model", "x" * 200),
     ("--nvlink", "both"), ("--output", "/no/such/folder/x.json")],
)  # fmt: skip
def test_options_that_cannot_be_used_are_refused(options: tuple[str, str]) -> None:
    assert_refused(polypath("skeleton", TOPOLOGIES / "mesh4.txt", *options))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert_refused(polypath("skeleton", tmp_path / "none.txt"))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\x00G")

    assert_refused(polypath("skeleton", tmp_path / "a.txt"))
