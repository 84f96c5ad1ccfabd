"""`polypath skeleton --hwloc`: what hwloc's XML adds to a machine file, or says alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli_runner import assert_refused, polypath, succeed
from polypath import reports
from polypath.cli.skeleton.hwloc import bits_of

TOPOLOGIES = Path(__file__).parent / "topologies"
ALL = sorted(path.stem for path in TOPOLOGIES.glob("*.xml"))
SCHEMA = json.loads((Path(__file__).parents[2] / "machines" / "schema.json").read_text())

Machine = dict[str, Any]


def xml_of(name: str) -> str:
    return (TOPOLOGIES / f"{name}.xml").read_text()


def skeleton(folder: Path, text: str, *options: object) -> Path:
    (folder / "hwloc.xml").write_text(text)
    file = folder / "made.json"
    succeed("skeleton", *options, "--hwloc", folder / "hwloc.xml", "--output", file)
    return file


def machine(folder: Path, text: str, *options: object) -> Machine:
    """Return the machine with its patterns expanded."""
    return reports.machine(str(skeleton(folder, text, *options)))


def hop(machine: Machine, source: str, destination: str) -> Machine:
    ends = (source, destination)
    return next(each for each in machine["hops"] if (each["from"], each["to"]) == ends)


def uses(machine: Machine, source: str, destination: str) -> list[str]:
    return [use["resource"] for use in hop(machine, source, destination)["uses"]]


def rate(machine: Machine, source: str, destination: str) -> float:
    return hop(machine, source, destination)["bandwidth"]["value"] / 1e9


def capacity(machine: Machine, name: str) -> float:
    found = next(each for each in machine["resources"] if each["name"] == name)
    return found["capacity"]["value"] / 1e9


def way_out(machine: Machine, place: str) -> list[str]:
    end = next(each for each in machine["network"]["ends"] if each["place"] == place)
    return [use["resource"] for use in end["out"]]


def write_tool(folder: Path, name: str, file: Path) -> None:
    (folder / name).write_text(f"#!/bin/sh\ncat {file}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_odd_about_a_skeleton(name: str, tmp_path: Path) -> None:
    file = skeleton(tmp_path, xml_of(name))

    checked = succeed("info", "--check", file)

    assert "nothing is wrong or odd" in checked.stdout


@pytest.mark.parametrize("name", ALL)
def test_a_skeleton_satisfies_the_schema(name: str, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")

    written = json.loads(skeleton(tmp_path, xml_of(name)).read_text())

    jsonschema.Draft202012Validator(SCHEMA).validate(written)
    assert all(text.startswith("Placeholder: ") for text in written["sources"].values())


@pytest.mark.parametrize("speed", ["63.015385", "126.030769", "0.000000"])
def test_links_of_any_speed_make_a_machine(speed: str, tmp_path: Path) -> None:
    text = xml_of("pcie4").replace("15.753846", speed)

    planned = succeed(
        "plan", "alltoall", "1M", "--machine", skeleton(tmp_path, text), "--json", "-"
    )

    assert len(planned.json()["transfers"]) == 12


def test_rates_are_those_of_the_links(tmp_path: Path) -> None:
    found = machine(tmp_path, xml_of("pcie4"))

    assert rate(found, "gpu0", "host0") == pytest.approx(0.85 * 15.75, abs=0.01)
    assert rate(found, "gpu2", "gpu3") == pytest.approx(0.85 * 4, abs=0.01)  # the slower one
    assert rate(found, "gpu0", "gpu2") == pytest.approx(0.68 * 0.85 * 15.75, abs=0.01)


def test_a_link_between_sockets_limits_faster_ones(tmp_path: Path) -> None:
    found = machine(tmp_path, xml_of("pcie4").replace("15.753846", "63.015385"))

    assert rate(found, "gpu0", "host0") == pytest.approx(0.85 * 63.015, abs=0.01)
    assert rate(found, "gpu0", "host1") == 40


def test_links_of_unknown_speed_have_the_usual_placeholder(tmp_path: Path) -> None:
    found = machine(tmp_path, xml_of("mesh4"))

    assert rate(found, "gpu0", "host0") == 26.8


def test_a_root_port_above_two_gpus_is_their_uplink(tmp_path: Path) -> None:
    found = machine(tmp_path, xml_of("dgx-a100"))

    assert {"switch1.out", "switch1.total"} <= set(uses(found, "gpu2", "host1"))
    assert hop(found, "gpu2", "gpu3")["kind"] == "peer"
    assert "switch1.out" not in uses(found, "gpu2", "gpu3")
    assert hop(found, "gpu1", "gpu2")["kind"] == "driver_staged"


def test_an_uplink_has_the_speed_of_its_own_link(tmp_path: Path) -> None:
    text = xml_of("dgx-a100")
    port = 'pci_busid="0000:40:01.1" pci_type="0604 [1022:1483] [0000:0000] 00" pci_link_speed="'
    assert port + "31" in text

    found = machine(tmp_path, text.replace(f"{port}31.507692", f"{port}15.753846"))

    assert capacity(found, "switch1.out") == pytest.approx(0.85 * 15.75, abs=0.01)
    assert capacity(found, "gpu2.pcie_out") == pytest.approx(0.85 * 31.51, abs=0.01)
    assert rate(found, "gpu2", "host1") == pytest.approx(0.85 * 15.75, abs=0.01)


def test_places_are_those_of_the_nodes(tmp_path: Path) -> None:
    places = {place["name"]: place for place in machine(tmp_path, xml_of("dgx-a100"))["places"]}

    assert [places[f"gpu{n}"]["numa_node"] for n in range(8)] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert places["host2"]["model"] == "CPUs 4-5"
    assert places["gpu7"]["model"] == "A100-SXM4-40GB"


def test_each_gpu_has_an_adapter_below_its_own_switch(tmp_path: Path) -> None:
    found = machine(tmp_path, xml_of("dgx-a100"))

    assert way_out(found, "gpu3") == ["gpu3.pcie_out", "gpu3.pcie", "mlx5_3.out"]
    assert way_out(found, "host1") == ["host1.read", "host1.total", "mlx5_2.out"]
    assert capacity(found, "mlx5_3.in") == pytest.approx(0.85 * 31.51, abs=0.01)


def test_adapters_without_rdma_join_no_nodes(tmp_path: Path) -> None:
    found = machine(tmp_path, xml_of("dgx-a100"))

    assert "eno1.out" not in {each["name"] for each in found["resources"]}


def test_far_places_reach_the_only_adapter_over_the_sockets_link(tmp_path: Path) -> None:
    found = machine(tmp_path, xml_of("pcie4"))

    assert "sockets.1-0" in way_out(found, "gpu2")
    assert way_out(found, "gpu0") == ["gpu0.pcie_out", "gpu0.pcie", "mlx5_0.out"]


def test_two_nodes_with_adapters_are_a_machine(tmp_path: Path) -> None:
    file = skeleton(tmp_path, xml_of("dgx-a100"))

    measured = succeed("bench", "allreduce", "--sizes", "1M", "--nodes", 2, "--machine", file)

    assert "1 MiB" in measured.stdout


def test_adapters_of_one_name_are_told_apart(tmp_path: Path) -> None:
    found = machine(tmp_path, xml_of("dgx-a100").replace('"mlx5_1"', '"mlx5_0"'))

    assert way_out(found, "gpu1")[-1] == "nic1.out"


def test_bandwidths_of_nvlinks_are_links(tmp_path: Path) -> None:
    found = machine(tmp_path, xml_of("mesh4"))

    assert uses(found, "gpu0", "gpu1") == ["gpu0-gpu1.link"]
    assert rate(found, "gpu0", "gpu1") == 2 * rate(found, "gpu0", "gpu2") == 2 * 21.75


def test_bandwidths_to_switches_are_ports(tmp_path: Path) -> None:
    found = machine(tmp_path, xml_of("h100x4"))

    assert uses(found, "gpu1", "gpu3") == ["gpu1.peer_engine", "gpu1.egress", "gpu3.ingress"]
    assert capacity(found, "gpu1.egress") == 18 * 21.75


def test_values_may_be_spread_over_several_elements(tmp_path: Path) -> None:
    text = xml_of("mesh4")
    whole = machine(tmp_path, text)

    split = text.replace("25000 50000 ", '25000 50000 </u64values><u64values length="9">', 1)

    assert split != text
    assert machine(tmp_path, split)["hops"] == whole["hops"]


def test_both_topologies_add_up(tmp_path: Path) -> None:
    table = TOPOLOGIES / "dgx-a100.txt"

    found = machine(tmp_path, xml_of("dgx-a100"), table)

    assert "gpu0.egress" in uses(found, "gpu0", "gpu5")  # as nvidia-smi prints
    assert "mlx5_0.out" in way_out(found, "gpu0")  # as hwloc has it
    assert found["description"].count("nvidia-smi topo -m and lstopo --of xml") == 1


def test_topologies_of_two_computers_are_refused() -> None:
    run = polypath("skeleton", TOPOLOGIES / "dgx-a100.txt", "--hwloc", TOPOLOGIES / "pcie4.xml")

    assert_refused(run)
    assert "nvidia-smi topo -m shows 8 GPUs, lstopo --of xml 4" in run.stderr


def test_links_are_told_with_what_may_slow_them() -> None:
    run = succeed("skeleton", "--hwloc", TOPOLOGIES / "pcie4.xml")

    assert "while a GPU is idle: gpu[0-2] 15.8 GB/s, gpu3 4 GB/s" in run.stderr
    assert "hwloc's file has no NVLinks" in run.stderr


def test_both_commands_are_run_where_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_tool(tmp_path, "nvidia-smi", TOPOLOGIES / "pcie4.txt")
    write_tool(tmp_path, "lstopo-no-graphics", TOPOLOGIES / "pcie4.xml")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    run = succeed("skeleton")

    assert "nvidia-smi topo -m and lstopo" in json.loads(run.stdout)["description"]


def test_what_lstopo_shows_of_another_set_of_gpus_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_tool(tmp_path, "nvidia-smi", TOPOLOGIES / "pcie4.txt")
    write_tool(tmp_path, "lstopo-no-graphics", TOPOLOGIES / "dgx-a100.xml")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    run = succeed("skeleton")

    assert "what lstopo prints here is left out" in run.stderr
    assert len(json.loads(run.stdout)["places"]) == 6


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[:-20], "hwloc's file cannot be read"),
        (lambda text: text.replace("topology", "html"), "it begins with <html>"),
        (lambda text: text.replace("<topology", '<!ENTITY a "b"><topology', 1), "entities"),
        (lambda text: text.replace("[10de:", "[1002:"), "hwloc's file shows no GPU"),
        (lambda text: text.replace("15.753846", "fast", 1), "is 'fast'"),
        (lambda text: text.replace("15.753846", "-1", 1), "is '-1'"),
        (lambda text: text.replace("15.753846", "nan", 1), "is 'nan'"),
        (lambda text: text.replace('nodeset="0x00000001"', 'nodeset="many"'), "no mask"),
        (lambda text: text.replace('nodeset="0x00000001"', f'nodeset="{"0x1," * 9999}"'), "mask"),
    ],
)
def test_a_damaged_file_is_refused(change: Any, said: str, tmp_path: Path) -> None:
    (tmp_path / "bad.xml").write_text(change(xml_of("pcie4")))

    run = polypath("skeleton", "--hwloc", tmp_path / "bad.xml")

    assert_refused(run)
    assert said in run.stderr


def test_a_matrix_of_another_size_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.xml").write_text(xml_of("mesh4").replace("1000000 ", "", 1))

    run = polypath("skeleton", "--hwloc", tmp_path / "bad.xml")

    assert_refused(run)
    assert "15 values for 4 devices" in run.stderr


def test_a_file_that_is_not_there_names_the_command() -> None:
    run = polypath("skeleton", "--hwloc", "/no/such.xml")

    assert_refused(run)
    assert "lstopo --of xml > hwloc.xml" in run.stderr


def test_stdin_is_not_read_twice() -> None:
    assert_refused(polypath("skeleton", "-", "--hwloc", "-"))


def test_deep_files_are_read(tmp_path: Path) -> None:
    head, _, rest = xml_of("mesh4").partition("<object")
    inner, _, tail = rest.rpartition("</object>")
    deep = '<object type="Group">' * 5000, "</object>" * 5000

    found = machine(tmp_path, f"{head}{deep[0]}<object{inner}</object>{deep[1]}{tail}")

    assert len(found["places"]) == 5


@pytest.mark.parametrize(
    ("text", "members"),
    [("0x00000003", {0, 1}), ("0x3,,0x1", {0, 64, 65}), ("0x1,0x80000000", {31, 32}),
     ("0x0", set()), ("0xf...f,0x2", {1}), ("0xf...f", set()), ("", set())],
)  # fmt: skip
def test_sets_are_read_as_hwloc_writes_them(text: str, members: set[int]) -> None:
    assert bits_of(text) == members
