"""Fused kernel of a user's problem: the hooks of annealing from the functions of `nsa_cli.user.rules`.

Numba has a type of its own for each function. So a batch that holds a user's functions makes the loop be
compiled for them, with no registration for each problem; what is compiled is kept by
`nsa_cli.kernels.toolchain.kept`.
"""

from __future__ import annotations

import math
import time
from collections import namedtuple
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.draws import start_draws, stream_keys
from nsa_cli.core.errors import DataError
from nsa_cli.core.extras import check_installed
from nsa_cli.kernels import hooks, is_compiling, slots
from nsa_cli.kernels.draws import LANES, at_step, uniform
from nsa_cli.kernels.hooks import Fused, Uniform
from nsa_cli.kernels.jit import Function, kernel, variant
from nsa_cli.kernels.toolchain import kept
from nsa_cli.user.calls import mistake
from nsa_cli.user.check import check_changes, check_costs, check_first_moves, close
from nsa_cli.user.check import walk as walk_in_python
from nsa_cli.user.compile import check_functions
from nsa_cli.user.failures import owner_of
from nsa_cli.user.instance import FEW, UserInstance
from nsa_cli.user.model import CHOICE_BITS, Model
from nsa_cli.user.rules import FORWARD, KNOWN, NOW, THEN, Rules, rules_of


class UserArrays(NamedTuple):
    """Batch of B chains on I different instances.

    Attributes
    ----------
    data : NamedTuple of arrays
        The user's keys and `scale`, one row an instance; not to be written to.
    which : int64[B]
        Instance of each chain.
    scale : float64[B]
    counts : int64[I, C]
        Candidates of each choice, as in `Model.choice_names`.
    kinds : int
        Types of moves.
    room : int
        Numbers that ``data.scratch`` holds.
    rules : Rules
    """

    data: Any
    which: NDArray[np.int64]
    scale: NDArray[np.float64]
    counts: NDArray[np.int64]
    kinds: int
    room: int
    rules: Rules


class Learnt(NamedTuple):
    """Learnt policy: a network for each choice but that of the type of move."""

    networks: tuple[slots.Network, ...]
    mode: slots.Mode


class Work(NamedTuple):
    """State of one chain.

    Attributes
    ----------
    x, spare : array[N]
        The solution, and room for another.
    scratch : float64[R]
        See `nsa_cli.user.problem.UserProblem`.
    numbers : float64[4]
        See `nsa_cli.user.rules.NOW`.
    weighed : int64[2]
        The move, as code and type, that leads to the cost ``numbers[THEN]``.
    needs : int64[16 blocks]
        Which candidates are allowed: `slots.ALWAYS` or `slots.NEVER`.
    seen : float32[F, 16 blocks]
        Features of the candidates of a choice.
    shifts : tuple of int64
        Where in the flattened features each one's row begins.
    slot : slots.Slots
    """

    x: NDArray[Any]
    spare: NDArray[Any]
    scratch: NDArray[np.float64]
    numbers: NDArray[np.float64]
    weighed: NDArray[np.int64]
    needs: NDArray[np.int64]
    seen: NDArray[np.float32]
    shifts: tuple[np.int64, ...]
    slot: slots.Slots


@variant(hooks.load, batch=UserArrays)
def _load(batch: Any, policy: Any, work: Any, row: int, member: int, x: Any) -> None:
    for i in range(len(x)):
        work.x[i] = x[i]
    work.numbers[KNOWN] = 0.0
    work.weighed[0] = -1


@variant(hooks.propose, batch=UserArrays, policy=Uniform)
def _propose_uniformly(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any, given: Any
) -> Any:
    which = batch.which[row]
    data, counts = batch.rules.row(batch.data, which, work.scratch), batch.counts[which]
    if given[0] >= 0:
        # Both probabilities are found only where both are wanted: to know how many candidates are allowed
        # takes a look at each.
        chance = batch.rules.chance(given[1], data, work.x, counts, given[0])
        return given, chance - work.numbers[FORWARD]
    kind = np.int64(0)
    if batch.kinds > 1:
        kind = np.int64(uniform(at, 0) * batch.kinds)
    code = batch.rules.propose(kind, data, work.x, counts, at)
    if code < 0:
        return (np.int64(-1), np.int64(-1)), -np.inf
    return (code, kind), 0.0


