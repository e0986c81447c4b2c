"""Fused kernel of a user's problem, from the scalar functions of `nsa_cli.user.problem`.

Numba has a type of its own for each compiled function. So a batch that holds a user's functions makes the
loop be compiled for them, with no registration for each problem. Nothing of it is kept on disk.
"""

from __future__ import annotations

import inspect
import keyword
from collections import namedtuple
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.draws import LANES
from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.kernel import hooks, slots
from nsa_cli.core.kernel.compiler import dispatcher
from nsa_cli.core.kernel.draws import uniform
from nsa_cli.core.kernel.hooks import Fused, Uniform
from nsa_cli.core.kernel.jit import uncached, variant, variants
from nsa_cli.core.kernel.lanes import HIDDEN, score_sums, sum_features
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.problem import REQUIRED_SCALARS, SCALARS, UserProblem

#: Choices of a move at most.
_MOST_SLOTS = 2

#: Messages of Numba where something is allocated.
_ALLOCATES = ("NRT required", "Only accept returning of array passed into the function")

#: The reference backend, which needs no scalar functions.
_TORCH = {"backend": "torch"}


class Rules(NamedTuple):
    """A user's compiled functions, without their prefix; and `row`, which gives the data of an instance."""

    cost: Any
    delta: Any
    apply: Any
    allowed: Any
    features: Any
    reverse: Any
    row: Any


class UserArrays(NamedTuple):
    """Batch of B chains on I different instances.

    Attributes
    ----------
    data : NamedTuple of arrays
        The user's keys and `scale`, one row an instance.
    which : int64[B]
        Instance of each chain.
    scale : float64[B]
    slots : int
        Choices of a move.
    rules : Rules
    """

    data: Any
    which: NDArray[np.int64]
    scale: NDArray[np.float64]
    slots: int
    rules: Rules


class One(NamedTuple):
    """Learnt policy of moves of one choice."""

    first: slots.Network
    mode: slots.Mode


class Two(NamedTuple):
    """Learnt policy of moves of two choices."""

    first: slots.Network
    second: slots.Network
    mode: slots.Mode


class Work(NamedTuple):
    """State of one chain.

    Attributes
    ----------
    x : array[N]
        The solution.
    needs : int64[16 blocks]
        Which candidates are allowed: `slots.ALWAYS` or `slots.NEVER`.
    seen : tuple of float32[F, 16 blocks]
        Features of the candidates of each choice.
    out : tuple of float32[F]
        Features of one candidate.
    shifts : tuple of tuples of int64
        Where in the flattened features each one's row begins.
    slot : slots.Slots
    """

    x: NDArray[Any]
    needs: NDArray[np.int64]
    seen: tuple[NDArray[np.float32], ...]
    out: tuple[NDArray[np.float32], ...]
    shifts: tuple[tuple[np.int64, ...], ...]
    slot: slots.Slots


_NONE = (np.int64(-1), np.int64(-1))

#: Not kept on disk, as what takes a user's functions must not be.
_inlined = partial(uncached, inline=True)


@_inlined
def _row(batch: Any, row: int) -> Any:
    return batch.rules.row(batch.data, batch.which[row])


@variant(hooks.load, batch=UserArrays)
def _load(batch: Any, policy: Any, work: Any, row: int, member: int, x: Any) -> None:
    for i in range(len(x)):
        work.x[i] = x[i]


@_inlined
def _mark_allowed(batch: Any, data: Any, work: Any, chosen: Any) -> None:
    """Set `needs`: which candidates are allowed."""
    for c in range(len(work.x)):
        allowed = batch.rules.allowed(data, work.x, chosen, np.int64(c))
        work.needs[c] = slots.ALWAYS if allowed else slots.NEVER


@variant(hooks.propose, batch=UserArrays, policy=Uniform)
def _propose_uniformly(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any, given: Any
) -> Any:
    data = _row(batch, row)
    _mark_allowed(batch, data, work, _NONE)
    choice = slots.choose_uniformly(work.needs, 0, uniform(at, 0), given[0])
    if batch.slots == 1 or choice.index < 0:
        return (choice.index, np.int64(-1)), choice.log_probability
    _mark_allowed(batch, data, work, (choice.index, np.int64(-1)))
    other = slots.choose_uniformly(work.needs, 0, uniform(at, 1), given[1])
    return (choice.index, other.index), choice.log_probability + other.log_probability


@_inlined
def _score(
    batch: Any, data: Any, work: Any, chosen: Any, heat: float, network: Any, member: int, slot: int
) -> float:
    """Score the candidates of choice `slot`; gives the largest score."""
    _mark_allowed(batch, data, work, chosen)
    seen, out = work.seen[slot], work.out[slot]
    for c in range(len(work.x)):
        allowed = work.needs[c] == slots.ALWAYS
        if allowed:
            batch.rules.features(data, work.x, chosen, np.int64(c), heat, out)
        for f in range(len(out)):
            seen[f, c] = out[f] if allowed else 0.0  # not what another chain has left there
    space = work.slot
    for h in range(HIDDEN):
        space.floor[h] = -network.bias[member, h]
    blocks = space.sums.shape[0]
    sum_features(seen, work.shifts[slot], network.first[member], space.sums, 0, blocks)
    return score_sums(space.sums, space.floor, network.second[member], space.logits, 0, blocks)


