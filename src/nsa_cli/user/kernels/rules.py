"""Functions of a user's problem put together for kernels: one of each kind for all types of moves.

A move is packed into a *code*, `CHOICE_BITS` bits a choice, and the number of its type. Choice s of a type
has the place ``first + s`` among those of all types. The parts are closures over compiled functions, which
LLVM makes one function of.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.kernels import slots
from nsa_cli.kernels.draws import uniform
from nsa_cli.kernels.jit import Function, inlined
from nsa_cli.kernels.lanes import HIDDEN, score_sums, sum_features

#: Choices of a move at most, and bits of a candidate of a choice: a move is packed into 63 bits.
MOST_CHOICES, CHOICE_BITS = 3, 21

#: The bits of one choice.
CHOICE_MASK = (1 << CHOICE_BITS) - 1

#: Indices of a chain's `numbers`: cost of the current solution, whether it is known, and cost after the last
#: change that was weighed.
NOW, KNOWN, THEN = range(3)

#: Of functions that only kernels call; the second are part of their callers.
_called: Callable[..., Any] = partial(Function, inner=True)
_inlined: Callable[..., Any] = partial(Function, inline=True)


class Rules(NamedTuple):
    """Functions of a problem for kernels.

    Attributes
    ----------
    row : function
        ``row(data, i, scratch)``: the data of instance i, as a user's functions take them.
    cost : function
        ``cost(data, x)``.
    propose : function
        ``propose(kind, data, x, counts, at)``: a code by uniform choices; -1 if there is none.
    look : function
        ``look(kind, s, data, x, counts, heat, seen, needs, code)``: see `_looking`.
    propose_learnt : function
        ``propose_learnt(kind, data, x, counts, heat, policy, member, work, at)``: code and log-probability by
        networks.
    delta : function
        ``delta(kind, data, x, code, work)``.
    apply : function
        ``apply(kind, data, x, code)``.
    """

    row: Any
    cost: Any
    propose: Any
    look: Any
    propose_learnt: Any
    delta: Any
    apply: Any


class _MoveChoices(NamedTuple):
    """Choices of a type of moves.

    Attributes
    ----------
    first : int
        Place of the first one.
    parts : list of function
        ``part(code, made)``, one a choice: see `_part`.
    unpack : function
        ``unpack(code, made)``: the tuple of all parts.
    fits : list of function
        ``fits(data, x, code, c)``, one a choice: whether candidate c may be chosen after those of a code.
    """

    first: int
    parts: list[Any]
    unpack: Any
    fits: list[Any]


def row_of(keys: Sequence[str], owner: Any, *, scratch: bool) -> tuple[type, Function[Any]]:
    """Make the class of a batch's data, and the function `Rules.row`.

    Parameters
    ----------
    keys : sequence of str
        Of arrays with one row an instance.
    owner : nsa_cli.kernels.toolchain.kept.Owner
    scratch : bool
        Whether there is an array ``scratch``, too.
    """
    room = ("scratch",) if scratch else ()
    made: Any = namedtuple("Data", (*keys, *room))  # type: ignore[misc]  # a user's keys
    text = f"lambda data, i, scratch: Data({', '.join((*(f'data.{key}[i]' for key in keys), *room))})"
    written = eval(compile(text, __file__, "eval"), {"Data": made, "__name__": __name__})
    return made, Function(written, inline=True, owner=owner)


def rules_of(model: Any, row: Function[Any], *, checked: bool = False) -> Rules:
    """Put the functions of a problem together.

    Parameters
    ----------
    model : nsa_cli.user.model.Model
    row : Function
        See `Rules`; with the owner of the problem's kernels.
    checked : bool
        Whether an index out of range is an error.
    """
    made = partial(model.compiled, checked=checked)
    cost, several, width = made(model.functions["cost"]), int(model.several), len(model.cls.feature_names)
    proposals, looks, learnt, deltas, applications = [], [], [], [], []
    for kind, m in enumerate(model.moves):
        choices = _choices_of(m, [made(test) for test in m.allowed])
        apply = _applying(made(m.move.apply), choices)
        proposals.append(_proposing(choices))
        deltas.append(_weighing(m.delta and made(m.delta), cost, apply, choices, kind))
        applications.append(apply)
        if model.learns:
            looks.append(_looking(choices, made(m.features), width))
            learnt.append(_proposing_learnt(choices, looks[-1], choices.first - several))
    return Rules(row, cost, *map(_switch, (proposals, looks, learnt, deltas, applications)))


@inlined
def kind_of_move(kinds: int, at: Any) -> Any:
    """Draw the type of a move."""
    return np.int64(uniform(at, 0) * kinds) if kinds > 1 else np.int64(0)


def _switch(functions: Sequence[Any]) -> Any:
    """Make ``f(index, *arguments)``, which calls one of some functions; None of none."""
    if not functions:
        return None
    *others, last = functions
    before, number = _switch(others), len(others)

    def only(index: int, *arguments: Any) -> Any:
        return last(*arguments)

    def either(index: int, *arguments: Any) -> Any:
        if index == number:
            return last(*arguments)
        return before(index, *arguments)

    return _inlined(either if others else only)


def _choices_of(m: Any, tests: Sequence[Any]) -> _MoveChoices:
    """Put together how a type of moves chooses; candidates have to pass the tests."""
    parts = [_part(s, getattr(choice, "steps", None)) for s, choice in enumerate(m.choices)]
    unpack = _unpacking(parts)

    def fitting(s: int) -> Any:
        part, shift = parts[s], s * CHOICE_BITS

        def agreed(others: Any, test: Any) -> Any:
            def fits(data: Any, x: Any, code: Any, c: Any) -> Any:
                if not others(data, x, code, c):
                    return False
                return bool(test(data, x, unpack(code, s), part(c << shift, s + 1)))

            return _inlined(fits)

        return reduce(agreed, tests, _inlined(_always))

    return _MoveChoices(m.first, parts, unpack, [fitting(s) for s in range(len(parts))])


def _always(data: Any, x: Any, code: Any, c: Any) -> Any:
    return True


def _part(place: int, steps: Any) -> Any:
    """Make ``part(code, made)``: a choice as the user's functions get it, of a code with so many made.

    One that is not made yet is -1, or NaN of `steps`, float64[…], of which a normal choice is one.
    """
    shift = place * CHOICE_BITS

    def number(code: Any, made: int) -> Any:
        return (code >> shift) & CHOICE_MASK if made > place else np.int64(-1)

    def step(code: Any, made: int) -> Any:
        return steps[(code >> shift) & CHOICE_MASK] if made > place else np.nan

    return _inlined(number if steps is None else step)


def _unpacking(parts: Sequence[Any]) -> Any:
    """Make the function that gives all parts of a code as a tuple."""
    *others, last = parts

    def only(code: Any, made: int) -> Any:
        return (last(code, made),)

    if not others:
        return _inlined(only)
    before = _unpacking(others)

    def several(code: Any, made: int) -> Any:
        return before(code, made) + (last(code, made),)  # noqa: RUF005  # Numba has no other way

    return _inlined(several)


def _applying(apply: Any, choices: _MoveChoices) -> Any:
    unpack, count = choices.unpack, len(choices.parts)

    def applied(data: Any, x: Any, code: Any) -> Any:
        apply(data, x, unpack(code, count))

    return _inlined(applied)


def _proposing(choices: _MoveChoices) -> Any:
    """Make the uniform proposal of a type of moves, see `Rules.propose`.

    Where the first draw is forbidden, the digits behind its point choose among all that are allowed: so
    these are as likely as each other, and no list of them is made as a rule.
    """

    def choosing(s: int) -> Any:
        fits, place, shift = choices.fits[s], choices.first + s, s * CHOICE_BITS

        def choose(data: Any, x: Any, counts: Any, code: Any, at: Any) -> Any:
            share = uniform(at, place) * counts[place]
            c = np.int64(share)
            if fits(data, x, code, c):
                return code | c << shift
            rest, open_ = share - c, 0
            for k in range(counts[place]):
                open_ += fits(data, x, code, np.int64(k))
            rank = np.int64(rest * open_)
            for k in range(counts[place]):
                if fits(data, x, code, np.int64(k)):
                    if rank == 0:
                        return code | np.int64(k) << shift
                    rank -= 1
            return np.int64(-1)

        return _called(choose)

    def then(one: Any, other: Any) -> Any:
        def both(data: Any, x: Any, counts: Any, code: Any, at: Any) -> Any:
            chosen = one(data, x, counts, code, at)
            return chosen if chosen < 0 else other(data, x, counts, chosen, at)

        return _inlined(both)

    chosen = reduce(then, (choosing(s) for s in range(len(choices.parts))))

    def propose(data: Any, x: Any, counts: Any, at: Any) -> Any:
        return chosen(data, x, counts, np.int64(0), at)

    return _inlined(propose)


def _looking(choices: _MoveChoices, features: Any, width: int) -> Any:
    """Make ``look(s, data, x, counts, heat, seen, needs, code)``: allowed candidates, their features.

    Of those that are not, the features are 0: not what another chain has left there.
    """
    unpack, put = choices.unpack, _putting(width)

    def looking(s: int) -> Any:
        part, fits, place, shift = choices.parts[s], choices.fits[s], choices.first + s, s * CHOICE_BITS

        def look(data: Any, x: Any, counts: Any, heat: Any, seen: Any, needs: Any, code: Any) -> None:
            for c in range(len(needs)):
                needs[c] = slots.NEVER
                if c < counts[place] and fits(data, x, code, np.int64(c)):
                    needs[c] = slots.ALWAYS
                    put(features(data, x, unpack(code, s), part(c << shift, s + 1), heat), seen, c)
                else:
                    for f in range(seen.shape[0]):
                        seen[f, c] = 0.0

        return _called(look)

    return _switch([looking(s) for s in range(len(choices.parts))])


def _putting(width: int) -> Any:
    """Make ``put(values, seen, c)``, which writes a tuple of numbers as the features of a candidate."""

    def nothing(values: Any, seen: Any, c: Any) -> None:
        pass

    def with_one(others: Any, f: int) -> Any:
        def put(values: Any, seen: Any, c: Any) -> None:
            seen[f, c] = values[f]
            others(values, seen, c)

        return _inlined(put)

    return reduce(with_one, range(width), _inlined(nothing))


def _proposing_learnt(choices: _MoveChoices, look: Any, network: int) -> Any:
    """Make the proposal by networks, the first of which has a number; see `Rules.propose_learnt`."""
    first, count = choices.first, len(choices.parts)

    def propose(
        data: Any, x: Any, counts: Any, heat: Any, policy: Any, member: Any, work: Any, at: Any
    ) -> Any:
        code = np.int64(0)
        needs, space = work.needs, work.slot
        blocks = space.sums.shape[0]
        for s in range(count):
            weights = policy.networks[network + s]
            look(s, data, x, counts, heat, work.seen, needs, code)
            for h in range(HIDDEN):
                space.floor[h] = -weights.bias[member, h]
            sum_features(work.seen, work.shifts, weights.first[member], space.sums, 0, blocks)
            largest = score_sums(space.sums, space.floor, weights.second[member], space.logits, 0, blocks)
            choice = slots.choose(space, largest, uniform(at, first + s), policy.mode, needs)
            if choice < 0:
                return np.int64(-1)
            code |= choice << (s * CHOICE_BITS)
        return code

    return _called(propose)


def _weighing(given: Any, cost: Any, apply: Any, choices: _MoveChoices, kind: int) -> Any:
    """Make ``delta(data, x, code, work)``: the user's, or the difference of two costs."""
    unpack, count = choices.unpack, len(choices.parts)

    def told(data: Any, x: Any, code: Any, work: Any) -> Any:
        return np.float64(given(data, x, unpack(code, count)))

    def difference(data: Any, x: Any, code: Any, work: Any) -> Any:
        numbers, spare = work.numbers, work.spare
        if numbers[KNOWN] == 0.0:
            numbers[NOW], numbers[KNOWN] = cost(data, x), 1.0
        for i in range(len(x)):
            spare[i] = x[i]
        apply(data, x, code)
        numbers[THEN] = cost(data, x)
        for i in range(len(x)):
            x[i] = spare[i]
        work.weighed[0], work.weighed[1] = code, kind
        return numbers[THEN] - numbers[NOW]

    return _called(difference) if given is None else _inlined(told)
