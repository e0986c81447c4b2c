"""Processes that train one policy together, by torch.distributed; a training alone is a group of one.

Every process goes through the same training and makes the same updates. What takes long, rollouts, is shared
out; what comes of it travels in collectives, which all enter in the same order.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from nsa_cli.core.errors import NsaError, UsageError, shown
from nsa_cli.core.machine import Launch, cores, launch

#: How long a process waits for the others in a collective. They differ by the time of an epoch at most, and
#: by that of compiling an own problem.
_TIMEOUT = timedelta(minutes=20)


class GroupError(NsaError):
    """A process of the group has ended, or does not answer."""

    exit_code = 1


class Group:
    """The processes that a launcher has started with this one; a group of one by default.

    Parameters
    ----------
    process : Launch, optional
        This one among them.

    Attributes
    ----------
    rank, size : int
        Number of this process, from 0, and of all processes.
    threads : int
        Cores for this process.
    attempt : int
        How often the launcher has started these processes before.

    Raises
    ------
    GroupError
        If the others do not come; from its methods, if another process has ended.
    """

    def __init__(self, process: Launch | None = None) -> None:
        self.rank, self.size, self.threads, self.attempt = 0, 1, cores(), 0
        self._store: Any = None
        if process is None:
            return
        from torch.distributed.distributed_c10d import PrefixStore
        from torch.distributed.rendezvous import rendezvous

        self.rank, self.size, self.attempt = process.rank, process.size, process.attempt
        self.threads = max(self.threads // process.local_size, 1)
        with _collective():
            store, _, _ = next(rendezvous("env://", timeout=_TIMEOUT))
            # What the processes of an attempt that failed left in the store is not for this one.
            self._store = PrefixStore(f"nsa attempt {process.attempt}", store)
            dist.init_process_group(
                "gloo", store=self._store, rank=self.rank, world_size=self.size, timeout=_TIMEOUT
            )

    @property
    def leads(self) -> bool:
        """Whether this process writes files and prints."""
        return self.rank == 0

    def part(self, count: int) -> slice:
        """Give the share that this process has of `count` things in a row.

        Shares differ by one at most; with fewer things than processes some are empty.
        """
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def gather(self, rows: Tensor) -> Tensor:
        """Put the rows of all processes together, float64[n, …]: on the CPU, the same bits in each."""
        if self._store is None:
            return rows.cpu()
        parts: list[Any] = [None] * self.size
        with _collective():
            dist.all_gather_object(parts, rows.cpu())
        return torch.cat(parts)

    def share(self, data: bytes | None) -> bytes | None:
        """Give every process what the leading one has."""
        shared = [data]
        if self._store is not None:
            with _collective():
                dist.broadcast_object_list(shared)
        return shared[0]

    def fails_first(self) -> bool:
        """Tell the first process that asks from the others: it says why, and the others end quietly."""
        try:
            return self._store is None or int(self._store.add("failed", 1)) == 1
        except RuntimeError:  # the store has ended with the process that kept it
            return True


@contextlib.contextmanager
def joined() -> Iterator[Group]:
    """Join the processes that a launcher has started with this one, as its environment says.

    Raises
    ------
    UsageError
        If the environment makes no sense, or this build of torch is for single processes.
    GroupError
        If the others do not come.
    """
    if (process := launch()) is None:
        yield Group()
        return
    if not dist.is_available():
        raise UsageError("this build of torch has no torch.distributed; start one process")
    yield Group(process)
    with contextlib.suppress(RuntimeError):
        dist.destroy_process_group()  # not after an error: the others may be in a collective


@contextlib.contextmanager
def _collective() -> Iterator[None]:
    """Context of a collective, which fails when another process has ended.

    Raises
    ------
    GroupError
        In that case.
    """
    try:
        yield
    except RuntimeError as error:
        why = shown(re.sub(r"^\[[^]]*\] *", "", str(error)).partition(". ")[0], 100).strip("'")
        raise GroupError(
            f"another process of the training has ended, or does not answer ({why}); "
            "go on from the last state",
            use={"resume": None},
        ) from None
