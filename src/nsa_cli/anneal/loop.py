"""The loop over chunks of steps, for every engine: its clock, goals, progress, and the length of a chunk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from typing import NamedTuple

from nsa_cli.anneal.adaptive import AdaptiveSchedule
from nsa_cli.anneal.chains import Chains
from nsa_cli.anneal.goals import Goal, GoalWatch, InstanceEnd
from nsa_cli.anneal.progress import Progress
from nsa_cli.anneal.schedule import NEVER, Schedule
from nsa_cli.core.clock import Clock

#: A chunk is to take about this long, in seconds: short to a user, long to an interpreter.
_CHUNK_SECONDS = 0.1

#: Before a deadline it is to take at most this share of the whole time, for its temperatures are those of the
#: pace so far, and this share of what is left, for paces change; but at least so many seconds, for a look
#: round takes some 50 us.
_CHUNK_SHARE, _CHUNK_OF_LEFT, _CHUNK_LEAST = 1 / 6, 1 / 3, 0.0005

#: The same where a schedule samples the chains after each chunk.
_WATCHED_SHARE = 1 / 300

#: Steps of the first chunk: of a million dimensions each takes long. And how much longer the next one may be.
_FIRST_CHUNK, _GROWTH = 1, 8.0


class End(NamedTuple):
    """How a run ended.

    Attributes
    ----------
    reason : str
        ``steps``, or what the clock or the last goal said.
    reached : mapping
        Instances that reached a goal, by their number in the batch.
    """

    reason: str
    reached: Mapping[int, InstanceEnd]


def run_chains(
    chains: Chains,
    schedule: Schedule | AdaptiveSchedule,
    clock: Clock | None = None,
    *,
    chunk: int | None = None,
    looks: int | None = None,
    goals: tuple[Goal, ...] = (),
    rows: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> End:
    """Take chains through a whole schedule, or until the clock or their goals stop them.

    Parameters
    ----------
    chains : Chains
    schedule : Schedule or AdaptiveSchedule
        The last one is for the chains of one instance, and is used up.
    clock : Clock, optional
        Chunks get short enough for its end.
    chunk : int, optional
        Steps between two looks at the clock; by default what takes a tenth of a second. It changes
        nothing in the result of a run that is not stopped.
    looks : int, optional
        Least number of chunks, for a curve of the run.
    goals : tuple of Goal
        Checked at steps that depend on nothing but their number; the run ends when every instance has
        reached one.
    rows : int
        Consecutive chains that belong to one instance, for `goals`.
    on_progress : callable, optional
        Called before the first chunk and after each.
    """
    clock = clock or Clock()
    most = min(-(-schedule.steps // looks) if looks else schedule.steps, chains.most)
    share = _WATCHED_SHARE if isinstance(schedule, AdaptiveSchedule) else _CHUNK_SHARE
    chunks = repeat(chunk) if chunk else _timed_chunks(chains, max(most, 1), clock, share)
    full = on_progress is not None
    first = schedule.temperatures(0, 1)[0] if schedule.steps else schedule.t_start
    progress, watch = _progress(chains, schedule, float(first), full=full), GoalWatch(goals, rows)
    if on_progress is not None:
        on_progress(progress)
    before = -1
    while chains.step < schedule.steps:
        # A chunk may have taken no steps: it went on with what comes before them.
        if goals and chains.step in (watch.due, before) and watch.look(chains):
            return End(list(watch.reached.values())[-1].reason, watch.reached)
        if isinstance(schedule, AdaptiveSchedule) and chains.step >= schedule.due:
            schedule.look(chains)
        if (reason := clock.reason()) is not None:
            return End(reason, watch.reached)
        due = (schedule.due or schedule.steps, watch.due if goals else schedule.steps)
        last = min(chains.step + next(chunks), schedule.steps, *due)
        temperatures = schedule.temperatures(chains.step, last)
        before = chains.step
        chains.advance(temperatures, float(schedule.fractions(chains.step, chains.step + 1)[0]))
        progress = _progress(chains, schedule, float(temperatures[-1]), full=full)
        if on_progress is not None:
            on_progress(progress)
    return End("steps", watch.reached)


def _timed_chunks(chains: Chains, most: int, clock: Clock, share: float) -> Iterator[int]:
    """Chunks of equal time, by the pace of the last one; they grow step by step."""
    chunk, now = _FIRST_CHUNK, time.monotonic()
    span = clock.left
    while True:
        begin, before = now, chains.step
        yield min(chunk, most)
        now = time.monotonic()
        done, seconds = chains.step - before, max(now - begin, 1e-9)
        if done:  # a chunk without steps says nothing of their pace
            wanted = _chunk_seconds(span, clock.left, share)
            chunk = max(int(min(done * wanted / seconds, _GROWTH * chunk, most)), 1)


def _chunk_seconds(span: float, left: float, share: float) -> float:
    """Seconds that a chunk is to take, of a time span of which so much is left."""
    wanted = max(min(span * share, left * _CHUNK_OF_LEFT), _CHUNK_LEAST)
    return min(wanted, _CHUNK_SECONDS, left)


def _progress(
    chains: Chains, schedule: Schedule | AdaptiveSchedule, temperature: float, *, full: bool
) -> Progress:
    """Progress of the chains; mean and lowest energy only if `full`: they take as long as a short chunk."""
    accepted = chains.accepted
    progress = Progress(
        chains.step,
        None if schedule.steps == NEVER else schedule.steps,
        temperature,
        float(accepted.sum()) / len(accepted) / max(chains.step, 1),
        float(chains.best_energy.min()),
        phase=chains.phase,
        doing=chains.doing,
        chains=chains,
    )
    if not full:
        return progress
    energy = chains.energy
    return progress._replace(mean=float(energy.mean()), lowest=float(energy.min()))
