"""Instances of a user's problem: named arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.errors import DataError, UsageError, shown
from nsa_cli.core.instance import Instance, Number, Solution
from nsa_cli.core.problem import Draws
from nsa_cli.user.calls import Data, call, mistake
from nsa_cli.user.model import Model
from nsa_cli.user.moves import LEVELS, AnyElement, Normal
from nsa_cli.user.solutions import count_of

#: Costs that are remembered.
_KNOWN = 100

#: Elements up to which functions are run in Python where a few calls are enough.
FEW = 100


@dataclass(eq=False, kw_only=True, frozen=True)
class UserInstance(Instance):
    """Named arrays of a user's problem.

    Attributes
    ----------
    model : Model
    data : Data
        int64 or float64 arrays under the problem's keys, not to be written to; and `scale`, 1.
    sampled : list of float
        The mean change of a random move, and the weight of a violation to begin with, once they are known.
    known : dict
        Costs of the last solutions, by their bytes: chains end alike, and a simulator takes its time.
    compiled : callable, optional
        Evaluates the cost of a solution by compiled code; None where that would have to wait.
    """

    model: Model
    data: Data
    sampled: list[float] = field(default_factory=list)
    known: dict[bytes, Number] = field(default_factory=dict)
    compiled: Callable[[Any, Solution], float | None] | None = None

    def __reduce__(self) -> Any:
        return _again, (self.model.home, self.record())

    @functools.cached_property
    def size(self) -> int:
        return self.count(self.model.kind.size, "solution")

    def count(self, count: Any, what: str) -> int:
        """Evaluate a number of elements or candidates.

        Raises
        ------
        UsageError
            If it is no whole number from 1 on; of a key's number, `DataError`.
        """
        named = f"{self.model.cls.__name__}: {what}"
        found = call({getattr(count, "__code__", None): named}, count_of, count, self.data)
        number = found.item() if isinstance(found, np.generic | np.ndarray) and np.ndim(found) == 0 else found
        if isinstance(number, int) and not isinstance(number, bool) and number >= 1:
            return number
        if callable(count):
            raise mistake(count, named, "a whole number from 1 on", shown(number))
        if isinstance(count, str):
            message = f"{count}: expected a list or a whole number from 1 on, got {shown(number)}"
            raise DataError(message, count)
        raise UsageError(f"{self.model.spec}: {what}: expected a whole number from 1 on, got {shown(number)}")

    @functools.cached_property
    def counts(self) -> NDArray[np.int64]:
        """Candidates of each choice in a row; see `Model.choices`."""
        model = self.model
        counts = [len(model.moves)] if model.several else []
        for m in model.moves:
            for choice in m.choices:
                if isinstance(choice, AnyElement):
                    counts.append(self.size)
                elif isinstance(choice, Normal):
                    counts.append(LEVELS)
                else:
                    counts.append(self.count(choice, f"moves: {m.move.name}"))
        return np.array(counts, dtype=np.int64)

    def given(self) -> Data:
        """Give the data as a user's functions get them, with work arrays of this call's own."""
        work = zip(self.model.scratch, self.model.work(self.room), strict=True)
        return Data(**vars(self.data), **dict(work))

    @functools.cached_property
    def room(self) -> tuple[int, ...]:
        """Elements of each work array."""
        return tuple(self.count(count, name) for name, (count, _) in self.model.scratch.items())

    def misfit(self) -> str | None:
        """Tell why the data have no solution of the problem's kind."""
        for name, count in self.model.kind.counts.items():
            if count is not None:
                self.count(count, f"solution: {name}")
        return self.model.kind.misfit(self.size, self.data)

    def start(self, draws: Draws) -> Solution:
        """Make a first solution: by the user's function, or a random one.

        Raises
        ------
        MistakeError
            If it is no solution of the problem's kind.
        """
        model = self.model
        make = model.function("start")
        if make is None:
            return model.kind.start(self.size, self.data, draws)
        found = model.call(make, self.given(), draws)
        try:
            return self._read(found)
        except TypeError:
            raise model.mistake(make, f"an array of {self.size} numbers", found) from None
        except ValueError as error:
            raise model.mistake(make, "a solution", f"one of which {error}") from None

    def _read(self, written: Any) -> Solution:
        """Make a solution of what was written.

        Raises
        ------
        TypeError
            If it is something else.
        ValueError
            If it is a wrong one; says why.
        """
        try:
            x = self.model.kind.read(written)
        except (ValueError, TypeError, IndexError, OverflowError):  # lists of unequal lengths
            x = np.empty((), dtype=object)
        if x.ndim != 1 or x.dtype.kind not in "biuf":
            raise TypeError
        if (why := self.fault(x)) is not None:
            raise ValueError(why)
        return x.astype(self.model.kind.dtype)

    @functools.cached_property
    def typical(self) -> Solution:
        """A start, for the shape and the type that solutions have."""
        return self.start(lambda n: np.full(n, 0.5))

    def objective(self, solution: Solution) -> Number:
        cost = self.cost(solution)
        value = cost if self.model.cls.sense == "min" else -cost
        return int(value) if self._is_whole and value == int(value) else value

    def cost(self, solution: Solution) -> Number:
        """Evaluate the user's cost: in Python, of many elements by compiled code where there is some.

        Raises
        ------
        MistakeError
            If it fails, or is no finite number.
        """
        key = np.asarray(solution).tobytes()
        if key not in self.known:
            if len(self.known) == _KNOWN:
                self.known.clear()
            self.known[key] = self._evaluated(solution)
        return self.known[key]

    def _evaluated(self, solution: Solution) -> Number:
        function, found = self.model.functions["cost"], None
        if self.size > FEW and self.compiled is not None:
            found = self.compiled(self, solution)
        if found is None:
            found = self.model.call(function, self.given(), solution)
        number: Number = self.model.number(found, function)
        return number

    def bound(self) -> Number | None:
        """Bound of the objective by the user's function; None without one.

        Raises
        ------
        MistakeError
            If it fails, or gives something else.
        """
        function = self.model.function("bound")
        if function is None or (found := self.model.call(function, self.given())) is None:
            return None
        value: Number = self.model.number(found, function, "a number or None")
        return value

    @functools.cached_property
    def _is_whole(self) -> bool:
        return all(np.asarray(getattr(self.data, key)).dtype.kind == "i" for key in self.model.keys)

    @property
    def may_be_infeasible(self) -> bool:
        return any(self.model.function(name) for name in ("check", "violation"))

    def breach(self, solution: Solution) -> Number:
        """Evaluate the user's violation: 0 where no rule is broken, or there is none."""
        function = self.model.function("violation")
        if function is None:
            return 0
        value: Number = self.model.number(self.model.call(function, self.given(), solution), function)
        if value < 0:
            raise self.model.mistake(function, "a number >= 0", f"{value}")
        return value

    def violation(self, solution: Solution) -> str | None:
        if (why := self.fault(solution)) is not None:
            return why
        if (value := self.breach(solution)) > 0:
            return f"the violation is {value:.15g}, expected 0"
        check = self.model.function("check")
        if check is None:
            return None
        why = self.model.call(check, self.given(), solution)
        if why is not None and not isinstance(why, str):
            raise self.model.mistake(check, "None, or a text that says why not", why)
        return why

    def fault(self, solution: Solution) -> str | None:
        x, kind = np.asarray(solution), self.model.kind
        if x.shape != ((length := kind.length(self.size, self.data)),):
            return f"expected {length} numbers, got {x.size}"
        if kind.dtype is not np.float64 and x.dtype.kind == "f" and not (x == np.floor(x)).all():
            return "expected whole numbers"
        if kind.dtype is np.bool_ and not np.isin(x, (0, 1)).all():
            return "expected 0 or 1 for each element"
        return kind.why_not(self.data, x.astype(kind.dtype))

    def record(self) -> dict[str, Any]:
        lists = {key: np.asarray(getattr(self.data, key)).tolist() for key in self.model.keys}
        return {"problem": self.model.name, **self.head(), **lists}

    def to_ids(self, solution: Solution) -> list[Any]:
        return self.model.kind.written(solution)

    def from_ids(self, ids: Sequence[Any]) -> Solution:
        try:
            return self._read(ids)
        except TypeError:
            like = shown(self.to_ids(self.typical))
            raise DataError(f"expected a solution like {like}, got {shown(ids)}") from None
        except ValueError as error:
            raise DataError(str(error)) from None

    def table(self, solution: Solution) -> tuple[list[str], list[list[Any]]]:
        rows = list(enumerate(self.to_ids(solution), start=1))
        if isinstance(rows[0][1], list):
            return ["route", "customer"], [[v, c] for v, customers in rows for c in customers]
        return ["element", "value"], [[i, x] for i, x in rows]


def _again(home: tuple[Callable[..., Any], tuple[str]], record: dict[str, Any]) -> Any:
    """Make an instance in another process."""
    make, arguments = home
    return make(*arguments).from_record(record)
