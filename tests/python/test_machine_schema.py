"""Every zoo file satisfies machines/schema.json, and the schema refuses a slip of the pen."""

import json
from pathlib import Path

import pytest

jsonschema = pytest.importorskip("jsonschema")

MACHINES = Path(__file__).parents[2] / "machines"
SCHEMA = json.loads((MACHINES / "schema.json").read_text())
ZOO = sorted(path for path in MACHINES.glob("*.json") if path.name != "schema.json")


def validator():
    return jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_itself_is_sound():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.stem)
def test_zoo_file_satisfies_the_schema(path):
    machine = json.loads(path.read_text())

    validator().validate(machine)


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.stem)
def test_every_source_is_used(path):
    machine = json.loads(path.read_text())

    used = set(sources_in(machine))

    assert used == set(machine["sources"])


def sources_in(value):
    if isinstance(value, dict):
        if "unit" in value:
            yield value["source"]
        for part in value.values():
            yield from sources_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from sources_in(part)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda m: m.update(surplus=1),
        lambda m: m["hops"][0].update(bandwith=1),
        lambda m: m["hops"][0]["bandwidth"].update(unit="GBs"),
        lambda m: m["hops"][0]["bandwidth"].update(value=0),
        lambda m: m["hops"][0]["latency"].update(value=-1),
        lambda m: m["hops"][0].pop("uses"),
        lambda m: m["places"][0].update(kind="tpu"),
        lambda m: m["resources"][0].pop("capacity"),
        lambda m: m["costs"].pop("copy"),
        lambda m: m["resources"][0].update(burst={"rate": m["resources"][0]["capacity"]}),
        lambda m: m["costs"].update(threads_hold_up=3),
    ],
)
def test_the_schema_refuses(spoil):
    machine = json.loads((MACHINES / "beluga.json").read_text())

    spoil(machine)

    assert not validator().is_valid(machine)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda driver: driver.update(surplus=driver["least_gain"]),
        lambda driver: driver["least_gain"].update(unit="MiB"),
        lambda driver: driver["driver_staged_steps_below"].update(value=-1),
        lambda driver: driver["least_gain_driver_staged"].update(value=8),
        lambda driver: driver["stream_entries"].update(value=3),
        lambda driver: driver["windows_threads_least"].update(value=2.5),
        lambda driver: driver["pageable_in"].pop("source"),
    ],
)
def test_the_schema_refuses_of_the_driver(spoil):
    machine = json.loads((MACHINES / "h200x4.json").read_text())

    spoil(machine["driver"])

    assert not validator().is_valid(machine)


def test_the_schema_and_a_measured_machine_have_the_same_fields_of_the_driver():
    machine = json.loads((MACHINES / "h200x4.json").read_text())

    described = set(SCHEMA["$defs"]["driver"]["properties"]) - {"note"}

    assert set(machine["driver"]) == described
