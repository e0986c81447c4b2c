"""From samples to curves: points with their errors, as rows, files, a table and a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.bench import statistics
from nsa_cli.bench.curves import Sample, format_budget, references_of
from nsa_cli.core.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, RED, SKY
from nsa_cli.io.atomic import write_text
from nsa_cli.io.json_text import dumps
from nsa_cli.io.table import format_table
from nsa_cli.report.plots import save
from nsa_cli.report.text import draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Columns of the file of all runs.
COLUMNS = (
    *("problem", "size", "instance", "solver", "seed", "steps", "budget", "objective"),
    *("reference", "gap", "seconds", "cpu_seconds", "set", "kind", "threads"),
)

_COLOURS = (BLUE, ORANGE, GREEN, RED, SKY, BLACK)
_MARKERS = "osD^vP*X"

#: Gaps below this are rounding: a sum of the same numbers in another order.
_SAME = 1e-12

#: With this share of a processor a thread has not been kept waiting.
_FREE = 0.8

#: Times further apart than this share have marks at powers of ten only.
_WIDE = 150.0

#: Inches of a panel; panels side by side.
_PANEL, _ACROSS = (4.8, 3.9), 3


class Point(NamedTuple):
    """A contender at a budget on a set; the names are keys of ``summary.json``.

    Attributes
    ----------
    set, problem, solver, kind : str
    budget : float or None
        Seconds.
    threads : int or None
        At most; None where others decide.
    instances : int
    mean : float
        Objective.
    gap, ci95 : float or None
        Mean of the instances' gaps, and half the width of its 95 % confidence interval.
    worst : float or None
        Largest gap.
    behind, behind_ci95 : float or None
        Mean difference to the gap of the first contender at this budget, instance by instance, and half the
        width of its interval; positive is worse.
    seconds, cpu_seconds : float
        Means.
    """

    set: str
    problem: str
    solver: str
    kind: str
    budget: float | None
    threads: int | None
    instances: int
    mean: float
    gap: float | None
    ci95: float | None
    worst: float | None
    behind: float | None
    behind_ci95: float | None
    seconds: float
    cpu_seconds: float


def points_of(samples: Sequence[Sample]) -> list[Point]:
    """Average over instances: set by set, budget by budget, in the order of the contenders."""
    points: list[Point] = []
    for some in _by_set(samples):
        gaps = gaps_of(some)
        order = {s.contender.name: None for s in sorted(some, key=lambda s: s.place) if s.contender.timed}
        names = sorted(order, key=lambda name: name != "nsa-solve")
        cells: dict[tuple[str, float | None], list[int]] = {}
        for k, sample in enumerate(some):
            cells.setdefault((sample.contender.name, sample.budget), []).append(k)
        keys = sorted(
            cells,
            key=lambda key: (
                key[1] is not None,
                key[1] or 0.0,
                names.index(key[0]) if key[0] in names else 0,
            ),
        )
        points += [_point(some, gaps, cells[key], cells.get((names[0], key[1]), [])) for key in keys]
    return points


def _point(samples: Sequence[Sample], gaps: NDArray[np.float64], mine: list[int], first: list[int]) -> Point:
    sample, own = samples[mine[0]], gaps[mine]
    known = not np.isnan(own).any()
    beside = first and first != mine and len(first) == len(mine) and known
    behind = own - gaps[first] if beside else None
    return Point(
        sample.set.label,
        sample.set.problem.name,
        sample.contender.name,
        sample.contender.kind,
        sample.budget,
        sample.contender.threads,
        len(mine),
        float(np.mean([samples[k].objective for k in mine])),
        statistics.mean(own),
        statistics.half_width(own) if known else None,
        float(own.max()) if known else None,
        None if behind is None else float(behind.mean()),
        None if behind is None else statistics.half_width(behind),
        float(np.mean([samples[k].seconds for k in mine])),
        float(np.mean([samples[k].cpu_seconds for k in mine])),
    )


def gaps_of(samples: Sequence[Sample]) -> NDArray[np.float64]:
    """Gaps of one set's samples to their references, float64[n]; NaN where nothing is relative to 0."""
    references = references_of(samples)
    gaps = statistics.relative_gaps(
        np.array([s.objective for s in samples]),
        np.array([references[s.place] for s in samples]),
        samples[0].set.problem.sense,
    )
    return np.where(abs(gaps) < _SAME, 0.0, gaps)


def is_busy(samples: Sequence[Sample]) -> str | None:
    """Say so if the machine kept contenders waiting: budgets are by the clock."""
    ours = [s for s in samples if s.contender.threads == 1 and s.budget is not None]
    share = sum(s.cpu_seconds for s in ours) / max(sum(s.seconds for s in ours), 1e-9)
    if not ours or share >= _FREE:
        return None
    return f"The machine was busy: threads of ours had {100 * share:.0f} % of a processor. Measure again."


def _by_set(samples: Sequence[Sample]) -> list[list[Sample]]:
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        groups.setdefault(sample.set.label, []).append(sample)
    return list(groups.values())


def write_curves(
    directory: Path, samples: Sequence[Sample], about: Mapping[str, Any], *, picture: bool
) -> None:
    """Write ``runs.csv``, ``summary.json`` and, if asked to, ``curves.png``, each whole or not at all."""
    write_text(directory / "runs.csv", format_table(COLUMNS, sample_rows(samples)))
    points = points_of(samples)
    head = [f"  {dumps(key)}: {dumps(value)}" for key, value in about.items()]
    body = ",\n".join(f"    {dumps(point._asdict())}" for point in points)
    write_text(
        directory / "summary.json", "{\n" + ",\n".join([*head, f'  "points": [\n{body}\n  ]']) + "\n}\n"
    )
    if picture:
        save_curves(directory / "curves.png", points)


