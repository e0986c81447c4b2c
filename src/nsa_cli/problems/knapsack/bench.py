"""Benchmark data of knapsacks: temperatures, heuristics and peers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.problems.contribution import BenchContribution, Heuristic, Peer, References
from nsa_cli.problems.knapsack.heuristics import greedy_stop, random_search
from nsa_cli.problems.knapsack.instance import KnapsackInstance

#: Values as integers: float32 draws are multiples of 2^-24, other decimals have nine digits at most.
_SCALES = (1, 2**24, 10**9)


def tuned(size: int) -> tuple[float, float]:
    """Best temperatures with K = 10 N, measured on random instances of 50 and 200 items; flat beyond."""
    return (0.25, 0.13) if size < 100 else (0.4, 0.1)


def integer_values(values: NDArray[np.generic]) -> list[int]:
    """Scale values to integers, exactly where one of the usual scales does it, else to 2^24 or more parts."""
    numbers = values.astype(np.float64)
    for scale in _SCALES:
        scaled = np.rint(numbers * scale)
        if np.array_equal(scaled / scale, numbers) and scaled.sum() < 2**62:
            return [int(x) for x in scaled.tolist()]
    finest = 2.0 ** (52 - np.frexp(max(numbers.sum(), 1e-300))[1])
    return [int(x) for x in np.rint(numbers * finest).tolist()]


def ortools_knapsack(instance: KnapsackInstance, seconds: float) -> Solution:
    """OR-Tools' branch and bound."""
    from ortools.algorithms.python import knapsack_solver

    kind = knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER
    solver = knapsack_solver.KnapsackSolver(kind, "knapsack")
    solver.set_time_limit(seconds)
    exact = instance.exact
    solver.init(integer_values(instance.values), [exact.units.tolist()], [exact.capacity])
    solver.solve()
    return np.array([solver.best_solution_contains(i) for i in range(instance.size)], dtype=bool)


def highs(instance: KnapsackInstance, seconds: float) -> Solution:
    """Mixed-integer programming with HiGHS."""
    import highspy

    model = highspy.Highs()
    # The capacity binds to the last unit: weights of 24 bits are told apart at this tolerance.
    options = {"output_flag": False, "mip_rel_gap": 0.0, "mip_feasibility_tolerance": 1e-9}
    for key, value in {**options, "time_limit": float(seconds)}.items():
        model.setOptionValue(key, value)
    taken = model.addBinaries(instance.size)
    weights, values = (a.astype(np.float64) for a in (instance.weights, instance.values))
    model.addConstr(model.qsum(weights * taken) <= float(instance.capacity))
    model.maximize(model.qsum(values * taken))
    return np.asarray(model.getSolution().col_value) > 0.5


contribution = BenchContribution(
    temperatures={"sa": (1.0, 0.1), "ppo": (1.0, 0.1), "es": (1.0, 0.1)},
    tuned=tuned,
    heuristics={
        "greedy-stop": Heuristic(greedy_stop, paper="Greedy"),
        "random-search": Heuristic(random_search, largest=500, paper="Random Search"),
    },
    peers={
        "ortools-knapsack": Peer(
            ortools_knapsack, "ortools", "OR-Tools, knapsack branch and bound", "OR-Tools"
        ),
        "highs": Peer(highs, "highspy", "HiGHS, mixed-integer programming"),
    },
    references=References("knapsack{size}_opt.npy", "the optimum"),
)
