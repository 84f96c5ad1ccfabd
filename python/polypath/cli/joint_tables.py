"""Plans of several transfers, as a table and a few sentences."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from polypath.cli.output import Document
from polypath.cli.sentences import Sentence
from polypath.cli.tables import gain_text, heading, new_table, path_text, reasons_grid
from polypath.cli.units import factor_text, percent_text, size_text, time_text

ISSUERS = {
    "one-thread": "of the issuing thread",
    "threads": "of the issuing threads, in all",
    "processes": "of the issuing processes, in all",
}


def show_joint_plan(console: Console, plan: Document, explain: bool) -> None:
    """Print the plan of a set of transfers; with the reasons for each path if asked for."""
    heading(console, f"{_machine(plan)}: {_what(plan)}")
    console.print(transfers_table(plan))
    console.print()
    for sentence in (_end(plan), _bound(plan), _calls(plan), *_order(plan)):
        console.print(sentence)
    if explain:
        _show_reasons(console, plan["transfers"])


def transfers_table(plan: Document) -> Table:
    """Return a row per transfer, with the shares of its paths."""
    numbers = ("size", "ends after", "natively", "gain")
    table = new_table(
        "from", "to", "size", "runs as", *numbers[1:], "shares (chunks)",
        right=numbers, spare=("runs as", "natively"),
    )  # fmt: skip
    for transfer in plan["transfers"]:
        predicted, native = transfer["predicted_seconds"], transfer["native_seconds"]
        table.add_row(
            transfer["source"],
            transfer["destination"],
            size_text(transfer["bytes"]),
            transfer["executor"],
            time_text(predicted),
            time_text(native),
            gain_text(native / predicted),
            _shares(transfer["paths"]),
        )
    return table


def _shares(paths: list[Document]) -> Sentence:
    """Return "direct 90 %, host0 10 % (3)", which is broken between paths."""
    return Sentence(
        ", ".join(
            path_text(path["via"], path["share"], path["chunks"])
            for path in paths
            if path["included"]
        )
    )


def _machine(plan: Document) -> str:
    return f"{plan['machine']} ({'simulated' if plan['simulated'] else 'GPUs of this computer'})"


def _what(plan: Document) -> str:
    transfers = plan["transfers"]
    number = f"{len(transfers)} transfer{'' if len(transfers) == 1 else 's'}"
    if plan["pattern"] is None:
        return number
    return f"{plan['pattern']}, {number} of {size_text(transfers[0]['bytes'])} each"


def _end(plan: Document) -> str:
    native, predicted = plan["native_seconds"], plan["predicted_seconds"]
    if all(transfer["executor"] == "native" for transfer in plan["transfers"]):
        return f"All are native copies, and the last one ends after {time_text(native)}."
    return (
        f"The last one ends after {time_text(predicted)}, natively {time_text(native)}: "
        f"{factor_text(native / predicted)} as fast."
    )


def _bound(plan: Document) -> str:
    bound = plan["flow_bound_seconds"]
    later = percent_text(plan["predicted_seconds"] / bound - 1)
    return (
        f"The flow bound is {time_text(bound)}: no plan over these paths ends earlier, and this "
        f"one ends {later} later."
    )


def _calls(plan: Document) -> str:
    return f"The calls take {time_text(plan['call_seconds'])} {ISSUERS[plan['issuers']]}."


def _order(plan: Document) -> list[str]:
    """Return in which order the transfers are issued, if that is another one than the table's."""
    order = plan["order"]
    if order == sorted(order):
        return []
    rows = ", ".join(str(number + 1) for number in order)
    return [
        f"The order of issue is that of the rows {rows}: the long ones keep no short one waiting."
    ]


def _show_reasons(console: Console, transfers: list[Document]) -> None:
    for transfer in transfers:
        console.print()
        pair = f"{transfer['source']} -> {transfer['destination']}"
        heading(console, f"{pair}, {size_text(transfer['bytes'])}")
        console.print(reasons_grid(transfer))
