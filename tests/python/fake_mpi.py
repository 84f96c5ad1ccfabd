"""An MPI made of three scripts, so that what is around the ranks can be tested without any.

`mpicc` "compiles" by installing the script below as the program; `mpirun` sets the ranks' variables
and runs it once; the program answers with the times and faults that a test has written down.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from polypath import install

SHEBANG = f"#!{sys.executable} -S\n"

MPICC = """
import os, pathlib, shutil, sys
here = pathlib.Path(__file__).parent
words = sys.argv[1:]
if words == ["-show"]:
    print("cc -I/fake/include -lmpi")
elif "-E" in words:
    print((here / "mpi.h").read_text())
elif (here / "broken").exists():
    sys.exit("pattern.c:3:1: warning: dull\\npattern.c:4:1: error: no such thing")
else:
    with (here / "compiled").open("a") as log:
        print(*words, file=log)
    shutil.copy(here / "program", words[words.index("-o") + 1])
"""

MPIRUN = """
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
words = sys.argv[1:]
if words == ["--version"]:
    sys.exit(print((here / "version").read_text()))
variables = {}
rest = list(words)
while "-n" in rest and rest[0] != "-n":
    word = rest.pop(0)
    if word == "-x":
        name, _, value = rest.pop(0).partition("=")
        variables[name] = value
    elif word == "-genv":
        variables[rest.pop(0)] = rest.pop(0)
own = {name: os.environ.get(name, "") for name in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
os.environ.update(variables)
os.environ.pop("LD_PRELOAD", None)  # nothing is to be loaded into the scripts
preload = variables.get("LD_PRELOAD", own["LD_PRELOAD"])
with (here / "started").open("a") as log:
    print(json.dumps({"words": words, "ranks": variables, "launcher": own}), file=log)
os.environ["FAKE_PRELOAD"] = preload
os.execv(rest[2], rest[2:])
"""

PROGRAM = """
import json, os, pathlib, sys, time
here = pathlib.Path("@HERE@")
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
checked = "--no-check" not in sys.argv
planned = "libpolypath_preload" in os.environ["FAKE_PRELOAD"]
script = json.loads((here / "script.json").read_text())
kind = "planned" if planned else "native"
counter = here / kind
turn = len(counter.read_text()) if counter.exists() else 0
counter.write_text("x" * (turn + 1))
print(script.get("noise", ""), file=sys.stderr)
if kind in script.get("hangs", []):
    time.sleep(60)
if kind in script.get("fails", []):
    sys.exit("polypath_mpi_bench: rank 1: it broke (on purpose) Mend it.")
def say(**event):
    print(json.dumps(event), flush=True)
print("a line of the launcher's own")
buffers = options["--buffers"]
gpu = {"gpu": "Fake GPU", "gpus": 4, "cuda": "13.0", "rank_gpus": [0, 1, 2, 3]}
say(event="start", ranks=2, nodes=1, buffers=buffers, mpi="Open MPI v5.0, of nobody", ucx="1.22.0",
    polypath=planned and not script.get("lost"), **({} if buffers == "host" else gpu))
wrong = script.get("wrong", {}).get(kind, 0)
kernel = "gpu" if "--image" in options else "host"
solver = {"kernel": kernel, "rows": int(options.get("--rows", 0)),
          "verified_iterations": 20 if checked else 0}
single = {"latency": "1", "jacobi": "2"}
for operation in options["--operations"].split(","):
    for window in single.get(operation) or options["--window"].split(","):
        for size in options["--sizes"].split(","):
            seconds = script[kind][turn]
            say(event="result", operation=operation, bytes=int(size), window=int(window), ranks=2,
                senders=1, iterations=20, seconds=seconds,
                bytes_per_second=int(size) * int(window) / seconds,
                messages_per_second=int(window) / seconds,
                compared_bytes=3 * int(size) * int(window) if checked else 0,
                wrong_bytes=wrong if checked else 0, verified=checked and not wrong,
                **(solver if operation == "jacobi" else {}))
if kind not in script.get("unfinished", []):
    say(event="end", wrong_bytes=wrong)
sys.exit(script.get("status", 1 if wrong else 0))
"""


@dataclass(frozen=True)
class FakeMpi:
    """The folder of the scripts."""

    folder: Path

    def plan(self, **script: Any) -> None:
        """Say what the program does: seconds by run, "native" and "planned", and faults."""
        (self.folder / "script.json").write_text(json.dumps(script))

    def say_version(self, text: str) -> None:
        """Say what `mpirun --version` prints."""
        (self.folder / "version").write_text(text)

    def starts(self) -> list[dict[str, Any]]:
        """Return how the ranks were started each time."""
        log = self.folder / "started"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def compilations(self) -> list[str]:
        """Return the command lines with which the program was compiled."""
        log = self.folder / "compiled"
        return log.read_text().splitlines() if log.exists() else []


def make_fake_mpi(folder: Path) -> FakeMpi:
    """Write the scripts into a new folder."""
    folder.mkdir(parents=True)
    for name, text in (("mpicc", MPICC), ("mpirun", MPIRUN), ("program", PROGRAM)):
        script = folder / name
        script.write_text(SHEBANG + text.replace("@HERE@", str(folder)))
        script.chmod(0o755)
    (folder / "mpi.h").write_text("typedef int MPI_Comm;\n")
    mpi = FakeMpi(folder)
    mpi.say_version("mpirun (Open MPI) 5.0.11\n")
    mpi.plan(native=[2.0] * 9, planned=[1.0] * 9)
    return mpi


def install_fake_mpi(folder: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMpi:
    """Put an MPI on the PATH, with an empty cache and a package that has everything."""
    fake = make_fake_mpi(folder / "mpi" / "bin")
    package = folder / "package"
    for file in ("lib/libpolypath_preload.so", "standin/libcuda.so.1", "jacobi.fatbin"):
        (package / file).parent.mkdir(parents=True, exist_ok=True)
        (package / file).touch()
    monkeypatch.setenv("PATH", f"{fake.folder}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    for variable in ("LD_PRELOAD", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(install, "library_dir", lambda: package / "lib")
    monkeypatch.setattr(install, "stand_in_dir", lambda: package / "standin")
    monkeypatch.setattr(install, "kernel_image", lambda name: package / f"{name}.fatbin")
    return fake
