"""Results of a benchmark as they come in: all runs as CSV, the table's rows as JSON, a picture, the table."""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import fields
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from nsa_cli.bench.benchmark import Benchmark
from nsa_cli.bench.curves import save_curves
from nsa_cli.bench.measure import Run
from nsa_cli.bench.request import Request
from nsa_cli.bench.summary import COLUMNS, format_rows, run_rows
from nsa_cli.core.errors import UsageError
from nsa_cli.core.extras import is_installed
from nsa_cli.core.machine import cores, processor
from nsa_cli.core.manifest import machine
from nsa_cli.io.atomic import write_text
from nsa_cli.io.json_text import dumps
from nsa_cli.io.table import format_table
from nsa_cli.version import __version__

#: Seconds between two writings of all files while the benchmark runs.
_PAUSE = 5.0


class Results:
    """Runs that are complete, the folder that has them, and the table.

    Parameters
    ----------
    ready : Benchmark
        Its request names the folder, which is made; without one nothing is written.

    Attributes
    ----------
    folder : Path or None

    Raises
    ------
    UsageError
        If the folder cannot be made, or not be written.
    """

    def __init__(self, ready: Benchmark) -> None:
        self._ready, self._found = ready, dict[int, list[Run]]()
        self.folder = None if ready.request.out is None else _made(ready.request.out)
        self._about = _circumstances(ready.packages()) | {"device": ready.request.device}
        self._written = float("-inf")

    @property
    def runs(self) -> list[Run]:
        """All runs, in order."""
        return [run for place in sorted(self._found) for run in self._found[place]]

    @property
    def complete(self) -> bool:
        """Whether none is missing."""
        return len(self._found) == len(self._ready.units)

    def add(self, place: int, runs: list[Run]) -> None:
        """Take runs, and write the files now and then."""
        self._found[place] = runs
        if time.monotonic() > self._written + _PAUSE:
            self.write()
            self._written = time.monotonic()

    def write(self, *, last: bool = False) -> None:
        """Write the files, each whole or not at all; at the end with the picture."""
        if not self._found or self.folder is None:
            return
        runs, request = self.runs, self._ready.request
        rows = self._ready.rows(runs)
        write_text(self.folder / "runs.csv", format_table(COLUMNS, run_rows(runs)))
        about = {"command": _command(request), "caption": self._ready.caption(runs)} | self._about
        head = [f"  {dumps(key)}: {dumps(value)}" for key, value in about.items()]
        body = ",\n".join(f"    {dumps(row._asdict())}" for row in rows)
        text = "{\n" + ",\n".join([*head, f'  "rows": [\n{body}\n  ]']) + "\n}\n"
        write_text(self.folder / "summary.json", text)
        if last and request.budget is not None and is_installed("matplotlib"):
            save_curves(self.folder / "curves.png", rows)

    def table(self) -> str:
        """Lay out the table; nothing where there is nothing in it."""
        if not self._found:
            return ""
        rows, caption = self._ready.rows(self.runs), self._ready.caption(self.runs)
        return format_rows(rows, caption, by_seconds=self._ready.request.budget is not None)


def _made(path: str) -> Path:
    """Make a folder for results, before anything is computed."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", option="out") from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{path}: no permission to write", option="out")
    return folder


def _circumstances(packages: list[str]) -> dict[str, Any]:
    """Give date, versions and machine; `packages` are the peers'."""
    versions = {name: metadata.version(name) for name in ("numpy", *packages)}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"nsa-cli": __version__} | versions,
        "machine": machine() | {"processor": processor(), "cuda": _cuda()},
        "threads": cores(),
    }


def _cuda() -> str | None:
    """Name of the CUDA device that torch would take, if there is one."""
    if not is_installed("torch"):
        return None
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def _command(request: Request) -> str:
    """Write the command that repeats the benchmark; by seconds, as far as the clock allows."""
    unused = {"what", "threads", "out", "again"}
    unused |= {"steps", "time_limit", "device"} if request.budget else set()
    words = ["nsa", "benchmark", *request.what]
    for name in (f.name for f in fields(request) if f.name not in unused):
        if (value := getattr(request, name)) is not None:
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words += ["--" + name.replace("_", "-"), text or "none"]
    return shlex.join(words)
