"""A benchmark: solvers on suites, by steps as the paper has it, or by seconds; its files and its table."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib import metadata
from pathlib import Path
from typing import Any

from nsa_cli.bench.measure import MeasuredRun, measure_each, runs_from, units_of
from nsa_cli.bench.request import Request
from nsa_cli.bench.solvers import DEFAULT, PeerSolver, Solver, choose_solvers
from nsa_cli.bench.suites import Cell, Figure, Suite, find_contribution, load_figures, suites_of
from nsa_cli.bench.summary import COLUMNS, SummaryRow, format_rows, run_rows, summarise
from nsa_cli.core.errors import InputError
from nsa_cli.core.machine import cores, machine, processor
from nsa_cli.io.atomic import write_text
from nsa_cli.io.journal import Journal
from nsa_cli.io.json_text import dumps
from nsa_cli.io.table import format_table
from nsa_cli.pool import HERE, LostError, Pool, Stopped, Unit
from nsa_cli.problems.contribution import BenchContribution
from nsa_cli.solver.search import choose_device
from nsa_cli.version import __version__

#: With this share of a processor a thread has not been kept waiting.
_FREE = 0.8


@dataclass(frozen=True)
class Benchmark:
    """A benchmark, and what it has found so far.

    Attributes
    ----------
    request : Request
    contribution : BenchContribution
    suites : list of Suite
    solvers : list of list of Solver
        By suite.
    figures : dict
        The paper's; none by seconds.
    about : dict
        Date, versions and machine.
    found : dict
        Runs by the place of their unit.
    """

    request: Request
    contribution: BenchContribution
    suites: list[Suite]
    solvers: list[list[Solver]]
    figures: dict[Cell, Figure] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    found: dict[int, list[MeasuredRun]] = field(default_factory=dict)

    @cached_property
    def units(self) -> list[Unit]:
        """Portions as units of work, in the order of ``runs.csv``."""
        seeds, timed = self.request.seeds, self.request.budget is not None
        pairs = zip(self.suites, self.solvers, strict=True)
        return [unit for suite, some in pairs for unit in units_of(suite, some, seeds, timed=timed)]

    def size(self, journal: Journal | None = None) -> int:
        """Count all runs, or those that a journal has."""
        return sum(unit.payload.size for unit in self.units if journal is None or unit.key in journal)

    @property
    def runs(self) -> list[MeasuredRun]:
        """Runs that are complete, in order."""
        return [run for place in sorted(self.found) for run in self.found[place]]

    def run(
        self, stopped: Stopped = bool, journal: Journal | None = None, pool: Pool = HERE
    ) -> Iterator[None]:
        """Take what a journal has, and measure the rest, step by step; end early when asked to stop.

        What is found goes into the journal before it counts. `stopped` is False by default.

        Raises
        ------
        InputError
            If the journal has something else under the key of a portion.
        LostError
            At the end, if portions have ended the processes that measured them.
        """
        for i, unit in enumerate(self.units):
            if journal is not None and unit.key in journal:
                try:
                    self.found[i] = runs_from(journal[unit.key], unit.payload)
                except (TypeError, ValueError) as error:
                    why = f"expected runs of {unit.payload.suite.label}, got none: {error}"
                    raise InputError(why, str(journal.path), use={"again": None}) from None
        lost: list[str] = []
        for i, outcome in self._measured(stopped, pool):
            portion = self.units[i].payload
            if isinstance(outcome, LostError):
                lost.append(f"{portion.suite.names[0]} by {portion.solvers[0].name}: {outcome}")
                continue
            if journal is not None:
                journal.append(self.units[i].key, outcome)
            self.found[i] = runs_from(outcome, portion)
            yield
        if lost:
            raise LostError("; ".join(lost))

    def _measured(self, stopped: Stopped, pool: Pool) -> Iterator[tuple[int, Any]]:
        """Measure portions: in order, or the longest first in several processes; give their outcomes."""
        todo = [i for i in range(len(self.units)) if i not in self.found]
        units = [self.units[i] for i in todo]
        if pool == HERE:
            found = measure_each(1, [unit.payload for unit in units], 1.0, stopped)
            yield from ((todo[k], outcome) for k, outcome in found)
        elif todo:
            with pool.executors() as executors:
                found = executors.share(units, partial(measure_each, executors.count), stopped)
                yield from ((todo[k], outcome) for k, outcome in found)

    @property
    def rows(self) -> list[SummaryRow]:
        """The table's rows of the runs done so far."""
        return summarise(self.runs, self.figures, self.request.steps, self.contribution.power)

    def table(self) -> str:
        """Lay out the table; nothing where there is nothing in it."""
        by_seconds = self.request.budget is not None
        return format_rows(self.rows, self.caption(), by_seconds=by_seconds) if self.found else ""

    def write(self, folder: Path) -> None:
        """Write the files, each whole or not at all."""
        if not self.found:
            return
        write_text(folder / "runs.csv", format_table(COLUMNS, run_rows(self.runs)))
        about = {"caption": self.caption()} | self.about
        head = [f"  {dumps(key)}: {dumps(value)}" for key, value in about.items()]
        body = ",\n".join(f"    {dumps(row)}" for row in self.rows)
        text = "{\n" + ",\n".join([*head, f'  "rows": [\n{body}\n  ]']) + "\n}\n"
        write_text(folder / "summary.json", text)

    def caption(self) -> list[str]:
        """Legend of the columns, one sentence a line, and where times do not compare with each other."""
        caption = self._caption_by_seconds() if self.request.budget else self._caption_by_steps()
        if (most := max((run.processes for run in self.runs), default=1)) > 1:
            caption.append(
                f"Up to {most} processes measured at the same time: those of one machine share its memory "
                "and caches, and their times are not those of one alone."
            )
        return caption

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
        caption = [
            f"Instances {sets}: {counts}; {number}.",
            f"{DEFAULT}: `nsa solve` without options; other rows of nsa: {start}.",
            f"gap: mean over instances, to {what}; {better} objectives are better.",
            "Wall-clock seconds; nsa solves the instances of a size side by side and counts an instance's "
            "share, the others solve one at a time.",
        ]
        if self.figures:
            caption += [
                "difference: to the paper's value, positive where ours is better; the paper's are means over "
                "whole test sets, ours over the instances above.",
                "published: the paper's figure and time, not measured.",
            ]
        return caption

    def _caption_by_seconds(self) -> list[str]:
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
        if (share := processor_share(self.runs)) < _FREE:
            busy = f"threads of ours had {100 * share:.0f} % of a processor"
            caption.append(f"The machine was busy: {busy}. Measure again.")
        return caption


