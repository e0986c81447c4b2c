"""Functions of a user's problem put together for kernels: one of each kind for all types of moves.

A move is packed into a *code*, `CHOICE_BITS` bits a choice, and the number of its type. The parts are
closures over compiled functions, which LLVM makes one function of.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.kernels import slots
from nsa_cli.kernels.draws import uniform
from nsa_cli.kernels.jit import Function
from nsa_cli.kernels.lanes import HIDDEN, score_sums, sum_features

#: Choices of a move at most, and bits of a candidate of a choice: a move is packed into 63 bits.
MOST_CHOICES, CHOICE_BITS = 3, 21

_MASK = (1 << CHOICE_BITS) - 1

#: Indices of a chain's `numbers`: cost of the current solution, whether it is known, cost after the last
#: change that was weighed, and the log-probability of a proposal whose reverse is weighed.
NOW, KNOWN, THEN, FORWARD = range(4)

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
        ``propose(kind, data, x, counts, at)``: a code by uniform choices, -1 if there is none.
    propose_from : function
        ``propose_from(kind, data, x, counts, first, at)``: the same with a first choice.
    chance : function
        ``chance(kind, data, x, counts, code)``: log-probability of such a proposal.
    propose_learnt : function
        ``(kind, data, x, counts, heat, policy, member, work, at, given)``: code and log-probability by
        networks.
    look : function
        ``look(choice, data, x, counts, heat, seen, needs, code)``: see `_MoveRules.looking`; choices are
        counted over all types of moves.
    delta : function
        ``delta(kind, data, x, code, work)``.
    apply : function
        ``apply(kind, data, x, code)``.
    reverse : function
        ``reverse(kind, data, x, code)``: the code that undoes one; itself where none is known to.
    recombine : function
        ``recombine(data, x, other)``; nothing where the problem has none.
    """

    row: Any
    cost: Any
    propose: Any
    propose_from: Any
    chance: Any
    propose_learnt: Any
    look: Any
    delta: Any
    apply: Any
    reverse: Any
    recombine: Any


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
    cost = made(model.functions["cost"])
    width = len(model.cls.feature_names)
    moves = [_MoveRules(m, made, cost, width, several=model.several) for m in model.moves]
    learnt, looks = [_inlined(_unlearnt)], [_inlined(_unlearnt)]
    if model.learns:
        learnt = [m.propose_learnt() for m in moves]
        looks = [
            m.looking(s)
            for m, known in zip(moves, model.moves, strict=True)
            for s in range(len(known.choices))
        ]

    def for_all(functions: Sequence[Any]) -> Any:
        return reduce(
            lambda others, k: _either(k, functions[k], others), range(len(functions) - 1), functions[-1]
        )

    return Rules(
        row,
        cost,
        for_all([_any(m.propose) for m in moves]),
        for_all([_any(m.propose_from) for m in moves]),
        for_all([_any(m.chance) for m in moves]),
        for_all([_any(f) for f in learnt]),
        for_all([_any(f) for f in looks]),
        for_all([_any(m.delta(k)) for k, m in enumerate(moves)]),
        for_all([_any(m.apply) for m in moves]),
        for_all([_any(m.reverse) for m in moves]),
        made(model.function("recombine") or _left_alone),
    )


def _any(function: Any) -> Any:
    """Add the type of the move as a first argument, which does not matter."""

    def served(kind: int, *arguments: Any) -> Any:
        return function(*arguments)

    return _inlined(served)


def _either(index: int, mine: Any, others: Any) -> Any:
    """Choose a function by the type of the move."""

    def chosen(kind: int, *arguments: Any) -> Any:
        if kind == index:
            return mine(kind, *arguments)
        return others(kind, *arguments)

    return _inlined(chosen)


def _left_alone(data: Any, x: Any, other: Any) -> None:
    pass


def _unlearnt(*arguments: Any) -> Any:
    return np.int64(-1), -np.inf


