"""A copy of the sources of a commit with all faults planted, and what is built of it."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from fault_list import Fault, FaultError, planted_text, switches

BUILT = "build"


def planted_files(files: dict[str, bytes], faults: Sequence[Fault]) -> dict[str, bytes]:
    """Return all files of a tree with all faults. FaultError names every one that is stale."""
    by_file: dict[str, list[tuple[int, Fault]]] = {}
    for number, fault in enumerate(faults):
        by_file.setdefault(fault.file, []).append((number, fault))
    planted = {**files, **{path: text.encode() for path, text in switches(faults).items()}}
    problems = []
    for path, here in by_file.items():
        try:
            planted[path] = planted_text(files.get(path, b"").decode(), here).encode()
        except FaultError as error:
            problems.append(str(error))
    if problems:
        raise FaultError("\n".join(problems))
    return planted


def files_at(root: Path, commit: str) -> dict[str, tuple[bytes, int]]:
    """Return the bytes and the mode of every file of a commit."""
    archive = subprocess.run(
        ["git", "-C", str(root), "archive", "--format=tar", commit], capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {
            member.name: (content.read(), member.mode)
            for member in tar
            if (content := tar.extractfile(member)) is not None
        }


def commit_of(root: Path, name: str) -> str:
    """Return the short hash of what git knows by this name."""
    command = ["git", "-C", str(root), "rev-parse", "--short=7", f"{name}^{{commit}}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def write_tree(tree: Path, files: dict[str, tuple[bytes, int]], faults: Sequence[Fault]) -> bool:
    """Write what differs from what is there, to build only that again; return whether any did."""
    changed = False
    planted = planted_files({path: content for path, (content, _) in files.items()}, faults)
    for old in list(_sources(tree)):
        if str(old.relative_to(tree)) not in planted:
            old.unlink()
            changed = True
    for path, content in planted.items():
        file = tree / path
        if file.exists() and file.read_bytes() == content:
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(files[path][1] if path in files else 0o644)
        changed = True
    return changed


def _sources(tree: Path) -> Iterator[Path]:
    for entry in tree.iterdir() if tree.exists() else ():
        if entry.is_file():
            yield entry
        elif entry.name not in (BUILT, ".venv"):
            yield from (file for file in entry.rglob("*") if file.is_file())


def build_tree(tree: Path, jobs: int) -> None:
    """Build the preset default, without kernels for GPUs: no test runs them."""
    _build(["cmake", "--preset", "default", "-DPOLYPATH_WITH_KERNELS=OFF"], tree)
    _build(["cmake", "--build", "--preset", "default", "--parallel", str(jobs)], tree)


def build_package(tree: Path, python: Path) -> Path:
    """Make the Python package of what is built already; return the folder that it is in."""
    folder = tree / BUILT / "package"
    settings = (
        "build-dir=build/default",
        "cmake.build-type=RelWithDebInfo",
        *(
            f"cmake.define.POLYPATH_{setting}"
            for setting in (
                "BUILD_TESTS=ON",
                "SHARED_FMT=ON",
                "INSTALL_STANDIN=ON",
                "WITH_KERNELS=OFF",
            )
        ),
    )
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-build-isolation", "--no-deps", "--upgrade", "--target", str(folder), "."]
    _build([*command, *(f"--config-settings={setting}" for setting in settings)], tree)
    return folder


def _build(command: list[str], tree: Path) -> None:
    log = tree / BUILT / "build.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as output:
        ended = subprocess.run(command, cwd=tree, stdout=output, stderr=output, check=False)
    if ended.returncode != 0:
        raise FaultError(f"{' '.join(command[:4])} ... failed: {log} says why")
