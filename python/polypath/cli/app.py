"""The commands as typer has them: for help, for completion, and for lines that are not plain.

Typer, and what it loads to read a value, take longer than most commands do. So nothing else of the
command line loads it.
"""

from __future__ import annotations

import functools
import inspect
from typing import Annotated, Any, Callable, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from polypath.cli.command_line import program_words
from polypath.cli.commands import NAMES, RUN_PROGRAMS, command_of
from polypath.cli.declared import Argument, Option, Parameter
from polypath.cli.statuses import INTERRUPTED
from polypath.cli.version import show_version

HELP = {"help_option_names": ["-h", "--help"]}


def run_app(words: list[str]) -> int:
    """Run a command line; return the exit status."""
    name = words[0] if words and words[0] in NAMES else ""
    app, rest = (_app_of_one(name), words[1:]) if name else (_app_of_all(), words)
    try:
        status = app(rest, prog_name=f"polypath {name}".rstrip(), standalone_mode=False)
    except typer.Abort:
        return INTERRUPTED
    return status if isinstance(status, int) else 0


def _app_of_one(name: str) -> typer.Typer:
    """Return a command by itself: it says the same of itself, and takes less to be loaded."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    _add(app, name)
    return app


def _app_of_all() -> typer.Typer:
    app = typer.Typer(
        name="polypath",
        help="One transfer over every path that helps, and over none that hurts.",
        pretty_exceptions_enable=False,
        context_settings=HELP,
    )
    app.callback(invoke_without_command=True)(_polypath)
    for name in NAMES:
        _add(app, name)
    return app


def _add(app: typer.Typer, name: str) -> None:
    classes = {"bench": BenchCommand, "trace": TraceCommand}
    settings = {**HELP, "allow_interspersed_args": name not in RUN_PROGRAMS}
    command = for_typer(command_of(name))
    app.command(name, cls=classes.get(name), context_settings=settings)(command)


class BenchCommand(TyperCommand):
    """`polypath bench`, which knows what other commands measure, whatever options follow."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse the name of another command before its options are called unknown."""
        from polypath.cli.commands.bench import refuse_own_command

        if args:
            refuse_own_command(args[0])
        return super().parse_args(ctx, args)


class TraceCommand(TyperCommand):
    """What comes after "--" is a program to run, whatever it looks like."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the program from being taken for places and options."""
        program = program_words()
        end = len(args) if program is None else -1 - len(program)
        return super().parse_args(ctx, args[:end])


def for_typer(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with its parameters declared in typer's words."""

    @functools.wraps(command)
    def called(**arguments: Any) -> Any:
        return command(**arguments)

    hints = get_type_hints(command, include_extras=True)
    ours = inspect.signature(command).parameters.values()
    parameters = [each.replace(annotation=_in_typers_words(hints[each.name])) for each in ours]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


def _in_typers_words(hint: Any) -> Any:
    if get_origin(hint) is Union:  # before Python 3.11, of a default that is None
        hint = get_args(hint)[0]
    declared: Parameter = hint.__metadata__[0]
    kinds: dict[type, Any] = {Argument: typer.Argument, Option: typer.Option}
    return Annotated[hint.__origin__, kinds[type(declared)](*declared.names, **declared.shown())]


def _show_version(wanted: bool) -> None:
    if wanted:
        show_version()
        raise typer.Exit


def _polypath(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
