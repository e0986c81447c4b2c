"""The travelling salesperson problem (section 4.4 of the paper)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nsa_cli.core.bound import Bound
from nsa_cli.core.errors import UsageError
from nsa_cli.core.instance import Number
from nsa_cli.core.problem import Budget, Column, FileFormat, Problem, SolutionFormat, Trained
from nsa_cli.problems.tsp import labelled, tsplib
from nsa_cli.problems.tsp.heuristics import greedy_edge, nearest_neighbour, quick, random_tour, strips
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.nearest import parse

if TYPE_CHECKING:
    from nsa_cli.core.kernel.hooks import Fused
    from nsa_cli.problems.tsp.large_step import TspLargeStep
    from nsa_cli.problems.tsp.nearest_operations import NearestOperations
    from nsa_cli.problems.tsp.operations import TspOperations
    from nsa_cli.problems.tsp.plot import TspDrawing


class Tsp(Problem[TspInstance]):
    """Shortest closed tour through all cities, symmetric distances."""

    name = "tsp"
    summary = "travelling salesperson: the shortest tour through all cities"
    record_keys = (("coords", "matrix"),)
    columns = (
        Column("x", ("x", "x_coord", "xcoord", "x coordinate")),
        Column("y", ("y", "y_coord", "ycoord", "y coordinate")),
        Column("ids", ("id", "name", "city", "node", "label"), required=False, text=True),
    )
    aliases = {"locs": "coords"}
    arrays = {"coords": 2, "matrix": 2}
    formats = (
        FileFormat("tsplib", (".tsp",), tsplib.recognises, tsplib.read, tsplib.write),
        FileFormat("labelled", (), labelled.recognises, labelled.read),
    )
    solution_formats = (
        SolutionFormat("tour", (".tour",), tsplib.recognises_tour, tsplib.read_tour, tsplib.write_tour),
    )
    starts = {
        "greedy": greedy_edge,
        "nearest": nearest_neighbour,
        "strips": strips,
        "quick": quick,
        "random": random_tour,
        "paper": random_tour,
    }
    answer_columns = ("position", "id")
    instant_start = "quick"
    settings = ("edge_weight_type", *Problem.settings)
    paper_sizes = (20, 50, 100, 200, 500)
    walks = ("paper", "nearest:10")
    default_walk = "nearest:10"

    def __init__(self, near: int = 0) -> None:
        """Make the problem; with `near`, a move joins a city to one of its so many nearest ones."""
        self._near = near
        self.walk = f"nearest:{near}" if near else "paper"
        self.hopeful = near > 0

    def walking(self, walk: str) -> Tsp:
        return _tsp(parse(walk))

    def from_record(self, data: Mapping[str, Any]) -> TspInstance:
        return TspInstance.from_record(data)

    def generate(self, size: int, rng: np.random.Generator, name: str | None = None) -> TspInstance:
        """Cities uniform in the unit square."""
        return TspInstance(name=name, coords=rng.random((size, 2)))

    def samples(self, rng: np.random.Generator) -> Sequence[TspInstance]:
        """Of points in the plane, with lengths exact and whole, of points in space, and of lengths."""
        half, space = np.triu(rng.integers(1, 100, (20, 20)), 1), rng.random((20, 3))
        whole = {"coords": rng.integers(0, 1000, (20, 2)).tolist(), "edge_weight_type": "EUC_2D"}
        matrix = {"matrix": (half + half.T).tolist()}
        others = [whole, {"coords": space.tolist(), "edge_weight_type": "EUC_3D"}, matrix]
        return [*super().samples(rng), *map(self.from_record, others)]

    def paper_set(self, size: int, count: int | None = None) -> Sequence[TspInstance]:
        """The public test sets of Kool et al. for 20, 50, 100; the same recipe for 200 and 500.

        ``np.random.seed(1234)``, then uniform coordinates of 10,000 instances (128 for the larger sizes,
        whose own instances the paper did not publish).
        """
        if size not in self.paper_sizes:
            return super().paper_set(size, count)
        total = 10_000 if size <= 100 else 128
        coords = np.random.RandomState(1234).uniform(size=(total, size, 2))
        return [TspInstance(name=f"tsp{size}-{i}", coords=c) for i, c in enumerate(coords[:count], start=1)]

    def columns_of(self, instance: TspInstance) -> Mapping[str, Sequence[Any]]:
        if instance.coords is None or instance.coords.shape[1] != 2:
            raise UsageError("a table holds cities with x and y only; write tsplib or json")
        x, y = instance.coords.T.tolist()
        return {"x": x, "y": y} if instance.ids is None else {"x": x, "y": y, "ids": instance.ids}

    def group(self, instance: TspInstance) -> Hashable:
        return instance.size, instance.edge_weight_type

    def large_step(self) -> TspLargeStep:
        from nsa_cli.problems.tsp.large_step import TspLargeStep

        return TspLargeStep()

    def kernel(self) -> Fused:
        if self._near:
            from nsa_cli.problems.tsp.nearest_kernel import fused_of

            return fused_of(self._near)
        from nsa_cli.problems.tsp.kernel import fused

        return fused

    def bound(
        self,
        instance: TspInstance,
        *,
        seconds: float = math.inf,
        stop: Callable[[], bool] = lambda: False,
    ) -> Bound | None:
        from nsa_cli.problems.tsp import bounds

        return bounds.bound(instance, seconds, stop)

    def recompute_bound(self, instance: TspInstance, witness: Mapping[str, Any]) -> Number:
        from nsa_cli.problems.tsp import bounds

        return bounds.recompute(instance, witness)

    def operations(self) -> TspOperations | NearestOperations:
        if self._near:
            from nsa_cli.problems.tsp.nearest_operations import NearestOperations

            return NearestOperations(self._near)
        from nsa_cli.problems.tsp.operations import TspOperations

        return TspOperations()

    def drawing(self) -> TspDrawing:
        from nsa_cli.problems.tsp.plot import TspDrawing

        return TspDrawing()

    def default_policy(self, instance: TspInstance) -> str:
        return "tsp-es-nearest" if self._near else "tsp-es-best"

    def budget(self, instance: TspInstance, trained: Trained | None = None) -> Budget:
        """Some seconds of the kernel at most, and temperatures in units of the spacing of N cities.

        Measured from greedy tours. Uniform proposals, N = 20 to 200: a short run wants a cool start, or it
        only undoes the start's work. A learnt policy, N = 20 to 1,000: the temperatures that it was trained
        with, as lengths between neighbours. Between near cities a step costs the same at any size.
        """
        size = instance.size
        if size < 4:
            return Budget(0, 1.0, 1.0)  # there is one tour
        closer = 1.0 if trained is None else (trained.size / size) ** 0.5
        if self._near:
            steps = min(10 * size**2, max(300 * size, 100_000))
            heat = (0.5 * size**-0.5, 0.03 * size**-0.5)
            if trained is not None:
                heat = (trained.t_start * closer, trained.t_end * closer)
            return Budget(steps, *heat, chains=max(min(2_000 // size, 8), 1))
        if trained is not None:
            chains = max(min(2_000 // size, 8), 1)
            # Features of all cities at each step: time grows with N.
            affordable = 1_000_000_000 // (size * chains)
            steps = max(min(max(10 * size**2, 2_000), affordable), 100)
            return Budget(steps, trained.t_start * closer, trained.t_end * closer, chains)
        steps = max(min(10 * size**2, 2_000_000), 2_000)
        spacing = size**-0.5
        warm = 0.125 * (steps / size**2) ** 0.68
        return Budget(
            steps, min(max(warm, 0.02), 0.6) * spacing, 0.02 * spacing, chains=max(min(4_000 // size, 16), 1)
        )


problem = Tsp()


@functools.cache
def _tsp(near: int) -> Tsp:
    """Give the problem with so many near cities, always the same object."""
    return Tsp(near) if near else problem
