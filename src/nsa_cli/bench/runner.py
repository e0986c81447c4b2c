"""Every solver on every suite with every seed, one run after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from nsa_cli.bench.solvers import Run, Solver, Stopped, Watch
from nsa_cli.bench.suite import Suite


class Measured(NamedTuple):
    """One run, and what it was a run of."""

    suite: Suite
    solver: Solver
    seed: int
    run: Run


def measure(
    suites: Sequence[Suite],
    solvers_of: Callable[[int], Sequence[Solver]],
    seeds: Sequence[int],
    watch: Watch,
) -> Iterator[Measured]:
    """Yield runs as they are done; end early when asked to stop, leaving half runs out.

    Parameters
    ----------
    suites : sequence of Suite
    solvers_of : callable
        The solvers for a size.
    seeds : sequence of int
        A solver that takes no random numbers runs with the first one only.
    watch : Watch
    """
    for suite in suites:
        for solver in solvers_of(suite.size):
            solver.warm_up(suite)
            for seed in seeds:
                if watch.asked_to_stop():
                    return
                try:
                    run = solver.run(suite, seed, _named(watch, suite, solver, seed))
                except Stopped:
                    return
                yield Measured(suite, solver, seed, run)
                if not run.random:
                    break


def _named(watch: Watch, suite: Suite, solver: Solver, seed: int) -> Watch:
    """Say also which run it is that goes on."""
    head = f"{suite.problem.name} {suite.size}  {solver.name} {solver.budget}  seed {seed}  "
    return watch._replace(on_progress=lambda words: watch.on_progress(head + words))
