"""Units of work through an executor: in this process, in processes of this machine, or on a cluster.

What a process that is killed has under way is lost, so that units are done in chunks of about a second: units
side by side are done quicker, so that a chunk has several where they are small.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import multiprocessing
import os
import signal
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, NamedTuple, ParamSpec, TypeAlias, TypeVar

from nsa_cli.core.errors import NsaError, UsageError
from nsa_cli.core.extras import need
from nsa_cli.core.machine import cores, launch
from nsa_cli.core.options import SEARCH, parse_count, read_settings, setting

P = ParamSpec("P")
T = TypeVar("T")

#: Seconds that a chunk is to take, and how much larger than the last one it may be.
_SECONDS, _GROWTH = 1.0, 4

#: Seconds between two looks for a reason to stop, and that a scheduler has to answer.
_LOOK, _PATIENCE = 0.1, 10.0

#: What a worker process is asked for: to end what it has under way, and to leave at once.
_STOP, _LEAVE = 1, 2

#: Tells whether to stop.
Stopped: TypeAlias = Callable[[], bool]

#: Does some units: ``do(payloads, share, stopped)`` gives outcomes, each with its place among `payloads`.
#: `share` is the share of the time left that it may take, if time is limited. Once stopped it ends soon, and
#: may leave units out.
Do: TypeAlias = Callable[[Sequence[Any], float, Stopped], Iterable[tuple[int, Any]]]

Outcomes: TypeAlias = list[tuple[int, Any]]


class LostError(NsaError):
    """A unit that ends the process that does it."""

    exit_code = 1


class ClusterError(NsaError):
    """A cluster that has gone, or cannot do its work."""

    exit_code = 1


class Unit(NamedTuple):
    """A unit of work.

    Attributes
    ----------
    key : str
        Hash of all that its outcome depends on, see `nsa_cli.io.journal.key_of`.
    work : float
        Expected work, in any unit.
    payload : object
        What it takes to do it.
    """

    key: str
    work: float = 1.0
    payload: Any = None


@dataclass(frozen=True)
class Pool:
    """Who is to do units; this process by default.

    Attributes
    ----------
    jobs : int
        Share many instances out among N processes.
    cluster : str, optional
        Share them out among the workers of a Dask scheduler: tcp://host:8786.

    Raises
    ------
    UsageError
        If there are no so many processes, or there is more than one of the two.
    """

    jobs: int = setting(1, SEARCH, parse_count, "N", short=("-j",))
    cluster: str | None = setting(None, SEARCH, metavar="ADDRESS")

    def __post_init__(self) -> None:
        read_settings(self)
        if self.cluster is not None:
            if self.jobs != 1:
                raise UsageError("a cluster has processes of its own", option="jobs", drop={"jobs": None})
            need("distributed", "", "cluster")

    @property
    def threads(self) -> int | None:
        """Threads for a unit, so that all together have a core each; None where it has all cores."""
        if self.cluster is not None:
            return 1  # a worker counts a thread of its own for each core
        return max(cores() // self.jobs, 1) if self.jobs > 1 else None

    def executors(self) -> contextlib.AbstractContextManager[Executors]:
        """Make its executors, for a while.

        Raises
        ------
        UsageError
            If there is no such cluster.
        """
        if self.cluster is not None:
            return _on_cluster(self.cluster)
        return _in_processes(self.jobs) if self.jobs > 1 else contextlib.nullcontext(Executors([_Here()]))


#: This process.
HERE = Pool()


def check_alone() -> None:
    """Refuse to be one of several processes that torchrun has started, which are for trainings.

    Raises
    ------
    UsageError
        If this process is.
    """
    if launch() is not None:
        raise UsageError("torchrun is for trainings", use={"jobs": "N", "cluster": "ADDRESS"})


@dataclass
class Executors:
    """Executors, each of which does one chunk at a time.

    Attributes
    ----------
    idle : list of Executor
        Those without work.
    run : callable, optional
        What they are given: ``run(do, payloads, share)``, which has outcomes as a list.
    renewed : callable
        Gives another executor for one that has lost a chunk.
    halt : callable
        Asks them to end what is under way.
    lost : type of Exception
        What a chunk raises whose process has died.
    """

    idle: list[Executor]
    run: Callable[[Do, Sequence[Any], float], Outcomes] | None = None
    renewed: Callable[[Executor], Executor] = lambda executor: executor
    halt: Callable[[], None] = lambda: None
    lost: type[Exception] = BrokenExecutor

    def __post_init__(self) -> None:
        self.count = len(self.idle)

    def share(
        self, units: Sequence[Unit], do: Do, stopped: Stopped
    ) -> Generator[tuple[int, Any], None, None]:
        """Share units out; give each outcome, with its place, as its chunk is ready.

        Parameters
        ----------
        units : sequence of Unit
        do : callable
            Can be pickled, as their payloads can, unless this process does them.
        stopped : callable
            Once it is true nothing more is begun, and what is under way is asked to end.

        Yields
        ------
        tuple of int and object
            A `LostError` for a unit that ended its process twice, the second time alone.
        """
        run = self.run or (lambda do, payloads, part: [*do(payloads, part, stopped)])
        waiting = _Waiting([unit.work for unit in units], self.count)
        running: dict[Future[Outcomes], tuple[Executor, list[int], float]] = {}
        while running or (waiting and not stopped()):
            while self.idle and waiting and not stopped():
                executor, (places, part) = self.idle.pop(), waiting.take()
                future = executor.submit(run, do, [units[i].payload for i in places], part)
                running[future] = executor, places, time.monotonic()
            ended, _ = wait(running, _LOOK, FIRST_COMPLETED)
            if stopped():
                self.halt()
            for future in ended:
                executor, places, begun = running.pop(future)
                if future.cancelled():
                    if not stopped():
                        raise ClusterError("the cluster's scheduler has gone; the same command goes on")
                elif isinstance(error := future.exception(), self.lost):
                    self.idle.append(self.renewed(executor))
                    yield from ((i, LostError("ended its process twice")) for i in waiting.again(places))
                elif error is not None:
                    raise error
                else:
                    self.idle.append(executor)
                    waiting.took(places, time.monotonic() - begun)
                    yield from ((places[k], outcome) for k, outcome in future.result())


class _Waiting:
    """Units that have not begun, the largest first, but before them those whose process has died, each alone.

    Parameters
    ----------
    work : sequence of float
        Expected of each.
    count : int
        Who take them at the same time.
    """

    def __init__(self, work: Sequence[float], count: int) -> None:
        self._work, self._count = work, count
        self._order = deque(sorted(range(len(work)), key=lambda i: (-work[i], i)))
        self._alone, self._tried = deque[int](), set[int]()
        self._size, self._pace = 1, 0.0

    def __len__(self) -> int:
        return len(self._alone) + len(self._order)

    def take(self) -> tuple[list[int], float]:
        """Give the places of the next chunk, and its share of the time, as much for each that waits."""
        count = len(self)
        if self._alone:
            places = [self._alone.popleft()]
        else:
            places = [self._order.popleft() for _ in range(self._next_size())]
        return places, min(self._count * len(places) / count, 1.0)

    def _next_size(self) -> int:
        ahead = accumulate(self._work[i] for i in islice(self._order, _GROWTH * self._size))
        fitting = sum(work <= self._pace * _SECONDS for work in ahead)
        # The last chunks are small, or one executor would work alone at the end.
        fair = len(self._order) // (2 * self._count) if self._count > 1 else fitting
        return max(min(fitting, fair), 1)

    def took(self, places: Sequence[int], seconds: float) -> None:
        """Note how long a chunk has taken."""
        self._size = len(places)
        self._pace = sum(self._work[i] for i in places) / max(seconds, 1e-9)

    def again(self, places: Sequence[int]) -> list[int]:
        """Put back what has ended its process; give what has done so for the second time."""
        twice = [i for i in places if i in self._tried] if len(places) == 1 else []
        self._tried.update(places)
        self._alone.extend(i for i in places if i not in twice)
        return twice


class _Here(Executor):
    """Does at once what is submitted."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future = Future[T]()
        future.set_result(fn(*args, **kwargs))
        return future


