"""`polypath skeleton [TOPOLOGY]`: a machine file to fill in."""

# No postponed annotations here: the annotations are evaluated at run time, on Python 3.9 too.
import re
from typing import Annotated, Optional

from polypath.cli.arguments import choice
from polypath.cli.declared import Argument, Option
from polypath.cli.errors import UserError
from polypath.cli.machine_tables import compress
from polypath.cli.notices import notice
from polypath.cli.output import STDOUT, check_writable, write_text
from polypath.cli.skeleton.hwloc import HWLOC, Hardware, read_hwloc
from polypath.cli.skeleton.machine import machine_text
from polypath.cli.skeleton.sources import printed_here, text_of_file
from polypath.cli.skeleton.structure import Structure, looks_switched
from polypath.cli.skeleton.topology import COMMAND, Topology, read_topology
from polypath.cli.skeleton.wiring import check_alike, topology_of

NVLINK = ("auto", "direct", "switch")
NAME = re.compile(r"[A-Za-z0-9_.:-]{1,192}", re.ASCII)
LONGEST_WORD = 192  # as the reader of machine files has it
ANY_GPU = "GPU"


def skeleton(
    topology: Annotated[
        Optional[str],
        Argument(
            metavar="TOPOLOGY",
            help=f"What '{COMMAND}' printed, a file, or - for stdin. Default: it is run here, and "
            "so is lstopo, each where it is installed.",
        ),
    ] = None,
    hwloc: Annotated[
        Optional[str],
        Option(
            "--hwloc",
            metavar="FILE",
            help=f"What '{HWLOC}' wrote, or - for stdin: speeds of PCIe links, and adapters. "
            "Enough without TOPOLOGY where no NVLinks are.",
        ),
    ] = None,
    nvlink: Annotated[
        str,
        Option("--nvlink", metavar="HOW", help=f"How NVLinks join GPUs: {', '.join(NVLINK)}."),
    ] = NVLINK[0],
    name: Annotated[str, Option("--name", metavar="NAME", help="Name of the machine.")] = "mine",
    model: Annotated[
        Optional[str],
        Option("--model", metavar="TEXT", help="What the GPUs are, such as A100-SXM4-40GB."),
    ] = None,
    output: Annotated[
        str, Option("--output", metavar="FILE", help="The machine file; - for stdout.")
    ] = STDOUT,
) -> None:
    """Write a machine file to fill in, from what `nvidia-smi topo -m` and hwloc print."""
    check_writable(output)
    _check_words(name, model)
    how = choice("NVLink kind", nvlink, NVLINK)
    table, hardware, origin = _found(topology, hwloc)
    switched = looks_switched(table) if how == NVLINK[0] else how == "switch"
    structure = Structure(table, switched, hardware)
    write_text(machine_text(structure, name, model or _model(hardware), origin), output)
    for line in _remarks(structure, output, origin):
        notice(line)


def _found(
    topology: Optional[str], hwloc: Optional[str]
) -> tuple[Topology, Optional[Hardware], str]:
    """Return the topology, what hwloc found, and the command or both that they are from."""
    if topology == STDOUT == hwloc:
        raise UserError("both topologies are -", "stdin is read once", "Name a file for one.")
    if topology is not None or hwloc is not None:
        printed = topology and text_of_file(topology, COMMAND, "topo.txt")
        return _read(printed, hwloc and text_of_file(hwloc, HWLOC, "hwloc.xml"))
    printed, xml = printed_here()
    try:
        return _read(printed, xml)
    except UserError as error:
        if printed is None or xml is None:
            raise
        found = _read(printed, None)
        notice(f"what lstopo prints here is left out: {error}")
        return found


def _read(printed: Optional[str], xml: Optional[str]) -> tuple[Topology, Optional[Hardware], str]:
    hardware = None if xml is None else read_hwloc(xml)
    table = read_topology(printed) if printed is not None else None
    if hardware and table:
        check_alike(table, hardware)
        return table, hardware, f"{COMMAND} and {HWLOC}"
    if table:
        return table, None, COMMAND
    assert hardware is not None, "one of both is given"
    return topology_of(hardware), hardware, HWLOC


def _model(hardware: Optional[Hardware]) -> str:
    """Return what all GPUs are by hwloc."""
    models = {gpu.name for gpu in hardware.gpus} if hardware else set()
    model = models.pop() if len(models) == 1 else ""
    return model if 1 <= len(model) <= LONGEST_WORD else ANY_GPU


def _check_words(name: str, model: Optional[str]) -> None:
    if not NAME.fullmatch(name):
        raise UserError(
            f"name '{name}' cannot be used",
            "a machine's name has letters, digits and _.-:, 192 at most",
            "Write for example: --name node7",
        )
    if model is not None and not 1 <= len(model) <= LONGEST_WORD:
        why = f"it has {len(model)} letters, and 1 to {LONGEST_WORD} are possible"
        raise UserError("the model cannot be used", why, "Write for example: --model A100")


def _remarks(structure: Structure, output: str, origin: str) -> list[str]:
    """Return what was understood, and what comes next."""
    gpus = structure.gpus
    linked = any(structure.links(one, other) for one in gpus for other in gpus)
    ways = ("no NVLinks", "direct NVLinks", "NVLinks to a switch")
    counts = [_counted(len(gpus), "GPU"), _counted(len(structure.nodes), "NUMA node")]
    found = [*counts, ways[linked + (linked and structure.switched)]]
    unknown = f"hwloc's file has no NVLinks: where there are any, add {COMMAND} > topo.txt"
    found += [f"{compress(below)} share a PCIe uplink" for below in structure.uplinks.values()]
    file = "FILE" if output == STDOUT else output
    adapters = len(structure.adapters())
    found += [_counted(adapters, "network adapter")] if adapters else []
    return [
        f"understood: {', '.join(found)}",
        *_speeds(structure),
        *([unknown] if origin == HWLOC and not linked and len(gpus) > 1 else []),
        "rates, latencies and costs are placeholders: fill them in, and their sources, then "
        f"polypath info --check {file}",
    ]


def _speeds(structure: Structure) -> list[str]:
    """Return the line about PCIe links, where hwloc found any."""
    gpus: dict[float, list[str]] = {}
    for gpu in structure.gpus:
        gpus.setdefault(structure.speeds(gpu)[0], []).append(gpu)
    found = [f"{compress(alike)} {speed:.3g} GB/s" for speed, alike in gpus.items() if speed]
    if not found:
        return []
    return [f"PCIe links, which may be slower while a GPU is idle: {', '.join(found)}"]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
