"""What a launcher of several processes, such as `torchrun`, tells each of them through the environment."""

from __future__ import annotations

import os
from typing import NamedTuple

from nsa_cli.core.errors import UsageError, shown


class Launch(NamedTuple):
    """A process among those that were launched together.

    Attributes
    ----------
    rank, size : int
        Number of this process, from 0, and of all.
    local_rank, local_size : int
        The same of those on this machine.
    attempt : int
        How often all were started again.
    """

    rank: int
    size: int
    local_rank: int
    local_size: int
    attempt: int


def launch() -> Launch | None:
    """Read what the environment tells; None for a process that is on its own.

    Raises
    ------
    UsageError
        If it tells half of it, or what cannot be.
    """
    attempt = _number("TORCHELASTIC_RESTART_COUNT")
    size = _number("WORLD_SIZE", 1)
    if size is None or (size == 1 and attempt is None):
        return None
    rank, port = _number("RANK"), _number("MASTER_PORT", most=65535)
    told = {"RANK": rank, "MASTER_ADDR": os.environ.get("MASTER_ADDR") or None, "MASTER_PORT": port}
    if missing := [name for name, value in told.items() if value is None]:
        raise UsageError(
            f"WORLD_SIZE={size} in the environment, but no {' or '.join(missing)}; start processes with "
            "torchrun, or take it out"
        )
    assert rank is not None
    if rank >= size:
        raise UsageError(f"RANK={rank} in the environment: expected less than WORLD_SIZE, {size}")
    local_rank, local_size = _number("LOCAL_RANK"), _number("LOCAL_WORLD_SIZE", 1)
    return Launch(rank, size, local_rank or 0, local_size or 1, attempt or 0)


def several() -> Launch | None:
    """Read what the environment tells; None unless there are other processes.

    Raises
    ------
    UsageError
        As for `launch`.
    """
    process = launch()
    return None if process is None or process.size == 1 else process


def _number(name: str, least: int = 0, most: int = 10**9) -> int | None:
    """Read a whole number; None if it is not there."""
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and least <= int(text) <= most):
        raise UsageError(
            f"{name}={shown(text)} in the environment: expected a whole number from {least} to {most}, "
            "as torchrun sets it"
        )
    return int(text)
