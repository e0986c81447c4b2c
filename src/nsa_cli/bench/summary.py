"""Rows of means over instances and seeds, gaps, and the paper's figures; their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from nsa_cli.bench import statistics
from nsa_cli.bench.measure import MeasuredRun
from nsa_cli.bench.solvers import Solver, format_budget
from nsa_cli.bench.suites import Cell, Figure, Suite
from nsa_cli.core.options import Steps
from nsa_cli.report.result import draw

#: Columns of ``runs.csv``.
COLUMNS = (
    *("problem", "size", "instance", "solver", "seed", "steps", "budget", "objective"),
    *("reference", "gap", "seconds", "cpu_seconds", "batch", "set", "kind", "threads"),
)


#: One row of the table, a solver with a budget on a suite, as ``summary.json`` has it.
#:
#: ``size`` is the largest of the suite. ``kind`` is nsa, heuristic, peer, or published: not measured. Solvers
#: without ``threads`` decide themselves. ``mean`` is over instances and seeds, ``ci95`` half the 95 %
#: confidence interval over instances, ``std_seeds`` the standard deviation of the seeds' means. ``gap`` is
#: the mean of the instances' gaps, relative, positive where worse than the reference; ``behind`` the mean
#: difference to the gaps of the budget's first solver on the same instances. ``seconds`` are an instance's,
#: ``seconds_total`` a seed's. Keys with ``paper`` are there where the paper has such a row; ``difference`` is
#: to its value, positive where better than the paper.
SummaryRow: TypeAlias = dict[str, Any]


def scored(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """Compare runs with the references of their instances, or else with the best of these runs."""
    best: dict[tuple[str, int], float] = {}
    for run in runs:
        key, better = (run.suite.label, run.task.stream), min if run.suite.problem.sense == "min" else max
        best[key] = better(run.objective, best.get(key, run.objective))
    made = []
    for run in runs:
        known, sense = run.suite.references[run.place], run.suite.problem.sense
        reference = best[run.suite.label, run.task.stream] if known is None else known
        gap = statistics.relative(run.objective, reference, sense)
        made.append(run._replace(reference=reference, gap=gap))
    return made


def run_rows(runs: Sequence[MeasuredRun]) -> list[list[Any]]:
    """Lay runs out under `COLUMNS`."""
    rows: list[list[Any]] = []
    for run in scored(runs):
        suite, solver = run.suite, run.solver
        cells = [suite.problem.name, run.task.instance.size, suite.names[run.place], solver.name, run.seed]
        cells += [run.steps, format_budget(solver.budget), run.objective, run.reference]
        cells += [None if np.isnan(run.gap) else run.gap]
        cells += [round(run.seconds, 6), round(run.cpu_seconds, 6), len(suite.tasks)]
        rows.append([*cells, suite.label, solver.kind, solver.threads])
    return rows


def summarise(
    runs: Sequence[MeasuredRun], figures: Mapping[Cell, Figure], steps: Sequence[int] = (), power: int = 1
) -> list[SummaryRow]:
    """Average the runs, suite by suite in the order of the solvers, then list the paper's other figures.

    Parameters
    ----------
    runs : sequence of MeasuredRun
    figures : mapping
        The paper's, by solver, size, steps and mode.
    steps : sequence of int
        Multiples asked for: no others of the paper's are shown.
    power : {1, 2}
        They are multiples of N, or N^2.
    """
    rows: list[SummaryRow] = []
    order = list(dict.fromkeys(figure.solver for figure in figures.values()))
    suites: dict[str, dict[tuple[str, str], list[MeasuredRun]]] = {}
    for run in scored(runs):
        group = run.solver.name, format_budget(run.solver.budget)
        suites.setdefault(run.suite.label, {}).setdefault(group, []).append(run)
    for groups in suites.values():
        first: dict[str, list[MeasuredRun]] = {}
        rest = dict(figures)
        size = max(run.suite.size for some in groups.values() for run in some)
        for (_, budget), some in groups.items():
            cell = _cell(some[0].solver, size)
            rest.pop(cell, None)
            rows.append(_measured(some, size, first.setdefault(budget, some), figures.get(cell)))
        published = [f for f in rest.values() if f.size == size and f.steps in (None, *steps)]
        for f in sorted(published, key=lambda f: (order.index(f.solver), f.mode, f.steps or 0)):
            head = {"solver": f"{f.solver} {f.mode}".strip(), "kind": "published", "mode": f.mode}
            budget = "" if f.steps is None else format_budget(Steps(f.steps, power))
            rows.append(_row(some[0].suite, size, f, **head, budget=budget))
    return rows


def _row(suite: Suite, size: int, figure: Figure | None, **found: Any) -> SummaryRow:
    """Make a row of what is known of it, with the paper's figure beside it."""
    row = {"set": suite.label, "problem": suite.problem.name, "size": size} | found
    if figure is None:
        return row
    keys = ("solver", "table", "value", "spread", "time", "note")
    paper = {f"paper_{key}": getattr(figure, key) for key in keys if getattr(figure, key) != ""}
    gap = None if figure.gap_percent is None else figure.gap_percent / 100
    return row | paper | {"paper_gap": gap}


def _cell(solver: Solver, size: int) -> Cell:
    """Give the cell of the paper's tables that a solver is compared with at a size."""
    multiple = int(solver.budget.factor) if isinstance(solver.budget, Steps) else None
    return solver.paper or "", size, multiple, solver.mode


