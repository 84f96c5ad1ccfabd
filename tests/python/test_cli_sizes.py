"""--sizes: comma lists of sizes and of ranges that double."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from polypath import Error, format_bytes, parse_bytes
from polypath.cli.errors import UserError
from polypath.cli.sizes import parse_sizes
from polypath.cli.units import size_text

SIZES = st.integers(min_value=0, max_value=2**40)


def test_a_range_doubles():
    assert parse_sizes("1M:8M") == [1 << 20, 1 << 21, 1 << 22, 1 << 23]


def test_lists_and_ranges_mix_and_keep_their_order():
    assert parse_sizes("64K, 1M,4M:16M") == [1 << 16, 1 << 20, 1 << 22, 1 << 23, 1 << 24]


def test_a_range_ends_at_the_last_size_that_fits():
    assert parse_sizes("3:13") == [3, 6, 12]


def test_a_size_that_comes_twice_counts_once():
    assert parse_sizes("2K,1K:4K,2K") == [2048, 1024, 4096]


@pytest.mark.parametrize("text", ["8M:1M", "0:1M", "0:0"])
def test_an_impossible_range_is_refused(text: str):
    with pytest.raises(UserError, match="no range"):
        parse_sizes(text)


@pytest.mark.parametrize("text", ["", ",", "1M,", "1M:", ":", "1M:2M:4M", "1.5M", "M", "0x10"])
def test_what_is_no_size_is_refused(text: str):
    with pytest.raises(Error, match="cannot be read"):
        parse_sizes(text)


def test_a_negative_size_is_refused_as_one():
    for text in ("-1", "1M,-64M", "1M:-4M"):
        with pytest.raises(UserError, match="a size is not negative"):
            parse_sizes(text)


@pytest.mark.parametrize("text", ["64MB", "64m", "64KB", "2g"])
def test_what_means_something_else_elsewhere_is_said(text: str, capsys: pytest.CaptureFixture[str]):
    (nbytes,) = parse_sizes(text)

    assert f"{text} is {size_text(nbytes)}: K, M, G and T are powers of 1024" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("text", ["64M", "64MiB", "4096", "0", "1K:2K"])
def test_what_is_clear_is_not_talked_about(text: str, capsys: pytest.CaptureFixture[str]):
    parse_sizes(text)

    assert capsys.readouterr().err == ""


@given(SIZES)
def test_sizes_survive_their_text_form(size: int):
    assert parse_bytes(format_bytes(size)) == size


@given(st.lists(SIZES, min_size=1, max_size=8, unique=True))
def test_a_list_is_its_sizes(sizes: list[int]):
    assert parse_sizes(",".join(map(str, sizes))) == sizes


@given(st.integers(1, 2**40), st.integers(1, 2**40))
def test_a_range_starts_at_first_doubles_and_cannot_go_on(first: int, last: int):
    first, last = min(first, last), max(first, last)

    sizes = parse_sizes(f"{first}:{last}")

    assert sizes[0] == first
    assert all(after == 2 * before for before, after in zip(sizes, sizes[1:]))
    assert sizes[-1] <= last < 2 * sizes[-1]


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str):
    try:
        sizes = parse_sizes(text)
    except (Error, UserError) as error:
        assert str(error)
    else:
        assert sizes and all(size >= 0 for size in sizes)