def _steps_of(choice: Any) -> Any:
    """Give the steps of a normal choice, float64[…]; None of another."""
    return getattr(choice, "steps", None)


def _value(choice: Any) -> Any:
    """Make the function from a candidate's number to what the user's functions get."""
    if (steps := _steps_of(choice)) is not None:

        def step(c: Any) -> Any:
            return steps[c]

        return _inlined(step)

    def itself(c: Any) -> Any:
        return c

    return _inlined(itself)


def _unpacked(values: Sequence[Any], made: int, choices: Sequence[Any]) -> Any:
    """Make the function from a code to its first `made` choices; others are -1, or NaN of steps."""

    def part(place: int) -> Any:
        if place >= made:
            nothing = np.int64(-1) if _steps_of(choices[place]) is None else np.nan

            def open_(code: Any) -> Any:
                return nothing

            return _inlined(open_)
        value, shift = values[place], place * CHOICE_BITS

        def closed(code: Any) -> Any:
            return value((code >> shift) & _MASK)

        return _inlined(closed)

    parts = [part(place) for place in range(len(values))]
    first, second, third = (*parts, None, None)[:3]

    def one(code: Any) -> Any:
        return (first(code),)

    def two(code: Any) -> Any:
        return first(code), second(code)

    def three(code: Any) -> Any:
        return first(code), second(code), third(code)

    return _inlined((one, two, three)[len(values) - 1])


def _packing(count: int) -> Any:
    """Make the function from a tuple of choices to a code."""

    def one(move: Any) -> Any:
        return np.int64(move[0])

    def two(move: Any) -> Any:
        return np.int64(move[0]) | np.int64(move[1]) << CHOICE_BITS

    def three(move: Any) -> Any:
        return np.int64(move[0]) | np.int64(move[1]) << CHOICE_BITS | np.int64(move[2]) << (2 * CHOICE_BITS)

    return _inlined((one, two, three)[count - 1])


