"""Rows of the table: means over instances and seeds, gaps, and the paper's figures beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.bench import statistics
from nsa_cli.bench.measure import Run
from nsa_cli.bench.paper import Cell, Figure, best_figures, published
from nsa_cli.bench.solvers import Solver, format_budget
from nsa_cli.core.options import Steps
from nsa_cli.report.text import draw

#: Columns of ``runs.csv``.
COLUMNS = (
    *("problem", "size", "instance", "solver", "seed", "steps", "budget", "objective"),
    *("reference", "gap", "seconds", "cpu_seconds", "batch", "set", "kind", "threads"),
)


class SummaryRow(NamedTuple):
    """One row of the table, a solver with a budget on a suite; the names are keys of ``summary.json``.

    Attributes
    ----------
    set, problem : str
    size : int
        The largest of the suite.
    solver, budget, mode : str
    kind : str
        ``nsa``, ``heuristic``, ``peer``, or ``published``: not measured.
    threads : int or None
        At most; None where the solver decides.
    instances, seeds, batch : int
    mean : float
        Objective, over instances and seeds.
    ci95 : float
        Half width of the 95 % confidence interval of the mean over instances.
    std_seeds : float
        Standard deviation of the seeds' means.
    gap, gap_ci95 : float
        Mean of the instances' gaps, relative, and its half width; positive is worse than the reference.
    gap_of_means : float
    worst : float
        Largest gap.
    behind, behind_ci95 : float
        Mean difference to the gaps of the budget's first solver on the same instances, and its half width;
        positive is worse.
    seconds, cpu_seconds : float
        An instance's.
    seconds_total : float
        A seed's.
    paper_value, paper_spread, paper_gap : float
        The gap relative, as ours.
    paper_solver, paper_table, paper_time, paper_note : str
    difference : float
        To the paper's value; positive is better than the paper, whatever the sense.
    """

    set: str
    problem: str
    size: int
    solver: str
    kind: str
    budget: str = ""
    mode: str = ""
    threads: int | None = None
    instances: int | None = None
    seeds: int | None = None
    batch: int | None = None
    mean: float | None = None
    ci95: float | None = None
    std_seeds: float | None = None
    gap: float | None = None
    gap_ci95: float | None = None
    gap_of_means: float | None = None
    worst: float | None = None
    behind: float | None = None
    behind_ci95: float | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    seconds_total: float | None = None
    paper_solver: str | None = None
    paper_table: str | None = None
    paper_value: float | None = None
    paper_spread: float | None = None
    paper_gap: float | None = None
    paper_time: str | None = None
    paper_note: str | None = None
    difference: float | None = None


def scored(runs: Sequence[Run]) -> list[Run]:
    """Compare runs with the references of their instances, or else with the best of these runs."""
    best: dict[tuple[str, int], float] = {}
    for run in runs:
        key, better = (run.suite.label, run.place), min if run.suite.problem.sense == "min" else max
        best[key] = better(run.objective, best.get(key, run.objective))
    made = []
    for run in runs:
        known, sense = run.suite.references[run.place], run.suite.problem.sense
        reference = best[run.suite.label, run.place] if known is None else known
        gap = statistics.relative(run.objective, reference, sense)
        made.append(run._replace(reference=reference, gap=gap))
    return made


def run_rows(runs: Sequence[Run]) -> list[list[Any]]:
    """Lay runs out under `COLUMNS`."""
    rows: list[list[Any]] = []
    for run in scored(runs):
        suite, solver = run.suite, run.solver
        size, name = suite.tasks[run.place].instance.size, suite.names[run.place]
        cells = [suite.problem.name, size, name, solver.name, run.seed, run.steps]
        cells += [format_budget(solver.budget), run.objective, run.reference]
        cells += [None if np.isnan(run.gap) else run.gap]
        cells += [round(run.seconds, 6), round(run.cpu_seconds, 6), run.batch]
        rows.append([*cells, suite.label, solver.kind, solver.threads])
    return rows


def summarise(
    runs: Sequence[Run], figures: Iterable[Figure] = (), steps: Sequence[int] = (), power: int = 1
) -> list[SummaryRow]:
    """Average the runs, suite by suite in the order of the solvers, then list the paper's other figures.

    Parameters
    ----------
    runs : sequence of Run
    figures : iterable of Figure
        The paper's.
    steps : sequence of int
        Multiples asked for: no others of the paper's are shown.
    power : {1, 2}
        They are multiples of N, or N^2.
    """
    best, rows = best_figures(figures), list[SummaryRow]()
    suites: dict[str, dict[tuple[str, str], list[Run]]] = {}
    for run in scored(runs):
        group = run.solver.name, format_budget(run.solver.budget)
        suites.setdefault(run.suite.label, {}).setdefault(group, []).append(run)
    for groups in suites.values():
        first: dict[str, list[Run]] = {}
        taken: list[Cell | None] = []
        for (_, budget), some in groups.items():
            suite = some[0].suite
            taken.append(_cell(some[0].solver, suite.size))
            figure = None if taken[-1] is None else best.get(taken[-1])
            rows.append(_measured(some, first.setdefault(budget, some), figure))
        for figure in published(best, suite.size, steps, taken):
            rows.append(
                SummaryRow(
                    set=suite.label,
                    problem=suite.problem.name,
                    size=suite.size,
                    solver=f"{figure.solver} {figure.mode}".strip(),
                    kind="published",
                    budget="" if figure.steps is None else format_budget(Steps(figure.steps, power)),
                    mode=figure.mode,
                    **_paper_columns(figure),
                )
            )
    return rows


def _cell(solver: Solver, size: int) -> Cell | None:
    """Give the cell of the paper's tables that a solver is compared with at a size."""
    multiple = int(solver.budget.factor) if isinstance(solver.budget, Steps) else None
    return None if solver.paper is None else (solver.paper, size, multiple, solver.mode)