@variant(hooks.propose, batch=UserArrays, policy=Learnt)
def _propose_learnt(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any, given: Any
) -> Any:
    which = batch.which[row]
    data, counts = batch.rules.row(batch.data, which, work.scratch), batch.counts[which]
    kind = np.int64(0)
    if given[0] >= 0:
        kind = given[1]
    elif batch.kinds > 1:
        kind = np.int64(uniform(at, 0) * batch.kinds)
    code, log_probability = batch.rules.propose_learnt(
        kind, data, work.x, counts, temperature, policy, member, work, at, given[0]
    )
    if code < 0:
        return (np.int64(-1), np.int64(-1)), -np.inf
    return (code, kind), log_probability - math.log(batch.kinds)


@variant(hooks.energy, batch=UserArrays)
def _energy(batch: Any, work: Any, row: int) -> float:
    return np.float64(batch.rules.cost(batch.rules.row(batch.data, batch.which[row], work.scratch), work.x))


@variant(hooks.delta, batch=UserArrays)
def _delta(batch: Any, work: Any, row: int, action: Any) -> float:
    data = batch.rules.row(batch.data, batch.which[row], work.scratch)
    return batch.rules.delta(action[1], data, work.x, action[0], work)


@variant(hooks.apply, batch=UserArrays)
def _apply(batch: Any, policy: Any, work: Any, row: int, member: int, action: Any) -> None:
    batch.rules.apply(
        action[1], batch.rules.row(batch.data, batch.which[row], work.scratch), work.x, action[0]
    )
    known = work.weighed[0] == action[0] and work.weighed[1] == action[1]
    if known:
        work.numbers[NOW] = work.numbers[THEN]
    work.numbers[KNOWN] = 1.0 if known else 0.0
    work.weighed[0] = -1


@variant(hooks.reverse, batch=UserArrays)
def _reverse(batch: Any, work: Any, row: int, action: Any) -> Any:
    which = batch.which[row]
    data, counts = batch.rules.row(batch.data, which, work.scratch), batch.counts[which]
    work.numbers[FORWARD] = batch.rules.chance(action[1], data, work.x, counts, action[0])
    return batch.rules.reverse(action[1], data, work.x, action[0]), action[1]


@variant(hooks.store, batch=UserArrays)
def _store(batch: Any, work: Any, x: Any, best: bool) -> None:
    for i in range(len(x)):
        x[i] = work.x[i]


def fused_of(model: Model) -> Fused:
    """Make the kernel of a problem."""
    width = len(model.cls.feature_names) if model.learns else 0
    # Candidates of any choice, and scratch, of the instances so far: more room than a batch needs is no harm.
    most = [1, 0]

    def arrays(instances: Sequence[UserInstance], unit: float | None) -> UserArrays:
        batch = arrays_of(model, instances, unit)
        most[:] = max(most[0], int(batch.counts.max())), max(most[1], batch.room)
        return batch

    return Fused(
        arrays=arrays,
        workspace=lambda x: _workspace(x, width, *most),
        draws=model.choices,
        policies={"paper": lambda *parts: Learnt(parts[:-1], parts[-1])} if width else {},
        features={"paper": model.widths} if width else {},
    )