@contextlib.contextmanager
def _in_processes(jobs: int) -> Iterator[Executors]:
    """Make worker processes, each in an executor of its own: one that dies takes no other with it."""
    context = multiprocessing.get_context("spawn")
    asked = context.RawValue("b", 0)  # no Event: its lock would stay locked with a process that is killed
    with contextlib.ExitStack() as made:

        def make(_: Executor | None = None) -> Executor:
            return made.enter_context(_Process(1, context, _begin, (asked,)))

        try:
            stop = partial(setattr, asked, "value", _STOP)
            yield Executors([make() for _ in range(jobs)], _in_process, make, stop)
        finally:
            asked.value = _LEAVE


class _Process(ProcessPoolExecutor):
    """Executor of one process."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        # The process inherits the mask: Ctrl-C is for its parent, which asks it to end.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
        try:
            future = super().submit(fn, *args, **kwargs)
        except BrokenExecutor as error:  # it has died without work
            future = Future()
            future.set_exception(error)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        # This end of the pipe is the worker's. Were it open here, a worker that is killed in the middle of a
        # long answer would leave a reader that waits for the rest.
        with contextlib.suppress(AttributeError):
            self._result_queue._writer.close()  # type: ignore[attr-defined]
        return future


#: In a worker process, what it is asked for.
_asked: Any = None


def _begin(asked: Any) -> None:
    """Begin as a worker process, which ends with its parent."""
    global _asked
    _asked = asked
    gc.set_threshold(200_000, 10, 100)
    os.dup2(2, 1)  # what a user's functions print is not among the answers
    Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    while parent.is_alive() and _asked.value != _LEAVE:
        parent.join(_LOOK)
    os._exit(0)


def _in_process(do: Do, payloads: Sequence[Any], part: float) -> Outcomes:
    return [*do(payloads, part, lambda: bool(_asked.value))]


@contextlib.contextmanager
def _on_cluster(address: str) -> Iterator[Executors]:
    """Let the workers of a scheduler do units, which it gives to others if they die."""
    from distributed import Client
    from distributed.scheduler import KilledWorker

    logging.disable(logging.CRITICAL)  # tracebacks of connections, for what comes as an error, too
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other versions, large instances: what fails says so
        try:
            client = Client(address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            why = f"no scheduler answers at {address}: {error}; start one: dask scheduler"
            raise UsageError(why, option="cluster") from None
        with client:
            if not (count := sum(client.nthreads().values())):
                why = f"no worker at {address}; start some: dask worker {address}"
                raise UsageError(why, option="cluster")
            executor = client.get_executor(pure=False)
            halt = partial(executor.shutdown, wait=False)
            try:
                yield Executors([executor] * count, _at_worker, halt=halt, lost=KilledWorker)
            except NsaError:
                raise
            except Exception as error:  # of the workers' imports, of connections
                raise ClusterError(f"the cluster at {address}: {type(error).__name__}: {error}") from None
            finally:
                halt()
                logging.disable(logging.NOTSET)


def _at_worker(do: Do, payloads: Sequence[Any], part: float) -> Outcomes:
    """Do units in a thread of a cluster's worker, until nobody wants them any more."""
    from distributed import get_worker
    from distributed.utils import thread_state

    tasks, key = get_worker().state.tasks, thread_state.key

    def stopped() -> bool:
        return key not in tasks or tasks[key].state == "cancelled"

    return [*do(payloads, part, stopped)]


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
