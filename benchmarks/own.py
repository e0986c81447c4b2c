"""The examples of own problems at equal time, and moves a second beside simanneal.

    nsa train examples/qap.py:QAP --method es --size 20 --epochs 120 --out qap.json
    python benchmarks/own.py qap --policy qap.json     # or flowshop (20), colouring (60), maxcut (40)
    python benchmarks/own.py ft10 --seeds 3            # and other files of benchmarks/costs
    python benchmarks/own.py glass                     # needs simanneal

An example has uniform proposals, the policy and a peer, on instances that no training saw: four chains on one
thread, solvers in turn at each instance as in ``nsa benchmark``, kept in ``NAME.jsonl`` here. Ours have the
steps that they make in the time, set-up and compilation not counted. The value of an instance is the mean
over the seeds; the interval is over instances. Gaps are to the optimum where a construction or the literature
gives it, else to the best cost of all runs. Heuristics that end by themselves have their own time.

``glass`` are spins on a square lattice with random couplings of 1 and -1, wrapped round (the spin glass of
Kirkpatrick, Gelatt and Vecchi's paper of 1983): one spin is turned over. Both programs are given the same
cost and the same change of cost by a move, in plain Python: simanneal as its `move` may return it, nsa as
`delta`. One thread, processor time, compilation not counted, the same temperatures.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import runpy
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from common import head, mean, measure, numbers, pace, row, suite_of

import nsa_cli as nsa
from nsa_cli.bench.solvers import HeuristicSolver, NsaSolver, PeerSolver, Solved, Solver
from nsa_cli.core.options import Steps
from nsa_cli.pool import Stopped
from nsa_cli.problems import find_problem
from nsa_cli.problems.contribution import Heuristic, Peer

FOLDER = Path(__file__).parents[1] / "examples"


class Case(NamedTuple):
    """An instance of a set; its optimum where that is known."""

    set: str
    data: dict[str, Any]
    optimum: float | None = None


class Example(NamedTuple):
    """An example, what it is tried on, and another method."""

    spec: str
    cases: Callable[[Any], Iterator[Case]]
    peer: Solver


# Quadratic assignment


def qap_cases(problem: Any) -> Iterator[Case]:
    """Random ones of the example; and grids whose edges carry flow, mapped onto themselves in secret.

    Of the latter no flow can go less than 1, and in the hidden order all of it goes 1: the sum is optimal.
    """
    rng = np.random.default_rng(11)
    for _ in range(8):
        yield Case("random, 30", problem.generate(30, rng).record())
    spots = np.array([(a, b) for a in range(5) for b in range(6)])
    distance = abs(spots[:, None] - spots).sum(2)
    for _ in range(8):
        flow = np.triu(rng.integers(1, 10, distance.shape) * (distance == 1))
        flow, hidden = flow + flow.T, rng.permutation(30)
        record = {"flow": flow[np.ix_(hidden, hidden)], "distance": distance}
        yield Case("grid on grid, 30", record, flow.sum())


def scipy_qap(instance: Any, seconds: float) -> Any:
    """SciPy's fast approximate method from random starts, each improved by its 2-opt, again and again."""
    from scipy.optimize import quadratic_assignment

    matrices, found = (instance.data.flow, instance.data.distance), []
    rng, began = np.random.default_rng(1), time.process_time()
    while not found or time.process_time() - began < seconds:
        faq = quadratic_assignment(*matrices, options={"P0": "randomized", "rng": rng}).col_ind
        guess = np.stack([np.arange(len(faq)), faq], 1)
        options = {"partial_guess": guess, "rng": rng}
        found.append(quadratic_assignment(*matrices, method="2opt", options=options))
    return min(found, key=lambda result: result.fun).col_ind


# Flow shop

#: Seeds and optimal makespans of the first five 20 by 5 instances of Taillard (EJOR 64, 1993).
TAILLARD = {873654221: 1278, 379008056: 1359, 1866992158: 1081, 216771124: 1293, 495070989: 1235}


