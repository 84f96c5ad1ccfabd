"""What there is on this computer of all that Polypath needs, each with what to do about it."""

from __future__ import annotations

import ctypes.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import polypath
from polypath import Error, _core, reports
from polypath.cli.caches import seen_pairs
from polypath.cli.contact import address_of_bug_reports
from polypath.cli.output import Document
from polypath.cli.stand_in import stand_in_file
from polypath.cli.suggestions import with_suggestion
from polypath.cli.units import bandwidth_text, factor_text, size_text, time_text
from polypath.install import preload_library, ucx_plugin_dir

PROBED_BYTES = 64 << 20
_MAPS = "import sys; sys.exit('libpolypath_preload' not in open('/proc/self/maps').read())"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; the state is "ok", "missing" or, where it may be, "note"."""

    what: str
    state: str
    found: str
    remedy: str = ""


def diagnose() -> list[Finding]:
    """Look at everything, in the order in which one thing needs another."""
    settings = _settings()
    findings = [settings, _version(), _library(), _ucx()]
    if settings.state != "ok":  # nothing can be opened with them
        return findings
    try:
        return [*findings, *_machine()]
    except Error as error:  # such as a machine's name that there is not
        return [*findings, Finding("machine", "missing", with_suggestion(str(error)))]


def _machine() -> list[Finding]:
    real, note = _core.chosen()
    findings = [_gpus(real)]
    if real:
        findings += [_calibration(note), _pairs()]
    return [*findings, _transfer(real)]


def _settings() -> Finding:
    try:
        changed = [
            f"{entry['variable']}={entry['value']}"
            for entry in reports.settings()
            if entry["value"] != entry["default"]
        ]
    except Error as error:
        return Finding("settings", "missing", str(error))
    return Finding("settings", "ok", ", ".join(changed) or "all as they are by default")


def _version() -> Finding:
    """Return which version this is, and where bug reports go."""
    address = address_of_bug_reports()
    remedy = f"Bug reports: {address}" if address else "Bug reports: to the people that it is from."
    return Finding("version", "ok", f"polypath {polypath.__version__}.", remedy)


def _library() -> Finding:
    library = preload_library()
    if not library.exists():
        remedy = "Install a build with POLYPATH_WITH_CUDA=ON."
        return Finding("library of run", "missing", f"There is no {library}.", remedy)
    around = {**os.environ, "LD_PRELOAD": str(library)}
    ended = subprocess.run(
        [sys.executable, "-S", "-c", _MAPS], env=around, capture_output=True, check=False
    )
    if ended.returncode != 0:
        remedy = "See what LD_PRELOAD does here, and whether its folder may hold programs."
        return Finding("library of run", "missing", f"{library} is not loaded.", remedy)
    return Finding("library of run", "ok", "A process started with it has it loaded.")


def _ucx() -> Finding:
    module = ucx_plugin_dir() / "libuct_polypath.so.0"
    wheel = next(Path(sys.prefix).glob("lib/python3*/site-packages/libucx/lib/libucp.so.0"), None)
    name = wheel or ctypes.util.find_library("ucp")
    if name is None:
        return Finding("UCX", "note", "Not found; only run --how plugin needs it.")
    if not module.exists():
        return Finding("UCX", "note", f"{name}; but there is no {module} for run --how plugin.")
    return Finding("UCX", "ok", f"{name}; run --how plugin needs 1.21 or later.")


def _gpus(real: bool) -> Finding:
    if not real:
        remedy = "Everything else can be tried on simulated machines: polypath demo."
        return Finding("GPUs", "missing", "There is no GPU to drive here.", remedy)
    machine = reports.machine()
    count = sum(place["kind"] == "gpu" for place in machine["places"])
    if driver := stand_in_file():
        why = f"{machine['name']}, {count} GPUs of the stand-in driver {driver}."
        return Finding("GPUs", "note", why, "Its times mean nothing.")
    return Finding("GPUs", "ok", f"{machine['name']}, {count} GPUs")


def _calibration(note: str) -> Finding:
    kept = reports.calibration()
    if kept is None:
        remedy = "Run: polypath calibrate."
        return Finding("calibration", "missing", "There is none: numbers are nominal.", remedy)
    if kept["missing"]:
        remedy = "Run it again when nothing else runs: polypath calibrate."
        return Finding("calibration", "missing", kept["missing"][0]["consequence"], remedy)
    return Finding("calibration", "ok", f"Complete, from {kept['file']}. {note}".strip())


def _pairs() -> Finding:
    """Return what has been seen of bytes between GPUs since the computer was started."""
    pairs = seen_pairs()
    if not pairs:
        remedy = "That is looked at when copies first need it."
        return Finding("bytes between GPUs", "note", "Not looked at since the last start.", remedy)
    lost = [f"{pair['accessing']} and {pair['owner']}" for pair in pairs if not pair["right"]]
    if lost:
        remedy = "Turn off ACS or the IOMMU. Until then copies go without these ways."
        return Finding("bytes between GPUs", "missing", f"Lost: {', '.join(lost)}.", remedy)
    return Finding("bytes between GPUs", "ok", f"{len(pairs)} ordered pairs, all bytes arrived.")


def _transfer(real: bool) -> Finding:
    """Return what one transfer would do; simulated where there are no GPUs."""
    machine = reports.machine()
    gpus = [place["name"] for place in machine["places"] if place["kind"] == "gpu"]
    source, destination = ("gpu0", "gpu1") if len(gpus) > 1 else ("host", "gpu0")
    plan = reports.plan(source, destination, PROBED_BYTES)
    where = "here" if real else f"on {machine['name']}, simulated"
    text = f"{source} -> {destination}, {size_text(PROBED_BYTES)} {where}: {_how(plan)}"
    return Finding("one transfer", "ok" if real else "note", text)


def _how(plan: Document) -> str:
    seconds = plan["predicted_seconds"]
    taken = f"{time_text(seconds)}, {bandwidth_text(plan['bytes'] / seconds)} predicted"
    if plan["executor"] == "native":
        return f"one native copy, {taken}."
    count = sum(path["included"] for path in plan["paths"])
    gain = factor_text(plan["native_seconds"] / seconds)
    return f"{count} paths, {taken}, {gain} as fast as one native copy."
