"""A whole benchmark: what is asked for, made ready, and what is said about it in the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nsa_cli.bench.choose import Wanted, choose_solvers
from nsa_cli.bench.paper import Figure, find_contribution, load_figures
from nsa_cli.bench.runner import Measured, measure
from nsa_cli.bench.solvers import Solver, Watch
from nsa_cli.bench.suite import Suite, check_sizes, load_references, make_suite
from nsa_cli.bench.summary import Row, summarise
from nsa_cli.core.bench import BenchContribution
from nsa_cli.core.problem import Problem


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a user asks for.

    Attributes
    ----------
    problem : Problem
    sizes, seeds : tuple of int
    count : int
        Instances of each size, at most.
    wanted : Wanted
    references : Path, optional
        Directory of reference objectives.
    """

    problem: Problem[Any]
    sizes: tuple[int, ...]
    seeds: tuple[int, ...] = (1,)
    count: int = 100
    wanted: Wanted
    references: Path | None = None

    def prepare(self) -> Benchmark:
        """Load all that is needed, so that what is wrong is said before anything runs.

        Raises
        ------
        UsageError
            If a size, a name or a file is not there.
        """
        check_sizes(self.problem, self.sizes)
        contribution = find_contribution(self.problem)
        solvers = {size: choose_solvers(self.problem, contribution, size, self.wanted) for size in self.sizes}
        known = contribution.references if contribution else None
        references = {
            size: None if self.references is None else load_references(self.references, known, size)
            for size in self.sizes
        }
        suites = [make_suite(self.problem, size, self.count, references[size]) for size in self.sizes]
        return Benchmark(self, contribution, suites, solvers, load_figures(self.problem))


class Benchmark(NamedTuple):
    """A benchmark that is ready to run.

    Attributes
    ----------
    plan : Plan
    contribution : BenchContribution or None
    suites : list of Suite
    solvers : mapping
        By size.
    figures : tuple of Figure
        The paper's.
    """

    plan: Plan
    contribution: BenchContribution | None
    suites: list[Suite]
    solvers: Mapping[int, Sequence[Solver]]
    figures: tuple[Figure, ...]

    def runs(self, watch: Watch) -> Iterator[Measured]:
        """Run, and yield runs as they are done."""
        return measure(self.suites, self.solvers.__getitem__, self.plan.seeds, watch)

    def rows(self, measured: Sequence[Measured]) -> list[Row]:
        """Make the table's rows of the runs done so far."""
        unit = self.contribution.steps if self.contribution else "N"
        return summarise(measured, self.figures, self.plan.wanted.steps, unit)

    def caption(self) -> list[str]:
        """Say what the columns mean, in sentences of a line each."""
        return [self._instances(), self._reference(), self._times(), *self._comparison()]

    def _instances(self) -> str:
        problem, seeds = self.plan.problem, self.plan.seeds
        sets = "of the paper's test sets" if problem.paper_sizes else "drawn at random, seed 0"
        counts = ", ".join(f"{len(suite.tasks)} of size {suite.size}" for suite in self.suites)
        start = "one chain from the paper's start"
        if self.contribution is None:
            start += ", temperatures of the problem's own budget"
        number = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"
        return f"Instances {sets}: {counts}; {number}; nsa: {start}."

    def _reference(self) -> str:
        known = self.contribution.references if self.contribution else None
        if self.plan.references is not None and known:
            what = known.what
        else:
            what = "the best answer to each instance among the solvers measured here"
        better = "smaller" if self.plan.problem.sense == "min" else "larger"
        return f"gap: mean over instances, to {what}; {better} objectives are better."

    def _times(self) -> str:
        widths = sorted({len(suite.tasks) for suite in self.suites})
        return (
            f"Wall-clock seconds; nsa solves {', '.join(map(str, widths))} instances side by side and counts "
            "an instance's share, the others solve one at a time."
        )

    def _comparison(self) -> list[str]:
        if not self.figures:
            return []
        return [
            "difference: to the paper's value, positive where ours is better; the paper's are means over "
            "whole test sets, ours over the instances above.",
            "published: the paper's figure and time, not measured.",
        ]
