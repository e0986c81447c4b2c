"""Moves a second on a problem of one's own, beside simanneal, in one run.

    pip install simanneal
    python benchmarks/own_problem.py

Spins on a square lattice with random couplings of 1 and -1, wrapped round (the spin glass of Kirkpatrick,
Gelatt and Vecchi's paper of 1983), which is none of the examples: one spin is turned over. Both are given the
same cost and the same change of cost by a move, in plain Python: simanneal as its `move` may return
it, nsa as `delta`. One thread,
processor time, compilation not counted, the same temperatures.
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from nsa_cli.anneal.fused import FusedChains
from nsa_cli.core.draws import stream_keys
from nsa_cli.policy.fused import uniform
from nsa_cli.problems import find_problem

#: The whole problem: what a user writes.
PROBLEM = """from nsa_cli.user import UserProblem, flip, subset


def side(x, i):
    return 1 if x[i] else -1


class Glass(UserProblem):
    name = "glass"
    keys = ("right", "down", "width")
    solution = subset("right")
    moves = (flip,)

    def cost(data, x):
        total = 0
        for i in range(len(x)):
            total -= side(x, i) * data.right[i] * side(x, next_(i, data.width))
            total -= side(x, i) * data.down[i] * side(x, (i + data.width) % len(x))
        return total

    def delta(data, x, move):
        i, n, w = move[0], len(x), data.width
        west = i - 1 if i % w else i + w - 1
        north = i - w if i >= w else i - w + n
        total = data.right[i] * side(x, next_(i, w)) + data.right[west] * side(x, west)
        total += data.down[i] * side(x, i + w if i + w < n else i + w - n) + data.down[north] * side(x, north)
        return 2 * side(x, i) * total


def next_(i, w):
    return i + 1 if (i + 1) % w else i + 1 - w
"""

#: Spins along a side.
SIZES = (20, 32, 64, 100)

#: First and last temperature.
HEATS = 3.0, 0.1


def ours(record: dict[str, Any], folder: Path, seconds: float) -> tuple[float, float]:
    """Moves a second, and the cost after about so many seconds."""
    file = folder / "glass.py"
    file.write_text(PROBLEM)
    problem = find_problem(f"{file}:Glass")
    instance = problem.from_record(record)
    fused = problem.neighbourhood().kernel()
    assert fused is not None
    arrays = fused.arrays([instance], 1.0)
    x, keys = instance.typical[None], stream_keys(1, np.arange(1))

    def run(steps: int) -> tuple[float, float]:
        chains = FusedChains(fused, arrays, uniform(), x, keys)
        chains.advance(np.geomspace(*HEATS, 10))  # compiles
        chains = FusedChains(fused, arrays, uniform(), x, keys)
        heats = np.geomspace(*HEATS, steps)
        began = time.process_time()
        chains.advance(heats)
        return steps / (time.process_time() - began), float(chains.best_energy[0])

    pace, _ = run(200_000)
    return run(int(pace * seconds))


def theirs(record: dict[str, Any], seconds: float) -> tuple[float, float]:
    """The same with simanneal."""
    from simanneal import Annealer

    right, down, w = record["right"], record["down"], record["width"]
    n = len(right)

    class Glass(Annealer):  # type: ignore[misc]
        copy_strategy = "slice"  # its quickest

        def move(self) -> float:
            x, i = self.state, random.randrange(n)
            west = i - 1 if i % w else i + w - 1
            north = i - w
            east = i + 1 if (i + 1) % w else i + 1 - w
            south = i + w if i + w < n else i + w - n
            total = right[i] * x[east] + right[west] * x[west] + down[i] * x[south] + down[north] * x[north]
            change = 2 * x[i] * total
            x[i] = -x[i]
            return change

        def energy(self) -> float:
            x = self.state
            total = 0
            for i in range(n):
                east = i + 1 if (i + 1) % w else i + 1 - w
                total -= x[i] * (right[i] * x[east] + down[i] * x[(i + w) % n])
            return total

    def run(steps: int) -> tuple[float, float]:
        random.seed(1)
        annealer = Glass([random.choice((-1, 1)) for _ in range(n)])
        annealer.Tmax, annealer.Tmin, annealer.steps, annealer.updates = *HEATS, steps, 0
        with contextlib.redirect_stderr(io.StringIO()):
            began = time.process_time()
            _, cost = annealer.anneal()
            return steps / (time.process_time() - began), cost

    pace, _ = run(20_000)
    return run(int(pace * seconds))


def main() -> None:
    """Print the table."""
    try:
        import simanneal  # noqa: F401
    except ImportError:
        sys.exit("simanneal is not installed; pip install simanneal")
    rng, seconds = np.random.default_rng(0), 2.0
    print(f"{'spins':>6} {'simanneal':>10} {'nsa':>10} {'ratio':>6} {'cost after 2 s':>15} {'nsa':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for side in SIZES:
            right, down = (2 * rng.integers(0, 2, (2, side * side)) - 1).tolist()
            record = {"right": right, "down": down, "width": side}
            slow, their_cost = theirs(record, seconds)
            fast, our_cost = ours(record, Path(folder), seconds)
            ratio = fast / slow
            print(
                f"{side * side:>6} {slow:>10.3g} {fast:>10.3g} {ratio:>6.0f} {their_cost:>15g} {our_cost:>8g}"
            )


if __name__ == "__main__":
    main()
