"""`polypath skeleton [TOPOLOGY]`: a machine file to fill in."""

# No postponed annotations here: the annotations are evaluated at run time, on Python 3.9 too.
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Optional

from polypath.cli.arguments import choice
from polypath.cli.declared import Argument, Option
from polypath.cli.errors import UserError
from polypath.cli.machine_tables import compress
from polypath.cli.notices import notice
from polypath.cli.output import STDOUT, check_writable, write_text
from polypath.cli.skeleton.machine import machine_text
from polypath.cli.skeleton.structure import Structure, looks_switched
from polypath.cli.skeleton.topology import COMMAND, read_topology

NVLINK = ("auto", "direct", "switch")
NAME = re.compile(r"[A-Za-z0-9_.:-]{1,192}", re.ASCII)
LONGEST = 1 << 20  # bytes of a topology; 64 GPUs have 20000
LONGEST_WORD = 192  # as the reader of machine files has it


def skeleton(
    topology: Annotated[
        Optional[str],
        Argument(
            metavar="TOPOLOGY",
            help=f"What '{COMMAND}' printed, a file, or - for stdin. Default: it is run here.",
        ),
    ] = None,
    nvlink: Annotated[
        str,
        Option("--nvlink", metavar="HOW", help=f"How NVLinks join GPUs: {', '.join(NVLINK)}."),
    ] = NVLINK[0],
    name: Annotated[str, Option("--name", metavar="NAME", help="Name of the machine.")] = "mine",
    model: Annotated[
        str, Option("--model", metavar="TEXT", help="What the GPUs are, such as A100-SXM4-40GB.")
    ] = "GPU",
    output: Annotated[
        str, Option("--output", metavar="FILE", help="The machine file; - for stdout.")
    ] = STDOUT,
) -> None:
    """Write a machine file to fill in, from what `nvidia-smi topo -m` prints."""
    check_writable(output)
    _check_words(name, model)
    how = choice("NVLink kind", nvlink, NVLINK)
    table = read_topology(_text(topology))
    switched = looks_switched(table) if how == NVLINK[0] else how == "switch"
    structure = Structure(table, switched)
    write_text(machine_text(structure, name, model), output)
    for line in _remarks(structure, output):
        notice(line)


def _text(topology: Optional[str]) -> str:
    if topology is None:
        return _printed_here()
    if topology == STDOUT:
        return sys.stdin.buffer.read(LONGEST).decode(errors="replace")
    try:
        with Path(topology).open("rb") as file:
            return file.read(LONGEST).decode(errors="replace")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UserError(
            f"topology '{topology}' cannot be read", why, f"Write it with: {COMMAND} > topo.txt"
        ) from None


def _printed_here() -> str:
    remedy = f"Where the GPUs are, write {COMMAND} > topo.txt, and name that file."
    words = COMMAND.split()
    if shutil.which(words[0]) is None:
        raise UserError("there is no topology", f"{words[0]} is not installed here", remedy)
    run = subprocess.run(words, capture_output=True, check=False)
    if run.returncode != 0:
        said = (run.stdout + run.stderr).decode(errors="replace").strip().splitlines()
        why = f"{COMMAND} failed: {said[-1] if said else run.returncode}"
        raise UserError("there is no topology", why, remedy)
    return run.stdout.decode(errors="replace")


def _check_words(name: str, model: str) -> None:
    if not NAME.fullmatch(name):
        raise UserError(
            f"name '{name}' cannot be used",
            "a machine's name has letters, digits and _.-:, 192 at most",
            "Write for example: --name node7",
        )
    if not 1 <= len(model) <= LONGEST_WORD:
        why = f"it has {len(model)} letters, and 1 to {LONGEST_WORD} are possible"
        raise UserError("the model cannot be used", why, "Write for example: --model A100")


def _remarks(structure: Structure, output: str) -> list[str]:
    """Return what was understood, and what comes next."""
    gpus = structure.gpus
    linked = any(structure.links(one, other) for one in gpus for other in gpus)
    ways = ("no NVLinks", "direct NVLinks", "NVLinks to a switch")
    counts = [_counted(len(gpus), "GPU"), _counted(len(structure.nodes), "NUMA node")]
    found = [*counts, ways[linked + (linked and structure.switched)]]
    found += [f"{compress(below)} share a PCIe uplink" for below in structure.uplinks.values()]
    file = "FILE" if output == STDOUT else output
    return [
        f"understood: {', '.join(found)}",
        "rates, latencies and costs are placeholders: fill them in, and their sources, then "
        f"polypath info --check {file}",
    ]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
