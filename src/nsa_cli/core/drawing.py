"""Drawing contract: pictures of a problem's solutions and policies.

`Problem.drawing` makes a `Drawing`; figures, styles and files are `nsa_cli.report.plots`'s. Nothing here
imports matplotlib: drawings get a figure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.errors import UsageError, cut
from nsa_cli.core.instance import Instance, Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

    from nsa_cli.core.operations import Operations

InstanceT = TypeVar("InstanceT", bound=Instance)

# Palette of Okabe and Ito (2008), safe for all kinds of colour vision.
BLUE, ORANGE, GREEN, RED, SKY, BLACK = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#000000"
GREY = "#8C8C8C"

#: Colour maps of growing lightness, for numbers and for time.
SCALE, TIME = "viridis", "plasma"

#: Characters of a name in a title.
_NAME = 40


class LearntView(NamedTuple):
    """A policy with a rollout on one instance.

    Attributes
    ----------
    name : str
    policy : SlotPolicy or GaussianPolicy
    operations : Operations
    instance : Instance
        A random one.
    x : [K + 1, B, …]
        Solutions of chains of this policy on this instance, from the paper's start, before the first step and
        after each.
    temperatures : float64[K]
        Of the steps, in normalised units.
    """

    name: str
    policy: Any
    operations: Operations[Any, Any]
    instance: Any
    x: NDArray[Any]
    temperatures: NDArray[np.float64]

    @property
    def temperature(self) -> float:
        """About the middle of the rollout's."""
        return float(self.temperatures[len(self.temperatures) // 2])

    def entitle(self, figure: Figure, what: str) -> None:
        """Write the policy's name and a description above the panels."""
        figure.suptitle(f"{plain(self.name)}: {what}")

    def logits(
        self, instances: Sequence[Any], x: Solution, chosen: Sequence[int] = ()
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Evaluate the policy in one state of several instances of equal size.

        Parameters
        ----------
        instances : sequence of B
        x : [N]
            The solution of all of them.
        chosen : sequence of int
            Candidates chosen in the slots before.

        Returns
        -------
        float64[B, M], bool[B, M]
            Logits of the next slot's candidates; which of them are allowed.
        """
        import torch

        operations: Any = self.operations
        batch = operations.pack(instances, unit=1.0)
        states = torch.from_numpy(x).expand(len(instances), -1)
        slots = tuple(torch.full((len(instances),), k) for k in chosen)
        temperature = torch.tensor(self.temperature, dtype=torch.float64)
        with torch.inference_mode():
            logits = self.policy.logits(operations, batch, states, slots, temperature)
            allowed = operations.allowed(batch, states, slots)
        return logits.double().numpy(), allowed.numpy()

    def logits_on(
        self, grid: NDArray[np.float64], probe: Callable[[float, float], Any], x: Solution, *chosen: int
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Do so for the instances ``probe(a, b)`` of all points of a square grid.

        Returns
        -------
        float64[G, G, M], bool[G, G, M]
            By [b, a].
        """
        probes = [probe(a, b) for b, a in product(grid, repeat=2)]
        found, allowed = self.logits(probes, x, chosen)
        shape = len(grid), len(grid), -1
        return found.reshape(shape), allowed.reshape(shape)


class Drawing(Generic[InstanceT]):
    """Pictures of one problem; all methods are optional.

    Attributes
    ----------
    follows : bool
        Whether the picture of a solution shows the path of its chain.
    """

    follows: ClassVar[bool] = False

    def shape(self, instance: InstanceT, solution: Solution) -> tuple[float, float]:
        """Width and height of the picture of a solution, in inches."""
        return 7.0, 5.5

    def solution(
        self, figure: Figure, instance: InstanceT, solution: Solution, path: Solution | None = None
    ) -> None:
        """Draw a solution.

        Parameters
        ----------
        figure : matplotlib.figure.Figure
            Empty, with constrained layout.
        instance : Instance
        solution : ndarray
        path : [K, …], optional
            Solutions that led to it; given only to a drawing that `follows`.
        """
        raise NotImplementedError

    #: Width and height of the picture of a policy, in inches.
    policy_shape: ClassVar[tuple[float, float]] = (9.0, 4.4)

    def policy(self, figure: Figure, view: LearntView) -> None:
        """Draw a policy as the paper's figures do.

        Raises
        ------
        UsageError
            If the problem has no such picture.
        """
        raise UsageError("this problem has no picture of its policies")


def plain(text: object) -> str:
    """Escape dollar signs, which matplotlib reads as formulas."""
    return str(text).replace("$", r"\$")


def title(name: str | None, what: str) -> str:
    """Make a title of the instance's name, if it has one, and a description."""
    return f"{plain(cut(name, _NAME))}: {what}" if name else what[:1].upper() + what[1:]


def number(value: float) -> str:
    """Format a number: integers with grouped digits, others to six digits."""
    if isinstance(value, int | np.integer) or (float(value).is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    return f"{value:.6g}"


def show_logits(
    axes: Axes, grid: NDArray[np.float64], logits: NDArray[np.float64], **limits: float
) -> QuadMesh:
    """Draw logits over the unit square as colours with contours.

    Parameters
    ----------
    axes : Axes
    grid : float64[G]
        Coordinates along both axes.
    logits : float64[G, G]
        By [y, x]; nan where there are none.
    **limits
        ``vmin`` and ``vmax`` of the colours; by default those of the logits.
    """
    image = axes.pcolormesh(grid, grid, logits, cmap=SCALE, rasterized=True, **limits)
    axes.contour(grid, grid, logits, 8, colors="white", linewidths=0.5, linestyles="solid")
    axes.set(aspect="equal", xlim=(0, 1), ylim=(0, 1))
    return image


def label_points(
    axes: Axes,
    points: NDArray[np.float64],
    labels: Sequence[object],
    *,
    avoid: NDArray[np.float64],
    radius: float = 2.5,
) -> int:
    """Label points where labels overlap neither each other nor a point; skip the others.

    Parameters
    ----------
    axes : Axes
        With final limits and size.
    points : float64[N, 2]
        In data coordinates.
    labels : sequence of N
    avoid : float64[M, 2]
        Further points to leave free, in data coordinates.
    radius : float
        Of the points' markers, in typographic points.

    Returns
    -------
    int
        Number of labels written.
    """
    from matplotlib.transforms import Bbox

    figure = axes.figure
    assert figure is not None
    figure.draw_without_rendering()
    pixel = figure.dpi / 72
    taken: list[Bbox] = []
    places = axes.transData.transform(points)
    corners = radius * pixel * np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)])
    markers = (places[:, None] + corners).reshape(-1, 2)
    obstacles = np.concatenate([markers, axes.transData.transform(avoid)])
    window = axes.get_window_extent()
    style: dict[str, Any] = {"textcoords": "offset points", "fontsize": _LABEL, "color": "#333333"}
    for point, place, label in zip(points, places, labels, strict=True):
        text = cut(label, 18)
        # Without a canvas there are no exact sizes; 0.6 em a character errs on the wide side.
        size = pixel * np.array([0.6 * len(text) * _LABEL + 2, 1.25 * _LABEL])
        for direction in _AROUND:
            offset, (right, up) = np.multiply(direction, radius + 2.5), np.sign(direction).astype(int)
            low = place + offset * pixel + (np.sign(direction) - 1) / 2 * size
            box = Bbox([low, low + size])
            inside = window.contains(*box.min) and window.contains(*box.max)
            if inside and not box.padded(1).count_contains(obstacles) and not any(map(box.overlaps, taken)):
                aligned = {"ha": ("center", "left", "right")[right], "va": ("center", "bottom", "top")[up]}
                axes.annotate(plain(text), point, offset, **style, **aligned)
                taken.append(box)
                break
    return len(taken)


#: Size of a label in points, and the directions in which it is tried around its point.
_LABEL = 7.0
_AROUND = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.7, 0.7), (-0.7, 0.7), (0.7, -0.7), (-0.7, -0.7))
