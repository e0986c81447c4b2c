"""Families of tour instances from seeds: half of them for choosing what the program does, half for reporting.

    from families import instances          # with `benchmarks` on the path

The parts share their groups (clusters, lattices, drilling, lines, coincident cities, matrices, uniform), but
no family and no seed. Lengths stay below 65,536 but for real ones, so that fast-tsp's matrices are exact.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from scipy.spatial import Delaunay

from nsa_cli.problems.tsp.instance import TspInstance

Part = Literal["choosing", "reporting"]

#: Points of a family, float64[N, 2] in any unit, or a matrix of lengths int64[N, N].
Make = Callable[[np.random.Generator, int], NDArray[Any]]

#: Longer side of the cities' box.
SIDE = 45_000

#: Numbers of cities.
SIZES = (200, 1_000, 2_000, 5_000, 10_000)

#: Cities of a matrix, at most: shortest paths between all take seconds beyond.
LARGEST_MATRIX = 2_000

#: Best lengths that longer runs have found, by the instance's name.
REFERENCES = Path(__file__).with_name("tour_references.json")


class Family(NamedTuple):
    """A distribution of instances.

    Attributes
    ----------
    name : str
    group : str
        Families alike, one or two of each part.
    part : {"choosing", "reporting"}
    metric : str
        ``EXPLICIT`` for a matrix.
    make : callable
        ``make(rng, size)``; the number of cities may differ a little from `size`.
    whole : bool
        Whether places are rounded to whole numbers, in a box of side `SIDE`.
    """

    name: str
    group: str
    part: Part
    metric: str
    make: Make
    whole: bool = True


class Member(NamedTuple):
    """An instance of a family.

    Attributes
    ----------
    name : str
        ``family-cities-number``.
    family : Family
    instance : TspInstance
    optimum : int or float or None
        Length of a shortest tour, where a theorem tells.
    """

    name: str
    family: Family
    instance: TspInstance
    optimum: float | None


def equal_clusters(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Draw normal clusters of equal width around a centre for every hundred cities."""
    centres = rng.random((max(size // 100, 2), 2))
    return centres[rng.integers(len(centres), size=size)] + rng.normal(size=(size, 2)) / size**0.5


def mixed_clusters(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Draw normal clusters whose widths lie between .001 and .1, evenly by their logarithm."""
    count = max(size // 100, 4)
    centres, widths = rng.random((count, 2)), 10 ** rng.uniform(-3, -1, count)
    own = rng.integers(count, size=size)
    return centres[own] + rng.normal(size=(size, 2)) * widths[own, None]


def nested_clusters(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Draw clusters of clusters of clusters, five in each."""
    places = rng.random((5, 2))
    for width in (0.08, 0.015):
        places = np.repeat(places, 5, axis=0) + rng.normal(size=(5 * len(places), 2)) * width
    return places[rng.integers(len(places), size=size)] + rng.normal(size=(size, 2)) * 0.003


def far_clusters(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Draw seven small discs far from each other, of uneven numbers of cities."""
    centres, radii = rng.random((7, 2)), rng.uniform(0.01, 0.05, 7)
    own = rng.choice(7, size, p=rng.dirichlet(np.full(7, 2.0)))
    angle, radius = rng.random(size) * 2 * np.pi, np.sqrt(rng.random(size)) * radii[own]
    return centres[own] + np.stack([np.cos(angle), np.sin(angle)], axis=1) * radius[:, None]


def _sides(size: int) -> tuple[int, int]:
    """Rows, an even number, and columns of a lattice that is nearly square."""
    rows = 2 * max(round(math.sqrt(size) / 2), 1)
    return rows, max(round(size / rows), 2)


def _lattice(size: int) -> NDArray[np.float64]:
    rows, columns = _sides(size)
    return np.stack(np.divmod(np.arange(rows * columns), columns), axis=1).astype(np.float64)


def square_lattice(_: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Fill a square lattice: each city has four neighbours at the same distance."""
    return _lattice(size)


def lattice_with_holes(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Leave out three tenths of a square lattice."""
    points = _lattice(math.ceil(size / 0.7) + 4)
    return rng.permutation(points)[:size]


def hexagonal_lattice(_: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Fill a hexagonal lattice: each city has six neighbours at the same distance."""
    points = _lattice(size)
    points[:, 1] += 0.5 * (points[:, 0] % 2)
    return points * (math.sqrt(0.75), 1.0)


def shaken_lattice(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Move each city of a square lattice by a tenth of its spacing or less."""
    points = _lattice(size)
    return points + rng.uniform(-0.1, 0.1, points.shape)


def _hole_group(rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw the holes of a part: two rows of pins, one row, or a frame around an array."""
    kind, pins = rng.integers(3), int(rng.integers(4, 13))
    if kind < 2:
        return np.array([(x, 3.0 * y) for y in range(2 - kind) for x in range(pins)])
    return np.array(
        [(x, y) for x in range(pins) for y in range(pins) if min(x, y, pins - 1 - x, pins - 1 - y) < 2]
    ) * (0.5, 0.5)


def drilled_parts(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Place copies of eight groups of holes on a board, lying or standing, on a common grid."""
    groups, pitch = [_hole_group(rng) for _ in range(8)], 14
    cells = max(math.ceil(math.sqrt(size / 8)), 2)
    blocks, left = [], size
    for slot in rng.permutation(cells * cells).tolist():
        group = groups[rng.integers(8)][:, :: int(rng.choice((-1, 1)))]
        blocks.append(group + pitch * np.array(divmod(slot, cells)) + rng.integers(0, 3, 2))
        if (left := left - len(group)) <= 0:
            break
    return np.concatenate(blocks)[:size]


def drilled_panel(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Repeat one board, rows of holes and single ones, three times four on a panel."""
    count = max(size // 12, 8)
    rows = [
        start + np.arange(int(rng.integers(3, 20)))[:, None] * (1, 0)
        for start in rng.integers(0, 4 * math.ceil(count**0.5), (count // 8, 2))
    ]
    single = rng.integers(0, 4 * math.ceil(count**0.5), (count, 2))
    board = np.concatenate([*rows, single])[:count].astype(np.float64)
    step = 1.05 * np.ptp(board, axis=0).max()
    shifts = step * np.argwhere(np.ones((3, 4)))
    return (board + shifts[:, None]).reshape(-1, 2)


def streets(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Scatter cities along six streets each way, unevenly apart."""
    along, own = rng.random(size), rng.integers(12, size=size)
    across = np.sort(rng.random(12))[own]
    east = own % 2 == 0
    return np.stack([np.where(east, along, across), np.where(east, across, along)], axis=1)


def segments(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Scatter cities on nine straight segments in any direction."""
    ends, own = rng.random((9, 2, 2)), rng.integers(9, size=size)
    share = rng.random((size, 1))
    return ends[own, 0] * share + ends[own, 1] * (1 - share)


def few_points(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Put all cities on points that are an eighth as many."""
    points = rng.random((max(size // 8, 3), 2))
    return points[rng.integers(len(points), size=size)]


def crowded_points(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Put half of the cities on ten points, and scatter the others."""
    points = rng.random((size, 2))
    points[: size // 2] = points[rng.integers(size // 2, size // 2 + 10, size // 2)]
    return rng.permutation(points)


def _symmetric(rng: np.random.Generator, size: int, most: int) -> NDArray[np.int64]:
    upper = np.triu(rng.integers(1, most + 1, (size, size)), 1)
    return upper + upper.T


def random_matrix(rng: np.random.Generator, size: int) -> NDArray[np.int64]:
    """Draw each length by itself, from 1 to 10,000."""
    return _symmetric(rng, size, 10_000)


def tied_matrix(rng: np.random.Generator, size: int) -> NDArray[np.int64]:
    """Draw each length by itself, from 1 to as many as a fifth of the cities: many are equal."""
    return _symmetric(rng, size, max(size // 5, 3))


def _closed(links: NDArray[np.int64], lengths: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Lengths of shortest paths over links int64[M, 2]."""
    graph = csr_array((lengths, (links[:, 0], links[:, 1])), shape=(size, size))
    return np.rint(shortest_path(graph, directed=False)).astype(np.int64)


def roads(rng: np.random.Generator, size: int) -> NDArray[np.int64]:
    """Measure along roads: a plane triangulation without a third of its links, some of them slow."""
    points = rng.random((size, 2)) * 10_000
    corners = Delaunay(points).simplices
    links = np.unique(np.sort(corners[:, [[0, 1], [1, 2], [0, 2]]].reshape(-1, 2), axis=1), axis=0)
    far = np.hypot(*(points[links[:, 0]] - points[links[:, 1]]).T)
    lengths = np.rint(far * rng.choice((1.0, 1.5, 2.5), len(links))).astype(np.int64) + 1
    tree = minimum_spanning_tree(csr_array((lengths, (links[:, 0], links[:, 1])), shape=(size, size))).tocoo()
    needed = set(zip(tree.row.tolist(), tree.col.tolist(), strict=True))
    kept = np.array([tuple(link) in needed for link in links.tolist()]) | (rng.random(len(links)) < 2 / 3)
    return _closed(links[kept], lengths[kept], size)


def network(rng: np.random.Generator, size: int) -> NDArray[np.int64]:
    """Measure along a random graph that lies in no plane: a cycle, and two links a city more."""
    order = rng.permutation(size)
    links = np.concatenate([np.stack([order, np.roll(order, 1)], 1), rng.integers(size, size=(2 * size, 2))])
    links = np.unique(np.sort(links[links[:, 0] != links[:, 1]], axis=1), axis=0)
    return _closed(links, rng.integers(1, 1_001, len(links)), size)


def uniform(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Draw cities from the unit square."""
    return rng.random((size, 2))


def narrow(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Draw cities from a strip, a hundred times as long as wide."""
    return rng.random((size, 2)) * (1.0, 0.01)


def on_globe(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Draw latitudes and longitudes, as degrees and whole minutes DDD.MM, of a part of the globe."""
    minutes = rng.integers((30 * 60, -10 * 60), (65 * 60, 60 * 60), (size, 2))
    degrees, rest = np.divmod(np.abs(minutes), 60)
    return np.sign(minutes) * (degrees + rest / 100)


FAMILIES = (
    Family("clusters-equal", "clusters", "choosing", "EUC_2D", equal_clusters),
    Family("clusters-nested", "clusters", "choosing", "CEIL_2D", nested_clusters),
    Family("lattice-holes", "lattices", "choosing", "EUC_2D", lattice_with_holes),
    Family("lattice-hexagonal", "lattices", "choosing", "EXACT_2D", hexagonal_lattice, whole=False),
    Family("drilling-parts", "drilling", "choosing", "EUC_2D", drilled_parts),
    Family("lines-streets", "lines", "choosing", "MAN_2D", streets),
    Family("coincident-few", "coincident", "choosing", "EUC_2D", few_points),
    Family("matrix-roads", "matrices", "choosing", "EXPLICIT", roads),
    Family("matrix-random", "matrices", "choosing", "EXPLICIT", random_matrix),
    Family("uniform", "uniform", "choosing", "EUC_2D", uniform),
    Family("uniform-narrow", "uniform", "choosing", "FLOOR_2D", narrow),
    Family("clusters-mixed", "clusters", "reporting", "EUC_2D", mixed_clusters),
    Family("clusters-far", "clusters", "reporting", "ATT", far_clusters),
    Family("lattice-square", "lattices", "reporting", "EUC_2D", square_lattice),
    Family("lattice-shaken", "lattices", "reporting", "CEIL_2D", shaken_lattice),
    Family("drilling-panel", "drilling", "reporting", "MAX_2D", drilled_panel),
    Family("lines-segments", "lines", "reporting", "EUC_2D", segments),
    Family("coincident-crowded", "coincident", "reporting", "EUC_2D", crowded_points),
    Family("matrix-network", "matrices", "reporting", "EXPLICIT", network),
    Family("matrix-tied", "matrices", "reporting", "EXPLICIT", tied_matrix),
    Family("uniform-real", "uniform", "reporting", "EXACT_2D", uniform, whole=False),
    Family("uniform-globe", "uniform", "reporting", "GEO", on_globe, whole=False),
)


def member(family: Family, size: int, number: int) -> Member:
    """Make the instance of a family with a size and a number: always the same one."""
    rng = np.random.default_rng([zlib.crc32(family.name.encode()), size, number])
    made, name = family.make(rng, size), f"{family.name}-{size}-{number}"
    if family.metric == "EXPLICIT":
        return Member(name, family, TspInstance(name=name, edge_weight_type=family.metric, matrix=made), None)
    optimum = None
    if family.whole:
        made = made - made.min(axis=0)
        scale = SIDE / made.max() / (1.5 if family.metric == "MAN_2D" else 1.0)
        if np.array_equal(2 * made, np.rint(2 * made)):  # lattices and boards keep their ties
            scale = 2 * math.floor(scale / 2)
        made = np.rint(made * scale).astype(np.int64)
        if family.make is square_lattice:  # each city has a neighbour at a spacing, and none nearer
            optimum = len(made) * scale
    return Member(name, family, TspInstance(name=name, edge_weight_type=family.metric, coords=made), optimum)


def instances(
    part: Part, sizes: Sequence[int] = SIZES, count: int = 1, names: Sequence[str] | None = None
) -> Iterator[Member]:
    """Make the instances of a part, `count` of each family and size, numbered from 1.

    Parameters
    ----------
    part : {"choosing", "reporting"}
    sizes : sequence of int
    count : int
    names : sequence of str, optional
        Families and groups; all by default.
    """
    for family in FAMILIES:
        if family.part != part or (names is not None and not {family.name, family.group} & set(names)):
            continue
        for size in sizes:
            if family.metric != "EXPLICIT" or size <= LARGEST_MATRIX:
                for number in range(1, count + 1):
                    yield member(family, size, number)


def read_references(path: Path = REFERENCES) -> dict[str, float]:
    """Read best lengths by the names of instances; none where there is no file."""
    return json.loads(path.read_text()) if path.exists() else {}
