"""The rows as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nsa_cli.bench.summary import Row
from nsa_cli.report.text import draw

if TYPE_CHECKING:
    from rich.table import Table

_LEFT = ("solver", "steps")


def format_rows(rows: Sequence[Row], caption: Sequence[str]) -> str:
    """Lay rows out, with the lines of a caption below and the notes on the paper's figures after them."""
    notes = _notes(rows)
    table = _table(rows[0].problem, [*caption, *(f"({k}) {note}" for note, k in notes.items())])
    cells = [_cells(row, notes) for row in rows]
    used = [name for name in cells[0] if any(row[name] for row in cells)]
    for name in used:
        table.add_column(name, justify="left" if name in _LEFT else "right", no_wrap=True)
    for k, row in enumerate(rows):
        if k and (rows[k - 1].size, rows[k - 1].kind) != (row.size, row.kind):
            table.add_section()
        table.add_row(*(cells[k][name] for name in used))
    return draw(table, width=160)


def _table(title: str, caption: Sequence[str]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    style = {"title_justify": "left", "title_style": "", "caption_justify": "left", "caption_style": ""}
    return Table(box=SIMPLE_HEAD, title=title, caption="\n".join(caption), pad_edge=False, **style)  # type: ignore[arg-type]


def _notes(rows: Sequence[Row]) -> dict[str, int]:
    """Number the notes in the order in which they are needed."""
    notes = dict.fromkeys(row.paper_note for row in rows if row.paper_note)
    return {note: k for k, note in enumerate(notes, start=1)}


def _cells(row: Row, notes: dict[str, int]) -> dict[str, str]:
    mark = f" ({notes[row.paper_note]})" if row.paper_note else ""
    published = row.kind == "published"
    return {
        "size": str(row.size),
        "solver": row.solver,
        "steps": row.budget,
        "mean": "published" if published else _number(row.mean, 4),
        "± 95 %": _number(row.ci95, 4),
        "std seeds": _number(row.std_seeds, 4),
        "gap %": _percent(row.gap, 3),
        "s/instance": _seconds(row.seconds),
        "s total": (row.paper_time or "") if published else _seconds(row.seconds_total),
        "paper": _number(row.paper_value, 3) + mark,
        "paper %": _percent(row.paper_gap, 2),
        "difference": "" if row.difference is None else f"{row.difference:+.4f}",
    }


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None, digits: int) -> str:
    return "" if value is None else f"{100 * value:.{digits}f}"


def _seconds(value: float | None) -> str:
    """Three significant digits, without exponents."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.001 else f"{value:.6f}"
