"""The table of the behaviour of drivers."""

from __future__ import annotations

from polypath import reports
from polypath.cli.machine_tables import FOUND_OF_THE_DRIVER, driver_table


def rows(machine: str) -> dict[str, str]:
    table = driver_table(reports.machine(machine))
    meanings, values = (list(column.cells) for column in table.columns)
    return dict(zip(meanings, values))


def test_every_field_of_the_driver_has_a_row() -> None:
    fields = reports.machine("h200x4")["driver"]

    assert set(fields) == set(FOUND_OF_THE_DRIVER)
    assert len(rows("h200x4")) == len(fields)


def test_quantities_have_their_units() -> None:
    found = rows("h200x4")

    assert found["several paths must gain, for certain"] == "5.00 us"
    assert found["its own copies of pageable memory into a GPU"] == "7.90 GB/s"
    assert found["  up to which size that holds"] == "8 MiB"
    assert found["  threads at most"] == "16"


def test_what_a_file_leaves_out_has_its_default() -> None:
    assert rows("beluga")["entries of a stream that are used at most"] == "768"