def taillard(seed: int, machines: int, jobs: int) -> np.ndarray[Any, Any]:
    """Draw times as in Taillard's paper: a linear congruential generator, machine by machine."""
    times = np.zeros(machines * jobs, np.int64)
    for k in range(len(times)):
        seed = 16807 * seed % (2**31 - 1)
        times[k] = 1 + int(seed / (2**31 - 1) * 99)
    return times.reshape(machines, jobs)


def flowshop_cases(_: Any) -> Iterator[Case]:
    """Taillard's, and larger ones on more machines."""
    for seed, optimum in TAILLARD.items():
        yield Case("Taillard, 20 x 5", {"times": taillard(seed, 5, 20)}, optimum)
    for seed in range(1, 9):
        yield Case("50 x 10", {"times": taillard(1000 * seed, 10, 50)})


def neh(instance: Any, _: Any) -> Any:
    """Nawaz, Enscore and Ham: the longest jobs first, each to where it costs least."""
    order: list[int] = []
    for job in np.argsort(-instance.data.times.sum(0), kind="stable").tolist():
        tried = [[*order[:k], job, *order[k:]] for k in range(len(order) + 1)]
        order = min(tried, key=lambda x: instance.cost(np.array(x)))
    return np.array(order)


# Graph colouring


def colouring_cases(problem: Any) -> Iterator[Case]:
    """Planted ones, and queens' graphs with as many colours as they need: no conflict is optimal."""
    rng = np.random.default_rng(13)
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


def dsatur(instance: Any, _: Any) -> Any:
    """Brélaz: the vertex whose neighbours have most colours is next; it gets what fewest of them have."""
    adjacent, colours = instance.data.adjacent > 0, int(instance.data.colours)
    n = len(adjacent)
    near, x = np.zeros((n, colours), np.int64), np.full(n, -1)
    for _ in range(n):
        order = (x >= 0, -(near > 0).sum(1), -adjacent.sum(1))
        vertex = int(np.lexsort(order[::-1])[0])
        x[vertex] = int(np.argmin(near[vertex]))
        near[adjacent[vertex], x[vertex]] += 1
    return x


# Maximum cut


def maxcut_cases(problem: Any) -> Iterator[Case]:
    """Random ones of the example; and square lattices wrapped round, all of whose edges can be cut."""
    rng = np.random.default_rng(17)
    for size in (60, 150):
        for _ in range(8):
            yield Case(f"random, {size}", problem.generate(size, rng).record())
    for width in (8, 10, 12):
        n = width * width
        torus = np.zeros((n, n), np.int64)
        for i in range(n):
            for j in ((i + width) % n, i - i % width + (i + 1) % width):
                torus[i, j] = torus[j, i] = 1
        yield Case("torus, 64 to 144", {"weights": torus}, 2 * n)  # bipartite: all edges


def greedy_cut(instance: Any, _: Any) -> Any:
    """Sahni and Gonzalez: each vertex goes to the side where it cuts more."""
    weights = instance.data.weights
    sides = np.zeros(len(weights))
    for i in range(len(sides)):
        sides[i] = -1 if weights[i, :i] @ sides[:i] > 0 else 1
    return sides > 0


#: Chain-steps a second by the solver, the problem and the size.
PACES: dict[tuple[str, str, int], float] = {}


@dataclass(frozen=True, kw_only=True)
class AtPace(NsaSolver):
    """As many steps as chains make in the budget's time of the processor, set-up not counted."""

    def solve(self, tasks: Sequence[nsa.Task], seed: int, stopped: Stopped = bool) -> list[Solved]:
        key = self.name, tasks[0].problem.name, tasks[0].instance.size
        if key not in PACES:
            PACES[key] = pace(tasks[0], **self.settings) or 1.0
        steps = Steps(max(int(PACES[key] / self.settings["chains"] * self.budget), 1))
        return NsaSolver(name=self.name, settings=self.settings, budget=steps).solve(tasks, seed, stopped)


def heuristic(name: str, solve: Callable[[Any, Any], Any]) -> Solver:
    """Make a solver of a heuristic, which ends by itself."""
    return HeuristicSolver(name=name, heuristic=Heuristic(solve))


SCIPY = PeerSolver(name="SciPy", peer=Peer(scipy_qap, "scipy", "quadratic_assignment"))