@variant(hooks.propose, batch=UserArrays, policy=One)
def _propose_one(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any, given: Any
) -> Any:
    largest = _score(batch, _row(batch, row), work, _NONE, temperature, policy.first, member, 0)
    slot, needs = work.slot, work.needs
    choice = slots.choose_allowed(slot, largest, needs, 0, uniform(at, 0), policy.mode, given[0])
    return (choice.index, np.int64(-1)), choice.log_probability


@variant(hooks.propose, batch=UserArrays, policy=Two)
def _propose_two(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any, given: Any
) -> Any:
    data, slot, needs = _row(batch, row), work.slot, work.needs
    largest = _score(batch, data, work, _NONE, temperature, policy.first, member, 0)
    choice = slots.choose_allowed(slot, largest, needs, 0, uniform(at, 0), policy.mode, given[0])
    chosen = (choice.index, np.int64(-1))
    if choice.index < 0:
        return chosen, choice.log_probability
    largest = _score(batch, data, work, chosen, temperature, policy.second, member, 1)
    other = slots.choose_allowed(slot, largest, needs, 0, uniform(at, 1), policy.mode, given[1])
    return (choice.index, other.index), choice.log_probability + other.log_probability


@variant(hooks.energy, batch=UserArrays)
def _energy(batch: Any, work: Any, row: int) -> float:
    return np.float64(batch.rules.cost(_row(batch, row), work.x))


@variant(hooks.delta, batch=UserArrays)
def _delta(batch: Any, work: Any, row: int, action: Any) -> float:
    return np.float64(batch.rules.delta(_row(batch, row), work.x, action))


@variant(hooks.apply, batch=UserArrays)
def _apply(batch: Any, policy: Any, work: Any, row: int, member: int, action: Any) -> None:
    batch.rules.apply(_row(batch, row), work.x, action)


@variant(hooks.reverse, batch=UserArrays)
def _reverse(batch: Any, work: Any, row: int, action: Any) -> Any:
    return batch.rules.reverse(_row(batch, row), work.x, action)


@variant(hooks.store, batch=UserArrays)
def _store(batch: Any, work: Any, x: Any, best: bool) -> None:
    for i in range(len(x)):
        x[i] = work.x[i]


def _itself(data: Any, x: Any, action: Any) -> Any:
    """Undo a flip or a swap by itself."""
    return action


def fused_of(owner: UserProblem) -> Fused:
    """Make the kernel of a problem that has scalar functions.

    Raises
    ------
    UsageError
        If some are missing, or cannot be compiled.
    """
    functions = {name: getattr(type(owner), name) for name in SCALARS}
    _check_class(owner, functions)
    widths = tuple(owner.slots.values())
    learnt = functions["scalar_features"] is not None

    def workspace(x: Any) -> Work:
        padded = slots.blocks_of(len(x)) * LANES
        return Work(
            np.zeros(x.shape, x.dtype),
            slots.never(padded),
            tuple(slots.aligned((width, padded)) for width in widths),
            tuple(slots.aligned((width,)) for width in widths),
            tuple(tuple(np.int64(f * padded) for f in range(width)) for width in widths),
            slots.slot_space(len(x)),
        )

    return Fused(
        arrays=lambda instances, unit: _arrays(owner, instances, unit),
        workspace=workspace,
        draws=len(widths),
        policies={"paper": (One, Two)[len(widths) - 1]} if learnt else {},
        features={"paper": widths} if learnt else {},
        kept=False,
    )


def _check_class(owner: UserProblem, functions: dict[str, Any]) -> None:
    """Refuse a class whose functions, choices or keys a compiled loop cannot serve."""
    given = next(name for name, function in functions.items() if function is not None)
    reverses = type(owner).reverse is not UserProblem.reverse
    for name in (*REQUIRED_SCALARS, "scalar_reverse") if reverses else REQUIRED_SCALARS:
        if functions[name] is None:
            raise UsageError(f"{owner.name}: expected {name} beside {given}, got none", use=_TORCH)
    for name, function in functions.items():
        found = inspect.getattr_static(owner, name)
        if function is not None and not isinstance(found, staticmethod):
            raise UsageError(f"{owner.name}: {name} takes no self: write @staticmethod above it")
    if (choices := len(owner.slots)) > _MOST_SLOTS:
        message = f"scalar functions serve moves of at most {_MOST_SLOTS} choices, got {choices}"
        raise UsageError(f"{owner.name}: {message}", use=_TORCH)
    for key in owner.keys:
        if not key.isidentifier() or keyword.iskeyword(key) or key.startswith("_") or key == "scale":
            raise UsageError(f"{owner.name}: scalar functions cannot have the key {key!r}", use=_TORCH)


