"""The examples of own problems: uniform annealing, a policy, large steps and a peer at equal time.

    python benchmarks/own_examples.py qap          # or flowshop, colouring, maxcut

Trains a policy by evolution strategies, then runs each way for as much time of the processor on one thread,
four chains, on instances that no training saw. The value of an instance is the mean over the seeds; the
interval is over instances. Gaps are to the optimum where a construction or the literature gives it, else to
the best cost of all runs. Compilation and set-up are not counted; heuristics that end by themselves have
their own time.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nsa_cli as nsa
from nsa_cli.bench.statistics import half_width
from nsa_cli.core.draws import start_draws, stream_keys
from nsa_cli.problems import find_problem
from nsa_cli.solver.choose import choose
from nsa_cli.solver.plan import estimate_temperatures

CHAINS = 4
FOLDER = Path(__file__).parents[1] / "examples"


class Case(NamedTuple):
    """An instance of a set; its optimum where that is known."""

    set: str
    data: dict[str, Any]
    optimum: float | None = None


class Example(NamedTuple):
    """An example, how its policy is trained, what it is tried on, and a peer: data, seconds, seed → cost."""

    spec: str
    training: dict[str, Any]
    cases: Callable[[], Iterator[Case]]
    peer: str
    compare: Callable[[Any, float, int], float]


# Quadratic assignment


def qap_cases() -> Iterator[Case]:
    """Random ones of the example; and grids whose edges carry flow, mapped onto themselves in secret.

    Of the latter no flow can go less than 1, and in the hidden order all of it goes 1: the sum is optimal.
    """
    problem, rng = find_problem(f"{FOLDER}/qap.py:QAP"), np.random.default_rng(11)
    for _ in range(8):
        yield Case("random, 30", problem.generate(30, rng).record())
    spots = np.array([(a, b) for a in range(5) for b in range(6)])
    distance = abs(spots[:, None] - spots).sum(2)
    for _ in range(8):
        flow = np.triu(rng.integers(1, 10, distance.shape) * (distance == 1))
        flow, hidden = flow + flow.T, rng.permutation(30)
        record = {"flow": flow[np.ix_(hidden, hidden)], "distance": distance}
        yield Case("grid on grid, 30", record, flow.sum())


def scipy_qap(data: Any, seconds: float, seed: int) -> float:
    """SciPy's fast approximate method from random starts, each improved by its 2-opt, again and again."""
    from scipy.optimize import quadratic_assignment

    rng, best, began = np.random.default_rng(seed), np.inf, time.process_time()
    while time.process_time() - began < seconds:
        start = {"P0": "randomized", "rng": rng}
        faq = quadratic_assignment(data.flow, data.distance, options=start).col_ind
        guess = np.stack([np.arange(len(faq)), faq], 1)
        options = {"partial_guess": guess, "rng": rng}
        found = quadratic_assignment(data.flow, data.distance, method="2opt", options=options)
        best = min(best, float(found.fun))
    return best


# Flow shop

#: Seeds and optimal makespans of the first five 20 by 5 instances of Taillard (EJOR 64, 1993).
TAILLARD = {873654221: 1278, 379008056: 1359, 1866992158: 1081, 216771124: 1293, 495070989: 1235}


def taillard(seed: int, machines: int, jobs: int) -> np.ndarray[Any, Any]:
    """Draw times as in Taillard's paper: a linear congruential generator, machine by machine."""
    times = np.zeros((machines, jobs), np.int64)
    for k in range(machines):
        for j in range(jobs):
            seed = 16807 * seed % (2**31 - 1)
            times[k, j] = 1 + int(seed / (2**31 - 1) * 99)
    return times


def flowshop_cases() -> Iterator[Case]:
    """Taillard's, and larger ones on more machines."""
    for seed, optimum in TAILLARD.items():
        yield Case("Taillard, 20 x 5", {"times": taillard(seed, 5, 20)}, optimum)
    for seed in range(1, 9):
        yield Case("50 x 10", {"times": taillard(1000 * seed, 10, 50)})


