"""The programs that measure on GPUs, and the folder that their answers go to."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from gpu_targets import SERIES, Json

ROOT = Path(__file__).resolve().parent.parent


class Machine:
    """The programs of the `gpu` preset, and where their answers go."""

    def __init__(self, build: Path, output: Path) -> None:
        self.build, self.output = build, output
        self.failures: list[str] = []
        self.series = [series.name for series in SERIES]
        output.mkdir(parents=True, exist_ok=True)

    def provide_programs(self) -> None:
        """Build the preset unless its programs are there."""
        if (self.build / "tests" / "polypath_report").exists():
            return
        jobs = str(os.cpu_count() or 2)
        subprocess.run(["cmake", "--preset", "gpu"], cwd=ROOT, check=True)
        subprocess.run(["cmake", "--build", "--preset", "gpu", "-j", jobs], cwd=ROOT, check=True)

    def ask(self, kind: str, asked: Json, environment: dict[str, str] | None = None) -> Json:
        """Return the answer to one request; raise if there is none."""
        run = subprocess.run(
            [str(self.build / "tests" / "polypath_report"), kind],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            env={**os.environ, **(environment or {})},
            check=False,
        )
        if run.returncode != 0:
            raise RuntimeError(run.stderr.strip() or f"{kind} exits with {run.returncode}")
        answer: Json = json.loads(run.stdout)
        return answer

    def write(self, name: str, content: object) -> None:
        """Write one JSON file of the results."""
        text = json.dumps(content, indent=1)
        (self.output / f"{name}.json").write_text(text + "\n", encoding="utf-8")

    def read(self, name: str) -> Json | None:
        """Return an earlier answer, if there is one."""
        path = self.output / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def heading(text: str) -> None:
    """Print a section heading."""
    print(f"\n==== {text}", flush=True)
