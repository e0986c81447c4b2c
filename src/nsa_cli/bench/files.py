"""Files of a benchmark: all runs as CSV, the rows with date, versions and machine as JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from nsa_cli.bench.runs import MeasuredRun
from nsa_cli.bench.summary import COLUMNS, SummaryRow, run_rows
from nsa_cli.core.errors import UsageError
from nsa_cli.core.extras import is_installed
from nsa_cli.core.machine import cores, machine, processor
from nsa_cli.io.atomic import write_text
from nsa_cli.io.json_text import dumps
from nsa_cli.io.table import format_table
from nsa_cli.version import __version__


def make_directory(path: str | Path) -> Path:
    """Make a directory for results, before anything is computed.

    Raises
    ------
    UsageError
        If that cannot be, or it cannot be written.
    """
    directory = Path(path)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", option="out") from None
    if not os.access(directory, os.W_OK):
        raise UsageError(f"{path}: no permission to write", option="out")
    return directory


def write_files(
    path: Path,
    runs: Sequence[MeasuredRun],
    rows: Sequence[SummaryRow],
    about: Mapping[str, Any],
    *,
    picture: bool,
) -> None:
    """Write ``runs.csv``, ``summary.json`` and, on request, ``curves.png``, each whole or not at all."""
    write_text(path / "runs.csv", format_table(COLUMNS, run_rows(runs)))
    head = [f"  {dumps(key)}: {dumps(value)}" for key, value in about.items()]
    body = ",\n".join(f"    {dumps(row._asdict())}" for row in rows)
    write_text(path / "summary.json", "{\n" + ",\n".join([*head, f'  "rows": [\n{body}\n  ]']) + "\n}\n")
    if picture:
        from nsa_cli.bench.curves import save_curves

        save_curves(path / "curves.png", rows)


def circumstances(packages: Sequence[str] = ()) -> dict[str, Any]:
    """Give date, versions and machine; `packages` are the peers'."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"nsa-cli": __version__}
        | {name: metadata.version(name) for name in ("numpy", *packages)},
        "machine": machine()
        | {
            "processor": processor(),
            "cuda": _cuda(),
        },
        "threads": cores(),
    }


def _cuda() -> str | None:
    """Name of the CUDA device that torch would take, if there is one."""
    if not is_installed("torch"):
        return None
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None
