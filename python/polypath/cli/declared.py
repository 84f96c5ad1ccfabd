"""What a command takes, declared once: for the reader of plain lines, and for typer.

Typer and what it loads take longer than most commands do: only app.py loads them.
"""

from __future__ import annotations


class Parameter:
    """What the help says of a value; the command's signature has its name, type and default."""

    def __init__(
        self,
        *names: str,
        metavar: str | None = None,
        help: str = "",  # noqa: A002
        min: float | None = None,  # noqa: A002
        max: float | None = None,  # noqa: A002
    ) -> None:
        self.names = names
        self.metavar, self.help = metavar, help
        self.min, self.max = min, max

    def shown(self) -> dict[str, str | float | None]:
        """Return all but its names, by typer's words for them."""
        return {"metavar": self.metavar, "help": self.help, "min": self.min, "max": self.max}


class Argument(Parameter):
    """A value that is known by its place."""


class Option(Parameter):
    """A value that follows one of its names, or a switch: "--name", "--on/--off"."""