def _measured(
    runs: Sequence[MeasuredRun], size: int, first: Sequence[MeasuredRun], figure: Figure | None
) -> SummaryRow:
    """Average the runs of a solver with its budget; `first` are those of the budget's first solver."""
    suite, solver, sense = runs[0].suite, runs[0].solver, runs[0].suite.problem.sense
    measured = [(run.objective, run.gap, run.seconds, run.cpu_seconds) for run in runs]
    objectives, gaps, seconds, cpu_seconds = np.array(measured).T
    places, seeds = np.array([(run.task.stream, run.seed) for run in runs]).T
    mean, instances = float(objectives.mean()), len(np.unique(places))
    paired = solver.budget is not None and first is not runs and len(first) == len(runs)
    behind = gaps - [run.gap for run in first] if paired else np.full(len(gaps), np.nan)
    difference = None if figure is None else (figure.value - mean) * (1 if sense == "min" else -1)
    return _row(
        suite,
        size,
        figure,
        solver=solver.name,
        kind=solver.kind,
        budget=format_budget(solver.budget),
        mode=solver.mode,
        threads=solver.threads,
        instances=instances,
        seeds=len(np.unique(seeds)),
        batch=len(suite.tasks),
        mean=mean,
        ci95=statistics.half_width(statistics.means_by(places, objectives)),
        std_seeds=statistics.spread(statistics.means_by(seeds, objectives)),
        gap=statistics.known(gaps.mean()),
        gap_ci95=statistics.half_width(statistics.means_by(places, gaps)),
        worst=statistics.known(gaps.max()),
        behind=statistics.known(behind.mean()),
        behind_ci95=statistics.half_width(statistics.means_by(places, behind)),
        seconds=float(seconds.mean()),
        cpu_seconds=float(cpu_seconds.mean()),
        seconds_total=float(seconds.mean()) * instances,
        difference=difference,
    )


def _seconds(value: float | None) -> str:
    """Three significant digits, without exponents."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.001 else f"{value:.6f}"


#: Columns of a benchmark by steps, and by seconds: key, form, factor. Those without any text are left out.
_BY_STEPS = {
    "size": ("size", "", 1),
    "solver": ("solver", "", 1),
    "steps": ("budget", "", 1),
    "mean": ("mean", ".4f", 1),
    "± 95 %": ("ci95", ".4f", 1),
    "std seeds": ("std_seeds", ".4f", 1),
    "gap %": ("gap", ".3f", 100),
    "s/instance": ("seconds", "", 1),
    "s total": ("seconds_total", "", 1),
    "paper": ("paper_value", ".3f", 1),
    "paper %": ("paper_gap", ".2f", 100),
    "difference": ("difference", "+.4f", 1),
}
_BY_SECONDS = {
    "set": ("set", "", 1),
    "budget": ("budget", "", 1),
    "solver": ("solver", "", 1),
    "mean": ("mean", ".6g", 1),
    "gap %": ("gap", ".4f", 100),
    "± 95 %": ("gap_ci95", ".4f", 100),
    "worst %": ("worst", ".4f", 100),
    "behind %": ("behind", ".4f", 100),
    "± ": ("behind_ci95", ".4f", 100),
    "CPU ms": ("cpu_seconds", ".3g", 1e3),
    "ms": ("seconds", ".3g", 1e3),
}


def format_rows(rows: Sequence[SummaryRow], caption: Sequence[str], *, by_seconds: bool) -> str:
    """Lay rows out, with the lines of a caption below and the notes on the paper's figures after them."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    notes = dict.fromkeys(row["paper_note"] for row in rows if "paper_note" in row)
    marks = {note: f" ({k})" for k, note in enumerate(notes, 1)}
    lines = [*caption, *(f"{mark.strip()} {note}" for note, mark in marks.items())]
    style: dict[str, Any] = {"title_justify": "left", "title_style": "", "box": SIMPLE_HEAD}
    style |= {"caption_justify": "left", "caption_style": "", "pad_edge": False}
    table = Table(title=rows[0]["problem"], caption="\n".join(lines), **style)
    cells = {
        name: [_cell_text(row, *column) for row in rows]
        for name, column in (_BY_SECONDS if by_seconds else _BY_STEPS).items()
    }
    if not by_seconds:
        for k, row in enumerate(rows):
            cells["paper"][k] += marks.get(row.get("paper_note"), "")
            cells["s/instance"][k] = _seconds(row.get("seconds"))
            cells["s total"][k] = _seconds(row.get("seconds_total"))
            if row["kind"] == "published":
                cells["mean"][k], cells["s total"][k] = "published", row.get("paper_time", "")
    used = {name: texts for name, texts in cells.items() if any(texts)}
    for name in used:
        left = name in ("set", "solver", "steps")
        table.add_column(name, justify="left" if left else "right", no_wrap=True)
    ends = [(row["set"], row["budget" if by_seconds else "kind"]) for row in rows]
    for texts, end, after in zip(zip(*used.values(), strict=True), ends, [*ends[1:], ends[-1]], strict=True):
        table.add_row(*texts, end_section=end != after)
    return draw(table, width=160)


def _cell_text(row: SummaryRow, key: str, form: str, factor: float) -> str:
    value = row.get(key)
    return "" if value is None else format(factor * value, form) if form else str(value)
