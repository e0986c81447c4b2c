"""Pictures of bin packing: bins as bars, and the logits of a policy (the paper's figure 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.drawing import BLACK, SCALE, Drawing, LearntView, cut, number, plain, title
from nsa_cli.core.instance import Solution
from nsa_cli.problems.bin.instance import BinInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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
        from matplotlib.collections import PolyCollection

        axes = figure.subplots()
        bins = [sorted(members, key=lambda i: -instance.weights[i]) for members in instance.bins(solution)]
        items = np.concatenate([np.array(members) for members in bins])
        weights = instance.weights[items].astype(np.float64)
        row = np.repeat(np.arange(1, len(bins) + 1), [len(members) for members in bins])
        left = np.concatenate([np.cumsum([0.0, *instance.weights[m[:-1]]]) for m in bins])
        half = 0.4 if len(bins) <= _NAMED else 0.5
        right, low, high = left + weights, row - half, row + half
        corners = np.array([[left, low], [right, low], [right, high], [left, high]])
        boxes = PolyCollection(
            corners.transpose(2, 0, 1).tolist(),
            array=weights,
            cmap=SCALE,
            edgecolors="white",
            linewidths=min(0.8, 40 / len(bins) * 0.3),
        )
        axes.add_collection(boxes)
        capacity, limit = float(instance.capacity), f"capacity {number(instance.capacity)}"
        axes.axvline(capacity, color=BLACK, lw=1.2, ls=(0, (5, 3)), label=limit)
        axes.set(xlim=(0, 1.02 * capacity if capacity > 0 else 1), ylim=(len(bins) + 0.5, 0.5))
        axes.set(xlabel="weight packed (file's units)", ylabel="bin")
        if len(bins) <= _NAMED:
            axes.set_yticks(range(1, len(bins) + 1))
        _finish(figure, axes, boxes, instance, bins)

    def policy(self, figure: Figure, view: LearntView) -> None:
        """Logits of items over weight and free capacity of their bins, and of bins for a chosen item."""
        grid, item, target = _logits(view)
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        figure.suptitle(f"{plain(view.name)}: temperature {view.temperature:.2g} (bins of capacity 1)")
        names = ("which item to move", "which bin to move it to")
        below = ("free capacity of its bin", "free capacity of the bin")
        for axes, logits, name, free in zip(panels, (item, target), names, below, strict=True):
            image = axes.pcolormesh(grid, grid, logits, cmap=SCALE, rasterized=True)
            axes.contour(grid, grid, logits, 8, colors="white", linewidths=0.5, linestyles="solid")
            axes.set(title=name, xlabel="weight of the item", ylabel=free)
            axes.set(aspect="equal", xlim=(0, 1), ylim=(0, 1))
            axes.tick_params(labelleft=True)
            figure.colorbar(image, ax=axes, label="logit (higher is likelier)", shrink=0.8)


def _finish(figure: Figure, axes: Axes, boxes: Any, instance: BinInstance, bins: list[list[int]]) -> None:
    count = "1 bin" if len(bins) == 1 else f"{len(bins):,} bins"
    load = float(instance.weights.astype(np.float64).sum())
    space = len(bins) * float(instance.capacity)
    filled = f", {100 * load / space:.1f} % full" if space > 0 else ""
    items = "1 item" if instance.size == 1 else f"{instance.size:,} items"
    axes.set_title(title(instance.name, f"{items} in {count}{filled}"))
    if np.ptp(instance.weights) > 0:
        figure.colorbar(boxes, ax=axes, label="weight of the item", fraction=0.05, pad=0.02)
    figure.legend(loc="outside lower center")
    if len(bins) <= _NAMED:
        figure.draw_without_rendering()
        _name_items(axes, boxes, instance, bins)


def _name_items(axes: Axes, boxes: Any, instance: BinInstance, bins: list[list[int]]) -> None:
    """Write names into the boxes that are wide enough for them."""
    a_unit = axes.get_window_extent().width / np.ptp(axes.get_xlim())
    figure = axes.figure
    assert figure is not None
    boxes.update_scalarmappable()
    colours = iter(boxes.get_facecolor())
    for row, members in enumerate(bins, start=1):
        left = 0.0
        for i in members:
            weight, colour = float(instance.weights[i]), next(colours)
            text = cut(instance.items.ids[i], 24)
            if 0.62 * 7.5 * figure.dpi / 72 * len(text) < weight * a_unit - 4:
                dark = colour[:3] @ (0.299, 0.587, 0.114) < 0.55
                ink, middle = "white" if dark else "black", left + weight / 2
                axes.text(middle, row, plain(text), ha="center", va="center", fontsize=7.5, color=ink)
            left += weight


def _logits(view: LearntView) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Ask the policy about items of every weight in bins, and about bins, of every free capacity.

    Item 0 is the probe, item 1 its bin's other content, item 2 the content of the bin it may go to; the
    rest of the random instance lies in bins of its own.

    Returns
    -------
    float64[G], float64[G, G], float64[G, G]
        Weights or free capacities; logits by [free capacity, weight], nan where there is no such state.
    """
    import torch

    operations: Any = view.operations
    grid = np.round(np.linspace(0.01, 0.99, _GRID), 4)
    weight, free = (axis.ravel() for axis in np.meshgrid(grid, grid))
    rows = [_probe(view.instance, w, f) for w, f in zip(weight, free, strict=True)]
    packing = np.arange(rows[0].size)
    packing[1] = 0
    packing[2] = 1
    batch = operations.pack(rows, unit=1.0)
    x = torch.from_numpy(packing).expand(len(rows), -1)
    temperature = torch.tensor(view.temperature, dtype=torch.float64)
    first = torch.zeros(len(rows), dtype=torch.int64)
    with torch.inference_mode():
        item = view.policy.logits(operations, batch, x, (), temperature)[:, 0].double().numpy()
        target = view.policy.logits(operations, batch, x, (first,), temperature)[:, 1].double().numpy()
        fits = operations.allowed(batch, x, (first,))[:, 1].numpy()
    there, shape = weight + free <= 1 + 1e-9, (len(grid), len(grid))
    panels = [np.where(asked, logits, np.nan) for asked, logits in ((there, item), (fits, target))]
    return grid, panels[0].reshape(shape), panels[1].reshape(shape)


def _probe(instance: BinInstance, weight: float, free: float) -> BinInstance:
    weights = np.round(np.resize(instance.weights, max(instance.size, 3)), 4)
    weights[:3] = weight, max(round(1 - weight - free, 4), 0.0), round(1 - free, 4)
    return BinInstance(weights=weights)


drawing = BinDrawing()
