"""polypath.load: which bytes arrive where, files that are one model, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import TorchTensor
from polypath import process_context, read_ahead, weight_files
from polypath.frameworks import PYTORCH
from rank_threads import among_ranks
from standin_copies import AROUND, on_the_stand_in
from tensor_memory import wait
from weight_samples import WeightTorch, arrays, write_safetensors, write_shards

KIB = 1024


@pytest.fixture
def torch(context: polypath.Context, monkeypatch: pytest.MonkeyPatch) -> WeightTorch:
    """A torch with files, which are mapped to memory that the simulated machine knows."""

    def map_bytes(path: Path) -> Any:
        text = path.read_bytes()
        held = context.allocate("host0", len(text)).numpy()
        held[:] = np.frombuffer(text, np.uint8)
        return held

    module = WeightTorch(context)
    monkeypatch.setattr(PYTORCH, "exact", None)
    monkeypatch.setitem(sys.modules, "torch", module)
    monkeypatch.setattr(weight_files, "map_bytes", map_bytes)
    return module


def assert_holds(loaded: dict[str, TorchTensor], tensors: dict[str, np.ndarray]) -> None:
    assert loaded.keys() == tensors.keys()
    for name, array in tensors.items():
        assert loaded[name].array.dtype == array.dtype
        assert np.array_equal(loaded[name].array, array), name


def test_a_file_onto_a_gpu(context: polypath.Context, torch: WeightTorch, tmp_path: Path) -> None:
    tensors = {
        **arrays(5),
        "empty": np.empty((0, 4), np.float32),
        "one": np.array(7, np.int64),
        "mask": np.array([True, False]),
        "half": np.arange(64, dtype=np.float16),
    }
    file = write_safetensors(tmp_path / "model.safetensors", tensors)

    loaded = polypath.load(file, "cuda:1")
    wait(torch.current[1])

    assert_holds(loaded, tensors)
    assert {tensor.gpu for tensor in loaded.values()} == {1}
    assert context.violations() == []


def test_on_the_cpu_tensors_are_the_mapped_file(
    context: polypath.Context, torch: WeightTorch, tmp_path: Path
) -> None:
    tensors = {**arrays(2), "empty": np.empty((3, 0), np.float32)}
    file = write_safetensors(tmp_path / "model.safetensors", tensors)

    loaded = polypath.load(file, "cpu")

    assert_holds(loaded, tensors)
    assert context.statistics()["transfers"] == 0
    assert torch.log == []


@pytest.mark.parametrize("named", ["index", "folder"])
def test_shards_are_one_model(torch: WeightTorch, tmp_path: Path, named: str) -> None:
    tensors = arrays(6)
    names = list(tensors)
    index = write_shards(
        tmp_path, *({name: tensors[name] for name in names[k : k + 2]} for k in (4, 0, 2))
    )

    loaded = polypath.load(index if named == "index" else tmp_path, "gpu2")
    wait(torch.current[2])

    assert_holds(loaded, tensors)


def test_a_folder_with_one_file(torch: WeightTorch, tmp_path: Path) -> None:
    tensors = arrays(2)
    write_safetensors(tmp_path / "model.safetensors", tensors)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_text("older")

    loaded = polypath.load(tmp_path)
    wait(torch.current[0])

    assert_holds(loaded, tensors)


def test_a_device_map_places_by_the_longest_prefix(torch: WeightTorch, tmp_path: Path) -> None:
    tensors = arrays(12, 256)
    file = write_safetensors(tmp_path / "model.safetensors", tensors)

    loaded = polypath.load(file, {"": "cpu", "layers.1": "cuda:1", "layers.2.weight": 2})
    wait(*torch.current.values())

    assert_holds(loaded, tensors)
    placed = {name: tensor.gpu for name, tensor in loaded.items() if tensor.gpu is not None}
    assert placed == {"layers.1.weight": 1, "layers.2.weight": 2}  # not layers.10 and 11


def test_several_devices_get_the_same(
    context: polypath.Context, torch: WeightTorch, tmp_path: Path
) -> None:
    tensors = arrays(3)
    file = write_safetensors(tmp_path / "model.safetensors", tensors)

    for device, gpus in (("all", [0, 1, 2, 3]), (["cuda:2", "cpu"], [2, None])):
        loaded = polypath.load(file, device)
        wait(*torch.current.values())

        assert [next(iter(each.values())).gpu for each in loaded] == gpus
        for each in loaded:
            assert_holds(each, tensors)
    assert context.violations() == []


def test_into_memory_that_is_there(
    torch: WeightTorch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    advise = lambda *asked_now: asked.append(asked_now[2])  # noqa: E731
    monkeypatch.setattr(os, "posix_fadvise", advise)
    tensors = arrays(4)
    file = write_safetensors(tmp_path / "model.safetensors", tensors)
    own = {name: torch.tensor(1, (16, 1024), np.float32) for name in list(tensors)[1:3]}
    kept = dict(own)

    assert polypath.load(file, into=own) is own
    wait(torch.current[1])

    assert own == kept
    assert_holds(own, {name: tensors[name] for name in own})
    assert sum(asked) <= 128 * KIB  # others are not read


def test_ranks_read_a_part_each_and_have_all(
    context: polypath.Context, torch: WeightTorch, tmp_path: Path
) -> None:
    tensors = {**arrays(5), "small": np.arange(100, dtype=np.float32)}
    file = write_safetensors(tmp_path / "model.safetensors", tensors)
    told: list[int] = []

    def load(own: polypath.Collectives) -> dict[str, TorchTensor]:
        loaded = polypath.load(file, ranks=own, progress=lambda _, total: told.append(total))
        with pytest.raises(ValueError, match="each rank has one GPU"):
            polypath.load(file, "all", ranks=own)
        own.barrier()
        torch.current[own.rank].synchronize()
        return loaded

    for rank, loaded in enumerate(among_ranks(context, 3, load)):
        assert_holds(loaded, tensors)
        assert {tensor.gpu for tensor in loaded.values()} == {rank}
    assert sum(told) == sum(array.nbytes for array in tensors.values())
    assert max(told) < sum(told) / 2
    assert context.violations() == []


def test_read_ahead_asks_for_all_but_not_too_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(10))
    asked: list[tuple[int, int]] = []
    changed = threading.Condition()

    def advise(_file: int, begin: int, nbytes: int, _advice: int) -> None:
        with changed:
            asked.append((begin, nbytes))
            changed.notify()

    monkeypatch.setattr(os, "posix_fadvise", advise)
    monkeypatch.setattr(read_ahead, "STEP", 4)
    monkeypatch.setattr(read_ahead, "DISTANCE", 4)

    with read_ahead.ReadAhead([read_ahead.Span(file, 1, 10)]) as ahead, changed:
        changed.wait_for(lambda: len(asked) == 1)
        assert asked == [(1, 4)]
        ahead.passed(5)
        changed.wait_for(lambda: len(asked) == 3)

    assert asked == [(1, 4), (5, 4), (9, 1)]


def test_progress_ends_at_all_bytes(
    torch: WeightTorch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("polypath.weights.BATCH", 100 * KIB)
    file = write_safetensors(tmp_path / "model.safetensors", arrays(5))
    told: list[tuple[int, int]] = []

    polypath.load(file, "cuda:1", progress=lambda *told_now: told.append(told_now))
    polypath.load(file, "cuda:1", progress=True)
    wait(torch.current[1])

    assert told == [(128 * KIB, 320 * KIB), (256 * KIB, 320 * KIB), (320 * KIB, 320 * KIB)]
    assert "320" in capsys.readouterr().err


# --- files of torch.save ---


def test_tensors_of_torch_that_are_tied_stay_so(torch: WeightTorch, tmp_path: Path) -> None:
    file = tmp_path / "model.pt"
    file.touch()
    weight = torch.tensor(None, (16, 1024), np.float32)
    weight.array[:] = np.arange(16384).reshape(16, 1024)
    turned = TorchTensor(torch, torch.tensor(None, (8, 4), np.float32).array.T, None)
    turned.array[:] = np.arange(32).reshape(4, 8)
    torch.files[str(file)] = {"input": weight, "output": weight, "turned": turned}

    loaded = polypath.load(file, "cuda:1")
    wait(torch.current[1])

    assert loaded["input"] is loaded["output"]
    assert_holds(loaded, {"input": weight.array, "output": weight.array, "turned": turned.array})


@pytest.mark.parametrize("held", [{"model": {}, "epoch": 3}, {}, [1, 2]])
def test_a_checkpoint_of_other_things_is_refused(
    torch: WeightTorch, tmp_path: Path, held: Any
) -> None:
    file = tmp_path / "model.pth"
    file.touch()
    torch.files[str(file)] = held

    with pytest.raises(ValueError, match="it holds more than tensors by their names"):
        polypath.load(file, "cuda:1")


def test_a_file_that_pytorch_cannot_map_is_refused(torch: WeightTorch, tmp_path: Path) -> None:
    def load(*_: Any, **__: Any) -> None:
        raise RuntimeError("mmap can only be used with newer files\nThe stack is this.")

    torch.load = load  # type: ignore[method-assign]
    file = tmp_path / "model.bin"
    file.touch()

    with pytest.raises(ValueError, match=r"PyTorch says: mmap can only be used with newer files\)"):
        polypath.load(file, "cuda:1")


# --- what is refused ---


def test_damaged_files_are_refused(torch: WeightTorch, tmp_path: Path) -> None:  # noqa: ARG001
    good = write_safetensors(tmp_path / "good.safetensors", arrays(2)).read_bytes()
    file = tmp_path / "model.safetensors"
    for text, why in (
        (b"", "has more than 0 bytes"),
        (b"\xff" * 64, "its header does not fit"),
        (good[:-1], "tensor 'layers.1.weight' ends behind the file, which was cut"),
        ((8).to_bytes(8, "little") + b"no json ", "its header is no JSON object"),
        ((2).to_bytes(8, "little") + b"[]", "its header is no JSON object"),
    ):
        file.write_bytes(text)
        with pytest.raises(ValueError, match=why):
            polypath.load(file)
    for more, why in (
        ({"dtype": "F4"}, "type F4, which cannot be moved"),
        ({"shape": [3]}, "which is not its shape"),
        ({"shape": [-1]}, "does not say where"),
        ({"data_offsets": [8, 4]}, "does not say where"),
        ({"data_offsets": None}, "does not say where"),
    ):
        write_safetensors(file, arrays(1), **more)
        with pytest.raises(ValueError, match=why):
            polypath.load(file)


def test_paths_that_are_no_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(FileNotFoundError, match="it is not there"):
        polypath.load(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"its name ends in none of \.safetensors"):
        polypath.load(tmp_path / "notes.txt")
    with pytest.raises(ValueError, match="it has no file of weights"):
        polypath.load(tmp_path)
    for name in ("a", "b"):
        (tmp_path / f"{name}.safetensors").touch()
    with pytest.raises(ValueError, match=r"it has 2 files of weights: a\.safetensors, b"):
        polypath.load(tmp_path)


def test_an_index_that_is_wrong_is_refused(torch: WeightTorch, tmp_path: Path) -> None:  # noqa: ARG001
    index = write_shards(tmp_path, arrays(1))
    file = "model-00001-of-00001.safetensors"
    for text, why in (
        ("{", "an index is JSON"),
        ('{"weight_map": []}', "an index is JSON"),
        (json.dumps({"weight_map": {"a": "../model.safetensors"}}), "outside of its folder"),
        (json.dumps({"weight_map": {"a": "b.safetensors"}}), "its file 'b.safetensors' is not"),
        (json.dumps({"weight_map": {"a": file}}), "it has no tensor 'a', which the index names"),
    ):
        index.write_text(text)
        with pytest.raises(ValueError, match=why):
            polypath.load(index)


def test_wrong_targets_are_refused_before_anything_is_copied(
    context: polypath.Context, torch: WeightTorch, tmp_path: Path
) -> None:
    file = write_safetensors(tmp_path / "model.safetensors", arrays(2))
    wrong = torch.tensor(1, (4, 4), np.float32)
    ints = torch.tensor(1, (16, 1024), np.int32)
    for arguments, why in (
        ({"device": "disk"}, "device 'disk' cannot be used"),
        ({"device": []}, "no device cannot be used"),
        ({"device": {"layers.0": 0}}, "tensor 'layers.1.weight' .*no key that its name begins"),
        ({"dtype": "float16"}, "a load does not convert"),
        ({"into": {"layers.9.weight": wrong}}, "the files do not have it"),
        ({"into": {"layers.1.weight": wrong}}, "tensor 'layers.1.weight': source of 65536 bytes"),
        ({"into": {"layers.1.weight": ints}}, "int32 of shape .*the file has float32"),
    ):
        with pytest.raises(ValueError, match=why):
            polypath.load(file, **arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="it is no dictionary"):
        polypath.load(file, into=[wrong])
    assert context.statistics()["transfers"] == 0


def test_without_a_gpu_or_pytorch_the_error_says_so(
    torch: WeightTorch,  # noqa: ARG001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = write_safetensors(tmp_path / "model.safetensors", arrays(1))
    monkeypatch.setattr(process_context, "_context", None)
    monkeypatch.setenv("POLYPATH_MACHINE", "beluga")
    for device in ("cuda", "all"):
        with pytest.raises(polypath.Error, match="tensors cannot be copied over several paths"):
            polypath.load(file, device)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="pip install torch"):
        polypath.load(file)


# A mapped file is pageable memory, which simulated machines do not know.
ON_THE_STAND_IN = """
import sys
from pathlib import Path
import numpy as np
import polypath
from weight_samples import arrays, write_safetensors

tensors = arrays(6, 8 << 20)
file = write_safetensors(Path(sys.argv[1], "model.safetensors"), tensors)
machine = polypath.Context()
own = {name: machine.allocate(f"gpu{n % 2}", 8 << 20) for n, name in enumerate(tensors)}

polypath.load(file, into=own)

for name, array in tensors.items():
    back = np.empty_like(array)
    polypath.copy(back, own[name])
    assert np.array_equal(back, array), name
print("right")
"""


@on_the_stand_in
def test_a_mapped_file_into_buffers(tmp_path: Path) -> None:
    around = {**AROUND, "PYTHONPATH": str(Path(__file__).parent)}

    run = subprocess.run(
        [sys.executable, "-c", ON_THE_STAND_IN, tmp_path],
        env={**os.environ, **around}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (run.returncode, run.stdout) == (0, "right\n"), run.stderr