def neh(data: Any, seconds: float, seed: int) -> float:
    """Nawaz, Enscore and Ham: the longest jobs first, each to where it costs least."""
    cost = find_problem(f"{FOLDER}/flowshop.py:FlowShop").from_record({"times": data.times}).cost
    order: list[int] = []
    for job in np.argsort(-data.times.sum(0), kind="stable").tolist():
        tried = [[*order[:k], job, *order[k:]] for k in range(len(order) + 1)]
        order = min(tried, key=lambda x: cost(np.array(x)))
    return float(cost(np.array(order)))


# Graph colouring


def colouring_cases() -> Iterator[Case]:
    """Planted ones, and queens' graphs with as many colours as they need: no conflict is optimal."""
    problem, rng = find_problem(f"{FOLDER}/colouring.py:Colouring"), np.random.default_rng(13)
    for size in (60, 100, 150):
        for _ in range(6):
            yield Case(f"planted, {size}", problem.generate(size, rng).record(), 0)
    for side, colours in {5: 5, 6: 7, 7: 7, 8: 9, 9: 10}.items():
        yield Case("queens, 25 to 81", {"adjacent": queens(side), "colours": colours}, 0)


def queens(side: int) -> np.ndarray[Any, Any]:
    """Make the graph of a chessboard's fields, each beside those that a queen reaches from there."""
    a, b = np.divmod(np.arange(side * side), side)
    down, across = a[:, None] - a, b[:, None] - b
    reached = (down == 0) | (across == 0) | (abs(down) == abs(across))
    return (reached & ~np.eye(side * side, dtype=bool)).astype(int)


def dsatur(data: Any, seconds: float, seed: int) -> float:
    """Brélaz: the vertex whose neighbours have most colours is next; it gets what fewest of them have."""
    adjacent, colours = data.adjacent > 0, int(data.colours)
    n = len(adjacent)
    near, x = np.zeros((n, colours), np.int64), np.full(n, -1)
    for _ in range(n):
        order = (x >= 0, -(near > 0).sum(1), -adjacent.sum(1))
        vertex = int(np.lexsort(order[::-1])[0])
        x[vertex] = int(np.argmin(near[vertex]))
        near[adjacent[vertex], x[vertex]] += 1
    return float((adjacent & (x[:, None] == x)).sum() / 2)


# Maximum cut


def maxcut_cases() -> Iterator[Case]:
    """Random ones of the example; and whole graphs of equal weights, cut best into halves."""
    problem, rng = find_problem(f"{FOLDER}/maxcut.py:MaxCut"), np.random.default_rng(17)
    for size in (60, 150):
        for _ in range(8):
            yield Case(f"random, {size}", problem.generate(size, rng).record())
    for width in (8, 10, 12):
        n = width * width
        torus = np.zeros((n, n), np.int64)
        for i in range(n):
            for j in ((i + width) % n, i - i % width + (i + 1) % width):
                torus[i, j] = torus[j, i] = 1
        yield Case("torus, 64 to 144", {"weights": torus}, -2 * n)  # bipartite: all edges


def greedy_cut(data: Any, seconds: float, seed: int) -> float:
    """Sahni and Gonzalez: each vertex goes to the side where it cuts more."""
    sides = np.zeros(len(data.weights))
    for i in range(len(sides)):
        sides[i] = -1 if data.weights[i, :i] @ sides[:i] > 0 else 1
    return float(-(data.weights * (sides[:, None] != sides)).sum() / 2)


EXAMPLES = {
    "qap": Example("qap.py:QAP", {"size": 20, "epochs": 120}, qap_cases, "SciPy", scipy_qap),
    "flowshop": Example("flowshop.py:FlowShop", {"size": 20, "epochs": 120}, flowshop_cases, "NEH", neh),
    "colouring": Example(
        "colouring.py:Colouring", {"size": 60, "epochs": 120}, colouring_cases, "DSATUR", dsatur
    ),
    "maxcut": Example("maxcut.py:MaxCut", {"size": 40, "epochs": 120}, maxcut_cases, "greedy", greedy_cut),
}


def trained(problem: Any, fields: dict[str, Any], out: Path) -> Path:
    """Train a policy; say what that took."""
    from nsa_cli.train.compare import find_temperatures
    from nsa_cli.train.config import EsConfig, choose_config
    from nsa_cli.train.es import train_es
    from nsa_cli.train.loop import Training

    config = choose_config("none", "es", "best", None, {**fields, "validation_size": fields["size"]})
    assert isinstance(config, EsConfig)
    run = Training(problem, replace(config, problems=16, validation_problems=32), 1, out, threads=1)
    began = time.process_time()
    find_temperatures(run)
    train_es(run)
    print(
        f"trained: {config.epochs} epochs, {run.config.steps} steps of size {config.size}, "
        f"{time.process_time() - began:.0f} s of the processor",
        flush=True,
    )
    return run.out


