"""What a context refuses, in the words of its callers; nothing is allocated or copied then."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import polypath
import pytest

KIB = 1024


@pytest.fixture
def beluga() -> polypath.Context:
    return polypath.Context("beluga")


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ("64M", r"size '64M' cannot be used \(it is a text\) Pass polypath.parse_bytes\('64M'\)"),
        (None, r"size None cannot be used \(it is no whole number\)"),
        (1.5, r"size 1.5 cannot be used \(it is no whole number\)"),
    ],
)
def test_what_is_no_size_is_a_type_error(beluga: polypath.Context, size: Any, words: str) -> None:
    for call in (
        lambda: beluga.allocate("gpu0", size),
        lambda: beluga.plan("gpu0", "gpu1", size),
    ):
        with pytest.raises(TypeError, match=words):
            call()


@pytest.mark.parametrize("size", [-1, 0, 1 << 70])
def test_a_size_out_of_range_is_an_invalid_argument(beluga: polypath.Context, size: int) -> None:
    with pytest.raises(polypath.Error, match=rf"size of {size} bytes cannot be used") as refused:
        beluga.allocate("gpu0", size)

    assert refused.value.code == "invalid argument"


@pytest.mark.parametrize(
    "call",
    [
        lambda _: polypath.Context(5),
        lambda machine: machine.allocate(0, KIB),
        lambda machine: machine.stream(None),
        lambda machine: machine.plan(None, "gpu1", KIB),
    ],
)
def test_what_is_no_name_is_said_to_be_none(
    beluga: polypath.Context, call: Callable[[Any], Any]
) -> None:
    with pytest.raises(TypeError, match=r"cannot be used \(it is no name\) Name one"):
        call(beluga)


def test_unequal_sizes_need_to_be_said(beluga: polypath.Context) -> None:
    large, small = beluga.allocate("gpu0", 2 * KIB), beluga.allocate("gpu1", KIB)
    large.numpy()[:] = 7
    before = beluga.statistics()["transfers"]

    for ends in ((small, large), (large, small)):
        with pytest.raises(polypath.Error, match=r"does not fill .* Pass nbytes") as refused:
            beluga.copy(*ends)

    assert refused.value.code == "invalid argument"
    assert beluga.statistics()["transfers"] == before
    assert not small.numpy().any()


def test_offsets_may_make_sizes_equal(beluga: polypath.Context) -> None:
    large, small = beluga.allocate("gpu0", 3 * KIB), beluga.allocate("gpu1", KIB)
    large.numpy()[2 * KIB :] = 7

    beluga.copy(small, large, source_offset=2 * KIB)

    assert (small.numpy() == 7).all()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"nbytes": "1K"}, "size '1K' cannot be used"),
        ({"source_offset": -1}, "source_offset of -1 bytes cannot be used"),
        ({"stream": 0}, "stream of type int cannot be used"),
        ({"paths": "direct"}, "paths 'direct' is no list"),
        ({"paths": [1]}, "path 1 cannot be used"),
        ({"shares": {"direct": "1"}}, "share '1' cannot be used"),
        ({"chunks": {"host": 1.5}}, "chunk count 1.5 cannot be used"),
        ({"executor": None}, "executor None cannot be used"),
    ],
)
def test_wrong_kinds_of_choices_copy_nothing(
    beluga: polypath.Context, more: dict[str, Any], words: str
) -> None:
    source, destination = beluga.allocate("gpu0", KIB), beluga.allocate("gpu1", KIB)

    with pytest.raises((TypeError, polypath.Error), match=words):
        beluga.copy(destination, source, **more)

    assert beluga.statistics()["transfers"] == 0


def test_arrays_are_for_the_other_copy(beluga: polypath.Context) -> None:
    buffer = beluga.allocate("gpu0", KIB)

    with pytest.raises(TypeError, match=r"source of type ndarray .* polypath\.copy copies"):
        beluga.copy(buffer, np.zeros(KIB, np.uint8))


def test_a_wrong_pair_is_named_and_none_is_copied(beluga: polypath.Context) -> None:
    pair = beluga.allocate("gpu1", KIB), beluga.allocate("gpu0", KIB)
    small = beluga.allocate("gpu2", 64)

    for wrong, kind, words in (
        ((small, pair[1]), polypath.Error, "pair 1: source of 1024 bytes does not fill 64"),
        ((None, pair[1]), TypeError, "pair 1: destination of type NoneType"),
        (pair[0], TypeError, r"pair 1: Buffer cannot be copied \(a pair is"),
        ((*pair, small), TypeError, "pair 1: tuple of 3 cannot be copied"),
    ):
        with pytest.raises(kind, match=words):
            beluga.copy_many([pair, wrong])
    with pytest.raises(TypeError, match="NoneType cannot be copied"):
        beluga.copy_many(None)

    assert beluga.statistics()["transfers"] == 0


def test_completion_shows_what_is_meant_to_be_used(beluga: polypath.Context) -> None:
    assert sorted(name for name in dir(polypath) if not name.startswith("__")) == sorted(
        name for name in polypath.__all__ if not name.startswith("__")
    )
    assert {"allocate", "copy", "copy_many"} <= {*dir(beluga)}
    assert not {"copy_addresses", "place_of"} & {*dir(beluga)}
    assert "json" not in dir(polypath.reports) and "plan" in dir(polypath.reports)