def _measured(runs: Sequence[Run], first: Sequence[Run], figure: Figure | None) -> SummaryRow:
    """Average the runs of a solver with its budget; `first` are those of the budget's first solver."""
    suite, solver, sense = runs[0].suite, runs[0].solver, runs[0].suite.problem.sense
    objectives, gaps, references, seconds, cpu_seconds = np.array(
        [(run.objective, run.gap, run.reference, run.seconds, run.cpu_seconds) for run in runs]
    ).T
    places, seeds = np.array([(run.place, run.seed) for run in runs]).T
    mean, instances = float(objectives.mean()), len(np.unique(places))
    paired = solver.budget is not None and first is not runs and len(first) == len(runs)
    behind = gaps - [run.gap for run in first] if paired else np.full(len(gaps), np.nan)
    gap_of_means = statistics.relative(mean, float(references.mean()), sense)
    difference = None
    if figure is not None and figure.value is not None:
        difference = figure.value - mean if sense == "min" else mean - figure.value
    return SummaryRow(
        set=suite.label,
        problem=suite.problem.name,
        size=suite.size,
        solver=solver.name,
        kind=solver.kind,
        budget=format_budget(solver.budget),
        mode=solver.mode,
        threads=solver.threads,
        instances=instances,
        seeds=len(np.unique(seeds)),
        batch=runs[0].batch,
        mean=mean,
        ci95=statistics.half_width(statistics.means_by(places, objectives)),
        std_seeds=statistics.spread(statistics.means_by(seeds, objectives)),
        gap=statistics.known(gaps.mean()),
        gap_ci95=statistics.half_width(statistics.means_by(places, gaps)),
        gap_of_means=statistics.known(gap_of_means),
        worst=statistics.known(gaps.max()),
        behind=statistics.known(behind.mean()),
        behind_ci95=statistics.half_width(statistics.means_by(places, behind)),
        seconds=float(seconds.mean()),
        cpu_seconds=float(cpu_seconds.mean()),
        seconds_total=float(seconds.mean()) * instances,
        difference=difference,
        **_paper_columns(figure),
    )