def prepare(request: Request) -> Benchmark:
    """Load all that is needed, so that errors come before anything runs.

    Raises
    ------
    UsageError
        If a size, a name, a file or a device is missing, or options do not go together.
    """
    request = replace(request, device=choose_device(request.device))
    suites = suites_of(request)
    contribution = find_contribution(suites[0].problem)
    solvers = [choose_solvers(suite, contribution, request) for suite in suites]
    figures = {} if request.budget else load_figures(suites[0].problem)
    return Benchmark(request, contribution, suites, solvers, figures, _circumstances(request, solvers))


def processor_share(runs: Sequence[MeasuredRun]) -> float:
    """Give the share of a processor that single-threaded solvers by seconds had; 1 if there are none."""
    ours = [run for run in runs if run.solver.threads == 1 and isinstance(run.solver.budget, float)]
    seconds = sum(run.seconds for run in ours)
    return sum(run.cpu_seconds for run in ours) / seconds if seconds else 1.0


def _circumstances(request: Request, solvers: Sequence[Sequence[Solver]]) -> dict[str, Any]:
    """Give command, date, versions, those of the peers too, and machine."""
    peers = [solver.peer for some in solvers for solver in some if isinstance(solver, PeerSolver)]
    packages = sorted({peer.package for peer in peers})
    versions = {name: metadata.version(name) for name in ("numpy", *packages)}
    return {
        "command": shlex.join(["nsa", *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"nsa-cli": __version__} | versions,
        "machine": machine() | {"processor": processor()},
        "threads": cores(),
        "device": request.device,
    }
