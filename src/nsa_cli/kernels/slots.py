"""Softmax choice in kernels: from scores of candidates to weights to one index."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.draws import LANES
from nsa_cli.kernels.jit import inlined
from nsa_cli.kernels.lanes import HIDDEN, accumulate, accumulate_allowed, find_lane, largest_of, score_sums

#: A `needs` that no room satisfies: of padding and of forbidden candidates.
NEVER = np.int64(2**63 - 1)

#: A `needs` that any room satisfies.
ALWAYS = np.int64(-(2**63))

#: Bytes of a cache line.
_LINE = 64

#: Ranges of changed blocks remembered at most; with more, all are scored again.
_RANGES = 24

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

    first: NDArray[np.float32]
    bias: NDArray[np.float32]
    second: NDArray[np.float32]


class Mode(NamedTuple):
    """Mode of a policy.

    Attributes
    ----------
    greedy : bool
        Take the likeliest candidate instead of drawing one.
    """

    greedy: bool


class Slots(NamedTuple):
    """Scratch space of one chain's choice.

    Attributes
    ----------
    sums : float32[blocks, HIDDEN, LANES]
        First-layer sums of all candidates, where a problem keeps them between steps.
    floor : float32[HIDDEN]
        Negated shared pre-activation: bias and features that all candidates have in common.
    logits : float32[blocks * LANES]
    running : float32[blocks, LANES]
        Running sums of weights, see `lanes.accumulate`.
    softmax : float32[2]
        Largest logit l*, and the sum of all weights exp(l - l*).
    known : float32[HIDDEN]
        The `floor` that `logits` are for, see `update_scores`; NaN for none.
    stale : int64[1 + 2 * R]
        Number of ranges of blocks whose sums have changed since, and the ranges.
    """

    sums: NDArray[np.float32]
    floor: NDArray[np.float32]
    logits: NDArray[np.float32]
    running: NDArray[np.float32]
    softmax: NDArray[np.float32]
    known: NDArray[np.float32]
    stale: NDArray[np.int64]


def aligned(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    """Allocate zeros in cache lines of their own.

    A vector across two lines takes twice as long to load, and threads that write to one line wait for each
    other.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 2 * _LINE, np.uint8)
    skip = -raw.ctypes.data % _LINE
    return raw[skip : skip + size].view(dtype).reshape(shape)


def never(size: int) -> Any:
    """Allocate int64 `needs` that no room satisfies."""
    needs = aligned((size,), np.int64)
    needs[:] = NEVER
    return needs


def blocks_of(size: int) -> int:
    """Number of blocks of lanes for `size` candidates."""
    return (size + LANES - 1) // LANES


def slot_space(size: int) -> Slots:
    """Allocate the scratch space of a slot of `size` candidates."""
    blocks = blocks_of(size)
    return Slots(
        aligned((blocks, HIDDEN, LANES)),
        aligned((HIDDEN,)),
        aligned((blocks * LANES,)),
        aligned((blocks, LANES)),
        aligned((2,)),
        aligned((HIDDEN,)),
        aligned((1 + 2 * _RANGES,), np.int64),
    )


@inlined
def pick(running: Any, total: float, u: float) -> int:
    """Invert the running sums: candidates are ordered lane after lane, as in `policy.slots.by_softmax`.

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
def forbid_from(logits: Any, begin: int) -> None:
    """Set the logits of the candidates from one on to -inf: of a last block's padding."""
    for c in range(begin, len(logits)):
        logits[c] = -np.inf


@inlined
def likeliest_of(logits: Any, needs: Any, room: int) -> np.int64:
    """Index of the largest logit among the candidates of `weigh`, the first of equals; -1 of none."""
    best = np.int64(-1)
    for c in range(len(logits)):
        if (needs is None or needs[c] <= room) and (best < 0 or logits[c] > logits[best]):
            best = np.int64(c)
    return best


