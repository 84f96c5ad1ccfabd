"""JSON Schemas of what the commands write, as docs/json.md promises it."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
TIME: Schema = {"type": "number", "exclusiveMinimum": 0}
RATE: Schema = {"type": "number", "exclusiveMinimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
COUNT: Schema = {"type": "integer", "minimum": 0}
EXECUTOR: Schema = {"enum": ["native", "stream", "graph", "windows"]}
VIA: Schema = {"type": "string", "pattern": "^(direct|[a-z][a-z0-9_]*)$"}


def record(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def list_of(items: Schema, least: int = 1) -> Schema:
    return {"type": "array", "items": items, "minItems": least}


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
    transfers=list_of(record(**PLANNED)),
)


QUARTILES = record(
    minimum=TIME, lower_quartile=TIME, median=TIME, upper_quartile=TIME, maximum=TIME
)
RUNS: dict[str, Schema] = {
    "samples": record(
        runs={"type": "integer", "minimum": 1},
        kept={"enum": ["all", "percentiles"]},
        seconds=list_of(TIME),
        native_seconds=list_of(TIME),
    ),
    "spread": record(seconds=QUARTILES, native_seconds=QUARTILES, speedup=QUARTILES),
}


def _bench(**more: Any) -> dict[str, Any]:
    return record(
        schema={"const": "polypath.bench/1"},
        machine=TEXT,
        driver={"enum": ["sim", "cuda"]},
        operation=TEXT,
        host={"type": "object"},
        results=list_of(
            record(
                bytes=COUNT,
                window={"type": "integer", "minimum": 1},
                source=TEXT,
                destination=TEXT,
                paths=list_of(record(via=VIA, share=SHARE, chunks=COUNT)),
                executor=EXECUTOR,
                seconds=TIME,
                bytes_per_second=RATE,
                native_bytes_per_second=RATE,
                speedup={"type": "number", "exclusiveMinimum": 0},
                predicted_seconds=TIME,
                verified={"type": "boolean"},
                verified_bytes=COUNT,
                **more,
            )
        ),
    )


BENCH = _bench()
BENCH_ON_GPUS = _bench(**RUNS)
BENCH_ALL_PAIRS = {**BENCH, "required": [*BENCH["required"], "all_pairs"]}
BENCH_MANY = _bench(pieces={"type": "integer", "minimum": 2})
BENCH_JACOBI = record(
    schema={"const": "polypath.bench/1"},
    machine=TEXT,
    driver={"enum": ["sim", "cuda"]},
    operation={"const": "jacobi"},
    host={"type": "object", "required": ["simulated"]},
    iterations={"type": "integer", "minimum": 2},
    kernel_efficiency={"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    memory_bytes_per_second=RATE,
    results=list_of(
        record(
            bytes={"type": "integer", "minimum": 16},
            grid_bytes=COUNT,
            gpus={"type": "integer", "minimum": 2},
            rows={"type": "integer", "minimum": 1},
            executor={"enum": ["native", "stream", "graph", "program"]},
            paths={"enum": ["auto", "direct", "two", "three"]},
            seconds=TIME,
            native_seconds=TIME,
            speedup={"type": "number", "exclusiveMinimum": 0},
            kernel_seconds=TIME,
            verified={"type": "boolean"},
            verified_bytes=COUNT,
            verified_iterations=COUNT,
        )
    ),
)

MODE: Schema = {"enum": ["eager", "graph"]}
TIMED: dict[str, Schema] = {
    "mode": MODE,
    "seconds": TIME,
    "host_seconds": TIME,
    "runs": list_of(TIME),
    "bytes_per_second": RATE,
    "bus_bytes_per_second": RATE,
    "verified": {"const": True},
}
BENCH_COLLECTIVES = record(
    schema={"const": "polypath.bench/1"},
    machine=TEXT,
    driver={"enum": ["sim", "cuda"]},
    operation={"const": "collectives"},
    ranks={"type": "integer", "minimum": 2},
    host={"type": "object", "required": ["simulated"]},
    command=TEXT,
    results=list_of(
        record(
            operation=TEXT,
            bytes=COUNT,
            elements={"type": "integer", "minimum": 1},
            ranks={"type": "integer", "minimum": 2},
            nodes={"type": "integer", "minimum": 1},
            type=TEXT,
            in_place={"type": "boolean"},
            algorithm=TEXT,
            chosen=TEXT,
            executor=EXECUTOR,
            predicted_seconds=TIME,
            rivals=list_of(record(name=TEXT, version=TEXT, **TIMED), least=0),
            missing=list_of(record(name=TEXT, error=TEXT), least=0),
            **TIMED,
        )
    ),
)

MEMORY = "(device|host|pinned|managed)"
MPI_RESULT = record(
    operation={"enum": ["latency", "bw", "bibw", "mbw", "put", "put_fence", "ring", "jacobi"]},
    bytes={"type": "integer", "minimum": 1},
    window={"type": "integer", "minimum": 1},
    source=VIA,
    destination=VIA,
    ranks={"type": "integer", "minimum": 2},
    paths={"const": []},
    executor={"type": "null"},
    seconds=TIME,
    native_seconds=TIME,
    bytes_per_second=RATE,
    native_bytes_per_second=RATE,
    messages_per_second=RATE,
    speedup=RATE,
    speedups=list_of(RATE),
    predicted_seconds={"type": "null"},
    iterations={"type": "integer", "minimum": 1},
    compared_bytes=COUNT,
    wrong_bytes=COUNT,
    verified={"type": "boolean"},
    native_verified={"type": "boolean"},
    **RUNS,
)
MPI_SOLVED = record(
    bytes={"type": "integer", "multipleOf": 16},
    window={"const": 2},
    kernel={"enum": ["gpu", "host"]},
    rows={"type": "integer", "minimum": 1},
    verified_iterations=COUNT,
)
OF_SOLVER: Schema = {"properties": {"operation": {"const": "jacobi"}}}
BENCH_MPI = record(
    schema={"const": "polypath.bench/1"},
    machine=TEXT,
    driver={"enum": ["cuda", "stand-in", "none"]},
    operation={"const": "mpi"},
    ranks={"type": "integer", "minimum": 2},
    buffers={"type": "string", "pattern": f"^{MEMORY}(,{MEMORY})?$"},
    buffer_per_message={"type": "boolean"},
    repeats={"type": "integer", "minimum": 1},
    mpi=record(
        library=TEXT,
        ucx={"type": ["string", "null"], "minLength": 1},
        nodes={"type": "integer", "minimum": 1},
        launcher=TEXT,
    ),
    host={"type": "object", "required": ["simulated", "cores", "processor", "date"]},
    results=list_of({**MPI_RESULT, "if": OF_SOLVER, "then": MPI_SOLVED}),
    by_size=list_of(
        record(
            bytes={"type": "integer", "minimum": 1},
            worst=RATE,
            ratios=list_of(
                record(
                    operation=TEXT,
                    window={"type": "integer", "minimum": 1},
                    worst=RATE,
                    median=RATE,
                )
            ),
        )
    ),
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
    "latency", "bandwidth", "capacity", "staging latency", "relay latency", "busy latency", "cost",
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
            unit={"enum": ["s", "B/s"]},
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

FOUND = record(text=TEXT, accelerated={"type": "boolean"}, calls=COUNT, bytes=COUNT)
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
            why_off={"type": "string"},
            outcomes=list_of(FOUND, least=0),
            accelerated_calls=COUNT,
            accelerated_bytes=COUNT,
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
