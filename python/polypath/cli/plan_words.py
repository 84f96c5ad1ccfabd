"""What the words of `polypath plan` ask for: one transfer, several, or a pattern."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Union

from polypath import _core
from polypath.cli.errors import UserError
from polypath.cli.sizes import parse_size
from polypath.cli.suggestions import did_you_mean, meant_place

FORMS = "it is SRC DST SIZE, SRC:DST:SIZE..., PATTERN SIZE or COLLECTIVE SIZE"


@dataclass(frozen=True)
class OneTransfer:
    """SRC DST SIZE."""

    source: str
    destination: str
    size: str


@dataclass(frozen=True)
class SeveralTransfers:
    """SRC:DST:SIZE, any number of times: source, destination and bytes of each."""

    transfers: list[tuple[str, str, int]]


@dataclass(frozen=True)
class Pattern:
    """PATTERN SIZE."""

    name: str
    nbytes: int


@dataclass(frozen=True)
class Collective:
    """COLLECTIVE SIZE."""

    name: str
    nbytes: int


Wanted = Union[OneTransfer, SeveralTransfers, Pattern, Collective]


def read_words(words: Sequence[str], by_algorithms: bool = False) -> Wanted:
    """Return what the words ask for; a name of both, by algorithms, is a collective."""
    if len(words) == 2 and is_collective(words[0], by_algorithms):
        return Collective(words[0], parse_size(words[1]))
    _refuse_places_of_others(words)
    in_one_word = [word for word in words if ":" in word]
    if len(in_one_word) == len(words):
        return SeveralTransfers([_transfer(word) for word in words])
    if in_one_word:
        other = next(word for word in words if word not in in_one_word)
        raise UserError(
            f"the request mixes '{other}' and '{in_one_word[0]}'",
            FORMS,
            "Write every transfer as SRC:DST:SIZE.",
        )
    _refuse_left_over(words)
    if len(words) == 3:
        return OneTransfer(*words)
    return _pattern(*words)


def _refuse_left_over(words: Sequence[str]) -> None:
    """Refuse more words than a transfer has, or a pattern or collective."""
    is_pattern = words[0] in (*_core.patterns(), *_core.collectives())
    most = 2 if is_pattern else 3
    if len(words) <= most:
        return
    if is_pattern and any(word[:1].isalpha() and meant_place(word) for word in words[1:]):
        raise UserError(
            f"{words[0]} between named places cannot be planned",
            f"{words[0]} is over all GPUs, and takes a size only",
            f"Write for example {words[0]} 64M; --gpus COUNT takes the first GPUs only.",
        )
    raise UserError(f"the request has '{words[most]}' left over", FORMS, "Write one of them.")


def is_collective(name: str, by_algorithms: bool) -> bool:
    """Return whether the name is that of a collective, or else of a pattern of copies."""
    return name in _core.collectives() and (by_algorithms or name not in _core.patterns())


def _refuse_places_of_others(words: Sequence[str]) -> None:
    """Refuse "cuda:0", which would be read as a transfer of which something is missing."""
    for word in words:
        if re.fullmatch(r"(cuda|gpu|device|host|cpu|numa):\d+", word, re.IGNORECASE):
            raise UserError(
                f"place '{word}' is unknown",
                "places are called gpu0, gpu1, host0 and so on",
                f"Did you mean {meant_place(word)}?",
            )


def _transfer(word: str) -> tuple[str, str, int]:
    source, destination, *size = word.split(":")
    if not source or not destination or len(size) > 1:
        raise UserError(
            f"transfer '{word}' cannot be read",
            "each is SRC:DST:SIZE",
            "Write for example gpu0:gpu1:64M.",
        )
    if not any(size):
        raise UserError(
            f"transfer '{word}' has no size",
            "each is SRC:DST:SIZE",
            f"Write for example {source}:{destination}:64M.",
        )
    return source, destination, parse_size(size[0])


def _pattern(name: str, size: str | None = None) -> Pattern:
    names = [*_core.patterns(), *_core.collectives()]
    if name in names and size is None:
        raise UserError(
            f"'{name}' has no SIZE",
            "each pattern and collective needs one",
            f"Write for example {name} 64M.",
        )
    if name not in names and (size is None or not _is_size(size)):
        missing = "DST and SIZE" if size is None else "SIZE"
        raise UserError(
            f"the request has no {missing}",
            FORMS,
            f"Add {missing}, or name a pattern or collective: {', '.join(dict.fromkeys(names))}.",
        )
    if name not in names:
        raise UserError(
            f"unknown pattern '{name}'",
            f"there are {', '.join(dict.fromkeys(names))}",
            f"Name one of them.{did_you_mean(name, names)}",
        )
    return Pattern(name, parse_size(size or ""))


def _is_size(text: str) -> bool:
    return text[:1].isdigit()
