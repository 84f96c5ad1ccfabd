"""scripts/collective_rivals.py: beside whom and where, and what results say of it."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
cases = importlib.import_module("rivals.cases")
documents = importlib.import_module("rivals.documents")
environment = importlib.import_module("rivals.environment")
script = importlib.import_module("collective_rivals")
Case = cases.Case
WAYS = ("", "plain", "memcpy")


def test_without_options_everything_is_measured_in_the_usual_sizes_with_peer_access() -> None:
    options = script.arguments([])
    plan = script.plan_of(options)

    assert len(plan.cases) == 8 * len(cases.COLLECTIVES)
    assert (plan.nccl, plan.without_peers, plan.beside_product) == ("", "", False)


def test_a_graph_has_eight_calls_unless_it_is_said() -> None:
    assert script.plan_of(script.arguments([])).calls_in_graph == 8
    assert script.plan_of(script.arguments(["--calls-in-graph", "20"])).calls_in_graph == 20


def test_beside_a_product_it_is_an_all_reduce_of_256_mib() -> None:
    plan = script.plan_of(script.arguments(["--beside-product"]))

    assert plan.cases == [Case("allreduce", 256 << 20)]
    assert plan.beside_product


def test_beside_a_product_other_sizes_and_collectives_can_be_named() -> None:
    words = ["--beside-product", "--sizes", "64M", "--collectives", "allgather"]

    assert script.plan_of(script.arguments(words)).cases == [Case("allgather", 64 << 20)]


def test_another_nccl_is_given_as_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libnccl.so.2").touch()
    monkeypatch.chdir(tmp_path)  # dlopen looks for names without a folder elsewhere

    plan = script.plan_of(script.arguments(["--nccl", "libnccl.so.2"]))

    assert plan.nccl == str(tmp_path / "libnccl.so.2")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--nccl", "nowhere.so"], "nowhere.so is no library (there is no such file)"),
        (["--no-peer-access", "sometimes"], "invalid choice: 'sometimes'"),
        (["--no-peer-access", "plain", "--simulated", "h200x4"],
         "--no-peer-access cannot be simulated (it needs GPUs)"),
        (["--beside-product", "--simulated", "h200x4"], "--beside-product cannot be simulated"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        script.arguments(words)

    assert why in capsys.readouterr().err


def test_without_peer_access_nccl_and_polypath_are_told_and_multicast_stays_off() -> None:
    usual, plain, memcpy = (environment.environment(way) for way in WAYS)

    assert "NCCL_P2P_DISABLE" not in usual
    assert "POLYPATH_PEER_ACCESS" not in usual
    assert plain["NCCL_P2P_DISABLE"] == memcpy["NCCL_P2P_DISABLE"] == "1"
    assert plain["POLYPATH_PEER_ACCESS"] == memcpy["POLYPATH_PEER_ACCESS"] == "0"
    assert "NCCL_SHM_USE_CUDA_MEMCPY" not in plain
    assert memcpy["NCCL_SHM_USE_CUDA_MEMCPY"] == "1"
    assert all(each["NCCL_NVLS_ENABLE"] == "0" for each in (usual, plain, memcpy))


def test_settings_without_peer_access_are_settings_of_polypath() -> None:
    source = (ROOT / "src" / "core" / "settings.cc").read_text(encoding="utf-8")

    assert all(f'"{name}"' in source for name in environment.POLYPATH_WITHOUT_PEERS)


def measured(seconds: float) -> Any:
    entry = {"name": "polypath", "version": "1", "mode": "eager", "seconds": seconds}
    return {"entries": [entry], "missing": []}


def test_results_say_that_there_was_no_peer_access_and_how_nccl_went() -> None:
    case = Case("allreduce", 4096)
    (usual,), (memcpy,) = (
        documents.results_of(case, 2, measured(1.0), environment.facts(way))
        for way in ("", "memcpy")
    )

    assert "peer_access" not in usual
    assert memcpy["peer_access"] is False
    assert memcpy["nccl_settings"]["NCCL_SHM_USE_CUDA_MEMCPY"] == "1"


def test_results_with_peer_access_and_without_do_not_replace_each_other(tmp_path: Path) -> None:
    file = tmp_path / "collectives.json"
    head = {"schema": "polypath.bench/1", "machine": "GPU", "driver": "cuda"}
    for seconds, way in enumerate([*WAYS, "plain"], 1):
        facts = environment.facts(way)
        results = documents.results_of(Case("allreduce", 4096), 2, measured(seconds), facts)
        documents.write(file, {**head, "results": results})

    stored = json.loads(file.read_text(encoding="utf-8"))["results"]

    # with peer access, plain (written twice) and memcpy
    assert [one["seconds"] for one in stored] == [1, 4, 3]
