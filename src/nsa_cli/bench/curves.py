"""The picture of a benchmark by seconds: gap against processor time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.bench.solvers import format_budget
from nsa_cli.bench.summary import SummaryRow
from nsa_cli.core.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, RED, SKY
from nsa_cli.report.plots import save

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
    labels = list(dict.fromkeys(row.set for row in rows))
    across = min(len(labels), _ACROSS)
    down = -(-len(labels) // across)
    shape = (_PANEL[0] * across, _PANEL[1] * down + 0.7)
    save(path, shape, lambda figure: _draw(figure, rows, labels, (down, across)))


def _draw(figure: Figure, rows: Sequence[SummaryRow], labels: Sequence[str], grid: tuple[int, int]) -> None:
    down, across = grid
    panels = figure.subplots(down, across, squeeze=False).ravel()
    names = list(dict.fromkeys(row.solver for row in sorted(rows, key=lambda row: not row.budget)))
    shown: dict[str, Any] = {}
    for axes, label in zip(panels, labels, strict=False):
        _panel(axes, [row for row in rows if row.set == label and row.gap is not None], names, shown)
        axes.set_title(label)
    for axes in panels[len(labels) :]:
        axes.set_visible(False)
    for axes in panels[:: across if down > 1 else len(panels)]:
        axes.set_ylabel("gap (%)")
    for axes in panels[max(len(labels) - across, 0) : len(labels)]:
        axes.set_xlabel("CPU time an instance")
    lines = -(-len(shown) // (2 * across))
    columns = max(-(-len(shown) // lines), 1)
    figure.legend(shown.values(), shown.keys(), loc="outside upper center", ncols=columns)


def _panel(axes: Axes, rows: Sequence[SummaryRow], names: Sequence[str], shown: dict[str, Any]) -> None:
    numbers = np.array([(row.cpu_seconds, row.gap, row.gap_ci95 or 0.0) for row in rows], dtype=np.float64)
    seconds, gaps, half_widths = numbers.reshape(-1, 3).T * [[1], [100], [100]]
    for k, name in enumerate(names):
        mine = [i for i, row in enumerate(rows) if row.solver == name]
        if not mine:
            continue
        x, y, half = seconds[mine], gaps[mine], half_widths[mine]
        colour = _COLOURS[k % len(_COLOURS)] if rows[mine[0]].budget else GREY
        marker = _MARKERS[k % len(_MARKERS)]
        style = {"color": colour, "marker": marker, "markersize": 4.5, "lw": 1.6, "clip_on": False}
        one = len(mine) == 1
        shown[name] = axes.errorbar(x, y, yerr=half, **style) if one else axes.plot(x, y, **style)[0]
        if one:  # the point may lie on the border, its interval not beyond
            for bar in shown[name][2]:
                bar.set_clip_on(True)
        axes.fill_between(x, y - half, y + half, color=colour, alpha=0.15, lw=0)
    _scale_times(axes, seconds)
    _scale_gaps(axes, gaps)
    axes.grid(True)


def _scale_times(axes: Axes, seconds: NDArray[np.float64]) -> None:
    """Make the axis of times logarithmic, with ticks at 1, 2 and 5 times a power of ten, or fewer."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("log")
    span = seconds.max(initial=1e-9) / seconds.min(initial=np.inf)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if span < _WIDE else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: format_budget(float(f"{x:.3g}"))))
    axes.xaxis.set_minor_locator(NullLocator())


def _scale_gaps(axes: Axes, gaps: NDArray[np.float64]) -> None:
    """Make the axis of gaps logarithmic, but linear from the smallest down to 0; linear for negative gaps."""
    above = gaps[gaps > 0]
    if len(above) == 0 or (gaps < 0).any():
        return
    axes.set_ylim(top=1.6 * above.max())  # room for the band of the worst
    if len(above) == len(gaps):
        axes.set_yscale("log")
        axes.set_ylim(bottom=above.min() / 3)
    else:
        axes.set_yscale("symlog", linthresh=float(above.min()))
        axes.set_ylim(bottom=0)
