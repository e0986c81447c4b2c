"""The log of a training for TensorBoard, beside the CSV file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from nsa_cli.core.errors import UsageError


class Show(Protocol):
    """Takes the rows of a log as they come."""

    def __call__(self, row: Mapping[str, Any], /) -> None: ...


@contextmanager
def board(directory: str | None) -> Iterator[Show]:
    """Open a log in a directory and give what writes a row to it; nothing is written without a directory.

    Raises
    ------
    UsageError
        If the ``tensorboard`` package is not installed, or there can be no such directory.
    """
    if directory is None:
        yield lambda _: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UsageError(
            "--tensorboard: the log needs tensorboard: pip install 'nsa-cli[tensorboard]'"
        ) from None
    try:
        writer: Any = SummaryWriter(directory)
    except OSError as error:
        raise UsageError(f"--tensorboard: cannot write to {directory}: {error.strerror or error}") from None

    def show(row: Mapping[str, Any]) -> None:
        for key, value in row.items():
            if key != "epoch" and isinstance(value, int | float):
                writer.add_scalar(key, value, row["epoch"])

    try:
        yield show
    finally:
        writer.close()
