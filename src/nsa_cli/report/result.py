"""A solution evaluated exactly, the result of a solve: the same with how it came about, and both as text."""

from __future__ import annotations

import base64
import contextlib
import html
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from nsa_cli.core.bound import Bound, relative_gap
from nsa_cli.core.drawing import Drawing
from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.exact import Exact
from nsa_cli.core.extras import is_installed, need
from nsa_cli.core.instance import Instance, Number, Solution
from nsa_cli.core.problem import Problem
from nsa_cli.core.words import quoted, readable
from nsa_cli.io.json_text import dumps
from nsa_cli.io.table import format_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from rich.table import Table


_PROVED = "optimal: the bound proves it"

#: Ids of a solution in a table, at most.
_SHOWN = 60


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation:
    """Feasibility, objective, bound and gap of a solution.

    Attributes
    ----------
    problem : str
    sense : {'min', 'max'}
    instance : Instance
    objective : int, float or None
        Exact evaluation on `instance`; None where a file's solution is not feasible.
    unrounded : int, float, Fraction or None
        The same without the rounding that a float has; `objective` by default.
    bound : Bound or None
    violation : str or None
        The first thing that makes the solution infeasible. An answer may have one where the search knows a
        constraint by a penalty only.
    remarks : tuple of str
        Where the file of the solution says something else.
    """

    problem: str
    sense: str
    instance: Instance
    objective: Number | None = None
    unrounded: Exact | None = None
    bound: Bound | None = None
    violation: str | None = None
    remarks: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether the bound proves that the solution is optimal."""
        exact = None if self.violation is not None else self._exact
        return exact is not None and self.bound is not None and self.bound.proves(exact, self.sense)

    @property
    def _exact(self) -> Exact | None:
        return self.objective if self.unrounded is None else self.unrounded

    @property
    def status(self) -> str:
        """``optimal`` where the bound proves it, else ``feasible`` or ``infeasible``."""
        if self.violation is not None:
            return "infeasible"
        return "optimal" if self.proved else "feasible"

    @property
    def gap(self) -> float | None:
        """Distance from the best known objective, or else from the bound, relative to it.

        Negative if this is better than the best known.
        """
        best, exact = self.instance.best_known, self._exact
        if exact is None or self.objective is None or self.violation is not None:
            return None
        if best is not None:
            return relative_gap(self.objective, best, self.sense)
        return None if self.bound is None else relative_gap(exact, self.bound.unrounded, self.sense)

    def measured(self, value: Number) -> str:
        """Write an objective, or a bound on it, as a person reads it: six digits, with the unit."""
        return f"{readable(value)} {self.instance.unit}".rstrip()

    def head(self) -> dict[str, Any]:
        """Problem, instance and status under the keys of the contract."""
        return {
            "problem": self.problem,
            "name": self.instance.name,
            "n": self.instance.size,
            "status": self.status,
        }

    def worth(self) -> dict[str, Any]:
        """Bound and gap under the keys of the contract."""
        bound = None
        if self.bound is not None and (exact := self._exact) is not None:
            bound = self.bound.to_dict(exact, self.sense)
        return {"bound": bound, "gap": self.gap, "best_known": self.instance.best_known}

    def to_dict(self) -> dict[str, Any]:
        """Give the evaluation under the keys of the contract; ready for strict JSON."""
        return {
            **self.head(),
            "feasible": self.objective is not None,
            "violation": self.violation,
            "objective": self.objective,
            "sense": self.sense,
            **self.worth(),
            "remarks": list(self.remarks),
        }


def _no_drawing() -> Drawing[Any] | None:
    return None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Result(Evaluation):
    """One solved instance.

    Attributes
    ----------
    objective : int or float
    raw : ndarray
        The best solution found, as searches have it; see the instance's class for its form.
    stop_reason : str
        ``steps``, ``time_limit``, ``interrupted``, ``target``, ``gap``, ``no_improvement``, or ``optimal``
        where the bound was reached.
    found_by : str
        ``annealing``; the method of the bound where that met the solution on its way; ``start`` where there
        was no time for a single step.
    seed, steps, chains, accepted : int
        `steps` are those of each chain; `accepted` are the moves of the chain that won.
    method : str
        ``anneal``: a policy proposes moves; ``large-step``: each step is a kick with its repair.
    policy : str
    schedule : dict
    backend, device : str
    threads : int
    seconds : dict
        ``load``, ``setup``, ``solve``, ``bound``, ``total``; of a batch, the instance's share.
    manifest : mapping
        What it takes to get the result again; see `nsa_cli.core.machine`.
    drawing : callable
        Gives the problem's pictures; None if it has none.
    remarks : tuple of str
        Warnings about the data, and what was decided in reading them.
    """

    objective: Number
    raw: Solution
    stop_reason: str
    seed: int
    steps: int
    chains: int
    accepted: int
    policy: str
    start: str
    schedule: Mapping[str, Any]
    backend: str
    device: str
    threads: int
    seconds: Mapping[str, float]
    version: str
    manifest: Mapping[str, Any] = field(default_factory=dict)
    found_by: str = "annealing"
    method: str = "anneal"
    drawing: Callable[[], Drawing[Any] | None] = _no_drawing

    def __repr__(self) -> str:
        return f"Result({', '.join(f'{key}={value}' for key, value in self._summary(str).items())})"

    def __str__(self) -> str:
        return _as_table([self]).rstrip()

    def _summary(self, write: Callable[[Number], str]) -> dict[str, str]:
        """Words and numbers that say most of a result."""
        bound = None if self.bound is None else write(self.bound.value)
        gap = None if self.gap is None else f"{100 * self.gap:.3g}%"
        said: dict[str, object] = {
            "problem": self.problem,
            "name": self.instance.name,
            "n": self.instance.size,
        }
        said |= {"objective": write(self.objective), "bound": bound, "gap": gap, "status": self.status}
        return {key: str(value) for key, value in said.items() if value is not None}

    @property
    def solution(self) -> NDArray[Any]:
        """The best solution found in terms of the data, whose elements are counted from 0.

        Of tours the cities in their order, of knapsacks the chosen items, of bins the bin of each item, of
        functions the point.
        """
        return self.instance.to_array(self.raw)

    @property
    def ids(self) -> list[Any]:
        """The best solution found by the names, or ids, that the data give to elements."""
        return self.instance.to_ids(self.raw)

    def to_dataframe(self) -> DataFrame:
        """Give the solution as a table of pandas, with the columns of its CSV form.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        need("pandas", "a data frame")
        import pandas

        headers, rows = self.instance.table(self.raw)
        return pandas.DataFrame(rows, columns=headers)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the solution.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the picture, too: ``.png``, ``.svg`` or ``.pdf``.

        Returns
        -------
        matplotlib.figure.Figure
            Apart from pyplot, which need not close it; a notebook shows it.

        Raises
        ------
        UsageError
            If matplotlib is not installed, the problem has no picture, or the file cannot be written.
        """
        from nsa_cli.report.plots import check_picture, need_drawing, solution_picture, write_picture

        if path is not None:
            check_picture("path", str(path))
        figure = solution_picture(need_drawing(self.drawing(), self.problem), self.instance, self.raw)
        if path is not None:
            write_picture(figure, path)
        return figure

    def _repr_html_(self) -> str:
        """Show a table, and the picture where it can be drawn, in a notebook."""
        said = self._summary(self.measured).items()
        page = "".join(f"<tr><th>{key}</th><td>{html.escape(x)}</td></tr>" for key, x in said)
        page = f"<table>{page}</table>"
        if is_installed("matplotlib"):
            from nsa_cli.report.plots import picture_bytes

            with contextlib.suppress(UsageError):  # a problem, or an instance, that has none
                data = base64.b64encode(picture_bytes(self.plot())).decode()
                page += f'<img alt="solution" src="data:image/png;base64,{data}">'
        return f"<div>{page}</div>"

    @property
    def status(self) -> str:
        """As of an evaluation; ``time_limit`` or ``interrupted`` in place of ``feasible``."""
        status, reason = super().status, self.stop_reason
        if reason == "interrupted" or (reason == "time_limit" and status != "optimal"):
            return status if status == "infeasible" else reason
        return status

    def to_dict(self) -> dict[str, Any]:
        """Give the result under the keys of the contract; ready for strict JSON."""
        own = (
            *("seed", "steps", "chains", "accepted", "method", "policy", "start", "found_by", "schedule"),
            *("backend", "device", "threads", "seconds", "version", "manifest"),
        )
        return {
            **self.head(),
            "stop_reason": self.stop_reason,
            "objective": self.objective,
            "sense": self.sense,
            **self.instance.details(self.raw),
            "feasible": self.violation is None,
            **({} if self.violation is None else {"violation": self.violation}),
            "solution": self.ids,
            **self.worth(),
            **{name: getattr(self, name) for name in own},
            "schedule": dict(self.schedule),
            "seconds": {key: round(value, 6) for key, value in self.seconds.items()},
            "manifest": dict(self.manifest),
        }


def solution_formats(problem: Problem[Any]) -> list[str]:
    """Names of the formats that a problem's results can be written in."""
    return ["json", "jsonl", "table", "csv", *(f.name for f in problem.solution_formats)]