def _workspace(x: Any, width: int, widest: int, room: int) -> Work:
    """Allocate for a chain, with features of so many candidates."""
    padded = slots.blocks_of(widest) * LANES if width else LANES
    return Work(
        np.zeros(x.shape, x.dtype),
        np.zeros(x.shape, x.dtype),
        np.zeros(room),
        np.zeros(4),
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
    keys = (*model.keys, "scale")
    room = () if model.scratch is None else ("scratch",)
    made: Any = namedtuple("Data", (*keys, *room))  # type: ignore[misc]  # a user's keys
    text = f"lambda data, i, scratch: Data({', '.join((*(f'data.{key}[i]' for key in keys), *room))})"
    written = eval(compile(text, __file__, "eval"), {"Data": made, "__name__": __name__})
    row = Function(written, inline=True, owner=owner_of(model))
    return made, rules_of(model, row), rules_of(model, row, checked=True)


def _checked(batch: UserArrays, model: Model) -> UserArrays:
    """Give a batch whose functions check indices, for `walk`."""
    return batch._replace(rules=_compiled(model)[2])


def arrays_of(model: Model, instances: Sequence[UserInstance], unit: float | None) -> UserArrays:
    """Make a batch; the scale of each instance is `unit`, or the mean change of its own random moves."""
    check_installed("numba", "a problem of your own")
    unique = list({id(i): i for i in instances}.values())
    place = {id(i): k for k, i in enumerate(unique)}
    which = np.array([place[id(i)] for i in instances], dtype=np.int64)
    made, rules, _ = _compiled(model)
    counts = np.stack([i.counts for i in unique])
    if counts.max() > 1 << CHOICE_BITS:
        raise DataError(
            f"a choice of a move has {counts.max()} candidates; expected at most {1 << CHOICE_BITS}"
        )
    stacks = [np.stack([getattr(i.data, key) for i in unique]) for key in model.keys]
    scales = np.ones(len(unique))
    given = scales.view()  # read-only from the start: kernels are compiled for that, too
    for array in (*stacks, given):
        array.setflags(write=False)
    room = () if model.scratch is None else (np.zeros(0),)  # each chain has its own
    batch = UserArrays(
        made(*stacks, given, *room),
        which,
        scales[which],
        counts,
        len(model.moves),
        max(i.room for i in unique),
        rules,
    )
    if unique[0].size <= FEW:
        check_first_moves(unique[0])
    check_functions(model, batch, unique[0])
    if unit is None and not unique[0].scales:
        _look_around(unique[0], batch)
    for k, instance in enumerate(unique):
        scales[k] = float(unit) if unit is not None else _scale_of(instance, batch, k)
    return batch._replace(scale=scales[which])


#: Starts from which moves are sampled, and moves from each.
_STARTS, _MOVES = 16, 16

#: Seconds of moves with indices checked before a search, and turns of so many moves at most.
_MOMENT, _TURNS = 0.1, 32

#: Changes below this share of the largest are rounding errors.
_ROUNDING = 1e-12


def _look_around(instance: UserInstance, batch: UserArrays) -> None:
    """Make random moves with indices checked, for a moment; a search checks none, and one may kill it."""
    end = time.monotonic() + _MOMENT
    x = _starts(instance)
    for turn in range(1, _TURNS):
        _walked(instance, batch, 0, x, turn)
        if time.monotonic() > end:
            return


def _starts(instance: UserInstance) -> NDArray[Any]:
    return np.stack([instance.start(partial(start_draws, key)) for key in stream_keys(0, np.arange(_STARTS))])


def _walked(
    instance: UserInstance, batch: UserArrays, place: int, x: NDArray[Any], turn: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Make some random moves from each of some solutions; see `walk` for what is returned."""
    one = _checked(batch._replace(which=np.full(_STARTS, place)), instance.model)
    changes, sums = np.full((_STARTS, _MOVES), np.nan), np.zeros((_STARTS, 2))
    walk(one, _workspace(x[0], 0, 1, batch.room), x, stream_keys(turn, np.arange(_STARTS)), changes, sums)
    return changes, sums


def _scale_of(instance: UserInstance, batch: UserArrays, place: int) -> float:
    """Mean absolute change of cost by a random move, on walks from random starts; the same each time."""
    if not instance.scales:
        changes, sums = _walked(instance, batch, place, _starts(instance))
        _check_sums(instance, sums)
        sizes = np.abs(changes[np.isfinite(changes)])
        sizes = sizes[sizes > _ROUNDING * sizes.max()] if len(sizes) else sizes
        kept.note(owner_of(instance.model), _mark(instance))
        instance.scales.append(float(sizes.mean()) if len(sizes) else 1.0)
    return instance.scales[0]


def _check_sums(instance: UserInstance, sums: NDArray[np.float64]) -> None:
    """Refuse changes that do not add up to the costs after some moves."""
    for by_changes, cost in sums.tolist():
        if not close(by_changes, cost):
            for state in walk_in_python(instance, 10 * _MOVES):
                check_costs(state)
                check_changes(state)
            delta = instance.model.moves[0].delta
            function, expected = instance.model.functions["cost"], "the same finite number each time"
            if delta is not None:
                function, expected = delta, f"changes that add up to the cost, {cost:g}"
            what = f"{instance.model.cls.__name__}.{function.__name__}"
            got = f"{by_changes:g} after {_MOVES} moves at size {instance.size}"
            raise mistake(function, what, expected, got)


@kernel
def walk(batch: UserArrays, work: Work, x: Any, keys: Any, changes: Any, sums: Any) -> None:
    """Make random moves.

    Parameters
    ----------
    batch : UserArrays
        Of B rows.
    x : [B, N]
        Starts; changed.
    keys : int64[B]
    changes : float64[B, K]
        Written: what each move adds to the cost; left where there is none.
    sums : float64[B, 2]
        Written: the cost at the end, by all changes and by itself.
    """
    for row in range(len(keys)):
        which = batch.which[row]
        data, counts = batch.rules.row(batch.data, which, work.scratch), batch.counts[which]
        work.numbers[KNOWN] = 0.0
        sums[row, 0] = batch.rules.cost(data, x[row])
        for k in range(changes.shape[1]):
            at = at_step(keys[row], k)
            kind = np.int64(uniform(at, 0) * batch.kinds) if batch.kinds > 1 else np.int64(0)
            code = batch.rules.propose(kind, data, x[row], counts, at)
            if code >= 0:
                changes[row, k] = batch.rules.delta(kind, data, x[row], code, work)
                sums[row, 0] += changes[row, k]
                batch.rules.apply(kind, data, x[row], code)
                work.numbers[KNOWN] = 0.0
        sums[row, 1] = batch.rules.cost(data, x[row])


def compiled_costs(instance: UserInstance, solutions: Sequence[Any]) -> NDArray[np.float64]:
    """Evaluate the costs of solutions by compiled code, float64[B]."""
    one = _checked(arrays_of(instance.model, [instance] * len(solutions), 1.0), instance.model)
    x, sums = np.stack(solutions), np.zeros((len(solutions), 2))
    keys = np.zeros(len(solutions), np.int64)
    walk(one, _workspace(x[0], 0, 1, one.room), x, keys, np.zeros((len(solutions), 0)), sums)
    return sums[:, 0]


def is_compiled(instance: UserInstance) -> bool:
    """Tell whether `compiled_costs` needs no compiler, nor has to wait for one."""
    return not is_compiling() and kept.is_known(owner_of(instance.model), _mark(instance))


def _mark(instance: UserInstance) -> str:
    kinds = [f"{array.dtype}{array.ndim}" for array in map(np.asarray, vars(instance.data).values())]
    return f"walk {' '.join(kinds)}"


@kernel
def look(
    batch: UserArrays, scratch: Any, x: Any, heats: Any, choice: int, codes: Any, seen: Any, needs: Any
) -> None:
    """Look at the candidates of a choice, chain by chain.

    Parameters
    ----------
    batch : UserArrays
        Of B rows.
    scratch : float64[R]
    x : [B, N]
    heats : float64[B]
        Temperatures in normalised units.
    choice : int
        Counted over all types of moves.
    codes : int64[B]
        Choices made before; -1 for chains that are left out.
    seen : float32[B, F, C]
        Written: features.
    needs : int64[B, C]
        Written: `slots.ALWAYS` where a candidate is allowed.
    """
    for row in range(len(codes)):
        which = batch.which[row]
        if codes[row] >= 0:
            data = batch.rules.row(batch.data, which, scratch)
            batch.rules.look(
                choice, data, x[row], batch.counts[which], heats[row], seen[row], needs[row], codes[row]
            )
