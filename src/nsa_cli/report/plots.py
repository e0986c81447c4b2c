"""Pictures in one style, without pyplot's global state, and how a run went, as a picture and as numbers."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.drawing import BLACK, BLUE, GREY, ORANGE, RED, SKY, Drawing, number, title
from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.extras import how_to_install, is_installed, need
from nsa_cli.core.instance import Instance, Number, Solution
from nsa_cli.io.atomic import write_bytes, write_text
from nsa_cli.io.table import format_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nsa_cli.anneal.chains import Progress

#: Formats by file name ending, with the metadata to leave out: it would differ from run to run.
_FORMATS: dict[str, dict[str, None]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}

_STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 11.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.labelsize": 9.5,
    "axes.grid": False,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.titlesize": 11.5,
    "savefig.dpi": 150,
    "svg.hashsalt": "nsa",
    "svg.fonttype": "path",
    "text.usetex": False,
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), "#B0B0B0"),
    **dict.fromkeys(("axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), "#404040"),
    **{f"{axis}tick.{kind}.size": 0 for axis in "xy" for kind in ("major", "minor")},
}

#: Rows of a curve: as many as a picture can show.
ROWS = 1000

#: Width and height of the picture of a run, in inches, and of one that has no temperatures.
_RUN_SHAPE, _PLAIN_SHAPE = (7.5, 7.0), (7.5, 4.2)


def check_picture(option: str, path: str, others: Sequence[str] = ()) -> None:
    """Refuse a picture that cannot be made, before anything is computed; `others` are endings there are, too.

    Raises
    ------
    UsageError
        If matplotlib is not installed, or the file's name has no ending of a picture.
    """
    if Path(path).suffix.lower() not in _FORMATS:
        known = ", ".join((*others, *_FORMATS))
        raise UsageError(f"expected a file name that ends in {known}, got {shown(path)}", option=option)
    if not is_installed("matplotlib"):
        raise UsageError(f"needs {how_to_install('matplotlib')}", option=option)


def need_drawing(drawing: Drawing[Any] | None, problem: str, option: str | None = None) -> Drawing[Any]:
    """Insist on a drawing and on what it is made with; `problem` is a name, `option` is named in errors.

    Raises
    ------
    UsageError
        If there is none, or matplotlib is not installed.
    """
    need("matplotlib", "a picture", option)
    if drawing is None:
        raise UsageError(f"there is no picture of {problem}", option=option)
    return drawing


def picture(shape: tuple[float, float], draw: Callable[..., None], *what: Any) -> Figure:
    """Draw a figure that a notebook shows.

    Parameters
    ----------
    shape : tuple of float
        Width and height in inches.
    draw : callable
        ``draw(figure, *what)``, on an empty figure with constrained layout.
    *what
    """
    with _styled():
        figure = _notebook_figure()(figsize=shape, layout="constrained")
        draw(figure, *what)
    return figure


def solution_picture(
    drawing: Drawing[Any], instance: Instance, solution: Solution, way: Solution | None = None
) -> Figure:
    """Draw a solution, with the `way` that led to it where the drawing follows one."""
    return picture(drawing.shape(instance, solution), drawing.solution, instance, solution, way)


def write_picture(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format that the file's ending means, as `check_picture` wants it."""
    write_bytes(path, picture_bytes(figure, Path(path).suffix.lower()))


def picture_bytes(figure: Figure, suffix: str = ".png") -> bytes:
    """Render a figure in the format of a file name ending."""
    buffer = io.BytesIO()
    with _styled():
        figure.savefig(buffer, format=suffix[1:], metadata=_FORMATS[suffix])
    return buffer.getvalue()


@functools.cache
def _notebook_figure() -> type[Figure]:
    """Make the class of figures that notebooks show without pyplot."""
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):  # type: ignore[misc,unused-ignore]  # checked with and without matplotlib
        def _repr_png_(self) -> bytes:
            return picture_bytes(self)

    return NotebookFigure


