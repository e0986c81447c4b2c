"""`nsa solve` with hardly any time, beside greedy edges and 2-opt over neighbour lists to their end.

    python benchmarks/no_time.py                                1,000 to 1,000,000 cities, .2 to 2 s
    python benchmarks/no_time.py --sizes 20000 --count 5        so many cities, and instances of each kind

Uniform cities, and normal clusters of a hundred cities. Limits are the command's own, by the clock, the start
of the process and reading included; what runs beside them counts. 2-opt moves are to one of eight neighbours,
with a queue, and reverse at most 50,000 cities. A ratio above 1 is a tour longer than that of 2-opt.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from contestants import Contestant, contestants
from families import equal_clusters, uniform
from numba import njit
from numpy.typing import NDArray

from nsa_cli.problems.tsp.formats import tsplib
from nsa_cli.problems.tsp.greedy_edge import greedy
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.neighbour_lists import candidate_lists

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
LIMITS = (0.2, 0.5, 1.0, 2.0)
KINDS = {"uniform": uniform, "clusters": equal_clusters}

#: Neighbours of a city, the longest reversal, and the side of the cities' box.
NEIGHBOURS, LONGEST, SIDE = 8, 50_000, 1_000_000


class Tour(NamedTuple):
    """Length of a tour, and the seconds by the clock that it took."""

    length: float
    seconds: float


@njit(cache=True)
def _length(coords: NDArray[np.float64], a: int, b: int) -> float:
    return np.floor(np.hypot(coords[a, 0] - coords[b, 0], coords[a, 1] - coords[b, 1]) + 0.5)


@njit(cache=True)
def two_opt(
    coords: NDArray[np.float64], near: NDArray[np.int32], tour: NDArray[np.int64], longest: int
) -> None:
    """Descend in place by 2-opt moves to near cities, first improvements first (Bentley 1992)."""
    size = len(tour)
    place, queue, waiting = np.empty(size, np.int64), tour.copy(), np.ones(size, np.bool_)
    place[tour] = np.arange(size)
    head, count = 0, size
    while count:
        city = queue[head]
        head, count = (head + 1) % size, count - 1
        waiting[city] = False
        again = True
        while again:
            again = False
            for side in (1, -1):
                beside = tour[(place[city] + side) % size]
                old = _length(coords, city, beside)
                for neighbour in near[city]:
                    other = np.int64(neighbour)  # all ends of one type
                    new = _length(coords, city, other)
                    if new >= old:
                        break
                    beyond = tour[(place[other] + side) % size]
                    gain = old + _length(coords, other, beyond) - new - _length(coords, beside, beyond)
                    first, last = (beside, other) if side == 1 else (other, beside)
                    inner = (place[last] - place[first]) % size + 1
                    i, j = place[first], place[last]
                    if 2 * inner > size:
                        i, j, inner = (place[last] + 1) % size, (place[first] - 1) % size, size - inner
                    if gain <= 0 or inner > longest:
                        continue
                    for _ in range(inner // 2):
                        tour[i], tour[j] = tour[j], tour[i]
                        place[tour[i]], place[tour[j]] = i, j
                        i, j = (i + 1) % size, (j - 1) % size
                    for end in (beside, other, beyond):
                        if not waiting[end]:
                            waiting[end] = True
                            queue[(head + count) % size] = end
                            count += 1
                    again = True
                    break
                if again:
                    break


def greedy_two_opt(instance: TspInstance) -> Tour:
    """Greedy edges, then 2-opt."""
    began = time.monotonic()
    tour = greedy(instance)
    two_opt(instance.measured, candidate_lists(instance, NEIGHBOURS), tour, LONGEST)
    seconds = time.monotonic() - began
    assert instance.violation(tour) is None
    return Tour(float(instance.objective(tour)), seconds)


def row(ours: Contestant, kind: str, size: int, numbers: range, limits: tuple[float, ...]) -> str:
    """Measure one kind and size."""
    ratios, taken, found, reference = [], [], [], []
    for number in numbers:
        rng = np.random.default_rng([number, size])
        points = np.rint(KINDS[kind](rng, size) * SIDE).astype(np.int64)
        instance = TspInstance(name=f"{kind}-{size}-{number}", edge_weight_type="EUC_2D", coords=points)
        reference.append(greedy_two_opt(instance))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{instance.name}.tsp"
            file.write_text(tsplib.write(instance), encoding="ascii")
            answers = [ours.run(file, limit, number) for limit in limits]
        ratios.append(
            [
                np.nan if a.tour is None else instance.objective(np.array(a.tour)) / reference[-1].length
                for a in answers
            ]
        )
        taken.append([a.wall for a in answers])
        found.append([a.note.split(", ")[-1] for a in answers])
    cells = [
        f"{np.mean(ratio):.3f} ({np.max(ratio):.3f}), {np.max(seconds):.2f} s, {'/'.join(sorted(set(by)))}"
        for ratio, seconds, by in zip(
            np.transpose(ratios), np.transpose(taken), np.transpose(found), strict=True
        )
    ]
    own = np.mean([tour.seconds for tour in reference])
    return "| " + " | ".join([kind, f"{size:,}", f"{own:.2f} s", *cells]) + " |"


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))), default=SIZES)
    parser.add_argument("--limits", type=lambda text: tuple(map(float, text.split(","))), default=LIMITS)
    parser.add_argument("--count", type=int, default=1, help="instances of each kind and size")
    options = parser.parse_args()
    (ours,), _ = contestants("wall", None, {"now"})
    greedy_two_opt(TspInstance(name="", coords=np.arange(40).reshape(20, 2) ** 2))  # compiled and loaded
    print("Ours / greedy and 2-opt, mean (worst); the longest run by the clock; what found it.\n")
    print("| cities | number | greedy, 2-opt | " + " | ".join(f"{s:g} s" for s in options.limits) + " |")
    print("|" + "---|" * (3 + len(options.limits)))
    for kind in KINDS:
        for size in options.sizes:
            print(row(ours, kind, size, range(1, options.count + 1), options.limits), flush=True)


if __name__ == "__main__":
    main()
