"""Benchmark data of bin packing: temperatures, heuristics and peers."""

from __future__ import annotations

import numpy as np

from nsa_cli.core.instance import Solution
from nsa_cli.problems.bin.heuristics import best_fit_decreasing, first_fit_decreasing
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.contribution import BenchContribution, Heuristic, Peer, References


def ortools_cp_sat(instance: BinInstance, seconds: float) -> Solution:
    """Constraint programming, started from first fit decreasing."""
    from ortools.sat.python import cp_model

    start, units = first_fit_decreasing(instance, np.zeros), instance.exact.units.tolist()
    bins = range(int(instance.objective(start)))
    model = cp_model.CpModel()
    used = [model.new_bool_var("") for _ in bins]
    inside = [[model.new_bool_var("") for _ in bins] for _ in units]
    for item, row in enumerate(inside):
        model.add_exactly_one(row)
        for b, variable in enumerate(row):
            model.add_hint(variable, int(start[item]) == b)
    for b in bins:
        load = cp_model.LinearExpr.weighted_sum([row[b] for row in inside], units)
        model.add(load <= instance.exact.capacity * used[b])
    for b in bins[1:]:
        model.add_implication(used[b], used[b - 1])
    model.minimize(sum(used))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return start
    return _packing([[solver.value(x) for x in row] for row in inside])


def ortools_scip(instance: BinInstance, seconds: float) -> Solution:
    """Mixed-integer programming with the paper's model, over the bins of first fit decreasing."""
    from ortools.linear_solver import pywraplp

    start, units = first_fit_decreasing(instance, np.zeros), instance.exact.units.tolist()
    bins = range(int(instance.objective(start)))
    solver = pywraplp.Solver.CreateSolver("SCIP")
    # The capacity binds to the last unit: weights of 24 bits are told apart at this tolerance.
    solver.SetSolverSpecificParametersAsString("numerics/feastol = 1e-9")
    solver.SetTimeLimit(int(1000 * seconds))
    used = [solver.BoolVar("") for _ in bins]
    inside = [[solver.BoolVar("") for _ in bins] for _ in units]
    for row in inside:
        solver.Add(sum(row) == 1)
    for b in bins:
        load = sum(w * row[b] for w, row in zip(units, inside, strict=True))
        solver.Add(load <= instance.exact.capacity * used[b])
    solver.Minimize(sum(used))
    if solver.Solve() not in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE):
        return start
    return _packing([[x.solution_value() for x in row] for row in inside])


def _packing(inside: list[list[float]]) -> Solution:
    """Bin of each item, int64[N], from the indicators [N, bins]."""
    return np.array(inside).argmax(axis=1)


contribution = BenchContribution(
    temperatures={"sa": (1.0, 0.1), "ppo": (1.0, 0.1), "es": (0.1, 1e-4)},
    tuned=(0.2, 0.05),  # measured on random instances of 50 and 200 items
    neighbourhoods={"squares": (0.03, 0.001)},  # and with 100 N, on the paper's sets of 50, 100 and 200
    heuristics={"ffd": Heuristic(first_fit_decreasing, paper="FFD"), "bfd": Heuristic(best_fit_decreasing)},
    peers={
        "ortools-cp-sat": Peer(ortools_cp_sat, "ortools", "OR-Tools, CP-SAT from FFD"),
        "ortools-scip": Peer(ortools_scip, "ortools", "OR-Tools, SCIP within FFD's bins", "OR-Tools SCIP"),
    },
    references=References("bin{size}_ref.npz", "first fit decreasing", key="ffd"),
)
