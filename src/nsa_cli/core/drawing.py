"""Drawing contract: pictures of a problem's solutions and policies.

`Problem.drawing` makes a `Drawing`; figures, styles and files are `nsa_cli.report.plots`'s. Nothing here
imports matplotlib: drawings get a figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.errors import UsageError
from nsa_cli.core.instance import Instance, Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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


class Rollout(NamedTuple):
    """States and energies of chains at every step.

    Attributes
    ----------
    x : [K + 1, B, …]
        Solutions before the first step and after each.
    energy : float64[K + 1, B]
        In file units.
    temperature : float64[K]
        In normalised units.
    """

    x: NDArray[Any]
    energy: NDArray[np.float64]
    temperature: NDArray[np.float64]


class LearntView(NamedTuple):
    """A policy with a rollout on one instance.

    Attributes
    ----------
    name : str
    policy : SlotPolicy or GaussianPolicy
    operations : Operations
    instance : Instance
        A random one.
    rollout : Rollout
        Of this policy on this instance, from the paper's start.
    temperature : float
        About the middle of the rollout's, in normalised units.
    """

    name: str
    policy: Any
    operations: Operations[Any, Any]
    instance: Any
    rollout: Rollout
    temperature: float


class Drawing(Generic[InstanceT]):
    """Pictures of one problem; all methods are optional.

    Attributes
    ----------
    follows : bool
        Whether the picture of a solution shows the path of its chain.
    """

    follows: ClassVar[bool] = False

    def refusal(self, instance: InstanceT) -> str | None:
        """Say why an instance cannot be drawn; None if it can."""
        return None

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


def cut(text: object, limit: int) -> str:
    """Cut a name to one line of at most `limit` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def title(name: str | None, what: str) -> str:
    """Make a title of the instance's name, if it has one, and a description."""
    return f"{plain(cut(name, _NAME))}: {what}" if name else what[:1].upper() + what[1:]


def number(value: float) -> str:
    """Format a number: integers with grouped digits, others to six digits."""
    if isinstance(value, int | np.integer) or (float(value).is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    return f"{value:.6g}"


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
    figure = axes.figure
    assert figure is not None
    pixel = figure.dpi / 72
    taken: list[tuple[float, float, float, float]] = []
    places = axes.transData.transform(points)
    corners = radius * pixel * np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)])
    markers = (places[:, None] + corners).reshape(-1, 2)
    obstacles = np.concatenate([markers, axes.transData.transform(avoid)])
    window = axes.get_window_extent()
    written = 0
    for place, label in zip(places, labels, strict=True):
        text = cut(label, 18)
        # Without a canvas there are no exact sizes; 0.6 em a character errs on the wide side.
        width, height = (0.6 * len(text) * _LABEL + 2) * pixel, (1.25 * _LABEL) * pixel
        for right, up, ha, va in _AROUND:
            dx, dy = right * (radius + 2.5), up * (radius + 2.5)
            left = place[0] + dx * pixel - {"left": 0.0, "center": width / 2, "right": width}[ha]
            low = place[1] + dy * pixel - {"bottom": 0.0, "center": height / 2, "top": height}[va]
            box = left, low, left + width, low + height
            inside = (
                window.x0 <= box[0] and box[2] <= window.x1 and window.y0 <= box[1] and box[3] <= window.y1
            )
            if inside and not _covers(box, obstacles) and not any(_overlap(box, other) for other in taken):
                axes.annotate(
                    plain(text),
                    tuple(axes.transData.inverted().transform(place)),
                    (dx, dy),
                    textcoords="offset points",
                    ha=ha,
                    va=va,
                    fontsize=_LABEL,
                    color="#333333",
                )
                taken.append(box)
                written += 1
                break
    return written


#: Size of a label in points, and where it is tried around its point: direction, alignment.
_LABEL = 7.0
_AROUND: tuple[tuple[float, float, Any, Any], ...] = (
    (1, 0, "left", "center"),
    (-1, 0, "right", "center"),
    (0, 1, "center", "bottom"),
    (0, -1, "center", "top"),
    (0.7, 0.7, "left", "bottom"),
    (-0.7, 0.7, "right", "bottom"),
    (0.7, -0.7, "left", "top"),
    (-0.7, -0.7, "right", "top"),
)


def _covers(box: tuple[float, float, float, float], points: NDArray[np.float64]) -> bool:
    inside = (points >= np.array(box[:2]) - 1) & (points <= np.array(box[2:]) + 1)
    return bool(inside.all(1).any())


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
