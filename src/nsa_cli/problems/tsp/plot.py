"""Plots: a tour on its map, and the probabilities of a policy (the paper's last figure)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.drawing import BLACK, BLUE, GREY, ORANGE, SCALE, Drawing, label_points, number, title
from nsa_cli.core.errors import UsageError
from nsa_cli.core.instance import Solution
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.two_opt.batch import pack

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nsa_cli.core.drawing import LearntView

#: Cities up to which they are named.
_NAMED = 80

#: Shapes of maps that a picture can have, as height over width.
_FLATTEST, _TALLEST = 0.35, 1.6


class TspDrawing(Drawing[TspInstance]):
    """A tour as a closed line, or a path as an open one, cities as dots; fixed edges stand out."""

    policy_shape = (10.0, 4.8)

    def shape(self, instance: TspInstance, solution: Solution) -> tuple[float, float]:
        points, stretch, on_globe = _map(instance)
        (left, low), (right, high) = _frame(points, stretch)
        width = 6.25 if on_globe else 6.4  # beside the degrees, or the numbers, of the axis
        return 7.0, width * stretch * (high - low) / (right - left) + 0.85

    def solution(
        self, figure: Figure, instance: TspInstance, solution: Solution, path: Solution | None = None
    ) -> None:
        axes, route, size = figure.subplots(), instance.route, instance.size
        points, stretch, on_globe = _map(instance)
        line = points[solution if route.open else np.append(solution, solution[0])]
        fine = min(1.0, (100 / size) ** 0.5)
        style = {"color": BLUE, "lw": max(1.8 * fine, 0.9), "zorder": 1, "solid_joinstyle": "round"}
        _draw_tour(axes, _cut(line, on_globe), style, size)
        for fixed in route.fixed:
            axes.plot(*_cut(points[list(fixed)], on_globe).T, **style | {"color": ORANGE})
        rim = {"edgecolors": BLUE, "linewidths": 1.4} if size <= _NAMED else {"linewidths": 0}
        dots = "white" if size <= _NAMED else BLACK
        axes.scatter(*points.T, s=max(26 * fine**2, 1.5), facecolors=dots, zorder=2, **rim)
        _show_start(axes, _cut(line, on_globe))
        length, unit = number(instance.objective(solution)), f" {instance.unit}".rstrip()
        cities = "1 city" if size == 1 else f"{size:,} cities"
        what = "open path" if route.open else "tour"
        axes.set_title(title(instance.name, f"{what} of length {length}{unit} through {cities}"))
        (left, low), (right, high) = _frame(points, stretch)
        axes.set(xlim=(left, right), ylim=(low, high), aspect=stretch)
        _name_axes(axes, instance, on_globe)
        if size <= _NAMED:
            label_points(axes, points, instance.cities.ids, avoid=_edges(line))

    def policy(self, figure: Figure, view: LearntView) -> None:
        """First-city and second-city probabilities on a random instance, half-way through a rollout."""
        if view.policy.feature_set == "nearest":
            raise UsageError(f"{view.name}: there is no picture of a policy for candidate lists")
        tour = view.x[len(view.temperatures) // 2, 0]
        points = view.instance.coords[tour]
        first, chosen, second = _probabilities(view, tour)
        panels = figure.subplots(1, 2)
        view.entitle(figure, f"2-opt on {len(tour)} random cities, temperature {view.temperature:.2g}")
        _show(figure, panels[0], points, first, r"probability of the first city, $i$")
        what = rf"probability of the second city, $j$, given $i={chosen}$"
        _show(figure, panels[1], points, second, what, chosen)
        handles, labels = panels[1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)


def _draw_tour(axes: Axes, line: NDArray[np.float64], style: dict[str, Any], size: int) -> None:
    """Draw the line; through many cities its colour goes from dark to light on the way."""
    if size <= _NAMED:
        axes.plot(*line.T, **style)
        return
    from matplotlib.collections import LineCollection

    legs = np.stack([line[:-1], line[1:]], 1)
    coloured: dict[str, Any] = {"cmap": SCALE, "array": np.arange(len(legs)), "capstyle": "round"}
    # The lightest fifth of the colours is hard to see on white.
    axes.add_collection(
        LineCollection(legs, lw=style["lw"], zorder=1, clim=(0, 1.25 * len(legs)), **coloured)
    )


def _show_start(axes: Axes, line: NDArray[np.float64]) -> None:
    """Make the first city stand out, and put an arrow in the middle of the edge that leads from it."""
    axes.scatter(*line[0], s=70, facecolors=ORANGE, edgecolors=BLACK, linewidths=1.2, zorder=3)
    if 1 < len(line) <= _NAMED and (line[0] != line[1]).any():
        style = {"arrowstyle": "-|>,head_width=0.3,head_length=0.7", "color": BLACK, "lw": 0}
        axes.annotate("", (line[0] + 0.55 * (line[1] - line[0])), line[0], arrowprops=style, zorder=3)


def _map(instance: TspInstance) -> tuple[NDArray[np.float64], float, bool]:
    """Places of the cities, float64[N, 2]; the height of a unit of y in units of x; whether on a globe."""
    if (degrees := instance.degrees) is not None:
        latitude, longitude = degrees.T
    elif (places := instance.display if instance.coords is None else instance.coords) is not None:
        return places[:, :2].astype(np.float64), 1.0, False
    else:
        return pack([instance]).points[0].astype(np.float64), 1.0, False
    middle = np.radians((latitude.min() + latitude.max()) / 2)
    return np.stack([_together(longitude), latitude], 1), float(1 / max(np.cos(middle), 0.1)), True


def _frame(points: NDArray[np.float64], stretch: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower left and upper right corner of the map: room around the cities, and no flatter than it may be."""
    low, high = points.min(0), points.max(0)
    unit = np.array([1.0, 1 / stretch])
    widest = float(((high - low) / unit).max()) or 1.0
    sides = (high - low) / unit + 0.1 * widest
    sides = np.maximum(sides, np.array([sides[1] / _TALLEST, sides[0] * _FLATTEST])) * unit
    return (low + high - sides) / 2, (low + high + sides) / 2


