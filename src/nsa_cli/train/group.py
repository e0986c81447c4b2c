"""Processes that train one policy together, by torch.distributed; a training alone is a group of one.

Every process goes through the same training and makes the same updates. What takes long, rollouts and
gradients, is shared out; what comes of it travels in collectives, which all enter in the same order.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor

from nsa_cli.core.errors import NsaError, UsageError, shown
from nsa_cli.core.launch import Launch, launch
from nsa_cli.core.machine import cores

#: How long a process waits for the others in a collective. They differ by the time of an epoch at most, and
#: by that of compiling an own problem.
_TIMEOUT = timedelta(minutes=20)

#: Key of the store under which an earlier attempt of torchrun noted that its training had begun.
_BEGUN = "nsa training begun"


class GroupError(NsaError):
    """A process of the group has ended, or does not answer."""

    exit_code = 1


class Group:
    """A group of one process.

    Attributes
    ----------
    rank, size : int
        Number of this process, from 0, and of all processes.
    threads : int
        Cores for this process.
    """

    rank, size = 0, 1

    def __init__(self) -> None:
        self.threads = cores()

    @property
    def leads(self) -> bool:
        """Whether this process writes files and prints."""
        return self.rank == 0

    def part(self, count: int, rank: int | None = None) -> slice:
        """Give the share that a process, this one by default, has of `count` things in a row.

        Shares differ by one at most; with fewer things than processes some are empty.
        """
        rank = self.rank if rank is None else rank
        return slice(count * rank // self.size, count * (rank + 1) // self.size)

    def gather(self, rows: Tensor, count: int) -> Tensor:
        """Put the shares of all processes together, in order.

        Parameters
        ----------
        rows : float64[n, …]
            Those of ``part(count)``, on any device.
        count : int
            Rows of all processes.

        Returns
        -------
        float64[count, …]
            On the CPU, the same bits in every process.

        Raises
        ------
        GroupError
            If another process has ended, as in every collective.
        """
        return rows.cpu()

    def sum(self, vector: Tensor) -> Tensor:
        """Sum a vector over all processes, in place; the same bits in every process."""
        return vector

    def share(self, data: bytes | None) -> bytes | None:
        """Give every process what the leading one has."""
        return data

    def begin(self) -> None:
        """Note that the training has begun: an attempt after this one goes on with it."""

    @property
    def begun(self) -> bool:
        """Whether an earlier attempt of the same launch has begun this training."""
        return False

    def fails_first(self) -> bool:
        """Tell the first process that asks from the others: it says why, and the others end quietly."""
        return True

    def largest(self, number: int) -> int:
        """Give the largest of all processes' whole numbers."""
        return int(self.gather(torch.full((1,), number, dtype=torch.float64), self.size).max())

    def check_same(self, number: int) -> None:
        """Insist on the same whole number, below 2**53, in all processes.

        Raises
        ------
        NsaError
            If they differ: rounding is another one on another kind of machine.
        """
        numbers = self.gather(torch.full((1,), number, dtype=torch.float64), self.size)
        if (numbers != numbers[0]).any():
            raise NsaError("processes have come to different policies; start them on machines of one kind")


class LaunchedGroup(Group):
    """A group that torchrun, or another launcher, has started.

    Parameters
    ----------
    process : Launch
    backend : str
        Of torch.distributed.

    Raises
    ------
    GroupError
        If the others do not come.
    """

    def __init__(self, process: Launch, backend: str) -> None:
        super().__init__()
        import torch.distributed as dist
        from torch.distributed.distributed_c10d import PrefixStore
        from torch.distributed.rendezvous import rendezvous

        self._dist, self._attempt = dist, process.attempt
        self.threads = max(self.threads // process.local_size, 1)
        self.rank, self.size = process.rank, process.size
        with _collective():
            lasting, _, _ = next(rendezvous("env://", timeout=_TIMEOUT))
            # What the processes of an attempt that failed left in the store is not for this one.
            self._store: Any = PrefixStore(f"nsa attempt {process.attempt}", lasting)
            #: Without the prefix that some versions of torch give each attempt.
            self._lasting: Any = getattr(lasting, "underlying_store", lasting)
            dist.init_process_group(
                backend, store=self._store, rank=self.rank, world_size=self.size, timeout=_TIMEOUT
            )

    def gather(self, rows: Tensor, count: int) -> Tensor:
        shares = [self.part(count, rank) for rank in range(self.size)]
        most = max(share.stop - share.start for share in shares)
        padded = torch.zeros((most, *rows.shape[1:]), dtype=torch.float64)
        padded[: len(rows)] = rows
        parts = [torch.empty_like(padded) for _ in shares]
        with _collective():
            self._dist.all_gather(parts, padded)
        return torch.cat([part[: s.stop - s.start] for part, s in zip(parts, shares, strict=True)])

    def sum(self, vector: Tensor) -> Tensor:
        with _collective():
            self._dist.all_reduce(vector)
        return vector

    def share(self, data: bytes | None) -> bytes | None:
        length = self.largest(-1 if data is None or not self.leads else len(data))
        if length < 0:
            return None
        whole = torch.zeros(length, dtype=torch.uint8)
        if self.leads and length:
            whole = torch.frombuffer(bytearray(data or b""), dtype=torch.uint8)
        with _collective():
            self._dist.broadcast(whole, 0)
        return whole.numpy().tobytes()

    def begin(self) -> None:
        if self.leads:
            with _collective():
                self._lasting.set(_BEGUN, "1")

    @property
    def begun(self) -> bool:
        with _collective():
            return self._attempt > 0 and bool(self._lasting.check([_BEGUN]))

    def fails_first(self) -> bool:
        try:
            return int(self._store.add("failed", 1)) == 1
        except RuntimeError:  # the store has ended with the process that kept it
            return True

    def leave(self) -> None:
        """End the group, which all processes do."""
        with contextlib.suppress(RuntimeError):
            self._dist.destroy_process_group()


@contextlib.contextmanager
def joined(device: str) -> Iterator[Group]:
    """Join the processes that a launcher has started with this one, as its environment says.

    Parameters
    ----------
    device : str
        Where rollouts may be: gradients on a GPU are summed by NCCL, all else by gloo.

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
    if not torch.distributed.is_available():
        raise UsageError("this build of torch has no torch.distributed; start one process")
    # Without NCCL there is no GPU either, and `choose_device` says so.
    by_nccl = device.startswith("cuda") and torch.distributed.is_nccl_available()
    group = LaunchedGroup(process, "cpu:gloo,cuda:nccl" if by_nccl and torch.cuda.is_available() else "gloo")
    yield group
    group.leave()  # not after an error: the others may be in a collective


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
