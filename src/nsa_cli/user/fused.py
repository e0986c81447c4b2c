"""Batches of a user's problem for kernels, and what is tried before a search.

Numba has a type of its own for each function. So a batch that holds a user's functions makes the loop be
compiled for them, with no registration for each problem; what is compiled is kept by
`nsa_cli.kernels.toolchain.kept`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.draws import start_draws, stream_keys
from nsa_cli.core.errors import UncompiledError
from nsa_cli.kernels import slots
from nsa_cli.kernels.draws import LANES
from nsa_cli.kernels.hooks import Fused
from nsa_cli.kernels.jit import is_compiling
from nsa_cli.kernels.toolchain import kept
from nsa_cli.user.check import check_compiled, check_sum
from nsa_cli.user.compile import owner_of, uncompiled, uncompiled_mark
from nsa_cli.user.instance import FEW, UserInstance
from nsa_cli.user.kernels.annealing import Learnt, UserArrays, Work, walk
from nsa_cli.user.kernels.rules import Rules, row_of, rules_of
from nsa_cli.user.model import Model
from nsa_cli.user.weights import first_weights, mean_size, ranking

#: Starts from which moves are sampled, and moves from each.
_STARTS, _MOVES = 16, 16

#: Seconds of moves with indices checked before a search, and turns of so many moves at most.
_MOMENT, _TURNS = 0.1, 32


def fused_of(model: Model) -> Fused:
    """Make the kernel of a problem."""
    width = len(model.cls.feature_names) if model.learns else 0
    # Candidates of any choice, and scratch, of the instances so far: more room than a batch needs is no harm.
    most: list[Any] = [1, [0] * len(model.scratch)]

    def arrays(instances: Sequence[UserInstance], unit: float | None) -> UserArrays:
        batch = arrays_of(model, instances, unit)
        most[:] = max(most[0], int(batch.counts.max())), np.maximum(most[1], batch.room)
        return batch

    return Fused(
        arrays=arrays,
        workspace=lambda x: _workspace(model, x, width, *most),
        draws=model.choices,
        policies={"paper": lambda *parts: Learnt(parts[:-1], parts[-1])} if width else {},
        features={"paper": (0,) * model.several + (width,) * (model.choices - model.several)}
        if width
        else {},
    )


def _workspace(model: Model, x: Any, width: int, widest: int, room: Sequence[int]) -> Work:
    """Allocate for a chain, with features of so many candidates, and work arrays of some sizes."""
    padded = slots.blocks_of(widest) * LANES if width else LANES
    return Work(
        np.zeros(x.shape, x.dtype),
        np.zeros(x.shape, x.dtype),
        model.work(room),
        np.zeros(5),
        np.full(2, -1, np.int64),
        slots.never(padded),
        slots.aligned((width, padded)),
        tuple(np.int64(f * padded) for f in range(width)),
        slots.slot_space(padded),
    )


@cache
def _compiled(model: Model) -> tuple[type, Rules, Rules]:
    """Make the class of a row, and the functions for kernels: as they are, and with indices checked.

    Nothing is compiled before it is called.
    """
    made, row = row_of((*model.given, "scale", "violation_weight"), owner_of(model), tuple(model.scratch))
    return made, rules_of(model, row), rules_of(model, row, checked=True)


def arrays_of(
    model: Model, instances: Sequence[UserInstance], unit: float | None, *, tried: bool = True
) -> UserArrays:
    """Make a batch.

    Parameters
    ----------
    model : Model
    instances : sequence of UserInstance
    unit : float or None
        The scale of each instance; None for the mean change of its own random moves.
    tried : bool
        Whether it is for a search: some moves are tried first, and violations count.
    """
    if (why := uncompiled(model)) is not None:
        raise UncompiledError(why)
    unique = list({id(i): i for i in instances}.values())
    place = {id(i): k for k, i in enumerate(unique)}
    which = np.array([place[id(i)] for i in instances], dtype=np.int64)
    made, rules, _ = _compiled(model)
    stacks = [np.stack([getattr(i.data, key) for i in unique]) for key in model.given]
    scales, hard = np.ones(len(unique)), np.zeros(len(unique))
    given = scales.view(), hard.view()  # read-only from the start: kernels are compiled for that, too
    for array in (*stacks, *given):
        array.setflags(write=False)
    none = model.work([0] * len(model.scratch))  # each chain has its own
    batch = UserArrays(
        made(*stacks, *given, *none),
        which,
        scales[which],
        np.stack([i.counts for i in unique]),
        len(model.moves),
        tuple(map(max, zip(*(i.room for i in unique), strict=True))),
        np.zeros((len(which), 8)),
        rules,
    )
    if tried:
        found = [_sampled(instance, batch, k, hard) for k, instance in enumerate(unique)]
        scales[:], weights = np.array(found).T
        if model.function("violation") is not None:
            hard[:] = ranking(weights)
            batch.surplus[:] = first_weights(weights[which], unique[0].size)
    if unit is not None:
        scales[:] = unit
    return batch._replace(scale=scales[which])


def _sampled(
    instance: UserInstance, batch: UserArrays, place: int, hard: NDArray[np.float64]
) -> tuple[float, float]:
    """Mean absolute change of cost by a random move, and the weight by which a violation changes as much.

    From walks with indices checked from random starts, the same each time; of the first instance for a
    moment more: a search checks none, and one may kill it.
    """
    if not instance.sampled:
        model = instance.model
        one, x = batch._replace(which=np.full(_STARTS, place)), _starts(instance)
        changes, sums = _walked(model, one, ends := x.copy())
        end = time.monotonic() + _MOMENT
        for row, (said, cost) in zip(ends, sums.tolist(), strict=True):
            check_sum(instance, row, said, cost)
        if instance.size <= FEW:
            check_compiled(instance, ends[0], float(sums[0, 1]))
        kept.note(owner_of(model), _mark(instance))
        weight = 1.0
        if model.function("violation") is not None:
            hard[place] = 1.0
            broken = _walked(model, one, x.copy())[0] - changes
            hard[place], weight = 0.0, mean_size(changes) / mean_size(broken)
        instance.sampled.extend((mean_size(changes), weight))
        for turn in range(1, 1 if place else _TURNS):
            if time.monotonic() > end:
                break
            _walked(model, one, ends, turn)
    scale, weight = instance.sampled
    return scale, weight


def _starts(instance: UserInstance) -> NDArray[Any]:
    return np.stack([instance.start(partial(start_draws, key)) for key in stream_keys(0, np.arange(_STARTS))])


def _walked(
    model: Model, batch: UserArrays, x: NDArray[Any], turn: int = 0, moves: int = _MOVES
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Make some random moves from each of some solutions, with indices checked; see `walk` for the rest."""
    one, rows = batch._replace(rules=_compiled(model)[2]), len(x)
    changes, sums, keys = (
        np.full((rows, moves), np.nan),
        np.zeros((rows, 2)),
        stream_keys(turn, np.arange(rows)),
    )
    try:
        walk(one, _workspace(model, x[0], 0, 1, batch.room), x, keys, changes, sums)
    except UncompiledError as error:
        kept.note(owner_of(model), uncompiled_mark(model), error.message)
        raise
    return changes, sums


def compiled_costs(instance: UserInstance, solutions: Sequence[Any]) -> NDArray[np.float64]:
    """Evaluate the costs of solutions of one instance by compiled code, float64[B]."""
    batch = arrays_of(instance.model, [instance] * len(solutions), 1.0, tried=False)
    return _walked(instance.model, batch, np.stack(solutions), moves=0)[1][:, 0]


def is_compiled(instance: UserInstance) -> bool:
    """Tell whether `compiled_costs` needs no compiler, nor has to wait for one."""
    model = instance.model
    return (
        not is_compiling() and uncompiled(model) is None and kept.is_known(owner_of(model), _mark(instance))
    )


def _mark(instance: UserInstance) -> str:
    kinds = [f"{array.dtype}{array.ndim}" for array in map(np.asarray, vars(instance.data).values())]
    return f"walk {' '.join(kinds)}"