def sample_rows(samples: Sequence[Sample]) -> list[list[Any]]:
    """Lay all samples out under `COLUMNS`."""
    rows: list[list[Any]] = []
    for some in _by_set(samples):
        references = references_of(some)
        for sample, gap in zip(some, gaps_of(some).tolist(), strict=True):
            chosen, contender = sample.set, sample.contender
            size = chosen.tasks[sample.place].instance.size
            who = (chosen.problem.name, size, chosen.names[sample.place], contender.name, sample.seed)
            what = (sample.steps, format_budget(sample.budget), sample.objective, references[sample.place])
            times = (round(sample.seconds, 6), round(sample.cpu_seconds, 6))
            rows.append(
                [
                    *who,
                    *what,
                    None if np.isnan(gap) else gap,
                    *times,
                    chosen.label,
                    contender.kind,
                    contender.threads,
                ]
            )
    return rows


def format_points(points: Sequence[Point], caption: Sequence[str]) -> str:
    """Lay points out as a table for people."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        box=SIMPLE_HEAD, pad_edge=False, caption="\n".join(caption), caption_justify="left", caption_style=""
    )
    for name in (
        "set",
        "budget",
        "solver",
        "mean",
        "gap %",
        "± 95 %",
        "worst %",
        "behind %",
        "± ",
        "CPU ms",
        "ms",
    ):
        table.add_column(name, justify="left" if name in ("set", "solver") else "right", no_wrap=True)
    for k, point in enumerate(points):
        if k and (points[k - 1].set, points[k - 1].budget) != (point.set, point.budget):
            table.add_section()
        percents = (point.gap, point.ci95, point.worst, point.behind, point.behind_ci95)
        cells = ("" if x is None else f"{100 * x:.4f}" for x in percents)
        head = (point.set, format_budget(point.budget), point.solver, f"{point.mean:.6g}")
        table.add_row(*head, *cells, f"{1e3 * point.cpu_seconds:.3g}", f"{1e3 * point.seconds:.3g}")
    return draw(table, width=160)


def save_curves(path: Path, points: Sequence[Point]) -> None:
    """Draw a panel a set: gap against CPU seconds, a curve a contender, bands of 95 % confidence."""
    labels = list(dict.fromkeys(point.set for point in points))
    across = min(len(labels), _ACROSS)
    down = -(-len(labels) // across)
    save(
        path,
        (_PANEL[0] * across, _PANEL[1] * down + 0.7),
        lambda figure: _draw(figure, points, labels, across),
    )


def _draw(figure: Figure, points: Sequence[Point], labels: Sequence[str], across: int) -> None:
    down = -(-len(labels) // across)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    names = list(dict.fromkeys(point.solver for point in sorted(points, key=lambda p: p.budget is None)))
    shown: dict[str, Any] = {}
    for axes, label in zip(panels, labels, strict=False):
        _panel(axes, [point for point in points if point.set == label], names, shown)
        axes.set_title(label)
    for axes in panels[len(labels) :]:
        axes.set_visible(False)
    for axes in panels[:: across if down > 1 else len(panels)]:
        axes.set_ylabel("gap (%)")
    for axes in panels[max(len(labels) - across, 0) : len(labels)]:
        axes.set_xlabel("CPU time an instance")
    rows = -(-len(shown) // (2 * across))
    figure.legend(
        shown.values(), shown.keys(), loc="outside upper center", ncols=max(-(-len(shown) // rows), 1)
    )


def _panel(axes: Axes, points: Sequence[Point], names: Sequence[str], shown: dict[str, Any]) -> None:
    for name in names:
        curve = [p for p in points if p.solver == name and p.gap is not None]
        if not curve:
            continue
        marker = _MARKERS[names.index(name) % len(_MARKERS)]
        colour = GREY if curve[0].budget is None else _COLOURS[names.index(name) % len(_COLOURS)]
        x = np.array([p.cpu_seconds for p in curve])
        y = 100 * np.array([p.gap for p in curve])
        half = 100 * np.array([p.ci95 or 0.0 for p in curve])
        style = {"color": colour, "marker": marker, "markersize": 4.5, "lw": 1.6, "clip_on": False}
        shown[name] = (
            axes.errorbar(x, y, yerr=half, **style) if len(curve) == 1 else axes.plot(x, y, **style)[0]
        )
        axes.fill_between(x, y - half, y + half, color=colour, alpha=0.15, lw=0)
    _times(axes, np.array([p.cpu_seconds for p in points if p.gap is not None]))
    _scale(axes, np.array([100 * p.gap for p in points if p.gap is not None]))
    axes.grid(True)


def _times(axes: Axes, seconds: NDArray[np.float64]) -> None:
    """Take logarithms of times, with marks that are budgets: 1, 2 and 5 times a power of ten, or fewer."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("log")
    span = seconds.max(initial=1e-9) / seconds.min(initial=np.inf)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if span < _WIDE else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: format_budget(float(f"{x:.3g}"))))
    axes.xaxis.set_minor_locator(NullLocator())


def _scale(axes: Axes, gaps: NDArray[np.float64]) -> None:
    """Take logarithms of gaps, with a straight piece from the smallest down to 0; none of negative ones."""
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