def _cut(line: NDArray[np.float64], on_globe: bool) -> NDArray[np.float64]:
    """The line with a gap, nan, wherever on a globe an edge leaves the map and comes in again."""
    if not on_globe:
        return line
    turns = np.round(np.diff(line[:, 0]) / 360)
    (over,) = np.nonzero(turns)
    turn = np.stack([360 * turns[over], np.zeros(len(over))], 1)
    ends = np.stack([line[over + 1] - turn, np.full_like(turn, np.nan), line[over] + turn], 1)
    return np.insert(line, np.repeat(over + 1, 3), ends.reshape(-1, 2), axis=0)


def _edges(closed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points on the edges of a tour, close enough that no label fits between two."""
    return np.linspace(closed[:-1], closed[1:], 60, axis=1).reshape(-1, 2)


def _together(longitude: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn the globe so that the map's edge is where the widest stretch without cities is."""
    east = np.sort(longitude % 360)
    gaps = np.diff(np.append(east, east[0] + 360))
    if np.ptp(longitude) <= 360 - gaps.max() + 1e-9:
        return longitude
    west_end = east[(int(gaps.argmax()) + 1) % len(east)]
    return np.asarray((longitude - west_end) % 360 + west_end)


def _name_axes(axes: Axes, instance: TspInstance, on_globe: bool) -> None:
    coords = instance.coords
    if on_globe:
        from matplotlib.ticker import MaxNLocator

        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(9, steps=[1, 1.5, 3, 6, 10]))
        axes.set(xlabel="longitude", ylabel="latitude")
        axes.xaxis.set_major_formatter(lambda x, _: _degrees((x + 180) % 360 - 180, "E", "W"))
        axes.yaxis.set_major_formatter(lambda y, _: _degrees(y, "N", "S"))
        axes.grid(True)
    elif coords is None and instance.display is None:
        axes.set(xlabel="cities in the plane that reproduces the matrix's lengths best", xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    else:
        unit = "file's units, seen along z" if coords is not None and coords.shape[1] > 2 else "file's units"
        if coords is None and instance.places is None:
            unit = "display data of the file"
        axes.set(xlabel=f"x ({unit})", ylabel="y")


def _degrees(value: float, positive: str, negative: str) -> str:
    if abs(value) > (90 if positive == "N" else 180):
        return ""  # beyond a pole
    return f"{abs(value):.4g}° {positive if value >= 0 else negative}" if value else "0°"


def _probabilities(
    view: LearntView, tour: NDArray[np.int64]
) -> tuple[NDArray[np.float64], int, NDArray[np.float64]]:
    """Of each position as first city; the likeliest; of each as second one, nan where it is not allowed."""

    def of(*chosen: int) -> NDArray[np.float64]:
        logits, allowed = (rows[0] for rows in view.logits([view.instance], tour, chosen))
        weights = np.exp(np.where(allowed, logits - logits[allowed].max(), -np.inf))
        return np.where(allowed, weights / weights.sum(), np.nan)

    if len(tour) < 4:
        why = f"expected at least 4 cities, which have moves to show, got {len(tour)}"
        raise UsageError(why, option="size")

    first = of()
    likeliest = int(np.nanargmax(first))
    return first, likeliest, of(likeliest)


def _show(
    figure: Figure,
    axes: Axes,
    points: NDArray[np.float64],
    shares: NDArray[np.float64],
    what: str,
    chosen: int | None = None,
) -> None:
    """Cities in the order of the tour, coloured by probability."""
    closed = np.append(points, points[:1], axis=0)
    axes.plot(*closed.T, color=GREY, lw=1.0, zorder=1, label="tour")
    known = np.argsort(shares)[: np.isfinite(shares).sum()]  # the likeliest on top
    fine = min(1.0, 40 / len(points))
    area, named = 110 * fine + 10, np.arange(len(points))
    style: dict[str, Any] = {"s": area, "edgecolors": BLACK, "linewidths": 0.6, "zorder": 2}
    coloured: dict[str, Any] = {"c": shares[known], "cmap": SCALE, "vmin": 0, "label": "city"}
    dots = axes.scatter(*points[known].T, **style, **coloured)
    if chosen is not None:
        named = np.delete(named, chosen)
        hollow = style | {"facecolors": "white", "linewidths": 0.9, "linestyle": ":"}
        axes.scatter(*points[named[np.isnan(shares[named])]].T, label="no candidate", **hollow)
        star = style | {"marker": "*", "color": ORANGE, "s": 330 * fine + 30, "zorder": 3, "linewidths": None}
        axes.scatter(*points[chosen], label="first city, $i$", **star)
    square = (-0.06, 1.06)
    axes.set(title=what, aspect="equal", xlim=square, ylim=square, xlabel="x", ylabel="y")
    figure.colorbar(dots, ax=axes, shrink=0.75, label="probability")
    if len(points) <= _NAMED:
        covered = np.concatenate([_edges(closed), points])
        label_points(axes, points[named], named.tolist(), avoid=covered, radius=area**0.5 / 2)


drawing = TspDrawing()
