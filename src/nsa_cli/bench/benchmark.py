"""A benchmark: solvers on suites, by steps as the paper has it, or by seconds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from nsa_cli.bench.choose import DEFAULT, choose_solvers
from nsa_cli.bench.measure import Run, measure_each, runs_from, units_of
from nsa_cli.bench.paper import Figure, find_contribution, load_figures
from nsa_cli.bench.request import Request
from nsa_cli.bench.solvers import Monitor, PeerSolver, Solver
from nsa_cli.bench.suites import Suite, suite_of_files, suite_of_size
from nsa_cli.bench.summary import SummaryRow, summarise
from nsa_cli.core.errors import InputError, UsageError
from nsa_cli.io.journal import Journal
from nsa_cli.pool import HERE, LostError, Pool, Unit
from nsa_cli.problems import builtin_names, find_problem
from nsa_cli.problems.contribution import BenchContribution
from nsa_cli.solver.choose import choose_device

#: With this share of a processor a thread has not been kept waiting.
_FREE = 0.8


@dataclass(frozen=True)
class Benchmark:
    """A benchmark that is ready to run.

    Attributes
    ----------
    request : Request
    contribution : BenchContribution
    suites : list of Suite
    solvers : list of list of Solver
        By suite.
    figures : tuple of Figure
        The paper's; none by seconds.
    """

    request: Request
    contribution: BenchContribution
    suites: list[Suite]
    solvers: list[list[Solver]]
    figures: tuple[Figure, ...] = ()

    @cached_property
    def units(self) -> list[Unit]:
        """Portions as units of work, in the order of ``runs.csv``."""
        seeds, timed = self.request.seeds, self.request.budget is not None
        pairs = zip(self.suites, self.solvers, strict=True)
        return [unit for suite, some in pairs for unit in units_of(suite, some, seeds, timed=timed)]

    def size(self, journal: Journal | None = None) -> int:
        """Count all runs, or those that a journal has."""
        return sum(unit.payload.size for unit in self.units if journal is None or unit.key in journal)

    def runs(
        self, monitor: Monitor, journal: Journal | None = None, pool: Pool = HERE
    ) -> Iterator[tuple[int, list[Run]]]:
        """Give what a journal has, and measure the rest; end early when asked to stop.

        Yields
        ------
        tuple of int and list of Run
            The place of a portion, whose runs go into the journal before they are given, and the runs.

        Raises
        ------
        InputError
            If the journal has something else under the key of a portion.
        LostError
            At the end, if portions have ended the processes that measured them.
        """
        known = [i for i, unit in enumerate(self.units) if journal is not None and unit.key in journal]
        for i in known:
            assert journal is not None
            portion = self.units[i].payload
            try:
                yield i, runs_from(journal[self.units[i].key], portion)
            except ValueError as error:
                why = f"expected runs of {portion.suite.label}, got none: {error}"
                raise InputError(why, str(journal.path), use={"again": None}) from None
        lost: list[str] = []
        for i, outcome in self._measured(sorted({*range(len(self.units))} - {*known}), monitor, pool):
            portion = self.units[i].payload
            if isinstance(outcome, LostError):
                name = portion.suite.names[portion.places[0]]
                lost.append(f"{name} by {portion.solvers[0].name}: {outcome}")
                continue
            if journal is not None:
                journal.append(self.units[i].key, outcome)
            yield i, runs_from(outcome, portion)
        if lost:
            raise LostError("; ".join(lost))

    def _measured(self, todo: Sequence[int], monitor: Monitor, pool: Pool) -> Iterator[tuple[int, Any]]:
        """Measure portions: in order, or the longest first in several processes; give their outcomes."""
        if pool == HERE:
            portions = [self.units[i].payload for i in todo]
            for k, outcome in measure_each(1, monitor, portions, 1.0, monitor.asked_to_stop):
                yield todo[k], outcome
        elif todo:
            units = [self.units[i]._replace(payload=self.units[i].payload.apart()) for i in todo]
            with pool.crew() as crew:
                do = partial(measure_each, crew.hands, Monitor())
                for k, outcome in crew.share(units, do, monitor.asked_to_stop):
                    yield todo[k], outcome

    def packages(self) -> list[str]:
        """List the packages of the peers that run."""
        solvers = [solver for solvers in self.solvers for solver in solvers]
        peers = [solver.peer for solver in solvers if isinstance(solver, PeerSolver)]
        return sorted({peer.package for peer in peers if peer.program is None})

    def rows(self, runs: Sequence[Run]) -> list[SummaryRow]:
        """Make the table's rows of the runs done so far."""
        return summarise(runs, self.figures, self.request.steps, self.contribution.power)

    def caption(self, runs: Sequence[Run]) -> list[str]:
        """Legend of the columns, one sentence a line."""
        caption = self._caption_by_seconds(runs) if self.request.budget else self._caption_by_steps()
        return caption + circumstances_of(runs)

    def _caption_by_steps(self) -> list[str]:
        problem, seeds, known = self.suites[0].problem, self.request.seeds, self.contribution.references
        sets = "of the paper's test sets" if problem.paper_sizes else "drawn at random, seed 0"
        counts = ", ".join(f"{len(suite.tasks)} of size {suite.size}" for suite in self.suites)
        start = "one chain from the paper's start"
        if not self.contribution.temperatures:
            start += ", temperatures of the problem's own budget"
        number = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"
        best = "the best answer to each instance among the solvers measured here"
        what = known.what if self.request.references is not None and known else best
        better = "smaller" if problem.sense == "min" else "larger"
        batches = ", ".join(map(str, sorted({len(suite.tasks) for suite in self.suites})))
        caption = [
            f"Instances {sets}: {counts}; {number}.",
            f"{DEFAULT}: `nsa solve` without options; other rows of nsa: {start}.",
            f"gap: mean over instances, to {what}; {better} objectives are better.",
            f"Wall-clock seconds; nsa solves {batches} instances side by side and counts an instance's "
            "share, the others solve one at a time.",
        ]
        if self.figures:
            caption += [
                "difference: to the paper's value, positive where ours is better; the paper's are means over "
                "whole test sets, ours over the instances above.",
                "published: the paper's figure and time, not measured.",
            ]
        return caption

    def _caption_by_seconds(self, runs: Sequence[Run]) -> list[str]:
        counts = ", ".join(f"{len(suite.tasks)} of {suite.label}" for suite in self.suites)
        references = [reference for suite in self.suites for reference in suite.references]
        known, rest = sum(reference is not None for reference in references), "the best of this table"
        if known:
            rest = f"references ({known} of {len(references)}), else the best here"
        caption = [
            f"Instances: {counts}; solvers take turns at each; set-up included; nsa on one thread.",
            f"gap: mean over instances, to {rest}; ± half the 95 % interval; worst: the largest.",
            "behind: difference to the first row of the budget, on the same instances; positive is worse.",
            "CPU ms: processor time of all threads; ms: by the clock.",
        ]
        if (share := processor_share(runs)) < _FREE:
            busy = f"threads of ours had {100 * share:.0f} % of a processor"
            caption.append(f"The machine was busy: {busy}. Measure again.")
        return caption


