"""JSON Schemas of measurements, polypath.bench/1, as docs/json.md promises them."""

from __future__ import annotations

from typing import Any

from schema_parts import (
    COUNT,
    EXECUTOR,
    RATE,
    SHARE,
    TEXT,
    TIME,
    VIA,
    Schema,
    list_of,
    optional,
    record,
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
    result = record(
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
    return record(
        schema={"const": "polypath.bench/1"},
        machine=TEXT,
        driver={"enum": ["sim", "cuda"]},
        operation=TEXT,
        host={"type": "object"},
        results=list_of(optional(result, "verified_bytes")),
    )


BENCH = _bench()
BENCH_ON_GPUS = _bench(**RUNS)
BENCH_ALL_PAIRS = {**BENCH, "required": [*BENCH["required"], "all_pairs"]}
BENCH_MANY = _bench(pieces={"type": "integer", "minimum": 2})


def _calls(operation: str, **more: Any) -> dict[str, Any]:
    result = record(
        bytes=COUNT,
        source=TEXT,
        destination=TEXT,
        repeats={"type": "integer", "minimum": 1},
        seconds=TIME,
        bytes_per_second=RATE,
        native=TEXT,
        native_seconds=TIME,
        native_bytes_per_second=RATE,
        speedup={"type": "number", "exclusiveMinimum": 0},
        verified={"type": "boolean"},
        **more,
    )
    return record(
        schema={"const": "polypath.bench/1"},
        machine=TEXT,
        driver={"enum": ["sim", "cuda"]},
        operation={"const": operation},
        host={"type": "object", "required": ["simulated", "cores"]},
        results=list_of(result),
    )


BENCH_LOAD = _calls("load", tensors=COUNT, first_seconds=TIME, first_native_seconds=TIME)
BENCH_BLOCKS = _calls("blocks", blocks=COUNT, how={"type": "object"})
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
MPI_MESSAGES = ["latency", "bw", "bibw", "mbw", "put", "put_fence", "ring"]
MPI_COLLECTIVES = [
    *("allreduce", "reduce", "reduce_scatter", "allgather"),
    *("alltoall", "bcast", "gather", "scatter"),
]
MPI_RESULT = record(
    operation={"enum": [*MPI_MESSAGES, "jacobi", *MPI_COLLECTIVES]},
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
