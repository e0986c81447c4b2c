"""Contract checks for problems and their neighbourhoods; also for problems of your own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nsa_cli.api import generate
from nsa_cli.core.clock import Clock
from nsa_cli.core.draws import start_draws, start_solutions, stream_keys, uniforms_torch
from nsa_cli.core.errors import NsaError
from nsa_cli.core.instance import Instance
from nsa_cli.core.neighbourhood import Neighbourhood
from nsa_cli.core.operations import Action, ContinuousOperations, DiscreteOperations, Operations
from nsa_cli.core.problem import Problem
from nsa_cli.core.record import Source
from nsa_cli.io.json_text import dumps
from nsa_cli.policy.build import find_policy
from nsa_cli.problems import as_problem
from nsa_cli.problems.files import read_instances
from nsa_cli.user.adapter import AdaptedProblem
from nsa_cli.user.contract import SIZES, faults
from nsa_cli.user.problem import UserProblem

_STEPS = 30
_CHAINS = 6
_TEMPERATURE = torch.tensor(0.3, dtype=torch.float64)


class ContractError(NsaError):
    """A method that breaks the contract."""

    exit_code = 1


class RandomStep(NamedTuple):
    """A state of a random walk over a neighbourhood, and the move proposed there.

    Attributes
    ----------
    operations, instances, batch
        The problem, the instances of the rows.
    x : [B, …]
    action : tuple of tensors
    possible : bool[B]
        Rows in which `action` is a move.
    """

    operations: Operations[Any, Any]
    instances: list[Instance]
    batch: Any
    x: Tensor
    action: Action
    possible: Tensor


class Case(NamedTuple):
    """Random instances of one size, and a neighbourhood.

    Attributes
    ----------
    problem : Problem
    neighbourhood : Neighbourhood
        One of the problem's.
    size, seed : int
    """

    problem: Problem[Any]
    neighbourhood: Neighbourhood[Any]
    size: int
    seed: int

    def steps(self) -> Iterator[RandomStep]:
        """Accept random moves, step by step, from the paper's start."""
        operations = self.neighbourhood.operations()
        instances = [task.instance for task in generate(self.problem, self.size, _CHAINS, self.seed)]
        batch = operations.pack(instances)
        keys = stream_keys(self.seed, np.arange(_CHAINS))
        x = torch.from_numpy(start_solutions(self.problem.start("paper"), instances, keys))
        policy = find_policy("uniform", self.problem.name, operations)
        for u in uniforms_torch(torch.from_numpy(keys), 0, _STEPS, policy.draws(operations, x)):
            action, possible = policy.propose(operations, batch, x, _TEMPERATURE, u)
            yield RandomStep(operations, instances, batch, x, action, possible)
            moved = operations.apply(batch, x, action)
            x = torch.where(possible.reshape(-1, *[1] * (x.dim() - 1)), moved, x)

    def instance(self) -> Instance:
        """Draw one instance."""
        (task,) = generate(self.problem, self.size, 1, self.seed)
        return task.instance

    def insist(self, good: bool, method: str, why: str) -> None:
        """Raise `ContractError` if a check fails."""
        if not good:
            raise ContractError(f"{self.problem.name}: {method} {why}")


def check_problem(
    problem: Problem[Any] | UserProblem | type[Problem[Any] | UserProblem], size: int = 8, seed: int = 0
) -> None:
    """Run all checks on random instances, in the paper's neighbourhood.

    Raises
    ------
    ContractError, MistakeError
        For the first check that fails; names the method.
    UsageError
        If `problem` is none, or lacks a method.
    """
    adapted = as_problem(problem)
    if isinstance(adapted, AdaptedProblem):
        _, found = faults(adapted, sizes=sorted({*SIZES, size}), seed=seed)
        for fault in found:
            raise fault
    for check in CHECKS:
        check(Case(adapted, adapted.neighbourhoods[0], size, seed))


def delta_is_the_difference_of_costs(case: Case) -> None:
    """`delta` equals the difference of costs."""
    for m in case.steps():
        said = m.operations.delta(m.batch, m.x, m.action)[m.possible]
        moved = m.operations.apply(m.batch, m.x, m.action)
        is_so = (m.operations.cost(m.batch, moved) - m.operations.cost(m.batch, m.x))[m.possible]
        case.insist(
            _close(said, is_so),
            "delta",
            f"says {said.tolist()}, the costs differ by {is_so.tolist()}",
        )


def cost_is_the_exact_objective(case: Case) -> None:
    """Energies are in file units; a maximised objective has its sign turned."""
    sign = 1 if case.problem.sense == "min" else -1
    for m in case.steps():
        cost = m.operations.cost(m.batch, m.x)
        exact = [sign * i.objective(row) for i, row in zip(m.instances, m.x.numpy(), strict=True)]
        objectives = torch.from_numpy(m.operations.objectives(cost.numpy()))
        same = _close(objectives, torch.tensor(exact, dtype=torch.float64))
        case.insist(same and cost.dtype == torch.float64, "cost", f"gives {cost.tolist()}, exactly {exact}")


