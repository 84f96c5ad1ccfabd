"""Pictures of machines: what is shared is one box, nothing is drawn that is not there."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from polypath import reports
from polypath.cli.plots import machine as picture
from polypath.cli.plots.topology import Line, Topology

ZOO = sorted(entry["name"] for entry in reports.machines())
MACHINES = [*ZOO, *(f"synthetic:{seed}" for seed in range(1, 25))]


def topology_of(name: str) -> Topology:
    return Topology(reports.machine(name))


def ends_of(lines: list[Line], *kinds: str) -> set[tuple[str, str]]:
    return {(line.start, line.end) for line in lines if line.kind in kinds}


def test_the_uplink_that_two_gpus_share_is_one_box_between_them_and_the_host() -> None:
    topology = topology_of("dgx-a100")

    assert {name: shared.gpus for name, shared in topology.uplinks.items()} == {
        f"switch{k}": [f"gpu{2 * k}", f"gpu{2 * k + 1}"] for k in range(4)
    }
    assert ends_of(topology.lines, "host") == {(f"gpu{k}", f"switch{k // 2}") for k in range(8)}
    assert ends_of(topology.lines, "uplink") == {(f"switch{k}", f"host{k // 2}") for k in range(4)}
    assert topology.uplinks["switch0"].text() == "switch0\n24.8 GB/s each way\nboth ways 42.3"


def test_copies_to_the_other_socket_go_through_the_link_between_both() -> None:
    topology = topology_of("narval")

    assert topology.sockets["xgmi 0-1"].hosts == ["host0", "host1", "host2", "host3"]
    assert ends_of(topology.lines, "host") == {
        ("gpu0", "host0"), ("gpu0", "host1"), ("gpu1", "host0"), ("gpu1", "host1"),
        ("gpu2", "host2"), ("gpu2", "host3"), ("gpu3", "host2"), ("gpu3", "host3"),
    }  # fmt: skip


def test_a_slower_way_to_the_other_socket_keeps_its_own_line() -> None:
    machine = reports.machine("h200x8")
    for hop in machine["hops"]:
        if (hop["from"], hop["to"]) == ("gpu0", "host1"):
            hop["bandwidth"]["value"] = 20e9

    lines = Topology(machine).lines

    assert ("gpu0", "host1") in ends_of(lines, "host")
    assert ("gpu1", "host1") not in ends_of(lines, "host")


@pytest.mark.parametrize("name", ["beluga", "narval", "cedar"])
def test_links_between_pairs_are_no_switch_though_ports_limit_their_sum(name: str) -> None:
    topology = topology_of(name)

    assert not topology.switched
    assert ends_of(topology.lines, "peer") == set(combinations(("gpu0", "gpu1", "gpu2", "gpu3"), 2))
    assert any("All links of each GPU together carry" in note for note in topology.notes)


@pytest.mark.parametrize("name", ["h200x4", "h200x8", "dgx-a100"])
def test_ports_alone_are_a_switch(name: str) -> None:
    topology = topology_of(name)

    assert topology.switched
    assert ends_of(topology.lines, "peer") == set()
    assert {end for _, end in ends_of(topology.lines, "port")} == {"switch"}


@pytest.mark.parametrize(("name", "said"), [("pcie4", "the host links"), ("nop2p4", "the driver")])
def test_where_gpus_have_no_link_none_is_drawn(name: str, said: str) -> None:
    topology = topology_of(name)

    assert ends_of(topology.lines, "peer", "driver_staged") == set()
    assert [note for note in topology.notes if "Between all GPUs" in note and said in note]


def test_the_network_adapter_hangs_on_its_host() -> None:
    assert ends_of(topology_of("cedar").lines, "adapter") == {("hfi0", "host0")}


def with_adapters(users: dict[str, list[str]]) -> dict[str, Any]:
    """Return eight H200s whose network ends are these adapters, each with what uses it."""
    machine: dict[str, Any] = reports.machine("h200x8")
    ends = []
    for name, places in users.items():
        for way in ("out", "in"):
            capacity = {"value": 50e9, "unit": "B/s", "source": "a test"}
            machine["resources"].append(
                {"name": f"{name}.{way}", "kind": "adapter", "capacity": capacity}
            )
        uses = {way: [{"resource": f"{name}.{way}"}] for way in ("out", "in")}
        ends += [{"place": place, **uses} for place in places]
    return {**machine, "network": {"ends": ends}}


def test_an_adapter_that_one_gpu_has_for_itself_is_in_its_box() -> None:
    machine = with_adapters({f"mlx5_{k}": [f"gpu{k}"] for k in range(8)})

    topology = Topology(machine)

    assert topology.adapters == {} and ends_of(topology.lines, "adapter") == set()
    texts = picture.Layout(topology).texts
    assert texts["gpu7"] == "gpu7\nH200\nmlx5_7\n50.0 GB/s each way"


def test_an_adapter_that_gpus_share_has_lines_to_them() -> None:
    topology = Topology(with_adapters({"ib0": ["gpu0", "gpu1"]}))

    assert ends_of(topology.lines, "adapter") == {("ib0", "gpu0"), ("ib0", "gpu1")}


def test_a_hosts_memory_says_what_it_gives() -> None:
    assert topology_of("dgx-a100").memory_text("host0") == "memory 164 GB/s"
    assert topology_of("h200x4").memory_text("host0") == "memory 151 GB/s, writes 124"


def shown_texts(figure: Any) -> list[Text]:
    axes, legend = figure.axes[0], figure.legends[0]
    title = figure.findobj(lambda artist: artist is figure._suptitle)
    texts = [*axes.texts, axes.title, *title, *legend.get_texts(), legend.get_title()]
    return [text for text in texts if text.get_text()]


@pytest.mark.parametrize("name", MACHINES)
def test_no_text_is_cut_or_lies_on_another(name: str) -> None:
    figure = picture.figure_of(reports.machine(name))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()

    boxes = [(text.get_text(), text.get_window_extent()) for text in shown_texts(figure)]

    whole = figure.bbox.padded(1)
    assert [text for text, box in boxes if not whole.containsx(box.x0)] == []
    assert [text for text, box in boxes if not whole.containsx(box.x1)] == []
    assert [text for text, box in boxes if not whole.containsy(box.y0)] == []
    assert [text for text, box in boxes if not whole.containsy(box.y1)] == []
    overlapping = [
        (one, other) for (one, a), (other, b) in combinations(boxes, 2) if a.padded(-1).overlaps(b)
    ]
    assert overlapping == []


@pytest.mark.parametrize(
    ("simulated", "said"), [(True, "Simulated machine"), (False, "This computer's GPUs.")]
)
def test_a_picture_says_whether_its_machine_is_simulated(simulated: bool, said: str) -> None:
    figure = picture.figure_of(reports.machine("beluga"), simulated)

    assert any(said in text.get_text() for text in shown_texts(figure))
