"""Set-up of large-step chains: candidate lists by alpha-nearness, and scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nsa_cli.core.instance import Solution
from nsa_cli.problems.tsp.closed import ClosedTour
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.alpha_nearness import alpha_nearness, choose
from nsa_cli.problems.tsp.kernels.kicks import Tours, fitting
from nsa_cli.problems.tsp.kernels.local_search import Cities
from nsa_cli.problems.tsp.kernels.metric import lengths
from nsa_cli.problems.tsp.kernels.spanning_tree import graph_of
from nsa_cli.problems.tsp.neighbour_lists import Sites, neighbour_lists, with_quadrants

#: Up to this many cities the set-up weighs more, and half the subgradient steps do.
_FEW = 150

#: Beyond so many cities candidates are near ones: alpha-nearness would take the first minute.
_WEIGHED_UP_TO = 200_000

#: Cities lie close together, as in clusters and narrow strips, where the mean distance to the nearest
#: neighbour is below this share of a mean edge of the first tour. Measured: .6 for uniform cities, .3 to .5
#: for clusters, .4 for strips a hundred times as long as wide.
_CLOSE_BELOW = 0.5

#: Size of the first subgradient step, in units of `Tours.scale`.
_FIRST_STEP = 0.3

#: Size of the last one.
_LAST_STEP = 0.02


@dataclass(frozen=True)
class LargeStepSettings:
    """Parameters of chains; the defaults are measured, one set for all sizes.

    Attributes
    ----------
    candidates : int
        The number of candidates of a city, by alpha-nearness: moves may add these edges.
    wider : (int, int)
        The number of further candidates for populations, and where cities lie close together.
    subgradient_steps : int
        The number of subgradient steps; few cities have half as many.
    depth : int
        The most open moves in a Lin-Kernighan chain.
    longest : int
        The most cities of a segment of a kick. Measured at 500 cities in .2 s: 10/30/45/60/80/100 give
        .12/.063/.039/.028/.027/.025 %, longer ones no better in large tours.
    decay : float
        The temperature is s exp(-decay t): s the mean distance of a city to its nearest neighbour, t the used
        fraction of the budget.
    """

    candidates: int = 5
    wider: tuple[int, int] = (1, 3)
    subgradient_steps: int = 40
    depth: int = 6
    longest: int = 80
    decay: float = 3.5


class Setting(NamedTuple):
    """An instance made ready for chains, which share it.

    Attributes
    ----------
    sites : Sites
        The cities, those on one place as one.
    tours : Tours
        The sites made ready for chains.
    close : bool
        Whether cities lie close together.
    """

    sites: Sites
    tours: Tours
    close: bool


def prepare(
    instance: TspInstance,
    start: Solution,
    settings: LargeStepSettings = LargeStepSettings(),
    *,
    populated: bool = False,
    fast_setup: bool = False,
) -> Setting:
    """Make an instance ready: candidates and scales; edges of the first tour int64[N] are among them.

    Parameters
    ----------
    instance : TspInstance
    start : int64[N]
    settings : LargeStepSettings
    populated : bool
        Whether there will be a population: it needs more candidates, and from all sides.
    fast_setup : bool
        Whether to take the nearest cities, not those of the best alpha-nearness.
    """
    sites, metric, neighbours, distances = neighbour_lists(instance)
    size, order = len(sites.numbers), sites.order(start)
    fast_setup = fast_setup or size > _WEIGHED_UP_TO
    scale, candidates = max(float(distances[:, 0].mean()), 0.0), settings.candidates
    if isinstance(instance, ClosedTour):  # its penalties are no distances; each city has a fixed edge
        scale, candidates = instance.spacing, candidates + instance.outer.route.directed
    close = False
    if not fast_setup and size > _FEW and instance.matrix is None and instance.points.shape[1] == 2:
        edges = float(lengths(metric, order, np.roll(order, 1)).sum())
        close = bool(scale * size < _CLOSE_BELOW * edges)
        if close or populated:
            candidates += settings.wider[close]
            neighbours = with_quadrants(instance.points[sites.numbers], neighbours)
    elif populated:
        candidates += settings.wider[0]
    graph = graph_of(metric, neighbours, order)
    steps = settings.subgradient_steps // (2 if size <= _FEW else 1)
    scores = graph.lengths
    if not fast_setup:
        scores = alpha_nearness(graph, steps, _FIRST_STEP * scale, _LAST_STEP * scale)
    chosen = choose(graph, scores, candidates)
    tolerance = max(1e-7 * scale, 1e-12 * float(np.abs(graph.lengths).max()))
    cities = Cities(metric, *chosen, candidates, tolerance)
    tours = Tours(cities, scale, tolerance, settings.depth, fitting(settings.longest, size))
    return Setting(sites, tours, close)
