"""Pictures of Rosenbrock's function: contours with a chain, and step sizes of a policy (figure 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.drawing import BLACK, BLUE, GREEN, ORANGE, TIME, Drawing, LearntView, number, title
from nsa_cli.core.instance import Solution
from nsa_cli.problems.rosenbrock import RosenbrockInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Points a side at which contours are computed.
_GRID = 200

#: Coordinates up to which they are drawn as single dots.
_SINGLE = 60


class RosenbrockDrawing(Drawing[RosenbrockInstance]):
    """Two dimensions as a map; more of them as coordinates side by side."""

    follows = True
    policy_shape = (10.0, 4.6)

    def shape(self, instance: RosenbrockInstance, solution: Solution) -> tuple[float, float]:
        return (7.5, 6.2) if instance.dim == 2 else (7.5, 4.2)

    def solution(
        self, figure: Figure, instance: RosenbrockInstance, solution: Solution, path: Solution | None = None
    ) -> None:
        axes = figure.subplots()
        what = (
            f"value {instance.objective(solution):.4g} (a = {number(instance.a)}, b = {number(instance.b)})"
        )
        axes.set_title(title(instance.name, what))
        if instance.dim == 2:
            way = solution[None] if path is None or len(path) < 2 else path
            _draw_map(figure, axes, instance, way, np.append(way, solution[None], axis=0), bar=True)
            style: dict[str, Any] = {"ms": 8, "mfc": ORANGE, "mec": BLACK, "ls": "none", "zorder": 6}
            axes.plot(*solution, "o", label="best point found", **style)
        else:
            _draw_coordinates(axes, solution)
        figure.legend(loc="outside lower center", ncols=3)

    def policy(self, figure: Figure, view: LearntView) -> None:
        """A rollout on its map, and both standard deviations by step."""
        instance, (chains, dim) = view.instance, view.x.shape[1:]
        left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
        steps = len(view.temperatures)
        what = f"{chains} rollouts of {steps} steps, a = {instance.a:.3g}, b = {instance.b:.3g}"
        view.entitle(figure, what)
        if dim == 2:
            _draw_map(figure, left, instance, view.x[:, 0], view.x[:, 0], bar=False)
        else:
            _draw_coordinates(left, view.x[-1, 0])
        left.set_title("one rollout" if dim == 2 else "end of one rollout")
        _draw_sigmas(right, view)
        lines = [axes.get_legend_handles_labels() for axes in (left, right)]
        figure.legend(*(a + b for a, b in zip(*lines, strict=True)), loc="outside lower center", ncols=4)


def _draw_map(
    figure: Figure,
    axes: Axes,
    instance: RosenbrockInstance,
    way: NDArray[np.float64],
    points: NDArray[np.float64],
    *,
    bar: bool,
) -> None:
    """Levels of the logarithm around points, the minimiser, and where a chain stood, by time."""
    low, high = np.quantile(points, (0.01, 0.99), axis=0)
    if (np.ptp(points, axis=0) < 3 * (high - low)).all():
        low, high = points.min(0), points.max(0)  # nothing so far off that it would hide the rest
    ends = np.stack([low, high, points[0], points[-1], [instance.a, instance.a**2]])
    low, high = ends.min(0), ends.max(0)
    margin = 0.12 * np.maximum(high - low, 0.2)
    x, y = (np.linspace(a, b, _GRID) for a, b in zip(low - margin, high + margin, strict=True))
    with np.errstate(divide="ignore"):
        height = np.log10((instance.a - x) ** 2 + instance.b * (y[:, None] - x**2) ** 2)
    floor = np.floor(np.quantile(height[np.isfinite(height)], 0.002))
    decades = np.arange(floor, max(np.ceil(height.max()), floor + 1) + 1)
    levels = np.arange(2 * decades[0], 2 * decades[-1] + 1) / 2
    filled = axes.contourf(x, y, height, levels, cmap="Blues_r", alpha=0.85, extend="min")
    beside: dict[str, Any] = {"ax": axes, "fraction": 0.05, "pad": 0.02}
    if bar:
        scale = figure.colorbar(filled, label="function value", **beside)
        scale.set_ticks(decades, labels=[f"$10^{{{decade:.0f}}}$" for decade in decades])
    axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), xlabel="$x_1$", ylabel="$x_2$")
    mark: dict[str, Any] = {"ls": "none"}
    if len(way) > 1:
        axes.plot(*way.T, color="white", lw=0.7, alpha=0.8, zorder=3)
        share = np.linspace(0, 100, len(way))
        dots = axes.scatter(*way.T, c=share, cmap=TIME, s=9, zorder=4, linewidths=0)
        figure.colorbar(dots, label="share of the steps done (%)", **beside)
        axes.plot(*way[0], "s", ms=7, mfc="white", mec=BLACK, label="start", zorder=5, **mark)
    label = "minimiser $(a, a^2)$"
    axes.plot(instance.a, instance.a**2, "+", ms=14, mew=2.2, color=GREEN, label=label, zorder=7, **mark)


def _draw_coordinates(axes: Axes, point: Solution) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    marker = "o" if len(point) <= _SINGLE else ""
    axes.plot(np.arange(1, len(point) + 1), point, color=BLUE, lw=1, marker=marker, ms=4, label="coordinates")
    axes.set(xlabel="coordinate $i$", ylabel="$x_i$")
    axes.grid(True)


def _draw_sigmas(axes: Axes, view: LearntView) -> None:
    """Median and middle half of the standard deviations, by axis, over the chains."""
    import torch

    steps, (chains, dim) = len(view.temperatures), view.x.shape[1:]
    batch = view.operations.pack([view.instance] * (steps * chains), unit=1.0)
    x = torch.from_numpy(view.x[:-1].reshape(-1, dim))
    temperature = torch.from_numpy(np.repeat(view.temperatures, chains))
    with torch.inference_mode():
        sigma: Any = view.policy.sigma(view.operations, batch, x, temperature)
    step, by_step = np.arange(1, steps + 1), sigma.numpy().reshape(steps, chains, dim)
    for axis, colour, dash in zip(range(min(dim, 2)), (BLUE, ORANGE), ("-", "--"), strict=False):
        low, middle, high = np.quantile(by_step[:, :, axis], (0.25, 0.5, 0.75), axis=1)
        axes.fill_between(step, low, high, color=colour, alpha=0.25, linewidth=0)
        label = rf"$\sigma_{axis + 1}$, median and middle half"
        axes.plot(step, middle, dash, color=colour, lw=1.8, label=label)
    axes.set(yscale="log", title="learnt step sizes", xlabel="step")
    axes.set_ylabel("standard deviation of the proposal")
    axes.grid(True)


drawing = RosenbrockDrawing()