EXAMPLES = {
    "qap": Example("qap.py:QAP", qap_cases, SCIPY),
    "flowshop": Example("flowshop.py:FlowShop", flowshop_cases, heuristic("NEH", neh)),
    "colouring": Example("colouring.py:Colouring", colouring_cases, heuristic("DSATUR", dsatur)),
    "maxcut": Example("maxcut.py:MaxCut", maxcut_cases, heuristic("greedy", greedy_cut)),
}


def solvers_of(example: Example, policy: Path | None, budgets: Sequence[float]) -> list[Solver]:
    """List ways to solve an example with each budget, the other method last."""
    ways: dict[str, dict[str, Any]] = {"uniform": {"policy": "uniform"}}
    if policy is not None:
        ways["policy"] = {"policy": str(policy)}
    common = {"threads": 1, "chains": 4, "bound": False, "device": "cpu"}
    timed: list[Solver] = [AtPace(name=name, settings=common | way) for name, way in ways.items()]
    if limited := example.peer.kind == "peer":
        timed.append(example.peer)
    return [replace(s, budget=b) for b in budgets for s in timed] + ([] if limited else [example.peer])


def compare(name: str, policy: Path | None, budgets: Sequence[float], seeds: int, count: int) -> None:
    """Print gaps in %, or costs where the optimum is 0."""
    example = EXAMPLES[name]
    problem, sets = find_problem(f"{FOLDER}/{example.spec}"), defaultdict[str, list[Case]](list)
    for case in example.cases(problem):
        sets[case.set].append(case)
    solvers = solvers_of(example, policy, budgets)
    names = list(dict.fromkeys(solver.name for solver in solvers))
    head("set", "s", *names, *(["policy less uniform"] if policy else []))
    for label, cases in sets.items():
        lists = [{k: np.asarray(v).tolist() for k, v in case.data.items()} for case in cases[:count]]
        made = [problem.from_record(record) for record in lists]
        suite = suite_of(label, problem, made, [case.optimum for case in cases[:count]])
        runs = measure(name, suite, solvers, range(1, seeds + 1))
        gaps = {}
        for key, some in runs.items():
            worse_by = [s.objective if s.reference == 0 else 100 * s.gap for s in some]
            gaps[key] = np.reshape(worse_by, (seeds, -1)).mean(axis=0)
        for budget in budgets:
            found = {solver: gaps.get((solver, budget), gaps.get((solver, None))) for solver in names}
            cells = [f"{some.mean():.3g}" for some in found.values()]
            less = [mean(found["policy"] - found["uniform"], "+.3g")] if policy else []
            row(f"{label} ({len(made)})", f"{budget:g}", *cells, *less)


# Costs only

#: Files of ``costs/`` and the problems that they are of.
COSTS = {
    "nug30": "Assign",
    "ft10": "JobShop",
    "cvrp101": "Routes",
    "exams": "Exams",
    "tardy": "Tardiness",
}


def costs(budgets: Sequence[float], seeds: int, files: Sequence[str]) -> None:
    """Print the costs that 16 chains on one thread come to, a number a seed."""
    head("file", *(f"{budget:g} s" for budget in budgets))
    common = {"method": "anneal", "threads": 1, "chains": 16, "bound": False}
    for file in files:
        problem = find_problem(f"{FOLDER.parent}/benchmarks/costs/problems.py:{COSTS[file]}")
        record = json.loads((FOLDER.parent / f"benchmarks/costs/{file}.json").read_text())
        task = nsa.Task(problem, problem.from_record(record))
        made = (pace(task, **common) or 1.0) / 16
        cells = []
        for budget in budgets:
            found = (nsa.solve(task, steps=int(made * budget), seed=s, **common) for s in range(1, seeds + 1))
            cells.append(" ".join(f"{result.objective:g}" for result in found))
        row(file, *cells)


# A spin glass

