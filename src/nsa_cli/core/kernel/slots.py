"""Choosing a candidate in a kernel: scores to probabilities to one index."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.core.draws import LANES
from nsa_cli.core.kernel.jit import inlined
from nsa_cli.core.kernel.lanes import HIDDEN, accumulate, accumulate_allowed, find_lane

#: A `needs` that no room satisfies: of padding, and of what must not be chosen.
NEVER = np.int64(2**63 - 1)

#: A `needs` that any room satisfies.
ALWAYS = np.int64(-(2**63))

#: Below this the sum of weights has lost digits, and the largest *allowed* score is looked for.
_FAINT = 1e-15


class Network(NamedTuple):
    """The two layers that score the candidates of a slot, of P policies that share a batch.

    Attributes
    ----------
    first : float32[P, F, HIDDEN]
    bias : float32[P, HIDDEN]
    second : float32[P, HIDDEN]
    """

    first: Any
    bias: Any
    second: Any


class Mode(NamedTuple):
    """How a policy is asked.

    Attributes
    ----------
    greedy : bool
        Take the likeliest candidate instead of drawing one.
    weighed : bool
        Whether probabilities are wanted; where not, they are 0 (or -inf where there is no candidate), which
        saves logarithms.
    """

    greedy: Any
    weighed: Any


class Slots(NamedTuple):
    """Scratch space of one chain's choice.

    Attributes
    ----------
    sums : float32[blocks, HIDDEN, LANES]
        First-layer sums of all candidates, where a problem keeps them between steps.
    floor : float32[HIDDEN]
        Minus what all candidates have in common in the first layer.
    logits : float32[blocks * LANES]
    running : float32[blocks, LANES]
        Running sums of weights, see `lanes.accumulate`.
    """

    sums: Any
    floor: Any
    logits: Any
    running: Any


class Choice(NamedTuple):
    """A candidate; -1 if none is allowed. `log_probability` is that of choosing it."""

    index: Any
    log_probability: Any


def aligned(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    """Allocate zeros from the start of a cache line: a vector across two takes twice as long to load."""
    count, width = math.prod(shape), np.dtype(dtype).itemsize
    raw = np.zeros(count * width + 64, np.uint8)
    skip = -raw.ctypes.data % 64
    return raw[skip : skip + count * width].view(dtype).reshape(shape)


def never(size: int) -> Any:
    """Allocate int64 `needs` that no room satisfies."""
    needs = aligned((size,), np.int64)
    needs[:] = NEVER
    return needs


def blocks_of(size: int) -> int:
    """Blocks of lanes that hold `size` candidates."""
    return (size + LANES - 1) // LANES


def slot_space(size: int) -> Slots:
    """Allocate the scratch space of a slot of `size` candidates."""
    blocks = blocks_of(size)
    return Slots(
        aligned((blocks, HIDDEN, LANES)),
        aligned((HIDDEN,)),
        aligned((blocks * LANES,)),
        aligned((blocks, LANES)),
    )


@inlined
def pick(running: Any, total: float, u: float) -> int:
    """Invert the running sums: candidates are ordered lane after lane, as in `policy.sampling`.

    Parameters
    ----------
    running : float32[blocks, LANES]
    total : float32
        Sum of the last row.
    u : float
        In (0, 1).
    """
    blocks = running.shape[0]
    last = running[blocks - 1]
    lane, rest = find_lane(last, u * total)
    while last[lane] == 0.0 and lane > 0:  # rounding may lead past the last candidate
        lane -= 1
    rest = min(rest, last[lane] * (1.0 - 1e-7))
    block = 0  # the first whose running sum is larger is none before it, and one of `left`
    left = blocks
    while left > 1:
        half = left >> 1
        block += half * np.int64(running[block + half - 1, lane] <= rest)
        left -= half
    return block * LANES + lane


@inlined
def likeliest_of(logits: Any) -> int:
    """Index of the largest logit, the first among equals."""
    best = np.int64(0)
    for c in range(1, len(logits)):
        if logits[c] > logits[best]:
            best = np.int64(c)
    return best


@inlined
def choose(space: Slots, largest: float, u: float, mode: Any, given: int) -> Choice:
    """Choose among candidates whose logits are finite.

    Parameters
    ----------
    space : Slots
        With the logits.
    largest : float32
        No smaller than any logit.
    u : float
    mode : Mode
    given : int
        Take this one, if not negative: for its probability.
    """
    blocks = space.running.shape[0]
    total = accumulate(space.logits, largest, space.running, blocks)
    if total < _FAINT:
        largest = space.logits[likeliest_of(space.logits)]
        total = accumulate(space.logits, largest, space.running, blocks)
    if not total > 0.0:
        return Choice(np.int64(-1), -np.inf)
    if given >= 0:
        index = np.int64(given)
    elif mode.greedy:
        index = likeliest_of(space.logits)
    else:
        index = np.int64(pick(space.running, total, u))
    if not mode.weighed:
        return Choice(index, 0.0)
    return Choice(index, np.float64(space.logits[index] - largest) - math.log(total))


@inlined
def choose_allowed(
    space: Slots, largest: float, needs: Any, room: int, u: float, mode: Any, given: int
) -> Choice:
    """Choose among candidates c with ``needs[c] <= room``; else as `choose`."""
    blocks = space.running.shape[0]
    total = accumulate_allowed(space.logits, largest, needs, room, space.running, blocks)
    likeliest = -1
    if mode.greedy or total < _FAINT:
        for c in range(len(needs)):
            if needs[c] <= room and (likeliest < 0 or space.logits[c] > space.logits[likeliest]):
                likeliest = c
        if likeliest < 0:
            return Choice(np.int64(-1), -np.inf)
        largest = space.logits[likeliest]
        total = accumulate_allowed(space.logits, largest, needs, room, space.running, blocks)
    if given >= 0:
        index = np.int64(given)
    elif mode.greedy:
        index = np.int64(likeliest)
    else:
        index = np.int64(pick(space.running, total, u))
    if not mode.weighed:
        return Choice(index, 0.0)
    return Choice(index, np.float64(space.logits[index] - largest) - math.log(total))


@inlined
def choose_uniformly(needs: Any, room: int, u: float, given: int) -> Choice:
    """Choose any of the candidates c with ``needs[c] <= room``, all alike, in the order of their numbers."""
    count = 0
    for c in range(len(needs)):
        count += needs[c] <= room
    if count == 0:
        return Choice(np.int64(-1), -np.inf)
    index = np.int64(given)
    if given < 0:
        rank = np.int64(u * count)
        index = np.int64(0)
        for b in range(0, len(needs), LANES):
            inside = 0
            for c in range(b, b + LANES):
                inside += needs[c] <= room
            if rank < inside:
                index = np.int64(b)
                break
            rank -= inside
        while needs[index] > room or rank > 0:
            rank -= needs[index] <= room
            index += 1
    return Choice(index, -math.log(count))


@inlined
def choose_among(count: int, u: float, given: int) -> Choice:
    """Choose any of `count` candidates, all alike."""
    index = np.int64(given) if given >= 0 else np.int64(u * count)
    return Choice(index, -math.log(count))
