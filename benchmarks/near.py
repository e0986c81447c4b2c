"""Steps between near cities: what a learnt choice adds at equal steps and equal time, and what a step costs.

    python benchmarks/near.py DIR         both tables; DIR has tsp100_opt.npy and tsp500_opt.npy
    python benchmarks/near.py --steps     nanoseconds a step by size

One thread, one chain, CPU time. Gaps are in % to the references, from the paper's start at K = 10 N^2; larger
random instances start from greedy tours, and their lengths are in units of sqrt(N).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import nsa_cli as nsa
from nsa_cli.anneal.fused import FusedChains
from nsa_cli.core.draws import stream_keys
from nsa_cli.policy.checkpoint import find_stored
from nsa_cli.policy.fused import learnt, uniform

POLICY, NEIGHBOURHOOD = "tsp-es-nearest", "nearest:10"
TSP = nsa.find_problem("tsp")

#: First and last temperature in units of the spacing of N cities, of uniform proposals from the paper's start
#: and from greedy tours: the best of those tried, or near it. The policy has its own.
HOT, COOL = (0.7, 0.05), (0.5, 0.05)

#: Size, instances, and how many times the steps uniform proposals make in the time of the policy.
PAPER = ((100, 200, 6.5), (500, 16, 6.0))
LARGE = ((1_000, 4, 6.0), (10_000, 1, 6.0))


def solve(tasks: list[Any], steps: int, policy: str, heat: tuple[float, float], **options: Any) -> Any:
    """Objectives, and CPU seconds an instance."""
    size = tasks[0].instance.size
    if policy == "uniform":
        options |= {"t_start": heat[0] * size**-0.5, "t_end": heat[1] * size**-0.5}
    begin = time.process_time()
    results = nsa.solve_many(
        tasks,
        steps=steps,
        policy=policy,
        neighbourhood=NEIGHBOURHOOD,
        seed=1,
        chains=1,
        threads=1,
        bound=False,
        **options,
    )
    seconds = (time.process_time() - begin) / len(tasks)
    return np.array([r.objective for r in results]), seconds


def compare(
    tasks: list[Any], steps: int, more: float, heat: tuple[float, float], what: Any, **options: Any
) -> None:
    """Print a row a solver; `what` turns objectives into what is shown."""
    (
        solve(tasks[:1], 100, POLICY, heat, **options),
        solve(tasks[:1], 100, "uniform", heat, **options),
    )  # compiles
    for policy, count in ((POLICY, steps), ("uniform", steps), ("uniform", int(more * steps))):
        objectives, seconds = solve(tasks, count, policy, heat, **options)
        shown = what(objectives)
        error = 1.96 * shown.std() / len(shown) ** 0.5
        row = (
            tasks[0].instance.size,
            len(tasks),
            policy,
            count,
            f"{shown.mean():.4f}",
            f"{error:.4f}",
            f"{seconds:.3f}",
        )
        print(" ".join(f"{cell:>15}" for cell in row), flush=True)


def step_cost(size: int) -> None:
    """Print nanoseconds a step of uniform proposals and of the policy, from a greedy tour."""
    instance = TSP.generate(size, np.random.default_rng(0))
    x = np.stack([TSP.start("greedy")(instance, lambda n: np.zeros(n))])
    kernel, stored = TSP.neighbourhood(NEIGHBOURHOOD).kernel(), find_stored(POLICY, "tsp")
    assert kernel is not None
    assert stored is not None
    weights = stored.arrays(kernel.features[stored.feature_set])
    for name, layout in (("uniform", uniform()), (POLICY, learnt(kernel, stored.feature_set, weights))):
        chains, cells = (
            FusedChains(kernel, kernel.arrays([instance], 1.0), layout, x, stream_keys(0, np.arange(1))),
            [],
        )
        for heat in (0.3, 0.1, 0.03):
            chains.advance(np.full(1_000, heat * size**-0.5))
            begin = time.process_time()
            chains.advance(np.full(300_000, heat * size**-0.5))
            cells.append(f"{(time.process_time() - begin) / 300_000 * 1e9:.0f}")
        print(" ".join(f"{cell:>15}" for cell in (size, name, *cells)), flush=True)


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("references", nargs="?", type=Path, metavar="DIR")
    parser.add_argument("--steps", action="store_true", help="what a step costs")
    parser.add_argument("--count", type=int, default=1_000, help="instances of each size, at most")
    arguments = parser.parse_args()
    if arguments.steps:
        print("nanoseconds a step at 0.3, 0.1 and 0.03 spacings")
        for size in (100, 1_000, 10_000, 85_900):
            step_cost(size)
    if arguments.references is None:
        return
    for size, count, more in PAPER:
        count = min(count, arguments.count)
        best = np.load(arguments.references / f"tsp{size}_opt.npy")[:count]
        tasks = [nsa.Task(TSP, x, stream=k) for k, x in enumerate(TSP.paper_set(size, count))]
        compare(tasks, 10 * size**2, more, HOT, lambda x, best=best: 100 * (x / best - 1), init="paper")
    for size, count, more in LARGE:
        made = [TSP.generate(size, np.random.default_rng(70 + k)) for k in range(min(count, arguments.count))]
        tasks = [nsa.Task(TSP, x, stream=k) for k, x in enumerate(made)]
        compare(tasks, 300 * size, more, COOL, lambda x, size=size: x * size**-0.5, init="greedy")


if __name__ == "__main__":
    main()
