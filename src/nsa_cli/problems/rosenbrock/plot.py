"""Pictures of Rosenbrock's function: contours with a chain, and step sizes of a policy (figure 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.drawing import BLACK, BLUE, GREEN, ORANGE, TIME, Drawing, LearntView, number, plain, title
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
        value = instance.objective(solution)
        what = f"value {value:.4g} (a = {number(instance.a)}, b = {number(instance.b)})"
        axes.set_title(title(instance.name, what))
        if instance.dim == 2:
            way = solution[None] if path is None or len(path) < 2 else path
            _contours(figure, axes, instance, np.append(way, solution[None], axis=0))
            if len(way) > 1:
                _way(figure, axes, way)
            _minimiser(axes, instance)
            style: dict[str, Any] = {"ms": 8, "mfc": ORANGE, "mec": BLACK, "ls": "none", "zorder": 6}
            axes.plot(*solution, "o", label="best point found", **style)
        else:
            _coordinates(axes, solution)
        figure.legend(loc="outside lower center", ncols=3)

    def policy(self, figure: Figure, view: LearntView) -> None:
        """A rollout on its map, and both standard deviations by step."""
        instance, rollout = view.instance, view.rollout
        left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
        steps = len(rollout.temperature)
        what = f"{rollout.x.shape[1]} rollouts of {steps} steps, a = {instance.a:.3g}, b = {instance.b:.3g}"
        figure.suptitle(f"{plain(view.name)}: {what}")
        if instance.dim == 2:
            way = rollout.x[:, 0]
            _contours(figure, left, instance, way, bar=False)
            _way(figure, left, way)
            _minimiser(left, instance)
            left.set_title("one rollout")
        else:
            _coordinates(left, rollout.x[-1, 0])
            left.set_title("end of one rollout")
        _sigmas(right, view)
        lines = [axes.get_legend_handles_labels() for axes in (left, right)]
        figure.legend(*(a + b for a, b in zip(*lines, strict=True)), loc="outside lower center", ncols=4)


def _contours(
    figure: Figure, axes: Axes, instance: RosenbrockInstance, way: NDArray[np.float64], *, bar: bool = True
) -> None:
    """Grey levels of the logarithm around the trajectory, and the minimiser if it is near."""
    low, high = np.quantile(way, (0.01, 0.99), axis=0)
    if (np.ptp(way, axis=0) < 3 * (high - low)).all():
        low, high = way.min(0), way.max(0)  # nothing so far off that it would hide the rest
    ends = np.stack([low, high, way[0], way[-1], [instance.a, instance.a**2]])
    low, high = ends.min(0), ends.max(0)
    margin = 0.12 * np.maximum(high - low, 0.2)
    low, high = low - margin, high + margin
    x, y = (np.linspace(a, b, _GRID) for a, b in zip(low, high, strict=True))
    with np.errstate(divide="ignore"):
        height = np.log10((instance.a - x) ** 2 + instance.b * (y[:, None] - x**2) ** 2)
    floor = np.floor(np.quantile(height[np.isfinite(height)], 0.002))
    decades = np.arange(floor, max(np.ceil(height.max()), floor + 1) + 1)
    levels = np.arange(2 * decades[0], 2 * decades[-1] + 1) / 2
    filled = axes.contourf(x, y, height, levels, cmap="Greys_r", alpha=0.75, extend="min")
    if bar:
        scale = figure.colorbar(filled, ax=axes, label="function value", fraction=0.05, pad=0.02)
        scale.set_ticks(decades, labels=[f"$10^{{{decade:.0f}}}$" for decade in decades])
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="$x_1$", ylabel="$x_2$")


def _way(figure: Figure, axes: Axes, way: NDArray[np.float64]) -> None:
    """Where a chain stood, coloured by time."""
    axes.plot(*way.T, color="white", lw=0.7, alpha=0.8, zorder=3)
    share = np.linspace(0, 100, len(way))
    dots = axes.scatter(*way.T, c=share, cmap=TIME, s=9, zorder=4, linewidths=0)
    figure.colorbar(dots, ax=axes, label="share of the steps done (%)", fraction=0.05, pad=0.02)
    axes.plot(*way[0], "s", ms=7, mfc="white", mec=BLACK, ls="none", label="start", zorder=5)


def _minimiser(axes: Axes, instance: RosenbrockInstance) -> None:
    style: dict[str, Any] = {"ms": 14, "mew": 2.2, "color": GREEN, "ls": "none", "zorder": 7}
    axes.plot(instance.a, instance.a**2, "+", label="minimiser $(a, a^2)$", **style)


def _coordinates(axes: Axes, point: Solution) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    marker = "o" if len(point) <= _SINGLE else ""
    axes.plot(np.arange(1, len(point) + 1), point, color=BLUE, lw=1, marker=marker, ms=4, label="coordinates")
    axes.set(xlabel="coordinate $i$", ylabel="$x_i$")
    axes.grid(True)


def _sigmas(axes: Axes, view: LearntView) -> None:
    """Median and middle half of the standard deviations, by axis, over the chains."""
    import torch

    rollout, operations = view.rollout, view.operations
    steps, chains, dim = len(rollout.temperature), *rollout.x.shape[1:]
    batch = operations.pack([view.instance] * (steps * chains), unit=1.0)
    x = torch.from_numpy(rollout.x[:-1].reshape(-1, dim))
    temperature = torch.from_numpy(np.repeat(rollout.temperature, chains))
    with torch.inference_mode():
        sigma: Any = view.policy.sigma(operations, batch, x, temperature)
    by_step = sigma.numpy().reshape(steps, chains, dim)
    step = np.arange(1, steps + 1)
    for axis, colour, dash in zip(range(min(dim, 2)), (BLUE, ORANGE), ("-", "--"), strict=False):
        low, middle, high = np.quantile(by_step[:, :, axis], (0.25, 0.5, 0.75), axis=1)
        axes.fill_between(step, low, high, color=colour, alpha=0.25, linewidth=0)
        label = rf"$\sigma_{axis + 1}$, median and middle half"
        axes.plot(step, middle, dash, color=colour, lw=1.8, label=label)
    axes.set(yscale="log", title="learnt step sizes")
    axes.set(xlabel="step", ylabel="standard deviation of the proposal")
    axes.grid(True)


drawing = RosenbrockDrawing()
