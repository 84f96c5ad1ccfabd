"""`polypath demo`: what multi-path transfers gain here, else on simulated machines."""

# No postponed annotations here: the annotations are evaluated at run time, on Python 3.9 too.
from typing import Annotated

from polypath import _core
from polypath.cli.commands.demo_gpus import show_gpus
from polypath.cli.commands.demo_machines import show_machines
from polypath.cli.declared import Option
from polypath.cli.output import console_for


def demo(
    simulated: Annotated[
        bool, Option("--simulated", help="Show simulated machines even if there are GPUs.")
    ] = False,
) -> None:
    """Show what multi-path transfers gain: on the GPUs here, else on simulated machines."""
    console = console_for(None)
    real, note = (False, "") if simulated else _core.chosen()
    if real:
        show_gpus(console, note)
    else:
        show_machines(console, "There is no GPU to drive here. " if note else "")
