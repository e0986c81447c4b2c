"""Units of work shared out in chunks of about a second: in this process, among processes, or among ranks.

What a process that is killed has under way is lost, so that chunks are short; but units done side by side are
done quicker, so that a chunk has several where they are small.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextvars import copy_context
from itertools import accumulate
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")

#: Seconds that a chunk is to take, and how much larger than the last one it may be.
_SECONDS, _GROWTH = 1.0, 4

#: Tells whether to stop.
Stopped: TypeAlias = Callable[[], bool]

#: Does some units: ``do(payloads, share, stopped)`` gives outcomes, each with its place among `payloads`, as
#: they are ready. `share` is the share of the time left that it may take, if time is limited. Once stopped it
#: ends soon; it may leave units out.
Do: TypeAlias = Callable[[Sequence[Any], float, Stopped], Iterable[tuple[int, Any]]]

#: Takes the next so many positions, which nobody else has then; gives the first of them.
Claim: TypeAlias = Callable[[int], int]


class Unit(NamedTuple):
    """A unit of work.

    Attributes
    ----------
    key : str
        Hash of all that its outcome depends on, see `nsa_cli.work.journal.key_of`.
    work : float
        Expected work, in any unit.
    payload : object
        What it takes to do it.
    """

    key: str
    work: float = 1.0
    payload: Any = None


class Chunk(NamedTuple):
    """Units that are done together.

    Attributes
    ----------
    places : list of int
    share : float
        Of the time left, so that each of the units not begun has as much.
    """

    places: list[int]
    share: float


def chunks(units: Sequence[Unit], claim: Claim, hands: int = 1) -> Iterator[Chunk]:
    """Give one of several hands its chunks, the largest units first, each when it asks for the next.

    Parameters
    ----------
    units : sequence of Unit
        The same for all hands.
    claim : callable
    hands : int
    """
    order = sorted(range(len(units)), key=lambda i: (-units[i].work, i))
    count = 1
    while (first := claim(count)) < len(order):
        places, began = order[first : first + count], time.monotonic()
        yield Chunk(places, min(hands * len(places) / (len(order) - first), 1.0))
        seconds = max(time.monotonic() - began, 1e-9)
        most = sum(units[i].work for i in places) * _SECONDS / seconds
        ahead = order[first + len(places) : first + (1 + _GROWTH) * len(places)]
        fitting = sum(work <= most for work in accumulate(units[i].work for i in ahead))
        # The last chunks are small, or one hand would work alone at the end.
        fair = (len(order) - first - len(places)) // (2 * hands) if hands > 1 else fitting
        count = max(min(fitting, fair), 1)


def counter() -> Claim:
    """Make a claim for one process."""
    taken = 0

    def claim(count: int) -> int:
        nonlocal taken
        first, taken = taken, taken + count
        return first

    return claim


def alone(units: Sequence[Unit], do: Do, stopped: Stopped) -> Iterator[tuple[int, Any]]:
    """Do units in this process; give each outcome, with its place, as it is ready.

    Once stopped no more units are begun.
    """
    for places, share in chunks(units, counter()):
        if stopped():
            return
        for k, outcome in do([units[i].payload for i in places], share, stopped):
            yield places[k], outcome


def ahead(items: Generator[T, None, None]) -> Generator[T, None, None]:
    """Let a generator run ahead in a thread, so that whoever takes its items costs it no time.

    Closed early, this waits for the generator's next item, and closes it.
    """
    found, closed = SimpleQueue[Any](), Event()

    def run() -> None:
        end: BaseException | None = None
        try:
            for item in items:
                found.put((item,))
                if closed.is_set():
                    break
            items.close()
        except BaseException as error:  # handed to the one who waits, whatever it is
            end = error
        found.put(end)

    thread = Thread(target=copy_context().run, args=(run,), name="nsa ahead", daemon=True)
    thread.start()
    try:
        while isinstance(item := found.get(), tuple):
            yield item[0]
        if item is not None:
            raise item
    finally:
        closed.set()
        thread.join()
