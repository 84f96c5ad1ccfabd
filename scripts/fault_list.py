"""One-line faults: the kept list of them, and how all are planted at once, each with a switch.

A fault is text of one file, which occurs there once, and what stands there instead:

  old         new             planted
  a - b       a + b           (planted(7) ? (a + b) : (a - b))
  wait(a);                    if (planted(7)) {  } else { wait(a); }

Text that ends with a semicolon is one statement or several; other text is an expression. Where
neither will do, as for declarations, `both` is given in place of `new`: the text with PLANTED where
the question belongs. In Python all are expressions.

PLANTED_FAULT names the fault that is switched on, for a process and its children. PLANTED_REACHED
names a file with a byte for each fault, which becomes 1 where a process comes by.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CPP_SWITCH = "src/core/planted.h"
PYTHON_SWITCH = "python/polypath/_planted.py"
STATEMENTS = ("if", "for", "while", "return")  # that is what they begin with
FUTURE = "from __future__ import annotations\n"


class FaultError(Exception):
    """A fault cannot be planted."""


@dataclass(frozen=True)
class Fault:
    """One fault: `new`, or nothing, stands in place of `old`."""

    name: str
    file: str
    old: str
    harm: str  # what a user would meet
    new: str = ""
    both: str = ""

    @property
    def is_python(self) -> bool:
        """Return whether it is one of a Python file."""
        return self.file.endswith(".py")

    @property
    def layer(self) -> str:
        """Return the name of the layer, as its test suite has it."""
        parts = self.file.split("/")
        if parts[0] != "src":
            return parts[0]
        return parts[2] if parts[1] == "api" else parts[1]


def read_faults(path: Path) -> list[Fault]:
    """Return the faults of a list. FaultError if two have one name."""
    faults = [Fault(**each) for each in json.loads(path.read_text())["faults"]]
    names = [fault.name for fault in faults]
    for name in names:
        if names.count(name) > 1:
            raise FaultError(f"two faults are called {name}")
    return faults


def planted_text(text: str, faults: Sequence[tuple[int, Fault]]) -> str:
    """Return a file's text with its numbered faults. FaultError if one is stale."""
    for number, fault in faults:
        occurrences = text.count(fault.old)
        if occurrences != 1:
            raise FaultError(f"{fault.name}: its text occurs {occurrences} times in {fault.file}")
        before = text[: text.index(fault.old)]
        if not _is_whole(fault) or before.endswith((".", "->", "::")):
            raise FaultError(f"{fault.name}: its text is neither an expression nor a statement")
        text = text.replace(fault.old, _replacement(number, fault))
    if faults[0][1].is_python:
        known = FUTURE + "\nfrom polypath._planted import planted as _planted\n"
        return text.replace(FUTURE, known, 1)
    return f'#include "{CPP_SWITCH.removeprefix("src/")}"\n{text}'


def _is_whole(fault: Fault) -> bool:
    """Return whether the text may stand in brackets, or in a block: nothing is compiled here."""
    if fault.both:
        return True
    head = fault.old.split("(")[0].split(" ")[0]
    is_statement = fault.old.endswith(";")
    return fault.old == fault.old.strip() and (is_statement or head not in STATEMENTS)


def _replacement(number: int, fault: Fault) -> str:
    if fault.is_python:
        return f"({fault.new} if _planted({number}) else {fault.old})"
    question = f"::polypath::planted({number})"
    if fault.both:
        return fault.both.replace("PLANTED", question)
    if fault.old.endswith(";"):
        return f"if ({question}) {{ {fault.new} }} else {{ {fault.old} }}"
    return f"({question} ? ({fault.new}) : ({fault.old}))"


def switches(faults: Sequence[Fault]) -> dict[str, str]:
    """Return the files that all planted code asks, by path."""
    names = [fault.name for fault in faults]
    listed = ", ".join(f'"{name}"' for name in names)
    return {
        CPP_SWITCH: _CPP.replace("NAMES", listed),
        PYTHON_SWITCH: _PYTHON.replace("NAMES", repr(names)),
    }


# What is evaluated by the compiler has no faults.
_CPP = """#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace polypath {
namespace planted_faults {

inline constexpr std::array kNames = {NAMES};

inline int chosen() {
  static const int number = [] {
    const char* name = std::getenv("PLANTED_FAULT");
    for (std::size_t i = 0; name != nullptr && i < kNames.size(); ++i)
      if (std::strcmp(name, kNames[i]) == 0) return static_cast<int>(i);
    return -1;
  }();
  return number;
}

inline void note(int number) {
  static char* const reached = [] {
    const char* name = std::getenv("PLANTED_REACHED");
    const int file = name == nullptr ? -1 : open(name, O_RDWR | O_CLOEXEC);
    if (file < 0) return static_cast<char*>(nullptr);
    void* bytes = mmap(nullptr, kNames.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return bytes == MAP_FAILED ? nullptr : static_cast<char*>(bytes);
  }();
  if (reached != nullptr) reached[number] = 1;
}

inline bool is_chosen(int number) {
  note(number);
  return chosen() == number;
}

}  // namespace planted_faults

constexpr bool planted(int number) {
  return std::is_constant_evaluated() ? false : planted_faults::is_chosen(number);
}

}  // namespace polypath
"""

_PYTHON = '''"""Which fault is planted."""

import os

LISTED = NAMES


def planted(number):
    """Return whether this fault is switched on."""
    if reached := os.environ.get("PLANTED_REACHED"):
        with open(reached, "r+b") as file:
            file.seek(number)
            file.write(b"\\1")
    return os.environ.get("PLANTED_FAULT") == LISTED[number]
'''
