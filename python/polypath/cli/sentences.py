"""Text that is broken between words, but never between a number and its unit."""

from __future__ import annotations

import re

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

_NO_BREAK = "\N{NO-BREAK SPACE}"
# "64 MiB", "12.3 us", "55.1 GB/s"; and of a path its share and chunks: "gpu2 20 % (3)".
_TOGETHER = (
    r"(?<=\d) (?=(?:[KMGT]?i?B(?:/s)?|us|ms|s|%)(?!\w))",
    r"(?<=\w) (?=\d+(?:\.\d+)?\N{NO-BREAK SPACE}%)",
    r"(?<=%) (?=\(\d+\))",
)


class Sentence:
    """A text for a cell or a line, which keeps numbers and units together when it is broken."""

    def __init__(self, text: str, style: str = "") -> None:
        self._text, self._style = _kept_together(text), style

    def lines(self, width: int) -> list[str]:
        """Return the text in lines of at most so many columns; longer words are cut."""
        import textwrap

        broken = textwrap.wrap(self._text, max(1, width), break_on_hyphens=False) or [""]
        return [line.replace(_NO_BREAK, " ") for line in broken]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines that there is room for."""
        for line in self.lines(options.max_width):
            yield Text(line, style=self._style, no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the widths of the longest word and of the whole text."""
        words = [len(word) for word in self._text.split(" ")]
        most = options.max_width
        return Measurement(min(max(words), most), min(len(self._text), most))


def _kept_together(text: str) -> str:
    for between in _TOGETHER:
        text = re.sub(between, _NO_BREAK, text)
    return text