def formats_by_suffix(problem: Problem[Any]) -> dict[str, str]:
    """List the formats of results by the endings of file names."""
    own = {s: f.name for f in problem.solution_formats for s in f.suffixes}
    return {".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".txt": "table", **own}


def check_format(problem: Problem[Any], instance: Instance, fmt: str, count: int) -> None:
    """Refuse a format before anything is computed.

    Raises
    ------
    UsageError
        If the problem has no such format, or the format holds one result and there will be several, or none
        of this instance.
    """
    if fmt not in solution_formats(problem):
        known = ", ".join(solution_formats(problem))
        raise UsageError(f"expected one of {known} for {problem.name}, got {shown(fmt)}", option="format")
    if count > 1 and fmt not in ("json", "jsonl", "table"):
        raise UsageError(f"{fmt} holds one solution, got {count}", option="format", use={"format": "jsonl"})
    for form in problem.solution_formats:
        if form.name == fmt and form.check is not None:
            form.check(instance)


def format_results(problem: Problem[Any], results: Sequence[Result], fmt: str) -> str:
    """Write results as text; see `check_format`."""
    if fmt == "jsonl" or (fmt == "json" and len(results) > 1):
        return "".join(dumps(r.to_dict()) + "\n" for r in results)
    if fmt == "table":
        return _as_table(results)
    (result,) = results
    if fmt == "json":
        return _json(result.to_dict())
    if fmt == "csv":
        return format_table(*result.instance.table(result.raw))
    (write,) = (f.write for f in problem.solution_formats if f.name == fmt and f.write)
    return write(result.instance, result.raw)


def format_evaluations(evaluations: Sequence[Evaluation], fmt: str) -> str:
    """Write evaluations as ``text`` or ``json`` (a line each if several)."""
    if fmt == "json":
        return "".join(dumps(e.to_dict()) + "\n" for e in evaluations)
    if len(evaluations) == 1:
        return "".join(f"{key:<11}{text}\n" for key, text in _evaluation_rows(evaluations[0]))
    rows = []
    for e in evaluations:
        objective = "-" if e.objective is None else e.measured(e.objective)
        bound = "-" if e.bound is None else e.measured(e.bound.value)
        row = [e.instance.name or "-", e.instance.size, e.status, objective, bound, _percent(e.gap)]
        rows.append([*row, e.violation or ""])
    return _table(("name", "n", "status", "objective", "bound", "gap", "violation"), rows)


def _json(data: dict[str, Any]) -> str:
    """Write one object with one key a line."""
    lines = [f"  {dumps(key)}: {dumps(value)}" for key, value in data.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def draw(table: Table, width: int = 100) -> str:
    """Render a Rich table as plain text; names are no markup."""
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=width, no_color=True, highlight=False, markup=False, emoji=False).print(table)
    # Rich pads the last column with blanks.
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    from rich.table import Table

    table = Table(*names) if names else Table(show_header=False, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(str, row))
    return draw(table)


def _as_table(results: Sequence[Result]) -> str:
    if len(results) == 1:
        return _table((), _rows(results[0]))
    rows = []
    for r in results:
        objective = r.measured(r.objective)
        cells = [r.instance.name or "-", r.instance.size, objective, r.status, _percent(r.gap)]
        rows.append([*cells, f"{r.seconds['solve']:.2f}"])
    return _table(("name", "n", "objective", "status", "gap", "seconds"), rows)


def _rows(result: Result) -> list[tuple[str, str]]:
    ids = result.ids
    more = f" … ({len(ids)} in all; the rest in json)" if len(ids) > _SHOWN else ""
    how = [("method", result.found_by)]  # of a bound that met the answer: nothing was searched
    if result.method != "exact":
        how = [("found by", result.found_by)] if result.found_by != "annealing" else []
        how += [("seed", str(result.seed)), ("method", f"{result.method}, policy {result.policy}")]
        how.append(("steps", f"{result.steps} in each of {result.chains} chains, start {result.start}"))
    return [
        ("problem", result.problem),
        ("name", result.instance.name or "-"),
        ("n", str(result.instance.size)),
        _objective(result),
        *result.instance.told(result.instance.details(result.raw)).items(),
        ("status", _status(result)),
        *_bound_and_gap(result),
        *how,
        ("seconds", f"{result.seconds['total']:.2f} on {result.device}"),
        ("solution", _ids(ids[:_SHOWN]) + more),
    ]


def _evaluation_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    instance = evaluation.instance
    rows = [("instance", f"{instance.name or '-'} ({evaluation.problem}, n = {instance.size})")]
    if evaluation.objective is None:
        return [*rows, ("feasible", f"no: {evaluation.violation}")]
    rows += [("feasible", "yes"), _objective(evaluation), *_bound_and_gap(evaluation)]
    if evaluation.bound is not None:
        rows.append(("status", _PROVED if evaluation.proved else "feasible"))
    return [*rows, *(("remark", remark) for remark in evaluation.remarks)]


def _objective(evaluation: Evaluation) -> tuple[str, str]:
    better = "smaller" if evaluation.sense == "min" else "larger"
    objective = "-" if evaluation.objective is None else evaluation.measured(evaluation.objective)
    return "objective", f"{objective} ({better} is better)"


def _bound_and_gap(evaluation: Evaluation) -> list[tuple[str, str]]:
    rows, best = [], evaluation.instance.best_known
    if (bound := evaluation.bound) is not None:
        rows.append(("bound", f"{evaluation.measured(bound.value)} ({bound.method}, {bound.seconds:.2f} s)"))
    if evaluation.gap is not None:
        to = "bound" if best is None else f"best known {evaluation.measured(best)}"
        rows.append(("gap", f"{_percent(evaluation.gap)} to the {to}"))
    return rows


def _status(result: Result) -> str:
    if result.violation is not None:
        return f"infeasible: {result.violation}"
    if result.status == "optimal":
        return _PROVED
    return f"{result.status} (stopped by {result.stop_reason})"


def _ids(ids: Sequence[Any]) -> str:
    """Join ids: numbers by blanks, names by commas, lists by bars."""
    if any(isinstance(x, list) for x in ids):
        return " | ".join(_ids(x) for x in ids)
    return quoted(ids) if any(isinstance(x, str) for x in ids) else " ".join(map(readable, ids))


def _percent(gap: float | None) -> str:
    return "-" if gap is None else f"{100 * gap:.3f} %"
