"""JSON Schemas of what commands write that are no measurements, as docs/json.md promises it."""

from __future__ import annotations

from schema_parts import (
    COUNT,
    DURATION,
    EXECUTOR,
    RATE,
    SHARE,
    TEXT,
    TIME,
    VIA,
    Schema,
    list_of,
    record,
)

PLANNED: dict[str, Schema] = {
    "source": TEXT,
    "destination": TEXT,
    "bytes": COUNT,
    "executor": EXECUTOR,
    "predicted_seconds": TIME,
    "native_seconds": TIME,
    "paths": list_of(
        record(
            via=VIA,
            included={"type": "boolean"},
            share=SHARE,
            bytes=COUNT,
            chunks=COUNT,
            predicted_seconds=TIME,
            reason=TEXT,
        )
    ),
}
PLAN = record(
    schema={"const": "polypath.plan/1"},
    machine=TEXT,
    **PLANNED,
    timeline=list_of(
        record(hop=TEXT, path=VIA, chunk=COUNT, start={"type": "number", "minimum": 0}, end=TIME)
    ),
)

JOINT_PLAN = record(
    schema={"const": "polypath.joint_plan/1"},
    machine=TEXT,
    simulated={"type": "boolean"},
    pattern={
        "enum": [None, "ring", "pairs", "fan-out", "gather", "alltoall", "scatter", "collect"]
    },
    issuers={"enum": ["one-thread", "threads", "processes"]},
    predicted_seconds=TIME,
    native_seconds=TIME,
    flow_bound_seconds=TIME,
    call_seconds=TIME,
    order=list_of(COUNT),
    transfers=list_of(record(**PLANNED)),
)


TUNED = record(
    schema={"const": "polypath.tuned/1"},
    machine=TEXT,
    entries=list_of(
        record(
            source=TEXT,
            destination=TEXT,
            bytes=COUNT,
            executor=EXECUTOR,
            shares={"type": "object", "additionalProperties": SHARE, "minProperties": 1},
            chunks={"type": "object", "additionalProperties": COUNT},
            speedup=RATE,
            automatic_speedup=RATE,
        )
    ),
)

QUANTITIES = [
    "latency", "bandwidth", "capacity", "burst rate", "burst size", "staging latency",
    "relay latency", "busy latency", "cost",
]  # fmt: skip
CALIBRATION = record(
    schema={"const": "polypath.calibration/1"},
    machine=TEXT,
    fingerprint={"type": "string", "pattern": "^[0-9a-f]{16}$"},
    file=TEXT,
    driver={"enum": ["sim", "cuda"]},
    missing=list_of(
        record(of=TEXT, quantity={"const": "staging latency"}, consequence=TEXT), least=0
    ),
    numbers=list_of(
        record(
            of=TEXT,
            quantity={"enum": QUANTITIES},
            unit={"enum": ["s", "B/s", "B"]},
            measured={"type": "number", "minimum": 0},
            nominal={"type": "number", "minimum": 0},
            at_least={"type": "boolean"},
            source={"type": "string"},
        )
    ),
)

TRACE = record(
    traceEvents=list_of({"type": "object", "required": ["ph", "name"]}),
    displayTimeUnit={"const": "ms"},
    otherData=record(machine=TEXT, simulated={"const": True}),
)

SETTINGS = record(
    schema={"const": "polypath.settings/1"},
    settings=list_of(
        record(
            variable={"type": "string", "pattern": "^POLYPATH_"},
            value={"type": "string"},
            default={"type": "string"},
            meaning=TEXT,
        )
    ),
)

MACHINES = record(
    schema={"const": "polypath.machines/1"},
    machines=list_of(record(name=TEXT, description=TEXT, gpus=COUNT, hosts=COUNT)),
)