class _MoveRules:
    """Functions of one type of moves, without that type as an argument."""

    def __init__(self, model: Any, made: Any, cost: Any, width: int, *, several: bool) -> None:
        self._model, self._made, self._cost = model, made, cost
        self._width, self._several = width, several
        self._values = [_value(choice) for choice in model.choices]
        self._whole = _unpacked(self._values, len(self._values), model.choices)
        self._allowed = [made(f) for f in model.allowed]
        self._fits = [self._fitting(s) for s in range(len(self._values))]
        steps = [self._choosing(s) for s in range(len(self._values))]
        self._rest = reduce(_then, steps[1:]) if steps[1:] else None
        self.propose = self._from_nothing(reduce(_then, steps))
        self.propose_from = self._from_first()
        self.chance = reduce(_both, [self._weighing(s) for s in range(len(self._values))])
        self.apply, self.reverse = self._applying(), self._reversing()

    def _fitting(self, place: int) -> Any:
        """Make ``fits(data, x, code, c)``, whether a candidate is allowed; None if all are."""
        chosen, value = _unpacked(self._values, place, self._model.choices), self._values[place]
        if not self._allowed:
            return None

        def tested(test: Any) -> Any:
            def fits(data: Any, x: Any, code: Any, c: Any) -> Any:
                return bool(test(data, x, chosen(code), value(c)))

            return _inlined(fits)

        def agreed(one: Any, other: Any) -> Any:
            def both(data: Any, x: Any, code: Any, c: Any) -> Any:
                return one(data, x, code, c) and other(data, x, code, c)

            return _inlined(both)

        return reduce(agreed, map(tested, self._allowed))

    def _choosing(self, s: int) -> Any:
        """Make ``choose(data, x, counts, code, at)``, which adds a uniform choice to a code.

        Where the first draw is forbidden, the digits behind its point choose among all that are allowed: so
        these are as likely as each other, and no list of them is made as a rule.
        """
        fits, place, shift = self._fits[s], self._model.first + s, s * CHOICE_BITS

        def free(data: Any, x: Any, counts: Any, code: Any, at: Any) -> Any:
            count = counts[place]
            if count <= 0:
                return np.int64(-1)
            return code | np.int64(uniform(at, place) * count) << shift

        def limited(data: Any, x: Any, counts: Any, code: Any, at: Any) -> Any:
            count = counts[place]
            if count <= 0:
                return np.int64(-1)
            share = uniform(at, place) * count
            c = np.int64(share)
            if fits(data, x, code, c):
                return code | c << shift
            rest, open_ = share - c, 0
            for k in range(count):
                open_ += fits(data, x, code, np.int64(k))
            rank = np.int64(rest * open_)
            for k in range(count):
                if fits(data, x, code, np.int64(k)):
                    if rank == 0:
                        return code | np.int64(k) << shift
                    rank -= 1
            return np.int64(-1)

        return _inlined(free) if fits is None else _called(limited)

    def _weighing(self, s: int) -> Any:
        """Make ``weigh(data, x, counts, code)``: the log-probability of choice s of a code."""
        fits, place, shift = self._fits[s], self._model.first + s, s * CHOICE_BITS
        below = (1 << shift) - 1

        def free(data: Any, x: Any, counts: Any, code: Any) -> Any:
            return -math.log(counts[place])

        def limited(data: Any, x: Any, counts: Any, code: Any) -> Any:
            open_ = 0
            for c in range(counts[place]):
                open_ += fits(data, x, code & below, np.int64(c))
            if not fits(data, x, code & below, (code >> shift) & _MASK):
                return -np.inf
            return -math.log(open_)

        return _inlined(free) if fits is None else _called(limited)

    @staticmethod
    def _from_nothing(choose: Any) -> Any:
        def propose(data: Any, x: Any, counts: Any, at: Any) -> Any:
            return choose(data, x, counts, np.int64(0), at)

        return _inlined(propose)

    def _from_first(self) -> Any:
        fits, rest, place = self._fits[0], self._rest, self._model.first

        def first_one(data: Any, x: Any, counts: Any, first: Any, at: Any) -> Any:
            if first >= counts[place]:
                return np.int64(-1)
            return np.int64(first)

        def fitting(data: Any, x: Any, counts: Any, first: Any, at: Any) -> Any:
            if first >= counts[place] or not fits(data, x, np.int64(0), first):
                return np.int64(-1)
            return np.int64(first)

        begin = _inlined(first_one if fits is None else fitting)
        if rest is None:
            return begin

        def propose(data: Any, x: Any, counts: Any, first: Any, at: Any) -> Any:
            code = begin(data, x, counts, first, at)
            if code < 0:
                return code
            return rest(data, x, counts, code, at)

        return _inlined(propose)

    def _applying(self) -> Any:
        apply, whole = self._made(self._model.move.apply), self._whole

        def applied(data: Any, x: Any, code: Any) -> Any:
            apply(data, x, whole(code))

        return _inlined(applied)

    def _reversing(self) -> Any:
        move, whole, pack = self._model.move, self._whole, _packing(len(self._values))
        if move.reverse is None:
            # Of a normal step the opposite one; else nobody asks (`Neighbourhood.reversible`).
            mirror = 0
            if move.mirrored:
                mirror = len(self._model.choices[-1].steps) - 1 << (len(self._values) - 1) * CHOICE_BITS

            def mirrored(data: Any, x: Any, code: Any) -> Any:
                return code ^ mirror

            return _inlined(mirrored)
        reverse = self._made(move.reverse)

        def reversed_(data: Any, x: Any, code: Any) -> Any:
            return pack(reverse(data, x, whole(code)))

        return _inlined(reversed_)

    def delta(self, kind: int) -> Any:
        """Make ``delta(data, x, code, work)``: the user's, or the difference of two costs."""
        whole, cost, apply = self._whole, self._cost, self.apply
        if self._model.delta is not None:
            given = self._made(self._model.delta)

            def told(data: Any, x: Any, code: Any, work: Any) -> Any:
                return np.float64(given(data, x, whole(code)))

            return _inlined(told)

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

        return _called(difference)

    def propose_learnt(self) -> Any:
        """Make the proposal by networks; the type of move is chosen before, and uniformly."""
        steps = [self._scoring(s) for s in range(len(self._values))]
        choose = reduce(_then_learnt, steps)

        def propose(
            data: Any,
            x: Any,
            counts: Any,
            heat: Any,
            policy: Any,
            member: Any,
            work: Any,
            at: Any,
        ) -> Any:
            return choose(data, x, counts, heat, policy, member, work, at, np.int64(0))

        return _inlined(propose)

    def looking(self, s: int) -> Any:
        """Make ``look(data, x, counts, heat, seen, needs, code)``: allowed candidates, their features.

        Of those that are not, the features are 0: not what another chain has left there.
        """
        fits, value, place = self._fits[s] or _inlined(_always), self._values[s], self._model.first + s
        chosen = _unpacked(self._values, s, self._model.choices)
        features, put = self._made(self._model.features), _putting(self._width)

        def look(data: Any, x: Any, counts: Any, heat: Any, seen: Any, needs: Any, code: Any) -> None:
            for c in range(len(needs)):
                needs[c] = slots.NEVER
                if c < counts[place] and fits(data, x, code, np.int64(c)):
                    needs[c] = slots.ALWAYS
                    put(features(data, x, chosen(code), value(np.int64(c)), heat), seen, c)
                else:
                    for f in range(seen.shape[0]):
                        seen[f, c] = 0.0

        return _called(look)

    def _scoring(self, s: int) -> Any:
        """Make the choice s by a network, which adds it to a code and to a log-probability."""
        look, place, shift = self.looking(s), self._model.first + s, s * CHOICE_BITS
        network = place - int(self._several)

        def choose(
            data: Any,
            x: Any,
            counts: Any,
            heat: Any,
            policy: Any,
            member: Any,
            work: Any,
            at: Any,
            code: Any,
        ) -> Any:
            needs, space, weights = work.needs, work.slot, policy.networks[network]
            look(data, x, counts, heat, work.seen, needs, code)
            for h in range(HIDDEN):
                space.floor[h] = -weights.bias[member, h]
            blocks = space.sums.shape[0]
            sum_features(work.seen, work.shifts, weights.first[member], space.sums, 0, blocks)
            largest = score_sums(space.sums, space.floor, weights.second[member], space.logits, 0, blocks)
            choice = slots.choose_allowed(space, largest, needs, 0, uniform(at, place), policy.mode)
            return code | choice << shift if choice >= 0 else np.int64(-1)

        return _called(choose)


def _always(data: Any, x: Any, code: Any, c: Any) -> Any:
    return True


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


def _then(first: Any, second: Any) -> Any:
    """Make one choice and then another."""

    def both(data: Any, x: Any, counts: Any, code: Any, at: Any) -> Any:
        chosen = first(data, x, counts, code, at)
        if chosen < 0:
            return chosen
        return second(data, x, counts, chosen, at)

    return _inlined(both)


def _then_learnt(first: Any, second: Any) -> Any:
    """Make one choice by a network and then another."""

    def both(
        data: Any,
        x: Any,
        counts: Any,
        heat: Any,
        policy: Any,
        member: Any,
        work: Any,
        at: Any,
        code: Any,
    ) -> Any:
        chosen = first(data, x, counts, heat, policy, member, work, at, code)
        if chosen < 0:
            return chosen
        return second(data, x, counts, heat, policy, member, work, at, chosen)

    return _inlined(both)


def _both(one: Any, other: Any) -> Any:
    """Add two log-probabilities."""

    def total(data: Any, x: Any, counts: Any, code: Any) -> Any:
        return one(data, x, counts, code) + other(data, x, counts, code)

    return _inlined(total)
