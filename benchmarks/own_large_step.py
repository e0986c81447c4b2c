"""Annealing and large steps on the maximum cut example, at equal time of the processor.

    python benchmarks/own_large_step.py

Sixteen chains of each of three random graphs; mean energy of the chains' best, in per cent above the best
row: temperatures from a sample of the instance's moves, the fixed ones of before, and large steps.
Compilation and set-up are not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import nsa_cli as nsa
from nsa_cli.core.draws import start_draws, stream_keys
from nsa_cli.problems import find_problem
from nsa_cli.solver.choose import choose
from nsa_cli.solver.plan import estimate_temperatures

EXAMPLE = f"{Path(__file__).parents[1] / 'examples' / 'maxcut.py'}:MaxCut"
CHAINS = 16
CASES = ((60, 0.002), (60, 0.01), (200, 0.01), (200, 0.1))


def best_after(make: Callable[[], Any], pair: tuple[float, float], seconds: float) -> float:
    """Run chains over as many steps as there is time for; give their mean best energy."""
    chains, tries = make(), np.geomspace(*pair, 64)
    chains.advance(tries)  # compiles
    begin = time.process_time()
    chains.advance(tries)
    each = (time.process_time() - begin) / len(tries) / CHAINS
    chains = make()
    chains.advance(np.geomspace(*pair, max(int(seconds / each), 2)))
    return float(chains.best_energy.mean())


def compare(size: int, seconds: float) -> dict[str, float]:
    """Give the mean energy of each way over some graphs."""
    problem, rng = find_problem(EXAMPLE), np.random.default_rng(7)
    keys, energies = stream_keys(1, np.arange(CHAINS)), []
    for _ in range(3):
        graph = problem.generate(size, rng)
        x = np.stack([problem.start()(graph, partial(start_draws, key)) for key in keys])
        searches = [
            choose(nsa.Task(problem, graph), "uniform", nsa.Settings(method=m, threads=1), "cpu", CHAINS)
            for m in ("anneal", "large-step")
        ]
        plain, kicked = (partial(search.start, [graph] * CHAINS, x, keys) for search in searches)
        auto = estimate_temperatures(searches[0], graph, problem.start())
        budget = searches[1].budget(graph)
        ways = {
            "annealing, automatic": (plain, auto),
            "annealing, 1 to 0.01": (plain, (1.0, 0.01)),
            "large steps": (kicked, (budget.t_start, budget.t_end)),
        }
        energies.append({name: best_after(*way, seconds) for name, way in ways.items()})
    return {name: float(np.mean([row[name] for row in energies])) for name in energies[0]}


def main() -> None:
    """Print the table."""
    for size, seconds in CASES:
        found = compare(size, seconds)
        best = min(found.values())
        for name, energy in found.items():
            print(
                f"{size:>4} {1e3 * seconds:>4.0f} ms  {name:<22} {100 * (1 - energy / best):.3f}", flush=True
            )


if __name__ == "__main__":
    main()
