"""Checks of a user's problem on the first moves of every run: a change of cost is the difference of costs.

Moves that are drawn at random from starts; what annealing would do with a wrong change is plausible nonsense.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nsa_cli.core.kernel.hooks import Fused
from nsa_cli.user.calls import attempt, call, mistake
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.problem import UserProblem

if TYPE_CHECKING:
    from torch import Tensor

    from nsa_cli.core.operations import Action

#: Moves by scalar functions that are compared, and tries for a candidate that is allowed.
_MOVES, _TRIES = 8, 64

#: Elements up to which scalar functions are run in Python.
_FEW = 100

#: Relative rounding errors of sums of float64, and of float32; far below what a wrong formula gives.
_ROUNDING, _ROUNDING_32 = 1e-7, 1e-3


def check_changes(owner: UserProblem, batch: Any, x: Tensor, action: Action, said: Tensor) -> None:
    """Compare `delta` with the difference of costs, in the rows in which the action is allowed.

    Parameters
    ----------
    owner : UserProblem
    batch : UserBatch
    x : [B, …]
    action : tuple of int64[B]
    said : [B]
        What `delta` gave.

    Raises
    ------
    MistakeError
        If they differ, or `apply` or `delta` changes `x`.
    """
    import torch

    possible = torch.ones(len(x), dtype=torch.bool)
    for k, index in enumerate(action):
        allowed = call(owner, "allowed", batch, x, action[:k])
        possible &= allowed.gather(1, index[:, None])[:, 0].bool()
    before = x.clone()
    moved, now = call(owner, "apply", batch, x, action), call(owner, "cost", batch, x)
    if not torch.equal(before, x):
        raise mistake(owner, "apply", "the moved solutions as a new tensor", "a change of its argument")
    then = call(owner, "cost", batch, moved)
    single = torch.float32 in (now.dtype, said.dtype)
    now, then, said = now.double(), then.double(), said.double()
    largest = torch.maximum(torch.maximum(now.abs(), then.abs()), said.abs())
    wrong = (said - (then - now)).abs() > (_ROUNDING_32 if single else _ROUNDING) * largest
    for row in (wrong & possible).nonzero()[:1, 0].tolist():
        costs = f"from {now[row].item():g} to {then[row].item():g}"
        expected = f"the change of cost by apply, {(then - now)[row].item():g} ({costs})"
        raise mistake(owner, "delta", expected, f"{said[row].item():g}")


def checked(owner: UserProblem, fused: Fused) -> Fused:
    """Make batches of a kernel check the scalar functions on the first moves."""

    def arrays(instances: Sequence[UserInstance], unit: float | None) -> Any:
        batch = fused.arrays(instances, unit)
        _check_scalars(owner, batch, instances[0].typical.copy())
        return batch

    return replace(fused, arrays=arrays)


def _check_scalars(owner: UserProblem, batch: Any, x: Any) -> None:
    """Compare `scalar_delta` with the difference of `scalar_cost`, move after move."""
    data, rng = batch.rules.row.py_func(batch.data, batch.which[0]), np.random.default_rng(0)

    def scalar(name: str, *arguments: Any) -> Any:
        rule = getattr(batch.rules, name)
        # Compiled code does not look whether an index is out of bounds, Python does, slowly.
        function = rule.py_func if len(x) <= _FEW else rule
        what = f"{type(owner).__name__}.scalar_{name}"
        return attempt(lambda: function(data, x, *arguments), type(owner), what)

    now = float(scalar("cost"))
    for _ in range(_MOVES):
        action = _random_action(scalar, len(x), batch.slots, rng)
        if action is None:
            return
        said = float(scalar("delta", action))
        scalar("apply", action)
        then = float(scalar("cost"))
        if not abs(said - (then - now)) <= _ROUNDING * max(abs(now), abs(then), abs(said)):
            expected = f"the change of scalar_cost by scalar_apply, {then - now:g} (from {now:g} to {then:g})"
            raise mistake(owner, "scalar_delta", expected, f"{said:g}")
        now = then


def _random_action(
    scalar: Callable[..., Any], size: int, slots: int, rng: np.random.Generator
) -> tuple[np.int64, np.int64] | None:
    """Draw an allowed move; None if none was met."""
    none = np.int64(-1)
    chosen = (none, none)
    for slot in range(slots):
        for _ in range(_TRIES):
            candidate = np.int64(rng.integers(size))
            if scalar("allowed", chosen, candidate):
                chosen = (candidate, none) if slot == 0 else (chosen[0], candidate)
                break
        else:
            return None
    return chosen