#: The whole problem: what a user writes.
GLASS = """from nsa_cli.user import UserProblem, flip, subset


class Glass(UserProblem):
    name = "glass"
    keys = ("right", "down", "width")
    solution = subset("right")
    moves = (flip,)

    def cost(data, x):
        total, n, w = 0, len(x), data.width
        for i in range(n):
            east = i + 1 if (i + 1) % w else i + 1 - w
            total -= (2 * x[i] - 1) * data.right[i] * (2 * x[east] - 1)
            total -= (2 * x[i] - 1) * data.down[i] * (2 * x[(i + w) % n] - 1)
        return total

    def delta(data, x, move):
        i, n, w = move[0], len(x), data.width
        west, east = i - 1 if i % w else i + w - 1, i + 1 if (i + 1) % w else i + 1 - w
        north, south = i - w if i >= w else i - w + n, i + w if i + w < n else i + w - n
        total = data.right[i] * (2 * x[east] - 1) + data.right[west] * (2 * x[west] - 1)
        total += data.down[i] * (2 * x[south] - 1) + data.down[north] * (2 * x[north] - 1)
        return 2 * (2 * x[i] - 1) * total
"""

#: Spins along a side; first and last temperature.
SIDES, HEATS = (20, 32, 64, 100), (3.0, 0.1)


def simanneal_cost(file: Path, record: dict[str, Any], steps: int) -> float:
    """Let simanneal make so many moves with the file's functions; give the lowest cost."""
    from simanneal import Annealer

    glass, data = runpy.run_path(str(file))["Glass"], SimpleNamespace(**record)
    n = len(data.right)

    class Annealed(Annealer):  # type: ignore[misc]
        copy_strategy = "slice"  # its quickest

        def move(self) -> float:
            x, i = self.state, random.randrange(n)
            change = glass.delta(data, x, (i,))
            x[i] = 1 - x[i]
            return change

        def energy(self) -> float:
            return glass.cost(data, self.state)

    random.seed(1)
    annealer = Annealed([random.choice((0, 1)) for _ in range(n)])
    annealer.Tmax, annealer.Tmin, annealer.steps, annealer.updates = *HEATS, steps, 0
    with contextlib.redirect_stderr(io.StringIO()):
        return annealer.anneal()[1]


def glass(seconds: float, sides: Sequence[int]) -> None:
    """Print moves a second, and the cost after about so many seconds."""
    rng, heat = np.random.default_rng(0), dict(zip(("t_start", "t_end"), HEATS, strict=True))
    options = heat | {"unit": 1.0, "policy": "uniform", "chains": 1, "threads": 1, "seed": 1, "bound": False}
    head("spins", "simanneal", "nsa", "ratio", f"cost after {seconds:g} s, simanneal", "nsa")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "glass.py"
        file.write_text(GLASS)
        problem = find_problem(f"{file}:Glass")
        for width in sides:
            right, down = (2 * rng.integers(0, 2, (2, width * width)) - 1).tolist()
            record = {"right": right, "down": down, "width": width}
            task = nsa.Task(problem, problem.from_record(record))
            ways: list[Callable[[int], float]] = [
                lambda steps, record=record: simanneal_cost(file, record, steps),
                lambda steps, task=task: float(nsa.solve(task, steps=steps, **options).objective),
            ]
            paces, costs = [], []
            for way, steps in zip(ways, (20_000, 2_000_000), strict=True):
                way(1)  # compiles
                for _ in range(2):  # once for the pace
                    began = time.process_time()
                    cost = way(steps)
                    found = steps / (time.process_time() - began)
                    steps = max(int(found * seconds), 1)
                paces.append(found)
                costs.append(f"{cost:g}")
            row(width * width, *(f"{p:.3g}" for p in paces), f"{paces[1] / paces[0]:.0f}", *costs)


def main() -> None:
    """Print the table of an example, or of the spin glass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("example", choices=(*EXAMPLES, *COSTS, "glass"))
    parser.add_argument("--policy", type=Path, metavar="FILE", help="a policy that was trained for it")
    parser.add_argument("--seconds", type=numbers(float), help="0.05,0.5; of the glass 2")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--count", type=int, help="instances of each set, or glasses, at most")
    options = parser.parse_args()
    if options.example == "glass":
        glass((options.seconds or (2.0,))[0], SIDES[: options.count])
    elif options.example in COSTS:
        costs(options.seconds or (2.0, 8.0), options.seeds, [options.example])
    else:
        budgets = options.seconds or (0.05, 0.5)
        compare(options.example, options.policy, budgets, options.seeds, options.count)


if __name__ == "__main__":
    main()
