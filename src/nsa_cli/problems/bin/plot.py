"""Pictures of bin packing: bins as bars, and the logits of a policy (the paper's figure 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.drawing import BLACK, SCALE, Drawing, LearntView, number, plain, show_logits, title
from nsa_cli.core.errors import cut
from nsa_cli.core.instance import Solution
from nsa_cli.problems.bin.instance import BinInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

#: Bins up to which bins are numbered, and items named where there is room.
_NAMED = 40

#: Points of the grid along each axis: weights, and free capacities.
_GRID = 81


class BinDrawing(Drawing[BinInstance]):
    """Bins as bars, items side by side, heavy ones first."""

    policy_shape = (9.4, 4.1)

    def shape(self, instance: BinInstance, solution: Solution) -> tuple[float, float]:
        return 8.0, min(max(1.5 + 0.3 * len(np.unique(solution)), 3.0), 10.0)

    def solution(
        self, figure: Figure, instance: BinInstance, solution: Solution, path: Solution | None = None
    ) -> None:
        axes = figure.subplots()
        bins = [sorted(members, key=lambda i: -instance.weights[i]) for members in instance.bins(solution)]
        weights = instance.weights.astype(np.float64)
        left = np.concatenate([np.cumsum([0.0, *weights[members[:-1]]]) for members in bins])
        row = np.repeat(np.arange(1, len(bins) + 1), [len(members) for members in bins])
        items, few = np.concatenate(bins), len(bins) <= _NAMED
        boxes = _boxes(left, row, weights[items], 0.8 if few else 1.0)
        boxes.set(edgecolors="white", linewidths=min(0.8, 40 / len(bins) * 0.3))
        axes.add_collection(boxes)
        capacity, limit = float(instance.capacity), f"capacity {number(instance.capacity)}"
        axes.axvline(capacity, color=BLACK, lw=1.2, ls=(0, (5, 3)), label=limit)
        axes.set(xlim=(0, 1.02 * capacity if capacity > 0 else 1), ylim=(len(bins) + 0.5, 0.5))
        axes.set(xlabel="weight packed (file's units)", ylabel="bin")
        axes.set_title(title(instance.name, _summary(instance, len(bins))))
        figure.legend(loc="outside lower center")
        if few:
            axes.set_yticks(range(1, len(bins) + 1))
            figure.draw_without_rendering()
            names = [cut(instance.items.ids[i], 24) for i in items]
            _name_boxes(axes, boxes, names, left + weights[items] / 2, row)

    def policy(self, figure: Figure, view: LearntView) -> None:
        """Logits of items over weight and free capacity of their bins, and of bins for a chosen item."""
        grid = np.round(np.linspace(0.01, 0.99, _GRID), 4)
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        view.entitle(figure, f"temperature {view.temperature:.2g} (bins of capacity 1)")
        names = ("which item to move", "which bin to move it to")
        below = ("free capacity of its bin", "free capacity of the bin")
        for axes, logits, name, free in zip(panels, _logits(view, grid), names, below, strict=True):
            image = show_logits(axes, grid, logits)
            axes.set(title=name, xlabel="weight of the item", ylabel=free)
            axes.tick_params(labelleft=True)
            figure.colorbar(image, ax=axes, label="logit (higher is likelier)", shrink=0.8)


def _summary(instance: BinInstance, count: int) -> str:
    items = "1 item" if instance.size == 1 else f"{instance.size:,} items"
    bins = "1 bin" if count == 1 else f"{count:,} bins"
    space = count * float(instance.capacity)
    load = float(instance.weights.astype(np.float64).sum())
    return f"{items} in {bins}" + (f", {100 * load / space:.1f} % full" if space > 0 else "")


def _boxes(
    left: NDArray[np.float64], row: NDArray[np.int64], widths: NDArray[np.float64], height: float
) -> PolyCollection:
    """Items as boxes, coloured by their widths; the darkest colours are left out."""
    from matplotlib.collections import PolyCollection

    right, above, below = left + widths, row - height / 2, row + height / 2
    corners = np.array([[left, above], [right, above], [right, below], [left, below]])
    low, high = widths.min(), widths.max()
    shades = (low - 0.4 * (high - low), high) if high > low else (0.0, 2 * high)
    return PolyCollection(corners.transpose(2, 0, 1).tolist(), array=widths, cmap=SCALE, clim=shades)


def _name_boxes(
    axes: Axes,
    boxes: PolyCollection,
    names: Sequence[str],
    middle: NDArray[np.float64],
    row: NDArray[np.int64],
) -> None:
    """Write names into the boxes that are wide enough for them."""
    figure = axes.figure
    assert figure is not None
    boxes.update_scalarmappable()
    widths = np.asarray(boxes.get_array()) * axes.get_window_extent().width / np.ptp(axes.get_xlim())
    for name, x, y, width, colour in zip(names, middle, row, widths, boxes.get_facecolor(), strict=True):
        if 0.62 * 7.5 * figure.dpi / 72 * len(name) < width - 4:
            ink = "white" if colour[:3] @ (0.299, 0.587, 0.114) < 0.55 else "black"
            axes.text(x, y, plain(name), ha="center", va="center", fontsize=7.5, color=ink)


def _logits(view: LearntView, grid: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ask the policy about items of every weight in bins, and about bins, of every free capacity.

    Item 0 is the probe, item 1 its bin's other content, item 2 the content of the bin it may go to; the
    rest of the random instance lies in bins of its own.

    Returns
    -------
    float64[G, G], float64[G, G]
        Of the item and of the bin, by [free capacity, weight]; nan where there is no such state.
    """
    others = np.round(np.resize(view.instance.weights, max(view.instance.size, 3)), 4)

    def probe(weight: float, free: float) -> BinInstance:
        content = [weight, max(round(1 - weight - free, 4), 0.0), round(1 - free, 4)]
        return BinInstance(weights=np.append(content, others[3:]))

    packing = np.arange(len(others))
    packing[1:3] = 0, 1
    item, _ = view.logits_on(grid, probe, packing)
    target, fits = view.logits_on(grid, probe, packing, 0)
    there = grid + grid[:, None] <= 1 + 1e-9
    return np.where(there, item[..., 0], np.nan), np.where(fits[..., 1], target[..., 1], np.nan)


drawing = BinDrawing()
