"""Results as files of schema polypath.bench/1, and as lines for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rivals.beside import BESIDE
from rivals.cases import Case

Json = dict[str, Any]
OURS = "polypath"
KEY = ("operation", "bytes", "type", "reduction", "mode", "algorithm", "peer_access",
       "nccl_settings")  # of a result  # fmt: skip
MODES = ("eager", "graph", BESIDE)


def is_ours(entry: Json) -> bool:
    """Return whether it is Polypath's, and no rival's."""
    return str(entry["name"]).split()[0] == OURS


def results_of(case: Case, ranks: int, measured: Json, facts: Json | None = None) -> list[Json]:
    """Return a result for each algorithm and mode of ours, beside its rivals in every mode.

    `facts` are what each says of the whole run.
    """
    rivals = [entry for entry in measured["entries"] if not is_ours(entry)]
    results = []
    for entry in filter(is_ours, measured["entries"]):
        own = {key: value for key, value in entry.items() if key not in ("name", "version")}
        algorithm = entry["name"].removeprefix(OURS).strip() or "auto"
        results.append({**case.fields(ranks), **(facts or {}), "algorithm": algorithm, **own,
                        "rivals": rivals, "missing": measured["missing"]})  # fmt: skip
    return results


def merged(old: list[Json], new: list[Json]) -> list[Json]:
    """Return all, the new ones in place of old ones of the same."""
    known = {tuple(str(result.get(key)) for key in KEY): result for result in [*old, *new]}
    return list(known.values())


def write(path: Path, document: Json) -> None:
    """Write a file; what it holds of other cases on the same machine stays."""
    if path.exists():
        old = json.loads(path.read_text(encoding="utf-8"))
        same = ("machine", "driver", "schema")
        if all(old.get(key) == document[key] for key in same):
            document = {**document, "results": merged(old["results"], document["results"])}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def line(case: Case, measured: Json) -> str:
    """Return one line for people: microseconds by mode, ours, rivals, and the ratio of the best."""
    texts = []
    for mode in MODES:
        entries = [entry for entry in measured["entries"] if entry["mode"] == mode]
        if not entries:
            continue
        each = [f"{short(entry)} {time_text(entry)}" for entry in entries]
        texts.append(f"{mode}: {', '.join(each)}{ratio_text(entries)}")
    lost = [f"{entry['name']} missing" for entry in measured["missing"]]
    return " | ".join([case.label, *texts, *lost])


def short(entry: Json) -> str:
    """Return who it is in a word or two, with what was chosen."""
    name = entry["name"].replace("torch symmetric memory, ", "")
    return f"{name} ({entry['chosen']})" if name == OURS and "chosen" in entry else name


def time_text(entry: Json) -> str:
    """Return microseconds; beside a product also how much longer that takes than alone."""
    own = f"{entry['seconds'] * 1e6:.1f}"
    if "product_seconds" not in entry:
        return own
    longer = entry["product_seconds"] / entry["product_alone_seconds"] - 1
    return f"{own} (product {entry['product_seconds'] * 1e6:.1f}, {longer:+.1%})"


def ratio_text(entries: list[Json]) -> str:
    """Return " x1.20": how many times as long as ours the best rival takes; "" without both."""
    ours = [entry["seconds"] for entry in entries if is_ours(entry)]
    rivals = [entry["seconds"] for entry in entries if not is_ours(entry)]
    return f" x{min(rivals) / min(ours):.2f}" if ours and rivals else ""
