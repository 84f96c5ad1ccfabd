"""Runs clang-tidy on the C++ sources that changed, and not again on what was clean before.

Usage: tidy.py [--all] [--base COMMIT] [--jobs N]

Without --all: sources that changed since COMMIT or are not committed, and for each header that
changed one that includes it. COMMIT is the merge base with origin/main; where that is HEAD itself,
as in a fresh clone, it is the last commit of more than eight hours before HEAD. A source that was
clean is remembered by all that clang-tidy read of the project, in $XDG_CACHE_HOME/polypath/tidy.
Exit status 1 if a source has findings.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIDY = ROOT / ".venv" / "bin" / "clang-tidy"
DATABASE = ROOT / "build" / "lint"
FOLDERS = (ROOT / "src", ROOT / "include", ROOT)  # that includes are relative to
LEFT_OUT = ("src/api/python/",)  # its headers come from a virtual environment, not from this build
SHIFT = 8 * 3600
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def git(*words: str) -> str:
    """Return what git says, empty if it fails."""
    run = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return run.stdout.strip() if run.returncode == 0 else ""


def default_base() -> str:
    """Return the commit since which changes count."""
    head, base = git("rev-parse", "HEAD"), git("merge-base", "HEAD", "origin/main")
    if base and base != head:
        return base
    before = int(git("show", "-s", "--format=%ct", "HEAD") or 0) - SHIFT
    return git("rev-list", "-1", f"--before={before}", "HEAD")


def changed_files(base: str) -> set[str]:
    """Return the files that differ from the commit, or are new; all if there is no such commit."""
    if not base:
        return set(git("ls-files").splitlines())
    new = git("ls-files", "--others", "--exclude-standard")
    return set(git("diff", "--name-only", base).splitlines()) | set(new.splitlines())


def all_sources() -> list[Path]:
    """Return every source that is checked."""
    kinds = ("--cached", "--others", "--exclude-standard")
    names = git("ls-files", *kinds, "src/*.cc", "standin/*.cc").splitlines()
    return [
        ROOT / name for name in names if not name.startswith(LEFT_OUT) and (ROOT / name).exists()
    ]


@cache
def included_by(file: Path) -> tuple[Path, ...]:
    """Return the project's files that a file includes itself."""
    names = [name.decode() for name in INCLUDE.findall(file.read_bytes())]
    found = (
        next((f / name for f in (file.parent, *FOLDERS) if (f / name).exists()), None)
        for name in names
    )
    return tuple(path.resolve() for path in found if path)


def read_with(source: Path) -> list[Path]:
    """Return the source and all of the project that it includes, however indirectly."""
    seen, waiting = {source}, [source]
    while waiting:
        for file in included_by(waiting.pop()):
            if file not in seen:
                seen.add(file)
                waiting.append(file)
    return sorted(seen)


def commands() -> dict[Path, str]:
    """Return how each source is compiled, by paths relative to the project."""
    entries = json.loads((DATABASE / "compile_commands.json").read_text(encoding="utf-8"))
    return {Path(e["file"]).resolve(): e["command"].replace(str(ROOT), ".") for e in entries}


def key_of(source: Path, command: str, tools: bytes) -> str:
    """Return what names the result of a source: equal only if clang-tidy would read the same."""
    digest = hashlib.sha256(tools + command.encode())
    for file in read_with(source):
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def cache_folder() -> Path:
    """Return the folder of the results that are remembered."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "polypath" / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def is_clean(source: Path) -> bool:
    """Check one source, and print what clang-tidy says of it."""
    command = [str(TIDY), "--quiet", "-p", str(DATABASE), str(source)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        print(run.stdout, run.stderr, sep="", flush=True)
    return run.returncode == 0


def selected(base: str) -> list[Path]:
    """Return the sources that changed, and one that includes each header that changed."""
    changed = {(ROOT / name).resolve() for name in changed_files(base)}
    if ROOT / ".clang-tidy" in changed:
        return all_sources()
    sources = all_sources()
    chosen = [file for file in sources if file in changed]
    for header in sorted(path for path in changed if path.suffix == ".h"):
        readers = [file for file in sources if header in included_by(file)]
        if readers and not set(readers) & set(chosen):
            chosen.append(next((r for r in readers if r.stem == header.stem), readers[0]))
    return chosen


def parsed() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--all", action="store_true", help="check every source")
    parser.add_argument("--base", default="", help="the commit since which changes count")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    return parser.parse_args()


def main() -> int:
    """Check what has to be checked."""
    options, known = parsed(), cache_folder()
    sources = all_sources() if options.all else selected(options.base or default_base())
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    tools = version + (ROOT / ".clang-tidy").read_bytes()
    how = commands()
    keys = {source: key_of(source, how.get(source, ""), tools) for source in sources}
    due = [source for source, key in keys.items() if not (known / key).exists()]
    print(
        f"clang-tidy: {len(sources)} sources, {len(due)} of them not known to be clean", flush=True
    )
    with ThreadPoolExecutor(options.jobs) as pool:
        results = dict(zip(due, pool.map(is_clean, due)))
    for source in (source for source, clean in results.items() if clean):
        (known / keys[source]).touch()
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