def best_after(problem: Any, instance: Any, policy: str, method: str, seconds: float, seed: int) -> float:
    """Run chains for a time of the processor, their temperatures by the clock; give the best cost."""
    settings = nsa.Settings(method=method, threads=1)
    search = choose(nsa.Task(problem, instance), policy, settings, "cpu", 1)
    budget = search.budget(instance)
    pair = budget.t_start, budget.t_end
    if method == "anneal" and policy == "uniform":
        pair = estimate_temperatures(search, instance, problem.start()) or pair
    keys = stream_keys(seed, np.arange(CHAINS))
    x = np.stack([problem.start()(instance, partial(start_draws, key)) for key in keys])

    def chains() -> Any:
        return search.start([instance] * CHAINS, x, keys, CHAINS, None, seconds)

    chains().advance(np.full(2, pair[0]))  # compiles
    running, count, used, began = chains(), 1, 0.0, time.process_time()
    while used < 1.0:
        before, done = used, running.step
        running.advance(np.full(count, pair[0] * (pair[1] / pair[0]) ** used), used)
        used = (time.process_time() - began) / seconds
        if running.step > done:  # slices of a hundredth of the time; a population takes its own
            count = max(1, min(2 * count, int(count * 0.01 / max(used - before, 1e-9))))
    return float(running.best_energy.min())


def main() -> None:
    """Print the table of an example."""
    parser = argparse.ArgumentParser()
    parser.add_argument("example", choices=EXAMPLES)
    parser.add_argument("--seconds", default="0.05,0.5")
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    example = EXAMPLES[given.example]
    problem = find_problem(f"{FOLDER}/{example.spec}")
    budgets = [float(s) for s in given.seconds.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        policy = str(trained(problem, example.training, Path(folder) / "policy.json"))
        ways: dict[str, Callable[..., float]] = {
            "uniform": partial(best_after, problem, policy="uniform", method="anneal"),
            "policy": partial(best_after, problem, policy=policy, method="anneal"),
            "large steps": partial(best_after, problem, policy="none", method="large-step"),
            example.peer: lambda instance, seconds, seed: example.compare(instance.data, seconds, seed),
        }
        cases = list(example.cases())
        instances = [problem.from_record(_lists(case.data)) for case in cases]
        found = np.array(
            [
                [
                    [
                        [way(instance, seconds=seconds, seed=seed) for seed in range(given.seeds)]
                        for way in ways.values()
                    ]
                    for seconds in budgets
                ]
                for instance in instances
            ]
        )  # [instances, budgets, ways, seeds]
    tell(cases, budgets, list(ways), found)


def tell(cases: list[Case], budgets: list[float], ways: list[str], found: Any) -> None:
    """Print gaps in %, or costs themselves where the optimum is 0."""
    print(f"| set | s | {' | '.join(ways)} | policy less uniform |")
    print("|---" * (len(ways) + 3) + "|")
    for name in dict.fromkeys(case.set for case in cases):
        rows = [k for k, case in enumerate(cases) if case.set == name]
        best = [found[k].min() if cases[k].optimum is None else cases[k].optimum for k in rows]
        for b, seconds in enumerate(budgets):
            percent = [100 / abs(ref) if ref else 1.0 for ref in best]
            pairs = zip(rows, best, percent, strict=True)
            gaps = np.stack([(found[k, b] - ref) * unit for k, ref, unit in pairs]).mean(
                2
            )  # [instances, ways]
            figures = [f"{gaps[:, w].mean():.3g}" for w in range(len(ways))]
            against = gaps[:, 1] - gaps[:, 0]
            print(
                f"| {name} ({len(rows)}) | {seconds:g} | {' | '.join(figures)} | "
                f"{against.mean():+.3g} ± {half_width(against) or 0.0:.2g} |",
                flush=True,
            )


def _lists(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value.tolist() if hasattr(value, "tolist") else value for key, value in data.items()}


if __name__ == "__main__":
    main()