def circumstances_of(runs: Sequence[Run]) -> list[str]:
    """Say in sentences where times of runs do not compare with each other, or with those of one process."""
    said, processors = [], dict.fromkeys(run.processor for run in runs)
    if (most := max((run.processes for run in runs), default=1)) > 1:
        said.append(
            f"Up to {most} processes measured at the same time: those of one machine share its memory and "
            "caches, and their times are not those of one alone."
        )
    if len(processors) > 1:
        said.append(f"Measured on {' and '.join(processors)}: times on one do not compare with the others.")
    return said


def prepare(request: Request) -> Benchmark:
    """Load all that is needed, so that errors come before anything runs.

    Raises
    ------
    UsageError
        If a size, a name, a file or a device is missing, or options do not go together.
    """
    request = replace(request, device=choose_device(request.device))
    suites = _suites(request)
    contribution = find_contribution(suites[0].problem)
    solvers = [choose_solvers(suite, contribution, request) for suite in suites]
    figures = () if request.budget else load_figures(suites[0].problem)
    return Benchmark(request, contribution, suites, solvers, figures)


def _suites(request: Request) -> list[Suite]:
    """Take a problem's sets, or by seconds also files and folders."""
    first, count = request.what[0], request.count
    references = None if request.references is None else Path(request.references)
    named = first in builtin_names() or first.endswith(".py") or not os.path.exists(first)
    if request.budget and (len(request.what) > 1 or not named):
        if request.sizes is not None:
            raise UsageError("is for a PROBLEM's own sets; files have their sizes", option="sizes")
        return [suite_of_files(request.what, count, references)]
    if len(request.what) > 1:
        message = "several files; the paper's protocol is for a PROBLEM's own sets"
        raise UsageError(message, use={"budget": None})
    problem, random = find_problem(first), request.budget is not None
    if request.sizes is None:
        raise UsageError("expected sizes of instances, as 50,100; got none", option="sizes")
    return [suite_of_size(problem, size, count, references, any_size=random) for size in request.sizes]


def processor_share(runs: Sequence[Run]) -> float:
    """Give the share of a processor that single-threaded solvers by seconds had; 1 if there are none."""
    ours = [run for run in runs if run.solver.threads == 1 and isinstance(run.solver.budget, float)]
    seconds = sum(run.seconds for run in ours)
    return sum(run.cpu_seconds for run in ours) / seconds if seconds else 1.0