def data_of(batch: UserArrays, row: int) -> Any:
    """Give the data of a row as a user's functions get them, outside of a kernel."""
    return batch.rules.row.py_func(batch.data, batch.which[row])


@cache
def _compiled(cls: type[UserProblem]) -> tuple[type, Rules]:
    """Make the class of a row and hand the functions to Numba, which compiles them when they are called."""
    keys = (*cls.keys, "scale")
    made: Any = namedtuple("Data", keys)  # type: ignore[misc]  # a user's keys
    text = "lambda data, i: Data(" + ", ".join(f"data.{key}[i]" for key in keys) + ")"
    functions = [getattr(cls, name) for name in SCALARS]
    functions[SCALARS.index("scalar_reverse")] = cls.scalar_reverse or _itself
    rules = [None if function is None else uncached(function) for function in functions]
    return made, Rules._make((*rules, uncached(eval(text, {"Data": made}))))


def _arrays(owner: UserProblem, instances: Sequence[UserInstance], unit: float | None) -> UserArrays:
    from nsa_cli.user.operations import UserOperations

    unique = list({id(i): i for i in instances}.values())
    place = {id(i): k for k, i in enumerate(unique)}
    which = np.array([place[id(i)] for i in instances], dtype=np.int64)
    operations = UserOperations(owner)
    scales = np.array([operations.scale_of(i, unit) for i in unique])
    made, rules = _compiled(type(owner))
    stacks = (np.stack([getattr(i.data, key) for i in unique]) for key in owner.keys)
    batch = UserArrays(made(*stacks, scales), which, scales[which], len(owner.slots), rules)
    _check_solution(owner, operations, unique[0])
    _check_functions(owner, batch, unique[0].typical)
    return batch


def _check_solution(owner: UserProblem, operations: Any, instance: UserInstance) -> None:
    """Refuse solutions that are not one axis of candidates."""
    shape = instance.typical.shape
    count = operations.candidates(instance) if len(shape) == 1 else None
    if shape != (count,):
        message = "scalar functions are for solutions of one axis, with one candidate an element"
        got = "" if count is None else f" and {count} candidates"
        raise UsageError(f"{owner.name}: {message}; got the shape {shape}{got}", use=_TORCH)


def _check_functions(owner: UserProblem, batch: UserArrays, x: Any) -> None:
    """Compile a user's functions one by one, so that an error names the function."""
    state = (numba.typeof(data_of(batch, 0)), numba.typeof(x))
    pair, index, real = numba.typeof(_NONE), numba.int64, numba.float64
    out = numba.typeof(slots.aligned((1,)))
    wanted = {
        "cost": ((), numba.types.Number, "a number"),
        "delta": ((pair,), numba.types.Number, "a number"),
        "apply": ((pair,), numba.types.NoneType, "nothing: it changes x"),
        "allowed": ((pair, index), numba.types.Boolean, "True or False"),
        "features": ((pair, index, real, out), numba.types.NoneType, "nothing: it fills out"),
        "reverse": ((pair,), type(pair), "two int64, as an action is"),
    }
    for name, (more, kind, meaning) in wanted.items():
        rule = getattr(batch.rules, name)
        if rule is None:
            continue
        given = _returned(name, rule, (*state, *more))
        if not isinstance(given, kind) or (name == "reverse" and given != pair):
            message = f"scalar_{name}: expected {meaning}, got {shown(given)}"
            raise UsageError(f"{owner.name}: {message}", use=_TORCH)


def _returned(name: str, rule: Any, arguments: tuple[Any, ...]) -> Any:
    """Compile a function for types of arguments; give the type of its result."""
    compiled = dispatcher(rule, variants)
    try:
        compiled.compile(arguments)
    except Exception as error:  # Numba's own, and whatever else its passes may trip over
        place = inspect.getsourcefile(rule.py_func), rule.py_func.__code__.co_firstlineno
        message = f"scalar_{name} cannot be compiled by Numba: {_reason(error)}"
        raise UsageError(f"{place[0]}:{place[1]}: {message}", use=_TORCH) from None
    return compiled.overloads[arguments].signature.return_type


def _reason(error: Exception) -> str:
    """Cause of an error, a line of Numba's message."""
    if any(sign in str(error) for sign in _ALLOCATES):
        return "it makes an array; write a loop over numbers"
    lines = [" ".join(line.split()) for line in str(error).partition(" Raised from")[0].splitlines()]
    told = [
        line
        for line in lines
        if line and not line.startswith(("Failed in", "During:", "File ", ">>>", "- Resolution", "^"))
    ]
    text = told[0].rstrip(".:") if told else type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"
