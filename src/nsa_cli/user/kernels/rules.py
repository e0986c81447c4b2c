"""Functions of a user's problem put together for kernels: one of each kind for all types of moves.

A move is packed into a *code*, `CHOICE_BITS` bits a choice, and the number of its type. Choice s of a type
has the place ``first + s`` among those of all types. The parts are closures over compiled functions, which
LLVM makes one function of.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.kernels import slots
from nsa_cli.kernels.draws import mix, uniform
from nsa_cli.kernels.jit import Function, inlined
from nsa_cli.kernels.lanes import HIDDEN, score_sums, sum_features

#: Choices of a move at most, and bits of a candidate of a choice: a move is packed into 63 bits.
MOST_CHOICES, CHOICE_BITS = 3, 21

#: Draws of a candidate before the allowed ones are counted.
TRIES = 32

#: The bits of one choice.
CHOICE_MASK = (1 << CHOICE_BITS) - 1

#: Indices of a chain's `numbers`: cost of the current solution, whether it is known, and cost after the last
#: change that was weighed; the same two for the violation.
NOW, KNOWN, THEN, BROKEN, LATER = range(5)

#: Indices of a chain's row of weights. The first two are those of `nsa_cli.kernels.annealing.ChainArrays`.
#: The weight of a violation changes at each step by a small share: it is raised where the solution breaks a
#: rule, and lowered where it does not, from a least one to the one by which solutions rank. Since the last
#: solution that breaks none there have been so many steps; after many, it is raised faster.
SURPLUS, ABOVE, WEIGHT, LEAST, RAISED, LOWERED, SINCE, MANY = range(8)

#: How much faster.
_FASTER = 10.0

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
        ``cost(data, x)``, with violations at the weight by which solutions rank.
    energy : function
        ``energy(data, x, weights)``, with violations at the chain's own weight.
    eased : function
        ``eased(data, work, weights)``: how much more the change that was weighed last adds to the first than
        to the second. It changes the weight.
    propose : function
        ``propose(kind, data, x, counts, at)``: a code by uniform choices; -1 if there is none.
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
    energy: Any
    eased: Any
    propose: Any
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


def row_of(keys: Sequence[str], owner: Any, scratch: Sequence[str]) -> tuple[type, Function[Any]]:
    """Make the class of a batch's data, and the function `Rules.row`.

    Parameters
    ----------
    keys : sequence of str
        Of arrays with one row an instance.
    owner : nsa_cli.kernels.toolchain.kept.Owner
    scratch : sequence of str
        Names of work arrays.
    """
    made: Any = namedtuple("Data", (*keys, *scratch))  # type: ignore[misc]  # a user's keys
    parts = [*(f"data.{key}[i]" for key in keys), *(f"scratch[{k}]" for k in range(len(scratch)))]
    text = f"lambda data, i, scratch: Data({', '.join(parts)})"
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
    several, width, broken = int(model.several), len(model.cls.feature_names), model.function("violation")
    cost, energy, eased = _costing(made(model.functions["cost"]), broken and made(broken))
    proposals, learnt, deltas, applications = [], [], [], []
    for kind, m in enumerate(model.moves):
        choices = _choices_of(m, [made(test) for test in m.allowed])
        apply = _applying(made(m.move.apply), choices)
        proposals.append(_proposing(choices))
        deltas.append(
            _weighing(m.delta and made(m.delta), cost, broken and made(broken), apply, choices, kind)
        )
        applications.append(apply)
        if model.learns:
            look = _looking(choices, made(m.features), width)
            learnt.append(_proposing_learnt(choices, look, choices.first - several))
    return Rules(row, cost, energy, eased, *map(_switch, (proposals, learnt, deltas, applications)))


@inlined
def adapt(weights: Any, most: float, broken: bool) -> None:
    """Change a chain's weight of violations after a step from a solution that breaks a rule, or does not."""
    weights[SINCE] = weights[SINCE] + 1.0 if broken else 0.0
    share = weights[RAISED] if broken else -weights[LOWERED]
    if weights[SINCE] > weights[MANY]:
        share *= _FASTER
    weights[WEIGHT] = min(max(weights[WEIGHT] * (1.0 + share), weights[LEAST]), most)


