"""Proofs of optimality: beside the chains where time is limited, after them where it is not.

With a time limit, a proof begins in a thread of its own once chains have a first answer. It hears of better
ones and hands over its own, and the run ends where the two meet. Without a limit a proof follows the chains,
and its effort is counted, so that the same seed gives the same answer whatever the machine.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

from nsa_cli.anneal.chains import Chains, Progress
from nsa_cli.anneal.loop import End, InstanceEnd
from nsa_cli.core.bound import Bound, is_as_good
from nsa_cli.core.clock import Clock
from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Proof, Task
from nsa_cli.solver.batch import Batch

#: Effort of a proof after the chains: about a second.
_EFFORT = 150_000.0

#: Elements of an instance at most whose proof follows chains by itself.
_MOST_AFTER = 2_000

#: Seconds for each element that a run needs for a proof beside the chains.
_ELEMENT_SECONDS = 4e-3

#: Elements at most of an instance whose proof is worth as much of a processor as the chains all along; others
#: are until they have had a share of the time, in seconds of the processor, and then have this niceness.
_EQUAL, _EQUAL_SHARE, _NICE = 200, 0.1, 19

#: Seconds an element between two looks at the chains' best solutions. Chains of few elements that have not
#: improved for the second number wait so long, each chunk.
_LOOK, _STANDSTILL, _PAUSE = 1e-4, 1e-3, 0.3

#: Share of the time, at most, and seconds before the end at which a proof ends; and after which nobody waits.
_EARLY, _EARLY_SECONDS, _GRACE = 0.05, 0.02, 0.05

#: Seconds between two pictures of a proof that follows chains.
_SHOWN = 0.1


def stronger(task: Task, bound: Bound | None, proof: Proof, known: Solution | None) -> Bound | None:
    """Take the better one of a bound and a proof's, with the proof's solution if it beats a known one."""
    limit, sense, value = proof.limit, task.problem.sense, task.instance.exact_objective
    beaten = known is not None and is_as_good(value(known), value(proof.solution), sense)
    found = None if beaten else proof.solution
    if limit is None or not (bound is None or proof.proved or not is_as_good(limit, bound.unrounded, sense)):
        return bound and replace(bound, solution=found)
    fields = {
        "seconds": bound.seconds if bound else 0.0,
        "witness": proof.witness() if proof.proved else None,
    }
    return Bound.of(limit, sense, exact=proof.proved, method=proof.method, solution=found, **fields)


class Beside:
    """A proof in a thread beside the chains of one instance, or none.

    Parameters
    ----------
    batch : Batch
    tasks : sequence of Task
        That are open.
    bounds : sequence of Bound or None

    Attributes
    ----------
    clock : Clock
        For the chains, which ends them when the proof has met them.
    """

    def __init__(self, batch: Batch, tasks: Sequence[Task], bounds: Sequence[Bound | None]) -> None:
        self._batch, self._bound, self._task = batch, bounds[0], tasks[0]
        self._proof: Proof | None = None
        self._work: Future[None] | None = None
        self._reason: str | None = None
        self._closed, self._best, self._due, self._looks = False, math.inf, 0.0, 0
        clock, long = batch.clock, _ELEMENT_SECONDS * tasks[0].instance.size <= batch.clock.left
        self._applies = len(tasks) == 1 and batch.by_time and batch.proves and long
        self.clock = replace(clock, asked=lambda: self._met() or clock.asked()) if self._applies else clock

    def watching(self, show: Callable[[Progress], None] | None) -> Callable[[Progress], None] | None:
        """Give what is to be called with the progress of the chains: it looks, and then shows."""
        if not self._applies:
            return show

        def look(progress: Progress) -> None:
            assert progress.chains is not None
            self._look(progress.chains)
            if show is not None:
                bound = self._stronger()
                show(progress if bound is None else progress._replace(bound=float(bound.value)))

        return look

    def _look(self, chains: Chains) -> None:
        """Begin, or hand the chains' best solution over."""
        now, best, instance = time.monotonic(), float(chains.best_energy.min()), self._task.instance
        self._looks += 1
        still = best >= self._best and now > self._due + _STANDSTILL * instance.size
        if self._work and still and instance.size <= _EQUAL:
            wait([self._work], min(_PAUSE, self._batch.clock.left))
        if self._looks < 2 or best >= self._best or now < self._due:
            return
        solution = chains.best[int(chains.best_energy.argmin())].copy()
        if instance.violation(solution) is not None or (
            self._work and not (self._proof or self._work.done())
        ):
            return  # or it is still being prepared
        self._best, self._due = best, now + _LOOK * instance.size
        if self._work is None:
            self._work = ThreadPoolExecutor(1, "nsa proof").submit(self._run, solution)
        elif self._proof is not None:
            self._proof.offer(solution, instance.exact_objective(solution))

    def _run(self, solution: Solution) -> None:
        """Prove, in the thread."""
        instance, clock = self._task.instance, self._batch.clock
        equal = _EQUAL_SHARE * (clock.end - clock.began) if instance.size > _EQUAL else math.inf

        def asked() -> bool:
            nonlocal equal
            if time.thread_time() > equal and sys.platform == "linux":
                equal = math.inf
                with suppress(OSError):
                    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.nice(0) + _NICE)
            return self._closed or clock.asked()

        own = replace(clock, end=clock.end - min(_EARLY * clock.left, _EARLY_SECONDS), asked=asked)
        self._proof = self._task.problem.proof(instance, solution, own, math.inf)
        if self._proof is not None:
            self._proof.run()

    def _met(self) -> bool:
        """Tell whether the run is over: there is a proof, or the gap is small enough."""
        if (proof := self._proof) is None:
            return False
        if proof.proved:
            self._reason = "optimal"
        elif (share := self._batch.settings.gap) is not None and math.isfinite(self._best):
            bound = self._stronger()
            best = Fraction(self._task.instance.exact_objective(proof.solution))
            if bound is not None and bound.is_near(best, self._task.problem.sense, share):
                self._reason = "gap"
        return self._reason is not None

    def _stronger(self, known: Solution | None = None) -> Bound | None:
        """Give the better bound so far."""
        return stronger(self._task, self._bound, self._proof, known) if self._proof else self._bound

    def close(self, end: End, chains: Chains) -> tuple[End, Bound | None]:
        """End the thread; give the end of the run with its reason, and the better bound."""
        self._closed = True
        if self._work is not None:
            with suppress(TimeoutError):
                self._work.result(None if self._reason else _GRACE)
        if self._reason is not None and end.reason == "interrupted":
            end = end._replace(reason=self._reason)
        return end, self._stronger(_best_of(self._task, chains.best))