FOUND = record(
    text=TEXT,
    accelerated={"type": "boolean"},
    calls=COUNT,
    bytes=COUNT,
    large_bytes=COUNT,
    missed_seconds=DURATION,
)
RUN = record(
    schema={"const": "polypath.run/1"},
    command=list_of(TEXT),
    way={"enum": ["preload", "plugin"]},
    status=COUNT,
    processes=list_of(
        record(
            schema={"const": "polypath.process/1"},
            process=COUNT,
            rank={"type": ["string", "null"]},
            program=TEXT,
            host=TEXT,
            driver_open={"type": "boolean"},
            complete={"type": "boolean"},
            why_off={"type": "string"},
            outcomes=list_of(FOUND, least=0),
            accelerated_calls=COUNT,
            accelerated_bytes=COUNT,
            accelerated_large_bytes=COUNT,
            large_bytes=COUNT,
            missed_seconds=DURATION,
            calls=COUNT,
            bytes=COUNT,
        ),
        least=0,
    ),
)
DOCTOR = record(
    schema={"const": "polypath.doctor/1"},
    healthy={"type": "boolean"},
    findings=list_of(
        record(
            what=TEXT,
            state={"enum": ["ok", "missing", "note"]},
            found=TEXT,
            remedy={"type": "string"},
        )
    ),
)

SIZE: Schema = {"type": ["integer", "null"], "minimum": 1}
RATIOS = record(
    schema={"const": "polypath.ratios/1"},
    host={"type": "object", "required": ["simulated", "cores", "date"]},
    results=list_of(
        record(
            part=TEXT,
            operation=TEXT,
            window={"type": ["integer", "null"], "minimum": 1},
            bytes=SIZE,
            native_seconds=TIME,
            seconds=TIME,
            worst=RATE,
            median=RATE,
            best=RATE,
            ratios=list_of(RATE),
        )
    ),
    by_size=list_of(
        record(bytes=SIZE, worst=RATE, worst_of=TEXT, median=RATE, median_of=TEXT),
    ),
)

NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
PAPER = record(
    schema={"const": "polypath.paper/1"},
    simulated={"type": "boolean"},
    papers=list_of(
        record(
            key=TEXT, authors=TEXT, title=TEXT, venue=TEXT, doi={"type": "string"}, citation=TEXT
        )
    ),
    experiments=list_of(
        record(
            name=TEXT,
            title=TEXT,
            rows=list_of(
                record(
                    sources=list_of(TEXT),
                    what=TEXT,
                    machine=TEXT,
                    stated=TEXT,
                    paper=NUMBER_OR_NULL,
                    at_most={"type": "boolean"},
                    ours=NUMBER_OR_NULL,
                    found=TEXT,
                    deviation=NUMBER_OR_NULL,
                    verdict={"enum": ["agrees", "holds", "explained", "fitted"]},
                    sentence={"type": "string", "pattern": r"\.$"},
                    command=TEXT,
                )
            ),
            plots=list_of(
                record(
                    title=TEXT,
                    x={"enum": ["bytes", "nodes"]},
                    y=TEXT,
                    curves=list_of(record(name=TEXT, points=list_of({"type": "array"}))),
                ),
                least=0,
            ),
        )
    ),
)

SET_PLAN = record(
    predicted_seconds=TIME,
    native_seconds=TIME,
    call_seconds=TIME,
    planning_seconds=DURATION,
)
PLAN_BOUNDS = record(
    schema={"const": "polypath.plan_bounds/1"},
    comment=TEXT,
    rows=list_of(
        record(
            machine=TEXT,
            nodes=COUNT,
            ranks=COUNT,
            collective=TEXT,
            bytes=COUNT,
            root={"anyOf": [{"type": "null"}, COUNT]},
            any_order={"type": "boolean"},
            algorithm=TEXT,
            predicted_seconds=TIME,
            planning_seconds=DURATION,
            bound_seconds=TIME,
            bound_in_order_seconds={"anyOf": [{"type": "null"}, TIME]},
        )
    ),
    sets=list_of(
        record(
            machine=TEXT,
            seed=COUNT,
            copies=list_of({"type": "array", "prefixItems": [TEXT, TEXT, COUNT], "minItems": 3}),
            bound_seconds=TIME,
            bound_with_calls_seconds=TIME,
            plans=record(
                as_drawn=SET_PLAN,
                backwards=SET_PLAN,
                shortest_first=SET_PLAN,
                longest_first=SET_PLAN,
            ),
        )
    ),
)
