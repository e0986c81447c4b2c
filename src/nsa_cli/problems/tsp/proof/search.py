"""Branch and cut: cutting planes at the root, edges that no better tour has, and cases of the rest.

Padberg and Rinaldi 1991; strong branching: Applegate, Bixby, Chvátal and Cook 1995. The search goes depth
first and needs one programme, whose basis goes on from case to case. A better tour sends it back to the root,
where the programme and its inequalities stay as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.clock import Clock
from nsa_cli.core.exact import Exact
from nsa_cli.core.instance import Solution
from nsa_cli.problems.tsp.kernels.metric import Ints
from nsa_cli.problems.tsp.proof.cuts import closed_tour, separate
from nsa_cli.problems.tsp.proof.lengths import WholeEdges
from nsa_cli.problems.tsp.proof.relaxation import Bounded, Relaxation, StoppedError, Values

#: Rounds of cutting planes in a row that may gain less than a share of what is open: at the root, in a case.
_ROOT, _CASE = (15, 0.001), (4, 0.05)

#: Solves without effect after which a cut goes.
_AGE = 8

#: Rounds between two pricings over all edges at the root.
_PRICED = 10

#: Columns tried by strong branching, and simplex iterations each way.
_TRIED, _ITERATIONS = 8, 25

#: Distance from 0 and 1 of what counts as neither.
_FRACTION = 1e-5

#: Whole solutions no better than the best tour that are met before the search gives up: lengths tie.
_TIES = 500

#: Share of a length by which floats may be off.
_ROUNDING = 1e-7

#: What a pricing may leave negative, of the goal and a city.
_NEGATIVE = 1e-6

#: Times that a ray is doubled.
_DOUBLED = 64


#: Edges that are in the tour (1) or not (0), by key.
Fixings = tuple[tuple[int, int], ...]


class Case(NamedTuple):
    """A case of the search, and a bound of its parent."""

    fixings: Fixings
    bound: int


class ImprovedError(Exception):
    """There is a better tour: the search begins again, with fewer edges."""


class Proof:
    """A search for a proof that there is no better tour, or for one.

    Parameters
    ----------
    edges : WholeEdges
    tour : int64[N]
        Of the instance that searches see; it violates nothing.
    clock : Clock
    effort : float
        What all solves may take together, in rows and columns that they have; for answers that depend on no
        clock.

    Attributes
    ----------
    solution : int64[N]
        The best tour.
    objective : Exact
        Its length in file units.
    total : int or None
        A bound in whole lengths, None before there is one.
    proved : bool
    open : int
        Cases that are not decided.
    stages, leaves : list
        Dual values by which edges were dropped, if any were; cases that end, with those that show it.
    """

    method = "branch-and-cut"

    def __init__(self, edges: WholeEdges, tour: Solution, clock: Clock, effort: float = np.inf) -> None:
        self.edges, self.instance, self._clock, self._effort = edges, edges.instance, clock, effort
        self.total: int | None = None
        self.proved, self.open, self.nodes, self._ties = False, 0, 0, 0
        self.stages: list[Values] = []
        self.leaves: list[tuple[Fixings, Values]] = []
        self._offered: tuple[Solution, Exact] | None = None
        self.solution, self.objective = tour, self.instance.exact_objective(tour)
        self.goal = edges.goal(self.objective)
        self.relaxation = Relaxation(edges, edges.inward(tour))

    # --- from outside

    def witness(self) -> dict[str, Any]:
        """Give the certificate of the proof."""
        from nsa_cli.problems.tsp.proof.certificate import certificate

        return certificate(self.edges.numbers, self.solution, self.stages, self.leaves)

    def offer(self, tour: Solution, objective: Exact) -> None:
        """Hand over a tour of another search, if it is better; from any thread."""
        if objective < self.objective:
            self._offered = tour, objective

    @property
    def limit(self) -> Exact | None:
        """The bound in file units; None before there is one."""
        if self.proved:
            return self.objective
        return None if self.total is None else min(self.edges.limit(self.total), self.objective)

    def run(self) -> None:
        """Search until there is a proof, or there was enough."""
        while not self.proved:
            self.leaves.clear()
            self.relaxation.branch(())
            try:
                self.proved = self._root() or self._tree()
            except ImprovedError:
                continue
            except StoppedError:
                break

    # --- steps

    def _look(self) -> None:
        """End if it is time to, and begin again from a better tour."""
        if self._clock.is_over() or self._effort <= 0:
            raise StoppedError
        offered, self._offered = self._offered, None
        if offered is not None:
            self._adopt(*offered)

    def _adopt(self, tour: Solution, objective: Exact) -> None:
        """Begin again from a tour if it is better."""
        if objective < self.objective:
            self.solution, self.objective, self.goal = tour, objective, self.edges.goal(objective)
            self.relaxation.set_tour(self.edges.inward(tour))
            raise ImprovedError

    def _note(self, total: int) -> None:
        self.total = max(min(total, self.goal), total if self.total is None else self.total)

    def _missing(self) -> float:
        """How much longer a better tour is than the solution, in units of the programme."""
        return self.goal / self.relaxation.per - self.relaxation.last.objective

    def _solve(self) -> bool:
        """Solve the programme; whether it has a solution."""
        self._look()
        relaxation = self.relaxation
        self._effort -= len(relaxation.keys) + len(relaxation.cuts) + relaxation.size
        return relaxation.solve(self._clock)

    def _climb(self, patience: int, gain: float, rounds: int | None = None) -> bool:
        """Solve and cut; whether the bound hardly rises any more, is enough, or there is no solution."""
        relaxation, slow, last = self.relaxation, 0, -np.inf
        while rounds != 0:
            rounds = rounds and rounds - 1
            if not self._solve() or self._missing() < _ROUNDING * abs(relaxation.last.objective):
                return True
            cuts, connected = separate(
                relaxation.size, relaxation.i, relaxation.j, relaxation.last.columns, relaxation.tight()
            )
            if connected:  # rounds that join parts may gain little for long
                slow = slow + 1 if relaxation.last.objective - last < gain * abs(self._missing()) else 0
            last, new = relaxation.last.objective, relaxation.add_cuts(cuts)
            relaxation.purge(_AGE)
            if not new:
                return True
            if slow >= patience:
                self._solve()
                return True
        return False

    def _root(self) -> bool:
        """Raise the bound by cutting planes, and drop edges; tell whether that proves the tour."""
        relaxation = self.relaxation
        tolerated = int(_NEGATIVE * abs(self.goal) / relaxation.size) + 1
        while True:
            slowly = self._climb(*_ROOT, _PRICED)
            if relaxation.last.state != "optimal":  # the best tour is a solution
                raise StoppedError
            total, (i, j, _), _, _ = relaxation.bounded_by_all(-tolerated, self._clock)
            self._note(total)
            new = total < self.goal and relaxation.add_edges(i, j)
            if not new and (slowly or total >= self.goal):
                break
        lacking = max(int(self._missing() * relaxation.per * 1.001), 0) + abs(self.goal) // 2**24 + 1
        total, (i, j, costs), complete, values = relaxation.bounded_by_all(lacking, self._clock)
        if self.goal - total > lacking or not complete:
            raise StoppedError
        self._note(total)
        relaxation.keep_edges(i[costs < self.goal - total], j[costs < self.goal - total])
        self.stages = [values]
        return total >= self.goal

    # --- cases

    def _tree(self) -> bool:
        """Decide all cases."""
        cases = [Case((), self.total or 0)]
        while cases:
            self._note(min(case.bound for case in cases))
            self.open = len(cases)
            case = cases.pop()
            self.nodes += 1
            self.relaxation.branch(case.fixings)
            cases += self._decide(case)
        self.open = 0
        return True

    def _decide(self, case: Case) -> list[Case]:
        """Raise the bound of a case; give the cases that it falls into, none if it has no better tour."""
        relaxation = self.relaxation
        while True:
            self._climb(*_CASE)
            if relaxation.last.state != "optimal":
                return self._without_tour(case)
            bounded = relaxation.bounded()
            if self._ends(bounded):
                self.leaves.append((case.fixings, bounded.values))
                return []
            x, free = relaxation.last.columns, relaxation.lower < relaxation.upper
            broken = np.flatnonzero((x > _FRACTION) & (x < 1.0 - _FRACTION))
            if not len(broken):
                self._adopt_if_tour(x > 0.5)
                if relaxation.nudge():
                    continue
                self._ties += 1
                broken = np.flatnonzero(free & ((x > 0.5) != np.isin(relaxation.keys, relaxation.tour_keys)))
                if self._ties > _TIES or not len(broken):
                    raise StoppedError
            return self._split(case._replace(bound=max(case.bound, bounded.total)), broken)

    def _ends(self, bounded: Bounded) -> bool:
        """Tell whether a case has no better tour, by its bound, or as one tour is left that is none."""
        relaxation, lacking = self.relaxation, self.goal - bounded.total
        if lacking <= 0:
            return True
        left = (relaxation.upper > 0.5) & ((bounded.costs < lacking) | (relaxation.lower > 0.5))
        ends = np.concatenate([relaxation.i[left], relaxation.j[left]])
        return bool((np.bincount(ends, minlength=relaxation.size) < 2).any()) or self._adopt_if_tour(left)

    def _adopt_if_tour(self, chosen: NDArray[np.bool_]) -> bool:
        """Tell whether some columns make a tour, and begin again from it if it is better."""
        relaxation = self.relaxation
        inner = closed_tour(relaxation.size, relaxation.i[chosen], relaxation.j[chosen])
        if inner is None:
            return False
        tour = self.edges.numbers[inner]
        if self.instance.violation(tour) is None:
            self._adopt(tour, self.instance.exact_objective(tour))
        return True

    def _without_tour(self, case: Case) -> list[Case]:
        """End a case by dual values that show that it has no tour: a ray, doubled as often as it takes."""
        relaxation = self.relaxation
        if (ray := relaxation.programme.ray()) is not None:
            for power in range(_DOUBLED):
                bounded = relaxation.bounded(np.ldexp(ray / np.abs(ray).max(), power))
                if bounded.total >= self.goal:
                    self.leaves.append((case.fixings, bounded.values))
                    return []
        raise StoppedError

    def _split(self, case: Case, columns: Ints) -> list[Case]:
        """Split by the edge that raises the bound most in both cases; the worse one comes first."""
        relaxation, outcome = self.relaxation, self.relaxation.last
        x, lengths = (
            outcome.columns[columns],
            relaxation.lengths[columns] / max(abs(relaxation.lengths).max(), 1),
        )
        tried = columns[np.argsort(-np.minimum(x, 1.0 - x) - 1e-3 * lengths, kind="stable")[:_TRIED]].tolist()
        basis, most = relaxation.programme.basis(), max(self._missing(), 1e-9)
        best, key, order = -1.0, 0, (0, 1)
        for column in tried:
            gains = []
            for value in (0.0, 1.0):
                trial = relaxation.tried(column, value, basis, _ITERATIONS)
                gained = most if trial.state == "infeasible" else trial.objective - outcome.objective
                gains.append(min(max(gained, 1e-6 * most), most))
            self._effort -= len(relaxation.keys) / 2
            if gains[0] * gains[1] > best:
                best, key = gains[0] * gains[1], int(relaxation.keys[column])
                order = (0, 1) if gains[0] > gains[1] else (1, 0)
        relaxation.last = outcome
        return [Case((*case.fixings, (key, value)), case.bound) for value in order]