def after(
    batch: Batch, task: Task, bound: Bound | None, end: InstanceEnd, show: Callable[[Progress], None] | None
) -> Bound | None:
    """Prove an answer after the chains, where no time limit and no steps are given."""
    instance, settings = task.instance, batch.settings
    if batch.clock.is_limited or not batch.proves or end.reason not in ("steps", "no_improvement"):
        return bound
    if not settings.prove and instance.size > _MOST_AFTER:
        return bound
    best = _best_of(task, end.best)

    def picture(proof: Proof) -> None:
        if show is not None and settings.prove:
            value, limit = float(instance.objective(proof.solution)), proof.limit
            known = None if limit is None else float(limit)
            doing = f"proof, {proof.open} cases open"
            show(Progress(end.step, end.step, 0.0, 0.0, value, bound=known, phase="proof", doing=doing))

    effort = math.inf if settings.prove else _EFFORT
    return bound if best is None else _proved(task, bound, best, batch.clock, effort, picture)


def proved(task: Task, bound: Bound | None, solution: Solution) -> Bound | None:
    """Prove a solution that somebody has found, in about a second; the better bound."""
    inner = replace(task, instance=task.problem.searched(task.instance))
    found = _proved(inner, bound, inner.instance.inward(solution), Clock(), _EFFORT)
    return found and replace(found, solution=None)


def _proved(
    task: Task,
    bound: Bound | None,
    known: Solution,
    clock: Clock,
    effort: float,
    picture: Callable[[Proof], None] | None = None,
) -> Bound | None:
    """Prove a solution; show the proof now and then; the better bound."""
    if bound is not None and bound.proves(task.instance.exact_objective(known), task.problem.sense):
        return bound
    began = shown = time.monotonic()
    proof: Proof | None = None

    def asked() -> bool:
        nonlocal shown
        if picture is not None and proof is not None and time.monotonic() > shown + _SHOWN:
            shown = time.monotonic()
            picture(proof)
        return clock.asked()

    proof = task.problem.proof(task.instance, known, replace(clock, asked=asked), effort)
    if proof is None:
        return bound
    proof.run()
    found = stronger(task, bound, proof, known)
    return found and replace(found, seconds=found.seconds + time.monotonic() - began)


def _best_of(task: Task, solutions: Any) -> Solution | None:
    """Choose the best feasible one."""
    instance = task.instance
    feasible = [one for one in solutions if instance.violation(one) is None]
    choose = min if task.problem.sense == "min" else max
    return choose(feasible, key=instance.exact_objective, default=None)
