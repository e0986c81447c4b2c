"""Pictures of the knapsack: items by weight and value, and the logits of a policy (the paper's figure 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.drawing import BLACK, BLUE, ORANGE, Drawing, label_points, number, show_logits, title
from nsa_cli.core.exact import exact_sum
from nsa_cli.core.instance import Solution
from nsa_cli.problems.knapsack.heuristics import by_ratio, ratios
from nsa_cli.problems.knapsack.instance import KnapsackInstance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nsa_cli.core.drawing import LearntView

#: Items up to which they are named.
_NAMED = 60

#: Points of the grid along each axis: weights, and values.
_GRID = 49

#: Free capacities of the panels: everything fits, and hardly anything does.
_ROOMS = (1.0, 0.15)

#: States of the item.
_STATES = ("outside, $x_i=0$", "in the knapsack, $x_i=1$")


class KnapsackDrawing(Drawing[KnapsackInstance]):
    """Items in the plane of weight and value."""

    policy_shape = (8.6, 7.4)

    def solution(
        self, figure: Figure, instance: KnapsackInstance, solution: Solution, path: Solution | None = None
    ) -> None:
        axes = figure.subplots()
        size = instance.size
        points = np.stack([instance.weights, instance.values], 1).astype(np.float64)
        area = min(max(4_000 / size, 7.0), 60.0)
        style: dict[str, Any] = {"s": area, "linewidths": 0.9, "zorder": 3, "clip_on": False}
        chosen, left = points[solution], points[~solution]
        hollow: dict[str, Any] = {"facecolors": "none", "edgecolors": ORANGE, **style}
        axes.scatter(*chosen.T, marker="o", color=BLUE, label=f"chosen ({len(chosen):,})", **style)
        axes.scatter(*left.T, marker="D", label=f"left ({len(left):,})", **hollow)
        top = points.max(0)
        axes.set(xlim=(0, 1.08 * top[0] or 1), ylim=(0, 1.08 * top[1] or 1))
        along = np.zeros((0, 2))
        if (ratio := critical_ratio(instance)) is not None:
            ends = np.array([[0.0, 0.0], [2 * top[0], 2 * top[0] * ratio]])
            label = f"critical ratio, {ratio:.4g} a unit of weight"
            axes.plot(*ends.T, color=BLACK, lw=1.1, ls=(0, (5, 3)), label=label)
            along = np.linspace(ends[0], ends[1], 400)
        value, weight = number(instance.objective(solution)), number(exact_sum(instance.weights[solution]))
        what = f"value {value}, weight {weight} of {number(instance.capacity)}"
        axes.set(title=title(instance.name, what))
        axes.set(xlabel="weight (file's units)", ylabel="value (file's units)")
        axes.grid(True)
        figure.legend(loc="outside lower center", ncols=3)
        if size <= _NAMED:
            label_points(axes, points, instance.items.ids, avoid=along, radius=area**0.5 / 2 + 1)

    def policy(self, figure: Figure, view: LearntView) -> None:
        """Logits of an item over its weight and value, for both states; with much room, and with little."""
        grid = np.round(np.linspace(0.01, 0.99, _GRID), 4)
        panels = [[_logits(view, grid, taken, room) for taken in (False, True)] for room in _ROOMS]
        if all(np.allclose(a[0], b[0], atol=1e-4) for a, b in zip(*panels, strict=True)):
            panels = panels[:1]  # a policy that does not see the free capacity
            figure.set_size_inches(9.0, 4.6)
        axes = figure.subplots(len(panels), 2, sharex=True, sharey=True, squeeze=False)
        every = np.stack([logits for row in panels for logits, _ in row])
        for i, row in enumerate(panels):
            free = min(_ROOMS[i], float(view.instance.capacity))  # few items have little room at most
            room = f"; free capacity {free:.3g}" if len(panels) > 1 else ""
            axes[i, 0].set_ylabel("value $v_i$")
            for here, (logits, allowed), state in zip(axes[i], row, _STATES, strict=True):
                image = show_logits(here, grid, logits, vmin=every.min(), vmax=every.max())
                veil = np.where(allowed, np.nan, 1.0)  # pale where the item may not be flipped
                style = {"cmap": "Greys_r", "vmin": 0, "vmax": 1, "alpha": 0.65, "rasterized": True}
                here.pcolormesh(grid, grid, veil, **style)
                here.set_title(f"{state}{room}")
        for here in axes[-1]:
            here.set_xlabel("weight $w_i$")
        pale = "; pale: does not fit" if len(panels) > 1 else ""
        what = f"logits of flipping an item, temperature {view.temperature:.2g}{pale}"
        view.entitle(figure, what)
        figure.colorbar(image, ax=axes, label="logit (higher is likelier)", shrink=0.85)


def critical_ratio(instance: KnapsackInstance) -> float | None:
    """Value per weight of the break item; None if all items fit."""
    order = by_ratio(instance)
    over = np.flatnonzero(np.cumsum(instance.exact.units[order]) > instance.exact.capacity)
    return float(ratios(instance)[order[over[0]]]) if len(over) else None


def _logits(
    view: LearntView, grid: NDArray[np.float64], taken: bool, room: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Ask the policy about one item of every weight and value: logits by [value, weight], where it may flip.

    The other items are those of the random instance; as many of them are taken, and stretched, as leave the
    room wanted.
    """
    instance: KnapsackInstance = view.instance
    capacity, chosen = round(float(instance.capacity), 6), np.zeros(instance.size, dtype=bool)
    others = slice(1, 1 + max(min(round(2 * float(instance.capacity)), instance.size - 1), 1))
    chosen[others] = True
    chosen[0] = taken

    def probe(weight: float, value: float) -> KnapsackInstance:
        weights, values = np.round(instance.weights, 6), instance.values.copy()
        load = max(capacity - room - taken * weight, 0.0)
        weights[others] = np.floor(1e6 * load / (others.stop - 1)) / 1e6
        weights[0], values[0] = weight, value
        return KnapsackInstance(values=values, weights=weights, capacity=capacity)

    logits, allowed = view.logits_on(grid, probe, chosen)
    return logits[..., 0], allowed[..., 0]


drawing = KnapsackDrawing()
