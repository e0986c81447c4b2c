"""The rows as a table for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nsa_cli.bench.summary import SummaryRow
from nsa_cli.report.text import draw

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
    sections = [(row.set, row.budget if by_seconds else row.kind) for row in rows]
    for k, texts in enumerate(zip(*used.values(), strict=True)):
        if k and sections[k - 1] != sections[k]:
            table.add_section()
        table.add_row(*texts)
    return draw(table, width=160)


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _percent(value: float | None, digits: int) -> str:
    return "" if value is None else f"{100 * value:.{digits}f}"


def _seconds(value: float | None) -> str:
    """Three significant digits, without exponents."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.001 else f"{value:.6f}"
