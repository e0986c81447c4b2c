"""Annealing of own problems: batches and chains as kernels have them, and the hooks of a step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels import hooks, slots
from nsa_cli.kernels.draws import at_step
from nsa_cli.kernels.hooks import Uniform
from nsa_cli.kernels.jit import inlined, kernel, variant
from nsa_cli.user.kernels.rules import BROKEN, KNOWN, LATER, NOW, THEN, Rules, kind_of_move


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
    room : tuple of int
        Elements of each work array.
    surplus : float64[B, 8]
        Of violations, see `nsa_cli.user.kernels.rules.WEIGHT`.
    rules : Rules
    """

    data: Any
    which: NDArray[np.int64]
    scale: NDArray[np.float64]
    counts: NDArray[np.int64]
    kinds: int
    room: tuple[int, ...]
    surplus: NDArray[np.float64]
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
    scratch : tuple of array
        Work arrays, see `nsa_cli.user.problem.UserProblem`.
    numbers : float64[5]
        See `nsa_cli.user.kernels.rules.NOW`.
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
    scratch: tuple[NDArray[Any], ...]
    numbers: NDArray[np.float64]
    weighed: NDArray[np.int64]
    needs: NDArray[np.int64]
    seen: NDArray[np.float32]
    shifts: tuple[np.int64, ...]
    slot: slots.Slots


@inlined
def data_of(batch: UserArrays, row: int, scratch: Any) -> Any:
    """Give the data of a chain's instance as a user's functions get them."""
    return batch.rules.row(batch.data, batch.which[row], scratch)


@variant(hooks.load, batch=UserArrays)
def _load(batch: Any, policy: Any, work: Any, row: int, member: int, x: Any) -> None:
    for i in range(len(x)):
        work.x[i] = x[i]
    work.numbers[KNOWN] = 0.0
    work.weighed[0] = -1


@variant(hooks.propose, batch=UserArrays, policy=Uniform)
def _propose_uniformly(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any
) -> Any:
    data, counts = data_of(batch, row, work.scratch), batch.counts[batch.which[row]]
    kind = kind_of_move(batch.kinds, at)
    code = batch.rules.propose(kind, data, work.x, counts, at)
    return (code, kind), code >= 0


@variant(hooks.propose, batch=UserArrays, policy=Learnt)
def _propose_learnt(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any
) -> Any:
    data, counts = data_of(batch, row, work.scratch), batch.counts[batch.which[row]]
    kind = kind_of_move(batch.kinds, at)
    code = batch.rules.propose_learnt(kind, data, work.x, counts, temperature, policy, member, work, at)
    return (code, kind), code >= 0


@variant(hooks.energy, batch=UserArrays)
def _energy(batch: Any, work: Any, row: int) -> float:
    return batch.rules.energy(data_of(batch, row, work.scratch), work.x, batch.surplus[row])


@variant(hooks.delta, batch=UserArrays)
def _delta(batch: Any, work: Any, row: int, action: Any) -> float:
    data = data_of(batch, row, work.scratch)
    change = batch.rules.delta(action[1], data, work.x, action[0], work)
    return change - batch.rules.eased(data, work, batch.surplus[row])


@variant(hooks.apply, batch=UserArrays)
def _apply(batch: Any, policy: Any, work: Any, row: int, member: int, action: Any) -> None:
    batch.rules.apply(action[1], data_of(batch, row, work.scratch), work.x, action[0])
    known = work.weighed[0] == action[0] and work.weighed[1] == action[1]
    if known:
        work.numbers[NOW], work.numbers[BROKEN] = work.numbers[THEN], work.numbers[LATER]
    work.numbers[KNOWN] = 1.0 if known else 0.0
    work.weighed[0] = -1


@variant(hooks.store, batch=UserArrays)
def _store(batch: Any, work: Any, x: Any, best: bool) -> None:
    for i in range(len(x)):
        x[i] = work.x[i]


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
        data, counts = data_of(batch, row, work.scratch), batch.counts[batch.which[row]]
        work.numbers[KNOWN] = 0.0
        sums[row, 0] = batch.rules.cost(data, x[row])
        for k in range(changes.shape[1]):
            at = at_step(keys[row], k)
            kind = kind_of_move(batch.kinds, at)
            code = batch.rules.propose(kind, data, x[row], counts, at)
            if code >= 0:
                changes[row, k] = batch.rules.delta(kind, data, x[row], code, work)
                sums[row, 0] += changes[row, k]
                batch.rules.apply(kind, data, x[row], code)
                work.numbers[KNOWN] = 0.0
        sums[row, 1] = batch.rules.cost(data, x[row])