def _paper_columns(figure: Figure | None) -> dict[str, Any]:
    if figure is None:
        return {}
    keys = ("solver", "table", "value", "spread", "time", "note")
    columns = {f"paper_{key}": getattr(figure, key) for key in keys if getattr(figure, key) != ""}
    return columns | {"paper_gap": None if figure.gap_percent is None else figure.gap_percent / 100}


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _percent(value: float | None, digits: int) -> str:
    return "" if value is None else f"{100 * value:.{digits}f}"


def _seconds(value: float | None) -> str:
    """Three significant digits, without exponents."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.001 else f"{value:.6f}"


_LEFT = ("set", "solver", "steps")

#: Columns of a benchmark by steps, and by seconds; those without any text are left out.
_BY_STEPS: dict[str, Callable[[SummaryRow], str]] = {
    "size": lambda row: str(row.size),
    "solver": lambda row: row.solver,
    "steps": lambda row: row.budget,
    "mean": lambda row: "published" if row.kind == "published" else _number(row.mean, ".4f"),
    "± 95 %": lambda row: _number(row.ci95, ".4f"),
    "std seeds": lambda row: _number(row.std_seeds, ".4f"),
    "gap %": lambda row: _percent(row.gap, 3),
    "s/instance": lambda row: _seconds(row.seconds),
    "s total": lambda row: row.paper_time or "" if row.kind == "published" else _seconds(row.seconds_total),
    "paper": lambda row: _number(row.paper_value, ".3f") + (row.paper_note or ""),
    "paper %": lambda row: _percent(row.paper_gap, 2),
    "difference": lambda row: _number(row.difference, "+.4f"),
}
_BY_SECONDS: dict[str, Callable[[SummaryRow], str]] = {
    "set": lambda row: row.set,
    "budget": lambda row: row.budget,
    "solver": lambda row: row.solver,
    "mean": lambda row: _number(row.mean, ".6g"),
    "gap %": lambda row: _percent(row.gap, 4),
    "± 95 %": lambda row: _percent(row.gap_ci95, 4),
    "worst %": lambda row: _percent(row.worst, 4),
    "behind %": lambda row: _percent(row.behind, 4),
    "± ": lambda row: _percent(row.behind_ci95, 4),
    "CPU ms": lambda row: _number(1e3 * (row.cpu_seconds or 0.0), ".3g"),
    "ms": lambda row: _number(1e3 * (row.seconds or 0.0), ".3g"),
}


def format_rows(rows: Sequence[SummaryRow], caption: Sequence[str], *, by_seconds: bool) -> str:
    """Lay rows out, with the lines of a caption below and the notes on the paper's figures after them."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    notes = dict.fromkeys(row.paper_note for row in rows if row.paper_note)
    marks = {note: f"({k})" for k, note in enumerate(notes, 1)}
    lines = [*caption, *(f"{mark} {note}" for note, mark in marks.items())]
    style: dict[str, Any] = {"title_justify": "left", "title_style": "", "box": SIMPLE_HEAD}
    style |= {"caption_justify": "left", "caption_style": "", "pad_edge": False}
    table = Table(title=rows[0].problem, caption="\n".join(lines), **style)
    marked = [row._replace(paper_note=row.paper_note and f" {marks[row.paper_note]}") for row in rows]
    columns = _BY_SECONDS if by_seconds else _BY_STEPS
    cells = {name: [cell(row) for row in marked] for name, cell in columns.items()}
    used = {name: texts for name, texts in cells.items() if any(texts)}
    for name in used:
        table.add_column(name, justify="left" if name in _LEFT else "right", no_wrap=True)
    ends = [(row.set, row.budget if by_seconds else row.kind) for row in rows]
    for texts, end, after in zip(zip(*used.values(), strict=True), ends, [*ends[1:], ends[-1]], strict=True):
        table.add_row(*texts, end_section=end != after)
    return draw(table, width=160)
