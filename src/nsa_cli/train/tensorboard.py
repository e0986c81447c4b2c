"""TensorBoard log of a training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nsa_cli.core.errors import UsageError
from nsa_cli.core.extras import how_to_install


@contextmanager
def board(directory: str | None) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Open a log in a directory and give its writer of rows; without a directory it writes nothing.

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
        raise UsageError(f"needs {how_to_install('tensorboard')}", option="tensorboard") from None
    try:
        writer: Any = SummaryWriter(directory)
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"cannot write to {directory}: {why}", option="tensorboard") from None

    def show(row: Mapping[str, Any]) -> None:
        for key, value in row.items():
            if key != "epoch" and isinstance(value, int | float):
                writer.add_scalar(key, value, row["epoch"])

    try:
        yield show
    finally:
        writer.close()