def allowed_moves_are_feasible(case: Case) -> None:
    """No proposal leaves the set of solutions, by the exact check."""
    for m in case.steps():
        moved = m.operations.apply(m.batch, m.x, m.action).numpy()
        for instance, row, possible in zip(m.instances, moved, m.possible.tolist(), strict=True):
            why = instance.fault(row) if possible else None
            case.insist(why is None, "allowed", f"lets a move through after which {why}")


def apply_leaves_its_argument_alone(case: Case) -> None:
    """`apply` and `delta` leave the solution unchanged."""
    for m in case.steps():
        before = m.x.clone()
        m.operations.apply(m.batch, m.x, m.action)
        case.insist(torch.equal(before, m.x), "apply", "changes the solution it is given")
        m.operations.delta(m.batch, m.x, m.action)
        case.insist(torch.equal(before, m.x), "delta", "changes the solution it is given")


def features_are_as_announced(case: Case) -> None:
    """Features are finite float32[B, N, F]; one temperature for all equals one a chain."""
    for m in case.steps():
        if isinstance(m.operations, ContinuousOperations):
            seen = m.operations.observe(m.batch, m.x, _TEMPERATURE)
            case.insist(seen.dtype == torch.float32, "observe", f"gives {seen.dtype}, expected float32")
            continue
        assert isinstance(m.operations, DiscreteOperations)
        for name, feature_set in m.operations.feature_sets.items():
            for k in (k for k, slot in enumerate(feature_set.slots) if slot.features):
                _check_features(case, m, name, m.action[:k])


def _check_features(case: Case, m: RandomStep, name: str, chosen: Action) -> None:
    assert isinstance(m.operations, DiscreteOperations)
    feature_set, allowed = m.operations.feature_sets[name], m.operations.allowed(m.batch, m.x, chosen)
    slot = feature_set.slots[len(chosen)]
    where = f"features ({name}, {slot.name})"
    seen = feature_set.compute(m.batch, m.x, chosen, _TEMPERATURE)
    expected = [*allowed.shape, slot.features]
    good = list(seen.shape) == expected and seen.dtype == torch.float32
    case.insist(good, where, f"are {seen.dtype}{list(seen.shape)}, expected float32{expected}")
    case.insist(bool(seen.isfinite().all()), where, "are not finite")
    each = feature_set.compute(m.batch, m.x, chosen, _TEMPERATURE.expand(len(m.x)))
    case.insist(torch.equal(seen, each), where, "want one temperature, not one a chain")


def starts_are_feasible(case: Case) -> None:
    """Every named start is feasible."""
    instance = case.instance()
    (key,) = stream_keys(case.seed, np.arange(1))
    for name, start in case.problem.starts.items():
        why = instance.fault(start(instance, partial(start_draws, key)))
        case.insist(why is None, f"start {name!r}", f"is not feasible: {why}")


def records_and_ids_lose_nothing(case: Case) -> None:
    """Instances survive JSON, solutions survive their ids."""
    instance = case.instance()
    record = instance.record()
    ((_, again),) = read_instances(Source("a record", "", dumps(record)), case.problem)
    case.insist(again.record() == record, "record", "is not the same after JSON")
    for m in case.steps():
        instance, row = m.instances[0], m.x[0].numpy()
        back = instance.from_ids(instance.to_ids(row))
        same = instance.objective(back) == instance.objective(row)
        case.insist(same, "from_ids", "does not read back what to_ids writes")


def bounds_are_not_beaten(case: Case) -> None:
    """No solution beats the bound, and its witness gives it again."""
    instance = case.instance()
    bound = case.problem.bound(instance, Clock.of(5.0))
    if bound is None:
        return
    for m in case.steps():
        objective = m.instances[0].exact_objective(m.x[0].numpy())
        good = not bound.beaten_by(objective, case.problem.sense)
        case.insist(good, "bound", f"gives {bound.value}, which a solution of {objective} beats")
    if bound.witness is not None:
        again = case.problem.recompute_bound(instance, bound.witness)
        case.insist(again == bound.unrounded, "recompute_bound", f"gives {again}, expected {bound.unrounded}")


CHECKS: tuple[Callable[[Case], None], ...] = (
    delta_is_the_difference_of_costs,
    cost_is_the_exact_objective,
    allowed_moves_are_feasible,
    apply_leaves_its_argument_alone,
    features_are_as_announced,
    starts_are_feasible,
    records_and_ids_lose_nothing,
    bounds_are_not_beaten,
)


def _close(a: Tensor, b: Tensor) -> bool:
    if a.dtype.is_floating_point:
        return torch.allclose(a, b, rtol=1e-9, atol=1e-9)
    return torch.equal(a, b)
