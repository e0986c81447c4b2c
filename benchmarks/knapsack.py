"""The knapsacks' large-step chain alone, without bounds: the paper's sets, and correlated classes.

    python benchmarks/knapsack.py REFERENCES

REFERENCES holds ``knapsack{N}_opt.npy``, the optima of the paper's sets. Times are of the processor, set-up
included, on one thread; of the paper's sets one chain has the steps of a millisecond times N / 50 or so, up
to ten thousand. The classes are those of Pisinger (2005, "Where are the hard knapsack problems?"), the
capacity half of all weight: four chains of half a million steps each, a second at most. Gaps are to the
optimum where the core programme finds it in ten seconds, else to the best answer that is known to this run.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import nsa_cli as nsa
from nsa_cli.anneal.large_step import LargeStepChains
from nsa_cli.core.draws import stream_keys
from nsa_cli.problems.knapsack import problem
from nsa_cli.problems.knapsack.heuristics import greedy
from nsa_cli.problems.knapsack.instance import KnapsackInstance
from nsa_cli.problems.knapsack.large_step.chains import KnapsackLargeStep

CLASSES = ("strongly", "inverse strongly", "multiple strongly", "subset sum", "spanner")
_STEPS = 2_000_000


def make(kind: str, size: int, largest: int, seed: int) -> KnapsackInstance:
    """Draw an instance of a class; spanners are of two strongly correlated items, multiplied by 1 to 10."""
    rng = np.random.default_rng([seed, size, largest])
    weights = rng.integers(1, largest + 1, size)
    values, tenth = weights.copy(), largest // 10
    if kind == "strongly":
        values = weights + tenth
    elif kind == "inverse strongly":
        weights = values + tenth
    elif kind == "multiple strongly":
        values = weights + np.where(weights % 6 == 0, 3, 2) * tenth
    elif kind == "spanner":
        base = -(-2 * rng.integers(1, largest + 1, 2) // 10)
        which, times = rng.integers(0, 2, size), rng.integers(1, 11, size)
        values, weights = times * (base + 2 * tenth // 10)[which], times * base[which]
    return KnapsackInstance(values=values, weights=weights, capacity=int(weights.sum()) // 2)


def swapped(instance: KnapsackInstance) -> int:
    """Give the value of the greedy selection after swaps, one in for one out, each the best for its item."""
    values, weights = instance.values, instance.weights
    chosen = greedy(instance, lambda n: np.zeros(n))
    improved = True
    while improved:
        improved = False
        for out in np.flatnonzero(chosen).tolist():
            room = instance.capacity - int(weights[chosen].sum()) + int(weights[out])
            gains = np.where(~chosen & (weights <= room), values - values[out], 0)
            into = int(gains.argmax())
            if gains[into] > 0:
                chosen[out], chosen[into], improved = False, True, True
    return int(values[chosen].sum())


def paper(references: Path) -> None:
    """Print the gaps on the paper's sets."""
    print(f"{'N':>5} {'gap %':>9} {'ms':>6}")
    for size in problem.paper_sizes:
        steps = min(120 * size, 10_000)
        for warm in (True, False):
            instances = problem.paper_set(size, 10 if warm else None)
            begin = time.process_time()
            runs = KnapsackLargeStep().runs(instances, np.stack([greedy(i, None) for i in instances]))
            chains = LargeStepChains(runs, stream_keys(0, np.arange(len(runs)) << 32))
            chains.advance(np.geomspace(0.3, 0.003, steps))
            seconds = time.process_time() - begin
        gaps = 1 + chains.best_energy / np.load(references / f"knapsack{size}_opt.npy")
        print(f"{size:>5} {100 * gaps.mean():>9.5f} {1e3 * seconds / len(gaps):>6.2f}", flush=True)


def classes() -> None:
    """Print the gaps on the correlated classes."""
    print(f"{'class':>18} {'n':>6} {'largest':>9} {'gap %':>9} {'worst':>9} {'greedy, swaps':>13} {'s':>5}")
    for kind in CLASSES:
        for size in (100, 1_000, 10_000):
            for largest in (1_000, 10_000_000):
                rows = []
                for seed in range(3):
                    instance = make(kind, size, largest, seed)
                    begin = time.process_time()
                    options = {"bound": False, "method": "large-step", "steps": _STEPS // 4, "threads": 1}
                    found = nsa.solve(instance, seed=1, chains=4, **options).objective
                    seconds = time.process_time() - begin
                    bound = problem.bound(instance, seconds=10.0)
                    plain = swapped(instance)
                    known = max(found, plain, instance.objective(bound.solution))
                    rows.append((1 - found / known, 1 - plain / known, seconds))
                gap, plain, seconds = np.mean(rows, axis=0)
                worst = max(row[0] for row in rows)
                print(
                    f"{kind:>18} {size:>6} {largest:>9} {100 * gap:>9.6f} {100 * worst:>9.6f} "
                    f"{100 * plain:>13.6f} {seconds:>5.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    paper(Path(sys.argv[1]))
    classes()
