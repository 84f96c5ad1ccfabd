"""Which machine a command works on, and the line that says so."""

from __future__ import annotations

import os
from typing import NamedTuple

from polypath import _core, reports
from polypath.cli.errors import UserError
from polypath.cli.notices import notice
from polypath.cli.stand_in import stand_in_text
from polypath.messages import is_utf8

DEFAULT_MACHINE = "h200x4"
NO_GPU = (
    f"no GPU to drive here: simulating {DEFAULT_MACHINE} (another: --machine NAME|FILE; "
    "'polypath machines' lists them)"
)


class MachineChoice(NamedTuple):
    """The machine of a run, and the line that says so where none was named."""

    name: str
    remark: str = ""

    def announce(self) -> None:
        """Say on stderr which machine is simulated, unless it was asked for; or not quite real."""
        for line in (self.remark, oddity_of(self.name) if self.name else stand_in_text()):
            if line:
                notice(line)


def choose_machine(option: str | None) -> MachineChoice:
    """Return the machine asked for, by option or setting, else the default one."""
    if option is not None:
        return MachineChoice(named_machine(option))
    settings = {entry["variable"]: entry["value"] for entry in reports.settings()}
    if settings.get("POLYPATH_MACHINE", ""):
        name = named_machine(os.environ["POLYPATH_MACHINE"])  # with all its bytes
        return MachineChoice(name, f"simulating {name} (POLYPATH_MACHINE)")
    real, note = _core.chosen()
    if real:
        return MachineChoice("", note)
    return MachineChoice(DEFAULT_MACHINE, NO_GPU)


def is_file(name: str) -> bool:
    """Return whether the name of a machine is that of a file."""
    return "/" in name or name.endswith(".json")


def oddity_of(name: str) -> str:
    """Return the first thing that is odd about a machine's file, and how to see the others."""
    from polypath.cli.machine_remarks import remarks_on

    remarks = remarks_on(reports.machine(name)) if is_file(name) else []
    if len(remarks) < 2:
        return "".join(remarks)
    return f"{remarks[0]} 'polypath info --check {name}' says what else is odd."


def named_machine(option: str | None) -> str:
    """Return the machine that the option names; nothing without the option."""
    if option == "":
        raise UserError("the machine has no name", "--machine is empty", "See 'polypath machines'.")
    if option is not None and not is_utf8(option):
        raise UserError(
            f"machine {option!a} cannot be used",
            "its name has bytes that are not UTF-8",
            "Rename the file.",
        )
    return option or ""
