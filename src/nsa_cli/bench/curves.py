"""The picture of a benchmark by seconds: gap against processor time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nsa_cli.bench.solvers import format_budget
from nsa_cli.bench.summary import SummaryRow
from nsa_cli.core.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, RED, SKY
from nsa_cli.report.plots import picture, write_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = (BLUE, ORANGE, GREEN, RED, SKY, BLACK)
_MARKERS = "osD^vP*X"

#: Ratio of the longest to the shortest time from which on marks are at powers of ten only.
_WIDE = 150.0

#: Width and height of a panel in inches; panels side by side.
_PANEL, _ACROSS = (4.8, 3.9), 3


def save_curves(path: Path, rows: Sequence[SummaryRow]) -> None:
    """Draw gap against processor time: a panel for each suite, a curve for each solver, 95 % bands."""
    labels = list(dict.fromkeys(row["set"] for row in rows))
    across = min(len(labels), _ACROSS)
    down = -(-len(labels) // across)
    shape = (_PANEL[0] * across, _PANEL[1] * down + 0.7)
    write_picture(picture(shape, _draw, rows, labels, down, across), path)


def _draw(figure: Figure, rows: Sequence[SummaryRow], labels: Sequence[str], down: int, across: int) -> None:
    panels = figure.subplots(down, across, squeeze=False).ravel()
    names = list(dict.fromkeys(row["solver"] for row in sorted(rows, key=lambda row: not row["budget"])))
    shown: dict[str, Any] = {}
    for k, (axes, label) in enumerate(zip(panels, labels, strict=False)):
        _panel(axes, [row for row in rows if row["set"] == label and row["gap"] is not None], names, shown)
        axes.set(title=label, ylabel="" if k % across else "gap (%)")
        axes.set_xlabel("CPU time an instance" if k >= len(labels) - across else "")
    for axes in panels[len(labels) :]:
        axes.set_visible(False)
    lines = -(-len(shown) // (2 * across))
    columns = max(-(-len(shown) // lines), 1)
    figure.legend(shown.values(), shown.keys(), loc="outside upper center", ncols=columns)


def _panel(axes: Axes, rows: Sequence[SummaryRow], names: Sequence[str], shown: dict[str, Any]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    numbers = [(row["cpu_seconds"], 100 * row["gap"], 100 * (row["gap_ci95"] or 0.0)) for row in rows]
    seconds, gaps, half_widths = np.array(numbers, dtype=np.float64).reshape(-1, 3).T
    for k, name in enumerate(names):
        mine = [i for i, row in enumerate(rows) if row["solver"] == name]
        if not mine:
            continue
        x, y, half = seconds[mine], gaps[mine], half_widths[mine]
        colour = _COLOURS[k % len(_COLOURS)] if rows[mine[0]]["budget"] else GREY
        style = {"color": colour, "marker": _MARKERS[k % len(_MARKERS)], "markersize": 4.5, "lw": 1.6}
        shown[name] = axes.errorbar(x, y, half if len(mine) == 1 else None, clip_on=False, **style)
        for bar in shown[name][2]:  # the point may lie on the border, its interval not beyond
            bar.set_clip_on(True)
        axes.fill_between(x, y - half, y + half, color=colour, alpha=0.15, lw=0)
    axes.set_xscale("log")
    wide = seconds.max(initial=1e-9) / seconds.min(initial=np.inf) >= _WIDE
    axes.xaxis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: format_budget(float(f"{x:.3g}"))))
    axes.xaxis.set_minor_locator(NullLocator())
    above = gaps[gaps > 0]
    if len(above) and not (gaps < 0).any():  # logarithmic, but linear from the smallest gap down to 0
        axes.set_ylim(top=1.6 * above.max())  # room for the band of the worst
        if len(above) == len(gaps):
            axes.set_yscale("log")
            axes.set_ylim(bottom=above.min() / 3)
        else:
            axes.set_yscale("symlog", linthresh=float(above.min()))
            axes.set_ylim(bottom=0)
    axes.grid(True)