def _costing(cost: Any, broken: Any) -> Iterator[Any]:
    """Make `Rules.cost`, `Rules.energy` and `Rules.eased`."""
    has_rules = broken is not None

    def rank(data: Any, x: Any) -> Any:
        if has_rules:
            return cost(data, x) + data.violation_weight * broken(data, x)
        return cost(data, x)

    def energy(data: Any, x: Any, weights: Any) -> Any:
        if not has_rules:
            return np.float64(cost(data, x))
        violation = broken(data, x)
        weights[ABOVE] = (data.violation_weight - weights[WEIGHT]) * violation
        return np.float64(cost(data, x) + weights[WEIGHT] * violation)

    def eased(data: Any, work: Any, weights: Any) -> Any:
        if has_rules:
            now = work.numbers[BROKEN]
            adapt(weights, data.violation_weight, now > 0)
            weights[SURPLUS] = (data.violation_weight - weights[WEIGHT]) * (work.numbers[LATER] - now)
        return weights[SURPLUS]

    return map(_inlined, (rank, energy, eased))


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


@inlined
def redrawn(share: float) -> float:
    """Draw another number in (0, 1) from one."""
    return np.float64(mix(np.uint64(share * 2.0**63)) >> np.uint64(12)) * 2.0**-52 + 2.0**-53


def _proposing(choices: _MoveChoices) -> Any:
    """Make the uniform proposal of a type of moves, see `Rules.propose`.

    Where some draws are forbidden, one more chooses among all that are allowed: so these are as likely as
    each other, and as a rule they are not counted.
    """

    def choosing(s: int) -> Any:
        fits, place, shift = choices.fits[s], choices.first + s, s * CHOICE_BITS

        def choose(data: Any, x: Any, counts: Any, code: Any, at: Any) -> Any:
            share, c = uniform(at, place), np.int64(0)
            for _ in range(TRIES):
                c = np.int64(share * counts[place])
                if fits(data, x, code, c):
                    return code | c << shift
                share = redrawn(share)
            open_ = 0
            for k in range(counts[place]):
                open_ += fits(data, x, code, np.int64(k))
            rank = np.int64(share * open_)
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


def _weighing(given: Any, cost: Any, broken: Any, apply: Any, choices: _MoveChoices, kind: int) -> Any:
    """Make ``delta(data, x, code, work)``: the user's, or the difference of two costs; with violations."""
    unpack, count = choices.unpack, len(choices.parts)
    is_given, has_rules = given is not None, broken is not None

    def told(data: Any, x: Any, code: Any, work: Any) -> Any:
        return np.float64(given(data, x, unpack(code, count)))

    def difference(data: Any, x: Any, code: Any, work: Any) -> Any:
        numbers, spare = work.numbers, work.spare
        if numbers[KNOWN] == 0.0:
            numbers[NOW], numbers[KNOWN] = cost(data, x), 1.0
            if has_rules:
                numbers[BROKEN] = broken(data, x)
        if is_given:
            numbers[THEN] = numbers[NOW] + given(data, x, unpack(code, count))
        for i in range(len(x)):
            spare[i] = x[i]
        apply(data, x, code)
        if has_rules:
            numbers[LATER] = broken(data, x)
        if is_given:
            numbers[THEN] += data.violation_weight * (numbers[LATER] - numbers[BROKEN])
        else:
            numbers[THEN] = cost(data, x)
        for i in range(len(x)):
            x[i] = spare[i]
        work.weighed[0], work.weighed[1] = code, kind
        return numbers[THEN] - numbers[NOW]

    return _called(difference) if has_rules or not is_given else _inlined(told)