@inlined
def mark_stale(space: Slots, begin: int, end: int) -> None:
    """Mark the scores of blocks ``begin <= block < end`` as out of date: their sums have changed."""
    count = space.stale[0]
    if count == _RANGES or end - begin == space.running.shape[0]:
        space.known[0] = np.nan
    else:
        space.stale[2 * count + 1], space.stale[2 * count + 2] = begin, end
        space.stale[0] = count + 1


@inlined
def update_scores(space: Slots, second: Any) -> Any:
    """Score the candidates whose scores have changed since the last step.

    A rejected move leaves all scores as they are, and an accepted one those of most candidates, as long as
    `floor` stays the same: the temperature that the policy sees, above all (`nsa_cli.anneal.schedule`).

    Parameters
    ----------
    space : Slots
        With `floor`, and `stale` as `mark_stale` has left it.
    second : float32[HIDDEN]
        The same as when the scores that are not stale were computed.

    Returns
    -------
    tuple of bool and float32
        Whether any score is new; if so, the largest score, padding included, to the last bit as if all were.
    """
    blocks, same = space.running.shape[0], True
    for h in range(HIDDEN):
        same &= space.floor[h] == space.known[h]
    count, largest = space.stale[0], np.float32(0.0)
    space.stale[0] = 0
    if same and count == 0:
        return False, largest
    for h in range(HIDDEN):
        space.known[h] = space.floor[h]
    for r in range(count + 1 if same else 1):
        begin, end = 0, blocks
        if r < count and same:
            begin, end = space.stale[2 * r + 1], space.stale[2 * r + 2]
        elif same:  # the last block, too: its padding may have been forbidden since
            begin = blocks - 1
        largest = score_sums(space.sums, space.floor, second, space.logits, begin, end)
    if same:
        largest = largest_of(space.logits, blocks)
    return True, largest


@inlined
def _accumulate(space: Slots, largest: float, needs: Any, room: int) -> np.float32:
    """Put running sums of softmax weights, and give their total."""
    blocks = space.running.shape[0]
    if needs is None:
        return accumulate(space.logits, largest, space.running, blocks)
    return accumulate_allowed(space.logits, largest, needs, room, space.running, blocks)


@inlined
def weigh(space: Slots, largest: float, needs: Any = None, room: int = 0) -> None:
    """Turn finite logits, none above `largest`, into running sums of softmax weights.

    Candidates are all, or with `needs` those c with ``needs[c] <= room``; the others weigh nothing.
    """
    total = _accumulate(space, largest, needs, room)
    if total < _FAINT:
        likeliest = likeliest_of(space.logits, needs, room)
        if likeliest >= 0:
            largest = space.logits[likeliest]
            total = _accumulate(space, largest, needs, room)
        else:
            total = np.float32(0.0)
    space.softmax[0], space.softmax[1] = largest, total


@inlined
def draw(space: Slots, u: float, mode: Any, needs: Any = None, room: int = 0) -> np.int64:
    """Draw a candidate after `weigh`, the likeliest one if the mode is greedy; -1 if none has a weight."""
    if not space.softmax[1] > 0.0:
        return np.int64(-1)
    if mode.greedy:
        return likeliest_of(space.logits, needs, room)
    return np.int64(pick(space.running, space.softmax[1], u))


@inlined
def choose(space: Slots, largest: float, u: float, mode: Any, needs: Any = None, room: int = 0) -> np.int64:
    """Choose a candidate: `weigh` and `draw`."""
    weigh(space, largest, needs, room)
    return draw(space, u, mode, needs, room)


@inlined
def choose_uniformly(needs: Any, room: int, u: float) -> np.int64:
    """Choose uniformly among candidates c with ``needs[c] <= room``, in the order of their numbers."""
    count = 0
    for c in range(len(needs)):
        count += needs[c] <= room
    if count == 0:
        return np.int64(-1)
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
    return index
