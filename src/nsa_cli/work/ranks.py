"""Sharing out among the ranks of `torchrun`, through its store; rank 0 has all outcomes.

A rank claims the next units by a counter of the store, and puts each outcome there. When there are none left
it does again what others have under way, and the first outcome counts: a rank that has died or hangs is made
good without anybody having to notice. Nothing but the store is needed, no process group.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from datetime import timedelta
from itertools import count
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from nsa_cli.core.errors import NsaError, StoppedError, UsageError
from nsa_cli.core.extras import need
from nsa_cli.core.launch import Launch
from nsa_cli.work.pickles import pack, unpack
from nsa_cli.work.sharing import Do, Stopped, Unit, chunks

#: Seconds between two looks into the store; that a rank waits before it does again what others have under
#: way, and before it tells, so that the others are first if they are there; that the others have to end; that
#: an agent's store, or another one, has to be there; and that all have to begin.
_LOOK, _PATIENCE, _HEAD_START, _GRACE, _AGENT, _CONNECT, _BEGIN = 0.05, 1.0, 0.5, 3.0, 10.0, 60.0, 300.0


class AloneError(NsaError):
    """The other ranks have gone, or have not come."""

    exit_code = 1


class Ranks:
    """The ranks of one run, as one of them sees them.

    Parameters
    ----------
    store : torch.distributed.Store
    rank, world : int
        Number of this process, from 0, and of all.
    local : int
        Processes on this machine.
    prefix : str
        Of all keys in the store.
    """

    def __init__(self, store: Any, rank: int, world: int, local: int = 1, prefix: str = "nsa") -> None:
        self.rank, self.world, self.local = rank, world, local
        self._store, self._prefix, self._rounds = store, prefix, 0

    @classmethod
    def joined(cls, process: Launch) -> Ranks:
        """Join the ranks that were launched with this process.

        Raises
        ------
        UsageError
            If torch is not installed.
        AloneError
            If the store cannot be reached.
        """
        need("torch", "a run of several ranks")
        from torch.distributed.rendezvous import rendezvous

        patience = _reach()
        try:
            store, _, _ = next(rendezvous("env://", timeout=timedelta(seconds=patience)))
        except (RuntimeError, ValueError) as error:
            address = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
            why = " ".join(str(error).split())[:120]
            raise AloneError(
                f"rank {process.rank}: the store at {address} cannot be reached: {why}"
            ) from None
        # After a restart the keys of the attempt before may still be there.
        return cls(store, process.rank, process.size, process.local_size, f"nsa/{process.attempt}")

    def agree(self, digest: str, gift: Any, stopped: Stopped) -> Any:
        """Check that all ranks have the same in mind; give rank 0's `gift` to all.

        Parameters
        ----------
        digest : str
            Of what is to be the same.
        gift : object
            Anything that can be pickled; rank 0's counts.
        stopped : callable

        Raises
        ------
        UsageError
            If a rank has another digest; at all ranks.
        AloneError
            If a rank does not come.
        StoppedError
            If this one is stopped while it waits.
        """
        self._rounds += 1
        self._set(f"digest/{self.rank}", digest)
        if self.rank == 0:
            there = [self._await(f"digest/{rank}", f"rank {rank}", stopped) for rank in range(self.world)]
            others = [rank for rank, other in enumerate(there) if other != digest]
            self._set("agreed", (others, gift))
        others, gift = self._await("agreed", "rank 0", stopped)
        self._set(f"heard/{self.rank}", True)
        if others and self.rank == 0:  # the store may end with it
            _sleeps(_GRACE, lambda: all(self._has(f"heard/{rank}") for rank in range(self.world)))
        if others:
            numbers = ", ".join(map(str, others[:8])) + (", …" if len(others) > 8 else "")
            raise UsageError(
                f"rank {numbers} has other instances or options than rank 0; "
                "give all ranks the same files and the same command"
            )
        return gift

    def share(self, units: Sequence[Unit], do: Do, stopped: Stopped) -> Iterator[tuple[int, Any]]:
        """Share units out among the ranks; rank 0 gives each outcome, with its place, as it is ready.

        The other ranks give nothing, and end when rank 0 has all outcomes.

        Parameters
        ----------
        units : sequence of Unit
            The same at all ranks, which must call this as often as each other.
        do : callable
        stopped : callable
            Once it is true at rank 0 nothing more is begun anywhere; rank 0 gives what still comes within a
            few seconds. A rank that alone is stopped ends, and the others do its units.

        Raises
        ------
        AloneError
            If the store has gone, and rank 0 with it.
        """
        self._rounds += 1
        if self.rank == 0:
            return self._collect(units, do, stopped)
        numbers = count(1)

        def post(*posted: Any) -> None:
            self._set(f"out/{self.rank}/{next(numbers)}", posted)

        self._take_part(units, do, stopped, post)
        return iter(())

    def fails_first(self) -> bool:
        """Tell the first rank that asks from the others: it says why all end."""
        try:
            return int(self._store.add(f"{self._prefix}/failed", 1)) == 1
        except RuntimeError:  # the store has gone with the process that kept it
            return True

    def _take_part(
        self, units: Sequence[Unit], do: Do, stopped: Stopped, post: Callable[[int, Any, bool], None]
    ) -> None:
        """Do units, one's own and then those of others, until rank 0 has all outcomes or it is enough.

        ``post(place, outcome, late)`` tells rank 0; `late` what was ended by a request to stop.
        """
        halted = self._halting(stopped)
        for places, share in chunks(units, self._claim, self.world):
            if halted():
                break
            for k, outcome in do([units[i].payload for i in places], share, halted):
                post(places[k], outcome, halted())
        idle = time.monotonic()
        while not halted():
            time.sleep(_LOOK)
            if time.monotonic() > idle + _PATIENCE and (left := self._get("left")):
                place = left[(self._add("again", 1) - 1) % len(left)]
                for _, outcome in do([units[place].payload], 1.0, halted):
                    if not _sleeps(_HEAD_START, halted):
                        post(place, outcome, False)
        if self.rank:
            with contextlib.suppress(AloneError):
                self._set(f"bye/{self.rank}", True)

    def _halting(self, stopped: Stopped) -> Stopped:
        """Make a rule that is true once this rank is to stop, or all are."""
        looked, halted = 0.0, False

        def rule() -> bool:
            nonlocal looked, halted
            now = time.monotonic()
            if not halted and now > looked + _LOOK:
                looked = now
                try:
                    halted = self._has("halt")
                except AloneError:  # rank 0 has gone, and nobody wants more
                    halted = True
            return halted or stopped()

        return rule

    def _claim(self, count: int) -> int:
        return self._add("claimed", count) - count

    def _collect(self, units: Sequence[Unit], do: Do, stopped: Stopped) -> Iterator[tuple[int, Any]]:
        """Do units in a thread, and give all outcomes once each."""
        own, heard = SimpleQueue[Any](), dict.fromkeys(range(1, self.world), 1)
        left, held = dict.fromkeys(range(len(units))), dict[int, Any]()

        def work() -> None:
            try:
                self._take_part(units, do, stopped, lambda *posted: own.put(posted))
                own.put(None)
            except BaseException as error:  # handed to the one who waits, whatever it is
                own.put(error)

        thread = Thread(target=copy_context().run, args=(work,), name="nsa rank", daemon=True)
        thread.start()
        told, until = len(units) + 1, float("inf")
        try:
            while left and time.monotonic() < until:
                if stopped() and until == float("inf"):
                    until = time.monotonic() + _GRACE
                    self._set("halt", True)
                    for place in left.keys() & held.keys():
                        del left[place]
                        yield place, held[place]
                ended = until < float("inf") and not thread.is_alive() and self._gone(heard)
                for place, outcome, late in self._posted_since(own, heard):
                    if late and not stopped():
                        held[place] = outcome  # counts only if all are to stop
                    elif place in left:
                        del left[place]
                        yield place, outcome
                if ended and own.empty():
                    break
                if len(left) < told and self._add("claimed", 0) >= len(units):
                    told = len(left)
                    self._set("left", [*left])
        finally:
            with contextlib.suppress(AloneError):
                self._set("halt", True)
            thread.join(_GRACE)
            # The store may end with this process, and with it what the others still have to ask.
            until = min(until, time.monotonic() + _GRACE)
            while not self._gone(heard) and time.monotonic() < until:
                time.sleep(_LOOK)

    def _posted_since(self, own: SimpleQueue[Any], heard: dict[int, int]) -> Iterator[tuple[int, Any, bool]]:
        """Wait a moment; give what this rank and others have posted."""
        with contextlib.suppress(Empty):
            item = own.get(timeout=_LOOK)
            if isinstance(item, BaseException):
                raise item
            if item is not None:
                yield item
        for rank in heard:
            while (posted := self._get(f"out/{rank}/{heard[rank]}")) is not None:
                self._forget(f"out/{rank}/{heard[rank]}")
                heard[rank] += 1
                yield posted

    def _gone(self, others: dict[int, int]) -> bool:
        """Tell whether all others have ended, or nobody can know."""
        try:
            return all(self._has(f"bye/{rank}") for rank in others)
        except AloneError:
            return True

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{self._rounds}/{name}"

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self._store, method)(*arguments)
        except RuntimeError as error:
            why = " ".join(str(error).split())[:120]
            raise AloneError(f"rank {self.rank}: the store of the ranks has gone: {why}") from None

    def _has(self, name: str) -> bool:
        return bool(self._call("check", [self._key(name)]))

    def _get(self, name: str) -> Any:
        """Read a value; None if it is not there."""
        return unpack(self._call("get", self._key(name))) if self._has(name) else None

    def _set(self, name: str, value: Any) -> None:
        self._call("set", self._key(name), pack(value))

    def _add(self, name: str, count: int) -> int:
        return int(self._call("add", self._key(name), count))

    def _forget(self, name: str) -> None:
        self._call("delete_key", self._key(name))

    def _await(self, name: str, who: str, stopped: Stopped) -> Any:
        until = time.monotonic() + _BEGIN
        while (value := self._get(name)) is None:
            if stopped() or time.monotonic() > until:
                if stopped():
                    raise StoppedError("interrupted before all ranks were there")
                raise AloneError(f"rank {self.rank}: {who} has not come")
            time.sleep(_LOOK)
        return value


def _reach() -> float:
    """Wait until the store can be reached; torch would wait for minutes, and tell it in pages.

    Returns
    -------
    float
        Seconds that torch may take to join it.

    Raises
    ------
    AloneError
        If it cannot be.
    """
    rank, host, port = (os.environ[name] for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"))
    by_agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    if rank.strip() == "0" and not by_agent:
        return _BEGIN  # makes it, and waits for the others
    # An agent has its store before it starts ranks.
    until = time.monotonic() + (_AGENT if by_agent else _CONNECT)
    while True:
        try:
            with socket.create_connection((host, int(port)), _AGENT):
                return _AGENT
        except (OSError, OverflowError) as error:
            if time.monotonic() > until:
                message = f"rank {rank}: the store at {host}:{port} cannot be reached: {error}"
                raise AloneError(message) from None
        time.sleep(_LOOK)


def _sleeps(seconds: float, halted: Stopped) -> bool:
    """Sleep so long, or until there is a reason to stop; True in that case."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if halted():
            return True
        time.sleep(_LOOK)
    return halted()
