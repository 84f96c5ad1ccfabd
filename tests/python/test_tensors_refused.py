"""What polypath.copy and polypath.to refuse, and what they take for a stream or a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import CupyStream, Torch, TorchStream
from polypath import streams
from polypath.frameworks import PYTORCH


def read_only() -> np.ndarray:
    values = np.zeros(8, np.uint8)
    values.flags.writeable = False
    return values


@pytest.mark.parametrize(
    ("destination", "source", "kind", "words"),
    [
        (np.zeros(8, np.uint8), np.zeros(9, np.uint8), ValueError, "9 bytes does not fill 8"),
        (np.zeros(2, np.float64), np.zeros(4, np.float32), ValueError, "elements of 4 bytes"),
        (np.zeros(4, np.int32), np.zeros(4, np.float32), ValueError, "float32 do not become int32"),
        (np.zeros(4, ">f4"), np.zeros(4, np.float32), ValueError, "float32 do not become >f4"),
        (read_only(), np.zeros(8, np.uint8), ValueError, "destination is read-only"),
        (b"12345678", np.zeros(8, np.uint8), ValueError, "destination is read-only"),
        (np.zeros((4, 4))[:, :2], np.zeros(8), ValueError, "destination is not contiguous"),
        (np.zeros((2, 4)).T, np.zeros(8), ValueError, "destination is not contiguous"),
        (np.zeros(8), [0.0] * 8, TypeError, "type list"),
        ("text", np.zeros(8), TypeError, "type str"),
        (np.zeros(1), np.array([object()]), TypeError, "Python objects"),
    ],
    ids=lambda value: None if isinstance(value, np.ndarray) else str(value)[:24],
)
def test_a_copy_that_makes_no_sense_is_refused(
    destination: Any, source: Any, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=rf"{words}.* \(.+\) [A-Z].*\."):
        polypath.copy(destination, source)


@pytest.mark.parametrize("destination", [np.zeros(4, np.int32), np.zeros(4, ">f4")])
def test_bits_are_copied_where_they_are_asked_for(destination: np.ndarray) -> None:
    source = np.arange(4, dtype=np.float32)

    polypath.copy(destination, source, bits=True)

    assert destination.tobytes() == source.tobytes()


@pytest.mark.parametrize(
    ("stream", "kind"), [("0", TypeError), (True, TypeError), (-1, ValueError), (1.5, TypeError)]
)
def test_what_is_no_stream_is_refused(torch: Torch, stream: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="cannot be used"):
        polypath.copy(torch.tensor(0, 64), torch.tensor(1, 64), stream)


def test_streams_are_checked_where_the_host_copies() -> None:
    source = np.ones(8)
    destination = np.zeros(8)

    for call in (
        lambda: polypath.copy(destination, source, stream="x"),
        lambda: polypath.copy_many([(destination, source)], stream="x"),
    ):
        with pytest.raises(TypeError, match="stream of type str cannot be used"):
            call()
    assert not destination.any()


@pytest.mark.parametrize("device", ["meta", "cuda:x", "gpu", -1, True, "tpu:0", None])
def test_what_is_no_device_is_refused(torch: Torch, device: Any) -> None:
    if device == "gpu":
        assert polypath.to(torch.tensor(0, 64), device) is not None
        return
    with pytest.raises(ValueError, match=r"device '.*' cannot be used"):
        polypath.to(torch.tensor(0, 64), device)


def test_only_tensors_move(context: polypath.Context) -> None:
    for thing in (b"bytes", [1, 2], context.allocate("gpu0", 64)):
        with pytest.raises(TypeError, match=r"cannot be moved .*polypath\.copy"):
            polypath.to(thing, "cpu")


def test_streams_may_be_given_in_any_form(context: polypath.Context) -> None:
    class CudaStream:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 77

    own = context.stream("gpu2")
    forms = [own, 5, CudaStream(), TorchStream(context, 3), CupyStream(context, 1)]

    found = [streams.given_stream(form, 2) for form in forms]

    assert [(one.gpu, one.handle) for one in found] == [
        (2, own), (2, 5), (2, 77), (3, forms[3].cuda_stream), (1, forms[4].ptr),
    ]  # fmt: skip


def test_handles_become_streams_of_pytorch(torch: Torch) -> None:
    named = PYTORCH.stream_of(streams.GpuStream(2, 4096))

    assert (named.device.index, named.cuda_stream) == (2, 4096)
    assert PYTORCH.stream_of(streams.GpuStream(1, 0)) == "the default stream of 1"
    assert PYTORCH.stream_of(streams.GpuStream(3, 5, torch.current[3])) is torch.current[3]


def test_nothing_is_copied_for_no_bytes(torch: Torch) -> None:
    assert polypath.copy(torch.tensor(0, 0), torch.tensor(1, 0)) == "native"


def test_memory_that_nobody_knows_is_refused_by_the_engine(torch: Torch) -> None:
    with pytest.raises(polypath.Error, match="is not known to the driver"):
        polypath.copy(torch.tensor(0, 64), np.zeros(64, np.uint8))
