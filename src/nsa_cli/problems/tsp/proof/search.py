"""Branch and cut: cutting planes at the root, edges that no better tour has, and cases of the rest.

Padberg and Rinaldi 1991; strong branching: Applegate, Bixby, Chvátal and Cook 1995. The search goes depth
first and needs one programme, whose basis goes on from case to case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.clock import Clock
from nsa_cli.core.exact import Exact
from nsa_cli.core.instance import Solution
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints
from nsa_cli.problems.tsp.proof.cuts import closed_tour, separate
from nsa_cli.problems.tsp.proof.lengths import WholeEdges
from nsa_cli.problems.tsp.proof.relaxation import Bounded, Relaxation, Values

#: Rounds of cutting planes in a row that may gain less than a share of what is open: at the root, in a case.
_ROOT_ROUNDS, _ROOT_GAIN = 6, 0.005
_ROUNDS, _GAIN = 4, 0.05

#: Rounds between two pricings over all edges at the root, and slack solves after which a cut goes.
_PRICED, _ROOT_AGE, _AGE = 10, 5, 8

#: Edges a city that may join in one pricing, and that may be left for branching.
_JOIN, _LEFT = 1, 25

#: Columns tried by strong branching, and simplex iterations each way.
_TRIED, _ITERATIONS = 8, 25

#: Distance from 0 and 1 of what counts as neither.
_FRACTION = 1e-5

#: Tours as long as the best one that are met before the search gives up: their lengths tie.
_TIES = 500

#: Share of a length by which floats may be off.
_ROUNDING = 1e-7

#: What a pricing may leave negative, of the goal and a city.
_NEGATIVE = 1e-6


class Case(NamedTuple):
    """A case of the search: edges that are in the tour (1) or not (0), by key, and a bound of its parent."""

    fixings: tuple[tuple[int, int], ...]
    bound: int


class Leaf(NamedTuple):
    """A case without a better tour, and the dual values that show it."""

    fixings: tuple[tuple[int, int], ...]
    values: Values


class StoppedError(Exception):
    """The clock, or too hard a case, has ended the search."""


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
        Dual values before branching, and of the cases that end.
    """

    method = "branch-and-cut"

    def __init__(self, edges: WholeEdges, tour: Solution, clock: Clock, effort: float = np.inf) -> None:
        self.edges, self.instance, self._clock, self._effort = edges, edges.instance, clock, effort
        self.total: int | None = None
        self.proved, self.open, self.nodes = False, 0, 0
        self.stages: list[Values] = []
        self.leaves: list[Leaf] = []
        self._offered: tuple[Solution, Exact] | None = None
        self._ties, self._reduced = 0, False
        self._cases: list[Case] = []
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
        try:
            while not self.proved:
                try:
                    self.proved = self._root() or self._tree()
                except ImprovedError:
                    self.leaves.clear()
                    self._cases.clear()
                    self._free()
        except StoppedError:
            pass

    # --- steps

    def _adopt(self, tour: Solution, objective: Exact) -> None:
        """Go on with a better tour."""
        self.solution, self.objective, self.goal = tour, objective, self.edges.goal(objective)
        ours = self.edges.inward(tour)
        self.relaxation.set_tour(ours)
        if not self._reduced:
            self.relaxation.add_edges(ours, np.roll(ours, -1))

    def _look(self) -> bool:
        """End if it is time to; tell whether there was a better tour."""
        if self._clock.is_over() or self._effort <= 0:
            raise StoppedError
        if (offered := self._offered) is None:
            return False
        self._offered = None
        if offered[1] < self.objective:
            self._adopt(*offered)
            return True
        return False

    def _solve(self) -> bool:
        """Solve the programme; whether it has a solution."""
        relaxation = self.relaxation
        self._effort -= len(relaxation.i) + len(relaxation.cuts) + relaxation.size
        if not relaxation.solve(self._clock):
            raise StoppedError
        return relaxation.last.state == "optimal"

    def _goal_units(self) -> float:
        return self.goal / self.relaxation.per

    def _note(self, total: int) -> None:
        self.total = total if self.total is None else max(total, self.total)

    def _cut(self) -> tuple[int, bool]:
        """Add violated inequalities; how many, and whether the solution's edges hang together."""
        relaxation = self.relaxation
        x = relaxation.last.columns
        cuts, connected = separate(relaxation.size, relaxation.i, relaxation.j, x, relaxation.tight())
        return relaxation.add_cuts(cuts), connected

    def _root(self) -> bool:
        """Raise the bound by cutting planes, and drop edges; tell whether that proves the tour."""
        relaxation, slow, last, rounds = self.relaxation, 0, -np.inf, 0
        while True:
            self._look()
            if not self._solve():  # the best tour is a solution of the columns at first
                if self._reduced and self._is_infeasible(()):
                    return True
                raise StoppedError
            rounds += 1
            objective = relaxation.last.objective
            missing = self._goal_units() - objective
            new, connected = self._cut() if slow < _ROOT_ROUNDS else (0, True)
            if connected:
                slow = slow + 1 if objective - last < _ROOT_GAIN * abs(missing) else 0
            last = objective
            if new and missing > 1e-9 * abs(objective) and rounds % _PRICED:
                relaxation.purge(_ROOT_AGE)
                continue
            proved, joined = self._price()
            if proved:
                return True
            if joined:
                slow = 0
            elif not new:
                break
            relaxation.purge(_ROOT_AGE)
        return self._reduce()

    def _price(self) -> tuple[bool, int]:
        """Bound all tours, and let edges of negative reduced cost join; whether that proves, and how many."""
        relaxation, size = self.relaxation, self.relaxation.size
        if self._reduced:
            return self._stage(self._bounded()), 0
        limit = -int(_NEGATIVE * abs(self.goal) / size) - 1
        found = relaxation.bounded_by_all(limit, self._clock.is_over, size * size)
        if found is None:
            raise StoppedError
        total, (i, j, costs), values = found
        self._note(total)
        if total >= self.goal:
            self.stages.append(values)
            return True, 0
        some = np.argsort(costs, kind="stable")[: max(_JOIN * size, 200)]
        return False, relaxation.add_edges(i[some], j[some])

    def _bounded(self) -> Bounded:
        if (found := self.relaxation.bounded()) is None:
            raise StoppedError
        return found

    def _stage(self, bounded: Bounded) -> bool:
        """Note a bound of all tours that are left; tell whether it proves the best one."""
        self._note(min(bounded.total, self.goal))
        if bounded.total >= self.goal:
            self.stages.append(bounded.values)
            return True
        return False

    def _reduce(self) -> bool:
        """Keep the edges that a better tour may have, and fix those that it must; whether none is left."""
        relaxation, size = self.relaxation, self.relaxation.size
        self._look()
        if self._reduced:
            bounded = self._bounded()
            total, costs, values = bounded.total, bounded.costs, bounded.values
            lacking = self.goal - total
            kept = (costs < lacking) | (relaxation.lower > 0.5)
            relaxation.keep_edges(kept)
            costs = costs[kept]
        else:
            guess = int((self._goal_units() - relaxation.last.objective) * relaxation.per * 1.001)
            guess = max(guess, 0) + abs(self.goal) // 2**24 + 1
            found = relaxation.bounded_by_all(guess, self._clock.is_over, _LEFT * size + 1000)
            if found is None:
                raise StoppedError
            total, (i, j, costs), values = found
            lacking = self.goal - total
            if lacking > guess:
                raise StoppedError
            i, j = i[costs < lacking], j[costs < lacking]
            kept = np.isin(relaxation.keys(relaxation.i, relaxation.j), relaxation.keys(i, j))
            relaxation.keep_edges(kept | (relaxation.lower > 0.5))
            relaxation.add_edges(i, j)
            costs = self._bounded().costs
            self._reduced = True
        self._note(min(total, self.goal))
        self.stages.append(values)
        if lacking <= 0:
            return True
        relaxation.fix(np.flatnonzero((-costs >= lacking) & (relaxation.lower < 0.5)), 1.0)
        return self._is_barren(relaxation.upper > 0.5)

    def _is_barren(self, there: NDArray[np.bool_]) -> bool:
        """Tell whether some city has fewer than two edges that are there."""
        relaxation = self.relaxation
        ends = np.concatenate([relaxation.i[there], relaxation.j[there]])
        return bool((np.bincount(ends, minlength=relaxation.size) < 2).any())

    # --- cases

    def _tree(self) -> bool:
        """Decide all cases."""
        self._cases = [Case((), self.total or 0)]
        while self._cases:
            self._note(min(self.goal, *(case.bound for case in self._cases)))
            self.open = len(self._cases)
            if self._look():
                raise ImprovedError
            case = self._cases[-1]
            self._enter(case)
            self.nodes += 1
            cases = self._decide(case)
            self._cases.pop()
            self._cases += cases
        self.open = 0
        return True

    def _enter(self, case: Case) -> None:
        """Set the bounds of the columns."""
        self._free()
        relaxation = self.relaxation
        keys = relaxation.keys(relaxation.i, relaxation.j)
        order = np.argsort(keys)
        for value in (0, 1):
            some = [key for key, fixed in case.fixings if fixed == value]
            columns = order[np.searchsorted(keys[order], some)]
            self._entered += columns.tolist()
            relaxation.fix(columns, value)

    _entered: list[int] = []

    def _free(self) -> None:
        self.relaxation.bound(self._entered, 0.0, 1.0)
        self._entered = []

    def _decide(self, case: Case) -> list[Case]:
        """Raise the bound of a case; give the cases that it falls into, none if it has no better tour."""
        relaxation, slow, last = self.relaxation, 0, -np.inf
        while True:
            if self._look():
                raise ImprovedError
            if not self._solve():
                if self._is_infeasible(case.fixings) or self._ends(case, self._bounded()):
                    return []
                return self._split_any(case, np.zeros(len(relaxation.i)))
            objective, x = relaxation.last.objective, relaxation.last.columns
            missing = self._goal_units() - objective
            if missing < _ROUNDING * abs(objective) and self._ends(case, self._bounded()):
                return []
            new, connected = self._cut()
            slow = slow + 1 if objective - last < _GAIN * abs(missing) else 0
            last = objective
            broken = np.flatnonzero((x > _FRACTION) & (x < 1.0 - _FRACTION))
            if new and (slow < _ROUNDS or not connected or not len(broken)):
                continue
            if not len(broken):
                if self._is_new(x):
                    raise ImprovedError
                bounded = self._bounded()
                if self._ends(case, bounded):
                    return []
                if relaxation.nudge():
                    continue
                return self._split_any(case, x)
            relaxation.purge(_AGE)
            if new and not self._solve():
                continue
            bound = max(case.bound, self._bounded().total)
            return self._split(case, bound, broken)

    def _ends(self, case: Case, bounded: Bounded) -> bool:
        """Tell whether a case has no better tour, by its bound, or as one tour is left that is none."""
        relaxation, lacking = self.relaxation, self.goal - bounded.total
        if lacking > 0:
            left = (relaxation.upper > 0.5) & ((bounded.costs < lacking) | (relaxation.lower > 0.5))
            keys = np.sort(relaxation.keys(relaxation.i[left], relaxation.j[left]))
            if not (np.array_equal(keys, relaxation.tour_keys) or self._is_barren(left)):
                if self._tour_of(left) is None:
                    return False
                if self._is_new(left.astype(np.float64)):
                    raise ImprovedError
        self.leaves.append(Leaf(case.fixings, bounded.values))
        return True

    def _tour_of(self, chosen: NDArray[np.bool_]) -> Solution | None:
        """Give the tour of the instance that some columns make; None if they make none."""
        relaxation = self.relaxation
        tour = closed_tour(relaxation.size, relaxation.i[chosen], relaxation.j[chosen])
        return None if tour is None else self.edges.numbers[tour]

    def _is_new(self, x: Floats) -> bool:
        """Adopt the tour of a whole solution if it is better than the best one."""
        tour = self._tour_of(x > 0.5)
        if tour is None or self.instance.violation(tour) is not None:
            return False
        objective = self.instance.exact_objective(tour)
        if objective >= self.objective:
            self._ties += 1
            if self._ties > _TIES:
                raise StoppedError
            return False
        self._adopt(tour, objective)
        return True

    def _is_infeasible(self, fixings: tuple[tuple[int, int], ...]) -> bool:
        """Tell whether dual values show that a case has no tour: those of a ray, as often as it takes."""
        relaxation, ray = self.relaxation, self.relaxation.ray()
        plain = relaxation.bounded(np.zeros(relaxation.size))
        if ray is None or plain is None:
            return False
        ray = ray / max(float(np.abs(ray).max()), 1e-30)
        unit = relaxation.bounded(ray, 0 * relaxation.lengths)
        if unit is None or unit.total <= 0:
            return False
        bounded = relaxation.bounded(1.01 * (self.goal - plain.total) / unit.total * ray)
        if bounded is None or bounded.total < self.goal:
            return False
        self.leaves.append(Leaf(fixings, bounded.values))
        return True

    def _split_any(self, case: Case, x: Floats) -> list[Case]:
        """Split by an edge that is open, one outside of the solution if there is one."""
        relaxation = self.relaxation
        free = np.flatnonzero((relaxation.lower < 0.5) & (relaxation.upper > 0.5))
        if not len(free):
            raise StoppedError
        column = int(free[np.argmin(x[free])])
        return self._cases_of(case, case.bound, column, (1, 0))

    def _cases_of(self, case: Case, bound: int, column: int, order: tuple[int, int]) -> list[Case]:
        relaxation = self.relaxation
        key = int(relaxation.keys(relaxation.i[column], relaxation.j[column]))
        return [Case((*case.fixings, (key, value)), bound) for value in order]

    def _split(self, case: Case, bound: int, broken: Ints) -> list[Case]:
        """Split by the edge that raises the bound most in both cases; the worse one comes first."""
        relaxation, outcome = self.relaxation, self.relaxation.last
        x, longest = outcome.columns[broken], max(float(np.abs(relaxation.lengths).max()), 1.0)
        scores = np.minimum(x, 1.0 - x) + 1e-3 * relaxation.lengths[broken] / longest
        tried = broken[np.argsort(-scores, kind="stable")[:_TRIED]].tolist()
        basis, most = relaxation.basis(), max(self._goal_units() - outcome.objective, 1e-9)
        best, column, order = -1.0, tried[0], (0, 1)
        for one in tried:
            gains = []
            for value in (0.0, 1.0):
                trial = relaxation.tried(one, value, basis, _ITERATIONS)
                gained = most if trial.state == "infeasible" else trial.objective - outcome.objective
                gains.append(min(max(gained, 1e-6 * most), most))
            self._effort -= len(relaxation.i) / 2
            if gains[0] * gains[1] > best:
                best, column, order = gains[0] * gains[1], one, (0, 1) if gains[0] > gains[1] else (1, 0)
        relaxation.last = outcome
        return self._cases_of(case, bound, column, order)
