#!/usr/bin/env python3
"""Says how long functions and files are, and complains of functions beyond what is read at once.

Functions are counted by lizard in lines of code, without comments and blank lines; files in lines.
A file may be as long as its one purpose needs, up to a limit at which it surely has several.
"""

from __future__ import annotations

import sys
from pathlib import Path

import lizard  # type: ignore[import-untyped, unused-ignore]

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "benchmarks",
    "examples",
    "include",
    "python",
    "programs",
    "scripts",
    "src",
    "standin",
    "tests",
)
SUFFIXES = (".c", ".cc", ".h", ".py")
NINE_IN_TEN_FUNCTIONS = 15
LONGEST_FUNCTION = 50
LONGEST_FILE = 500


def nine_in_ten(lengths: list[int]) -> int:
    """Return the length that nine of ten do not exceed."""
    return sorted(lengths)[int(0.9 * (len(lengths) - 1))]


def source_files() -> list[Path]:
    """Return every source file, tests included."""
    return sorted(
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in SUFFIXES and "__pycache__" not in path.parts
    )


def functions_of(files: list[Path]) -> list[tuple[int, str]]:
    """Return the length of every function and where it is."""
    return [
        (function.nloc, f"{Path(file.filename).relative_to(ROOT)}: {function.name}")
        for file in lizard.analyze_files([str(path) for path in files])
        for function in file.function_list
    ]


def main() -> int:
    """Print the figures; return 1 if one is beyond its limit."""
    files = source_files()
    functions = functions_of(files)
    ninth = nine_in_ten([length for length, _ in functions])
    file_lengths = {path: len(path.read_text("utf-8").splitlines()) for path in files}
    too_long = [
        f"{where} has {length} lines" for length, where in functions if length > LONGEST_FUNCTION
    ]
    print(f"{len(functions)} functions, nine in ten have at most {ninth} lines")
    ninth_file = nine_in_ten(list(file_lengths.values()))
    print(f"{len(files)} files, nine in ten have at most {ninth_file} lines")
    if ninth > NINE_IN_TEN_FUNCTIONS:
        too_long.append(f"nine in ten functions are to have at most {NINE_IN_TEN_FUNCTIONS} lines")
    too_long += [
        f"{path.relative_to(ROOT)} has {length} lines"
        for path, length in file_lengths.items()
        if length > LONGEST_FILE
    ]
    print(*too_long, sep="\n")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
