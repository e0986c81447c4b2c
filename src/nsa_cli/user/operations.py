"""Reference operations of a user's problem: its functions in plain Python, solution by solution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nsa_cli.core.errors import UsageError
from nsa_cli.core.operations import Action, DiscreteOperations, FeatureSet, Slot
from nsa_cli.kernels import slots
from nsa_cli.user.fused import arrays_of
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.kernels.annealing import UserArrays, look
from nsa_cli.user.kernels.rules import CHOICE_BITS
from nsa_cli.user.model import Model, MoveModel
from nsa_cli.user.scalar import PlainMove, Scalars

#: Candidates of all rows from which on compiled code looks at them.
_MANY = 2_000


class UserBatch:
    """Instances of one shape, one a row.

    Attributes
    ----------
    rows : list of Scalars
    scale : float64[B]
    arrays : nsa_cli.user.kernels.annealing.UserArrays
        The same for kernels.
    """

    def __init__(self, rows: list[Scalars], scale: Tensor, arrays: UserArrays) -> None:
        self.rows, self.scale, self.arrays = rows, scale, arrays

    def select(self, rows: Tensor) -> UserBatch:
        """Make a batch of some rows; see `nsa_cli.core.operations.select`."""
        which, some = self.arrays.which[rows.cpu().numpy()], self.scale[rows]
        arrays = self.arrays._replace(which=which, scale=some.cpu().numpy())
        return UserBatch([self.rows[row] for row in rows.tolist()], some, arrays)


class UserOperations(DiscreteOperations[UserInstance, UserBatch]):
    """Operations that call a user's functions; choices are those of all types of moves in a row.

    Of several types the first choice is that of the type; the choices of other types have one candidate, 0.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self.model, self.chooses_type = model, model.several
        slots = tuple(map(Slot, model.choice_names, model.widths))
        self.feature_sets = {"paper": FeatureSet(slots, self._features)}

    def pack(
        self, instances: Sequence[UserInstance], device: torch.device | str = "cpu", unit: float | None = None
    ) -> UserBatch:
        arrays = arrays_of(self.model, instances, unit)
        scale = arrays.scale
        made = {(id(i), s): Scalars(i, s) for i, s in zip(instances, scale.tolist(), strict=True)}
        rows = [made[id(i), s] for i, s in zip(instances, scale.tolist(), strict=True)]
        return UserBatch(rows, torch.from_numpy(scale.copy()).to(device), arrays)

    def cost(self, batch: UserBatch, x: Tensor) -> Tensor:
        pairs = zip(batch.rows, x.cpu().numpy(), strict=True)
        return _numbers([s.cost(row) for s, row in pairs], x)

    def delta(self, batch: UserBatch, x: Tensor, action: Action) -> Tensor:
        def one(s: Scalars, x: Any, move: PlainMove) -> float:
            return s.delta(x.copy(), move)

        return _numbers(self._each(batch, x, action, one), x)

    def apply(self, batch: UserBatch, x: Tensor, action: Action) -> Tensor:
        def one(s: Scalars, x: Any, move: PlainMove) -> Any:
            moved = x.copy()
            s.apply(moved, move)
            return moved

        return torch.from_numpy(np.stack(self._each(batch, x, action, one))).to(x.device)

    def reverse(self, batch: UserBatch, x: Tensor, action: Action) -> Action:
        def one(s: Scalars, x: Any, move: PlainMove) -> list[int]:
            return self._row_of(s.reverse(x, move))

        found = torch.tensor(self._each(batch, x, action, one), device=x.device)
        return tuple(found.unbind(1))

    def from_kernel(self, pairs: Tensor) -> Action:
        moves = [self._unpacked(code, kind) for code, kind in pairs.tolist()]
        return tuple(torch.tensor([self._row_of(move) for move in moves], device=pairs.device).unbind(1))

    def _unpacked(self, code: int, kind: int) -> PlainMove:
        """Take a code of `nsa_cli.user.kernels.rules` apart; 0 where there is no move."""
        mask, count = (1 << CHOICE_BITS) - 1, len(self.model.moves[max(kind, 0)].choices)
        code = max(code, 0)
        return PlainMove(max(kind, 0), tuple(code >> k * CHOICE_BITS & mask for k in range(count)))

    def candidates(self, batch: UserBatch, chosen: Action) -> Tensor:
        counts = [
            1 if (m := self._made_by(chosen, row)) is None else s.count(*m)
            for row, s in enumerate(batch.rows)
        ]
        if self.model.several and not chosen:
            counts = [len(self.model.moves)] * len(batch.rows)
        return torch.tensor(counts, device=batch.scale.device)

    def allowed(self, batch: UserBatch, x: Tensor, chosen: Action) -> Tensor:
        counts = self.candidates(batch, chosen).cpu()
        found = torch.arange(int(counts.max()))[None] < counts[:, None]
        if found.numel() > _MANY and self.model.learns and (self.model.several <= len(chosen)):
            needs, _ = self._looked(batch, x, chosen, torch.zeros(len(x)), found.shape[1])
            return (found & (torch.from_numpy(needs == slots.ALWAYS))).to(x.device)
        for row, (s, solution) in enumerate(zip(batch.rows, x.cpu().numpy(), strict=True)):
            if (m := self._made_by(chosen, row)) is not None and m[0].allowed:
                before = self._before(m[0], chosen, row)
                for c in range(int(counts[row])):
                    found[row, c] = s.is_allowed(solution, m[0], before, c)
        return found.to(x.device)

    def _features(self, batch: UserBatch, x: Tensor, chosen: Action, temperature: Tensor) -> Tensor:
        if not self.model.learns:
            raise UsageError(f"{self.model.spec}: has no features, which a policy sees")
        allowed, heats = self.allowed(batch, x, chosen).cpu(), temperature.expand(len(x)).tolist()
        if allowed.numel() > _MANY:
            _, seen = self._looked(batch, x, chosen, temperature.expand(len(x)), allowed.shape[1])
            return torch.from_numpy(seen.swapaxes(1, 2).copy()).to(x.device)
        found = np.zeros((*allowed.shape, self.model.widths[len(chosen)]), np.float32)
        for row, (s, solution) in enumerate(zip(batch.rows, x.cpu().numpy(), strict=True)):
            if (m := self._made_by(chosen, row)) is not None:
                before = self._before(m[0], chosen, row)
                for c in allowed[row].nonzero()[:, 0].tolist():
                    found[row, c] = s.features(solution, m[0], before, c, heats[row])
        return torch.from_numpy(found).to(x.device)

    def _looked(
        self, batch: UserBatch, x: Tensor, chosen: Action, heats: Tensor, width: int
    ) -> tuple[Any, Any]:
        """Look at all candidates by compiled code: int64[B, width], float32[B, F, width]."""
        place, rows = len(chosen), len(x)
        (m,) = [m for m in self.model.moves if m.first <= place < m.first + len(m.choices)]
        codes = np.zeros(rows, np.int64)
        for k, index in enumerate(chosen[m.first :]):
            codes |= index.cpu().numpy() << k * CHOICE_BITS
        kind = self.model.moves.index(m)
        others = chosen[0].cpu().numpy() != kind if self.model.several else np.zeros(rows, np.bool_)
        codes[others] = -1
        needs = np.full((rows, width), slots.NEVER)
        needs[others, 0] = slots.ALWAYS
        seen = np.zeros((rows, len(self.model.cls.feature_names), width), np.float32)
        temperatures = heats.double().cpu().numpy().copy()
        solutions = np.ascontiguousarray(x.cpu().numpy())
        scratch = np.zeros(batch.arrays.room)
        look(
            batch.arrays,
            scratch,
            solutions,
            temperatures,
            place - int(self.model.several),
            codes,
            seen,
            needs,
        )
        return needs, seen

    def _made_by(self, chosen: Action, row: int) -> tuple[MoveModel, int] | None:
        """Give the type of moves that the next choice of a row belongs to, and which choice of it that is."""
        place, kind = len(chosen), int(chosen[0][row]) if self.model.several and chosen else 0
        m = self.model.moves[kind]
        inside = m.first <= place < m.first + len(m.choices)
        return (m, place - m.first) if inside else None

    def _before(self, m: MoveModel, chosen: Action, row: int) -> tuple[int, ...]:
        return tuple(int(index[row]) for index in chosen[m.first :])

    def _each(
        self, batch: UserBatch, x: Tensor, action: Action, work: Callable[[Scalars, Any, PlainMove], Any]
    ) -> list[Any]:
        rows = torch.stack(action, 1).tolist()
        return [
            work(s, solution, self._move_of(row))
            for s, solution, row in zip(batch.rows, x.cpu().numpy(), rows, strict=True)
        ]

    def _move_of(self, row: Sequence[int]) -> PlainMove:
        kind = row[0] if self.model.several else 0
        m = self.model.moves[kind]
        return PlainMove(kind, tuple(row[m.first : m.first + len(m.choices)]))

    def _row_of(self, move: PlainMove) -> list[int]:
        m, row = self.model.moves[move.kind], [0] * self.model.choices
        row[0] = move.kind
        row[m.first : m.first + len(move.chosen)] = move.chosen
        return row


def _numbers(found: list[float], x: Tensor) -> Tensor:
    return torch.tensor(found, dtype=torch.float64, device=x.device)