@contextlib.contextmanager
def _styled() -> Iterator[None]:
    """Context with our style, in which nothing is said of missing glyphs and fonts."""
    from matplotlib import rc_context

    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with rc_context(_STYLE), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield
    finally:
        logger.setLevel(level)


class Row(NamedTuple):
    """A point of the curve; objectives are the engine's running sums, in the file's sense and units.

    Fields are named as the columns of the file.

    Attributes
    ----------
    step : int
        Steps done.
    seconds : float
        Since the first step.
    temperature : float
        Of the last step, in normalised units.
    acceptance : float
        Accepted share of the proposals since the row before; nan in the first row.
    mean, current_best : float
        Of the chains' current objectives: their mean, and the best one.
    best : float
        The best so far.
    phase : str
        What was done: of large steps `starts`, `recombination` or `chain`; empty where there are no phases.
    """

    step: int
    seconds: float
    temperature: float
    acceptance: float
    mean: float
    current_best: float
    best: float
    phase: str = ""


class Trace:
    """Recorder of a run's curve, thinned to about a thousand rows.

    Parameters
    ----------
    sense : {'min', 'max'}
        Of the problem; energies are turned into objectives.
    follow : bool
        Whether to keep the chains' solutions, too.
    rows : int
        Rows to keep at most.
    """

    def __init__(self, sense: str, *, follow: bool = False, rows: int = ROWS) -> None:
        self._sign = 1.0 if sense == "min" else -1.0
        self._follow, self._most = follow, rows
        self._rows: list[Row] = []
        self._places: list[NDArray[Any]] = []
        self._began = 0.0

    def __call__(self, progress: Progress) -> None:
        """Record a point."""
        if not self._rows:
            self._began = time.monotonic()
        # Kept as a sum over all steps: rows that are left out later take nothing with them.
        accepted = progress.acceptance * progress.step
        energies = (progress.mean, progress.lowest, progress.best)
        mean, lowest, best = (math.nan if e is None else self._sign * e for e in energies)
        seconds = time.monotonic() - self._began
        self._rows.append(
            Row(progress.step, seconds, progress.temperature, accepted, mean, lowest, best, progress.phase)
        )
        if self._follow and progress.chains is not None:
            self._places.append(progress.chains.x.copy())
        if len(self._rows) > 2 * self._most:
            self._rows, self._places = self._rows[::2], self._places[::2]

    def rows(self) -> list[Row]:
        """Give the curve so far, thinned, with its first and last row."""
        if not self._rows:
            return []
        last = len(self._rows) - 1
        kept = range(0, last, max(-(-(last + 1) // (self._most + 1)), 1))
        some = [self._rows[i] for i in (*kept, last)]
        steps = np.diff([row.step for row in some]).clip(min=1)
        shares = (np.diff([row.acceptance for row in some]) / steps).clip(0, 1).tolist()
        return [row._replace(acceptance=a) for row, a in zip(some, [math.nan, *shares], strict=True)]

    def path(self, solution: Solution) -> Solution | None:
        """Give the path of the chain nearest to a solution, [K, …]; None unless chains were followed."""
        if not self._places:
            return None
        places = np.stack(self._places)
        distance = np.abs(places - solution).reshape(*places.shape[:2], -1).sum(2).min(0)
        return np.asarray(places[:, int(distance.argmin())])

    def write(self, path: str | Path) -> None:
        """Write the curve as CSV, whole or not at all."""
        write_text(path, format_table(Row._fields, [_cells(row) for row in self.rows()]))


def _cells(row: Row) -> list[Any]:
    """Format a row; nan is an empty cell."""
    acceptance = "" if math.isnan(row.acceptance) else round(row.acceptance, 6)
    rest = ("" if math.isnan(x) else x for x in (row.mean, row.current_best, row.best))
    return [row.step, round(row.seconds, 6), float(f"{row.temperature:.9g}"), acceptance, *rest, row.phase]


def run_picture(rows: Sequence[Row], name: str | None, reference: tuple[str, Number] | None) -> Figure:
    """Draw the annealing curve: objectives over the steps, and of annealing temperature and acceptance.

    Those of large steps say nothing: most kicks lead back to the same solution.

    Parameters
    ----------
    rows : sequence of Row
    name : str, optional
        Of the instance.
    reference : tuple, optional
        A word and an objective to compare with: a bound, or the best known.
    """
    return picture(_PLAIN_SHAPE if rows[-1].phase else _RUN_SHAPE, _draw_run, rows, name, reference)


def _draw_run(
    figure: Figure, rows: Sequence[Row], name: str | None, reference: tuple[str, Number] | None
) -> None:
    data = np.array([row[:-1] for row in rows], dtype=np.float64)
    steps, seconds, temperature, acceptance, mean, current, best = data.T
    begins = [k for k in range(len(rows)) if k == 0 or rows[k].phase != rows[k - 1].phase]
    phases = list(pairwise([*begins, len(rows) - 1])) if len(begins) > 1 else []
    across, what = steps, "step of each chain"
    if any(steps[begin] == steps[end] for begin, end in phases):  # phases that take time, and no steps
        across, what = seconds, "seconds"
    heights = (2.4,) if rows[-1].phase else (2.4, 1, 1)
    panels = figure.subplots(len(heights), sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    top, *others = panels
    style = {"marker": "o", "markersize": 3.5} if len(rows) < 3 else {}
    top.plot(across, mean, color=SKY, lw=1.2, label="chains, mean", **style)
    top.plot(across, current, color=ORANGE, lw=1.0, label="chains, best at the time", **style)
    top.plot(across, best, color=BLUE, lw=2.0, label="best so far", **style)
    if reference is not None:
        top.axhline(reference[1], color=BLACK, lw=1.0, ls=(0, (4, 3)), label=reference[0])
    _scale(top, data[:, 4:], 100)
    told = f"best {number(float(f'{best[-1]:.10g}'))} after {number(steps[-1])} steps"
    top.set(title=title(name, told), ylabel="objective (file's units)")
    figure.legend(*top.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    if others:
        middle, bottom = others
        middle.plot(across, temperature, color=RED, lw=1.5, **style)
        middle.set_ylabel("temperature\n(normalised)")
        _scale(middle, temperature, 3)
        bottom.plot(across, 100 * acceptance, color=GREY, lw=0.8, **style)
        bottom.plot(across, 100 * _smooth(acceptance), color=BLACK, lw=1.5)
        bottom.set(ylabel="accepted\n(% of proposals)", ylim=(0, None))
    panels[-1].set_xlabel(what)
    for axes in panels:
        axes.grid(True)
        axes.margins(x=0.01)
        if axes.get_yscale() == "linear":
            axes.ticklabel_format(useOffset=False)
    for place, (begin, end) in enumerate(phases):
        left, right = across[begin], across[end]
        if place % 2:
            top.axvspan(left, right, color=GREY, alpha=0.15, lw=0)
        where = {"xycoords": top.get_xaxis_transform(), "textcoords": "offset points"}
        middle_of = ((left + right) / 2, 1.0)
        top.annotate(rows[begin].phase, middle_of, (0, -3), ha="center", va="top", fontsize="small", **where)
    figure.align_ylabels()


def _scale(axes: Axes, values: NDArray[np.float64], wide: float) -> None:
    """Make the axis logarithmic for values above 0 that are so wide apart."""
    if np.nanmin(values) > 0 and np.nanmax(values) > wide * np.nanmin(values):
        axes.set_yscale("log")


def _smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Running mean over a fiftieth of the curve; rows without a number count as nothing."""
    window, known = np.ones(max(len(values) // 50, 1)), np.isfinite(values)
    total = np.convolve(np.where(known, values, 0.0), window, "same")
    count = np.convolve(known.astype(np.float64), window, "same")
    return np.asarray(np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0))
