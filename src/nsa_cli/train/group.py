"""Processes that train one policy together, by torch.distributed; a training alone is a group of one.

Every process goes through the same training and makes the same updates. What takes long, rollouts and
gradients, is shared out; what comes of it travels in collectives, which all enter in the same order.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor

from nsa_cli.core.errors import NsaError, UsageError, shown
from nsa_cli.core.machine import cores

#: How long a process waits for the others in a collective. They differ by the time of an epoch at most, and
#: by that of compiling an own problem.
_TIMEOUT = timedelta(minutes=20)

#: Key of the store under which an earlier attempt of torchrun noted that its training had begun.
_BEGUN = "nsa training begun"


class LostError(NsaError):
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
        LostError
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
    backend : str
        Of torch.distributed.
    """

    def __init__(self, backend: str) -> None:
        super().__init__()
        import torch.distributed as dist
        from torch.distributed.rendezvous import rendezvous

        self._dist = dist
        self.threads = max(self.threads // _number("LOCAL_WORLD_SIZE", 1), 1)
        self.rank, self.size = _number("RANK", 0), _number("WORLD_SIZE", 1)
        with _collective():
            self._store, _, _ = next(rendezvous("env://", timeout=_TIMEOUT))
            dist.init_process_group(
                backend, store=self._store, rank=self.rank, world_size=self.size, timeout=_TIMEOUT
            )

    def gather(self, rows: Tensor, count: int) -> Tensor:
        shares = [self.part(count, rank) for rank in range(self.size)]
        most = max(share.stop - share.start for share in shares)
        padded = rows.new_zeros((most, *rows.shape[1:]), device="cpu")
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
            return _number("TORCHELASTIC_RESTART_COUNT", 0) > 0 and bool(self._lasting.check([_BEGUN]))

    @property
    def _lasting(self) -> Any:
        """The store without the prefix that each attempt of torchrun has."""
        return getattr(self._store, "underlying_store", self._store)

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
        Where rollouts are: gradients on a GPU are summed by NCCL, all else by gloo.

    Raises
    ------
    UsageError
        If the environment says half of what it should.
    LostError
        If the others do not come.
    """
    if _number("WORLD_SIZE", 1) == 1 and "TORCHELASTIC_RESTART_COUNT" not in os.environ:
        yield Group()
        return
    missing = [name for name in ("RANK", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
    if missing:
        raise UsageError(f"WORLD_SIZE is set, and {', '.join(missing)} not; start processes with torchrun")
    if not torch.distributed.is_available():
        raise UsageError("this build of torch has no torch.distributed; start one process")
    group = LaunchedGroup("cpu:gloo,cuda:nccl" if device.startswith("cuda") else "gloo")
    yield group
    group.leave()  # not after an error: the others may be in a collective


@contextlib.contextmanager
def _collective() -> Iterator[None]:
    """Context of a collective, which fails when another process has ended.

    Raises
    ------
    LostError
        In that case.
    """
    try:
        yield
    except RuntimeError as error:
        why = shown(str(error).partition(". ")[0], 120)
        raise LostError(
            f"another process of the training has ended, or does not answer ({why}); "
            "go on from the last state",
            use={"resume": None},
        ) from None


def _number(name: str, default: int) -> int:
    """Read a whole number of a launcher's environment.

    Raises
    ------
    UsageError
        If it is none.
    """
    text = os.environ.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"{name}: expected a whole number in the environment, got {shown(text)}")
    return int(text)
