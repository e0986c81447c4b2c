"""A benchmark: solvers on suites, by steps as the paper has it, or by seconds."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nsa_cli.bench.choose import Request, choose_solvers
from nsa_cli.bench.paper import Figure, find_contribution, load_figures
from nsa_cli.bench.runs import MeasuredRun, run_by_seconds, run_by_steps
from nsa_cli.bench.solvers import Monitor, PeerSolver, Solver, Stopped
from nsa_cli.bench.suites import Suite, suite_of_files, suite_of_size
from nsa_cli.bench.summary import SummaryRow, summarise
from nsa_cli.core.bench import BenchContribution
from nsa_cli.core.errors import UsageError
from nsa_cli.problems import builtin_names, find_problem

#: With this share of a processor a thread has not been kept waiting.
_FREE = 0.8


class Benchmark(NamedTuple):
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
    figures: tuple[Figure, ...]

    def runs(self, monitor: Monitor) -> Iterator[list[MeasuredRun]]:
        """Run, and yield runs as they are done; end early when asked to stop."""
        run = run_by_seconds if self.request.budget else run_by_steps
        with contextlib.suppress(Stopped):
            for suite, solvers in zip(self.suites, self.solvers, strict=True):
                yield from run(suite, solvers, self.request.seeds, monitor)

    def packages(self) -> list[str]:
        """List the packages of the peers that run."""
        solvers = [solver for solvers in self.solvers for solver in solvers]
        peers = [solver.peer for solver in solvers if isinstance(solver, PeerSolver)]
        return sorted({peer.package for peer in peers if peer.program is None})

    def rows(self, runs: Sequence[MeasuredRun]) -> list[SummaryRow]:
        """Make the table's rows of the runs done so far."""
        return summarise(runs, self.figures, self.request.steps, self.contribution.power)

    def caption(self, runs: Sequence[MeasuredRun]) -> list[str]:
        """Legend of the columns, one sentence a line."""
        return self._caption_by_seconds(runs) if self.request.budget else self._caption_by_steps()

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
            f"Instances {sets}: {counts}; {number}; nsa: {start}.",
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

    def _caption_by_seconds(self, runs: Sequence[MeasuredRun]) -> list[str]:
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


def prepare(request: Request) -> Benchmark:
    """Load all that is needed, so that errors come before anything runs.

    Raises
    ------
    UsageError
        If a size, a name or a file is missing, or options do not go together.
    """
    suites = _suites(request)
    contribution = find_contribution(suites[0].problem)
    solvers = [choose_solvers(suite, contribution, request) for suite in suites]
    figures = () if request.budget else load_figures(suites[0].problem)
    return Benchmark(request, contribution, suites, solvers, figures)


def _suites(request: Request) -> list[Suite]:
    """Take a problem's sets, or by seconds also files and folders."""
    first, count, references = request.what[0], request.count, request.references
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


def processor_share(runs: Sequence[MeasuredRun]) -> float:
    """Give the share of a processor that single-threaded solvers by seconds had; 1 if there are none."""
    ours = [run for run in runs if run.solver.threads == 1 and isinstance(run.solver.budget, float)]
    seconds = sum(run.seconds for run in ours)
    return sum(run.cpu_seconds for run in ours) / seconds if seconds else 1.0
