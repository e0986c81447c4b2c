"""Instances: data, exact objective and feasibility, in the file's own units.

Every reported objective is computed here; the chains' running energies are never reported.
"""

from __future__ import annotations

import functools
import math
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nsa_cli.core.errors import DataError, shown, visible
from nsa_cli.core.exact import Exact, whole
from nsa_cli.core.words import readable

#: One solution: a row of a batch, on the CPU.
Solution: TypeAlias = NDArray[Any]

Number: TypeAlias = int | float

#: Largest size of a number in a list: squares and sums of smaller ones stay finite.
LARGEST = 1e150


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Instance(ABC):
    """An instance; problems add their data.

    Attributes
    ----------
    name : str or None
    best_known : int, float or None
        Best known objective, where the file or the user gives one.
    """

    name: str | None = None
    best_known: Number | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, size={self.size})"

    @property
    @abstractmethod
    def size(self) -> int:
        """N: cities, items, dimensions."""

    @abstractmethod
    def objective(self, solution: Solution) -> Number:
        """Evaluate a feasible solution exactly, in the problem's own sense and units; a float rounds once."""

    def exact_objective(self, solution: Solution) -> Exact:
        """Evaluate a feasible solution as `objective` does, without rounding."""
        return self.objective(solution)

    @abstractmethod
    def violation(self, solution: Solution) -> str | None:
        """Describe the first violated constraint; None if the solution is feasible."""

    def breach(self, solution: Solution) -> Number:
        """Tell by how much a solution breaks constraints, as far as that is known: 0 if it does not."""
        return 0

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """Give the instance in its JSON form, from which an equal instance can be made."""

    @abstractmethod
    def to_ids(self, solution: Solution) -> list[Any]:
        """Write a solution with the file's own ids, as the result's `solution` key has it."""

    @abstractmethod
    def from_ids(self, ids: Sequence[Any]) -> Solution:
        """Read a solution written by `to_ids`.

        Raises
        ------
        DataError
            If an id is unknown, missing or repeated; the message names it.
        """

    def to_array(self, solution: Solution) -> NDArray[Any]:
        """Write a solution in terms of arrays: numbers, or positions of elements from 0."""
        return solution

    def from_array(self, values: ArrayLike) -> Solution:
        """Read a solution written by `to_array`.

        Raises
        ------
        DataError
            If it is none, or not feasible.
        """
        return self.checked(number_row(values, "solution", axes=None))

    def fault(self, solution: Solution) -> str | None:
        """Describe why a solution can be neither a start nor an answer; None if it can.

        By default what makes it infeasible. Where a penalty may keep searches from breaking a constraint,
        solutions that break it are both.
        """
        return self.violation(solution)

    def checked(self, solution: Solution) -> Solution:
        """Give a solution back if it can be a start.

        Raises
        ------
        DataError
            If it cannot.
        """
        if (why := self.fault(solution)) is not None:
            raise DataError(f"solution: is not feasible: {why}", "solution")
        return solution

    @abstractmethod
    def table(self, solution: Solution) -> tuple[list[str], list[list[Any]]]:
        """Lay a solution out as a table: column names and rows, for CSV."""

    def inward(self, solution: Solution) -> Solution:
        """Turn a solution of the user's instance into one of this, which `Problem.searched` gave for it."""
        return solution

    def outward(self, solution: Solution) -> Solution:
        """Turn a solution of this instance into one of the user's."""
        return solution

    def canonical(self, solution: Solution) -> Solution:
        """Give the form in which a solution is written, where several arrays mean the same one."""
        return solution

    @property
    def may_be_infeasible(self) -> bool:
        """Whether there may be no feasible solution, or searches may miss them."""
        return False

    @property
    def elements(self) -> IdSet | None:
        """Ids of what a solution is made of; None where that is numbers."""
        return None

    def facts(self) -> dict[str, Any]:
        """Give extra keys for every result, such as the distance convention or the capacity."""
        return {}

    def details(self, _solution: Solution) -> dict[str, Any]:
        """Give extra keys for the result of a solution, such as the weight packed."""
        return self.facts()

    def told(self, facts: Mapping[str, Any]) -> dict[str, str]:
        """Give facts, or details, as a person reads them."""
        return {key: readable(value) for key, value in facts.items()}

    @property
    def unit(self) -> str:
        """Unit of the objective; empty where it is not known."""
        return ""

    def remarks(self) -> list[str]:
        """List warnings about the data, one line each."""
        return []

    @staticmethod
    def read_head(data: Mapping[str, Any]) -> dict[str, Any]:
        """Take the fields of every instance from a record; raises DataError if one is of the wrong type."""
        return {"name": text_of(data, "name"), "best_known": number_of(data, "best_known")}

    def head(self) -> dict[str, Any]:
        """Give the keys that every record may have."""
        pairs = {"name": self.name, "best_known": self.best_known}
        return {key: value for key, value in pairs.items() if value is not None}


def number_array(data: Any, field: str, *, minimum: float | None = None, width: int = 1) -> NDArray[Any]:
    """Convert a list of numbers to an array without loss.

    Parameters
    ----------
    data : sequence of numbers
    field : str
        Name of the data, for messages.
    minimum : float, optional
        Smallest value allowed.
    width : int
        How many numbers in a row are one element, for messages.

    Returns
    -------
    int64[N] if all are whole and fit, 4.0 as 4, else float64[N]

    Raises
    ------
    DataError
        If `data` is no list, or an element is not a finite number, below `minimum`, or an integer that
        float64 would round.
    """
    if isinstance(data, np.ndarray):
        data = data.tolist()
    if not isinstance(data, list | tuple):
        raise DataError(f"{field}: expected a list of numbers, got {shown(data)}", field)
    if (array := _plain_array(data, minimum)) is not None:
        return array
    numbers = [
        check_number(x, field, i // width, minimum=minimum, largest=LARGEST) for i, x in enumerate(data)
    ]
    integers = [whole(x) if isinstance(x, float) else x for x in numbers]
    if all(isinstance(x, int) for x in integers):
        return np.array(integers, dtype=np.int64)
    for i, x in enumerate(numbers):
        if isinstance(x, int) and int(float(x)) != x:
            place = f"{field}, element {i // width + 1}"
            message = f"{place}: {x} has too many digits beside decimals; give integers, or fewer digits"
            raise DataError(message, field, i // width)
    return np.array(numbers, dtype=np.float64)


def number_row(values: ArrayLike, field: str, axes: int | None = 1) -> NDArray[Any]:
    """Make an array of numbers or truth values, with one axis or as many as `axes` says; None: any.

    Raises
    ------
    DataError
        If `values` are something else.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # lists of unequal lengths
        array = np.empty((), dtype=object)
    if (axes is not None and array.ndim != axes) or (array.dtype.kind not in "biuf" and array.size):
        raise DataError(f"{field}: expected an array of numbers, got {shown(values)}", field)
    return array


def positions(values: ArrayLike, field: str, size: int) -> NDArray[np.int64]:
    """Make an array of positions of elements from 0, each below `size`.

    Raises
    ------
    DataError
        If one is something else; names the first.
    """
    array = number_row(values, field)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    right = (array >= 0) & (array < size) & (array == np.floor(array)) if array.dtype.kind in "iuf" else False
    if not np.all(right):
        place = int(np.argmin(right)) if np.ndim(right) else 0
        message = (
            f"{field}, element {place + 1}: expected a position from 0 to {size - 1}, got {array[place]}"
        )
        raise DataError(message, field, place)
    return array.astype(np.int64)


def _plain_array(data: Sequence[Any], minimum: float | None) -> NDArray[Any] | None:
    """Convert lists of integers and floats at once; None if elements must be checked one by one."""
    kinds = set(map(type, data))
    if not kinds or not kinds <= {int, float}:
        return None
    try:
        array = np.array(data, dtype=np.int64 if kinds == {int} else np.float64)
    except OverflowError:
        return None
    low, high = array.min(), array.max()  # NaN is neither below nor above, and fails the comparison
    if not (low >= -LARGEST and high <= LARGEST and (minimum is None or low >= minimum)):
        return None
    if float in kinds:
        if int in kinds and max(high, -low) >= 2**53:
            return None  # perhaps an integer that a float would round
        # A few tell as a rule, so that all need not be looked at.
        are_whole = all(isinstance(whole(x), int) for x in data[:8]) and max(high, -low) <= 2**53
        integers = array.astype(np.int64) if are_whole else array
        return integers if are_whole and np.array_equal(integers, array) else array
    return array if low > -(2**63) else None


def check_number(
    x: Any,
    field: str,
    index: int | None = None,
    *,
    minimum: float | None = None,
    largest: float | None = None,
) -> Number:
    """Check one number: int in 64 bits or finite float, at least `minimum`, at most `largest` in size.

    Raises
    ------
    DataError
        Otherwise; the message counts elements from 1.
    """
    place = field if index is None else f"{field}, element {index + 1}"
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, bool) or not isinstance(x, int | float):
        raise DataError(f"{place}: expected a number, got {shown(x)}", field, index)
    if isinstance(x, float) and not np.isfinite(x):
        raise DataError(f"{place}: expected a finite number, got {x}", field, index)
    if isinstance(x, int) and abs(x) >= 2**63:
        raise DataError(f"{place}: expected an integer of at most 64 bits, got {shown(x)}", field, index)
    if minimum is not None and x < minimum:
        raise DataError(f"{place}: expected a number >= {minimum:g}, got {x}", field, index)
    if largest is not None and abs(x) > largest:
        raise DataError(f"{place}: expected a number of at most {largest:g} in size, got {x}", field, index)
    return x


def text_of(data: Mapping[str, Any], key: str) -> str | None:
    """Take an optional text from a record, without what steers a terminal; a number is its digits.

    Raises
    ------
    DataError
        If it is neither.
    """
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise DataError(f"{key}: expected a text, got {shown(value)}", key)


def list_of(data: Mapping[str, Any], key: str) -> list[Any] | None:
    """Take an optional list from a record.

    Raises
    ------
    DataError
        If it is something else.
    """
    value = data.get(key)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, list):
        return value
    if isinstance(value, tuple):
        return list(value)
    raise DataError(f"{key}: expected a list, got {shown(value)}", key)


def number_of(
    data: Mapping[str, Any], key: str, *, minimum: float | None = None, largest: float | None = None
) -> Number | None:
    """Take an optional number from a record.

    Raises
    ------
    DataError
        If it is something else, below `minimum`, or larger than `largest` in size.
    """
    value = data.get(key)
    if value is None:
        return None
    number = check_number(value, key, minimum=minimum, largest=largest)
    return whole(number) if isinstance(number, float) else number


class IdSet:
    """The ids of an instance's elements: the file's own names, or 1, 2, … where it gives none.

    Parameters
    ----------
    names : sequence of int or str, or None
    size : int
        Number of elements.
    field : str
        The key that holds the names, for messages.
    what : str
        Word for an element in messages (``city``, ``item``).
    repeats : bool
        Whether names may repeat, as the boxes of a packing list do; the second ``box`` is then called
        ``box (2)``.
    also : sequence of int or str, optional
        Further ids, by which elements can be found, too, where they name one element only.

    Raises
    ------
    DataError
        If the names are not `size` distinct integers or strings.

    Attributes
    ----------
    ids : sequence of int or str
        As solutions are written: names are without what steers a terminal, see `visible`.
    """

    def __init__(
        self,
        names: Sequence[Any] | None,
        size: int,
        field: str,
        what: str,
        *,
        repeats: bool = False,
        also: Sequence[Any] | None = None,
    ) -> None:
        self.what = what
        self.also: dict[int | str, int] = {}
        if also is not None:
            self.also = IdSet(also, size, "ids", what, repeats=repeats).index
        self.ids: Sequence[Any] = range(1, size + 1)
        if names is not None:
            self.ids, self.index = self._read(list(names), size, field, repeats=repeats)

    def _read(
        self, ids: list[Any], size: int, field: str, *, repeats: bool
    ) -> tuple[list[Any], dict[int | str, int]]:
        """Check names, and tell them apart; with the position of each."""
        if len(ids) != size:
            raise DataError(f"{field}: expected {size} of them, got {len(ids)}", field)
        what, index = self.what, dict[int | str, int]()
        free: defaultdict[int | str, Iterator[int]] = defaultdict(lambda: count(2))
        for i, x in enumerate(ids):
            if isinstance(x, float) and math.isfinite(x):
                x = ids[i] = whole(x)  # as other programs write integers
            if isinstance(x, bool) or not isinstance(x, int | str):
                raise DataError(
                    f"{field}, element {i + 1}: expected an integer or a string, got {shown(x)}", field, i
                )
            if isinstance(x, str):
                x = ids[i] = visible(x)
            if x in index:
                if not repeats:
                    raise DataError(f"{field}, element {i + 1}: {what} {shown(x)} occurs twice", field, i)
                # The first of ``name (2)``, ``name (3)``, … that is free, from the last one tried on.
                x = ids[i] = next(s for k in free[x] if (s := f"{x} ({k})") not in index)
            index[x] = i
        return ids, index

    @functools.cached_property
    def index(self) -> dict[int | str, int]:
        """Positions of the ids."""
        return dict(zip(self.ids, range(len(self.ids)), strict=True))

    def named(self, positions: NDArray[np.integer[Any]]) -> list[Any]:
        """Give the ids at positions int[M]."""
        if isinstance(self.ids, range):
            return (positions + 1).tolist()
        return [self.ids[i] for i in positions.tolist()]

    @property
    def summary(self) -> str:
        """The ids in a few words."""
        ids = self.ids
        first = ids[0]
        if isinstance(first, int) and list(ids) == list(range(first, first + len(ids))):
            return f"{ids[0]} to {ids[-1]}"
        return ", ".join(map(str, ids[:3])) + (f", … {ids[-1]}" if len(ids) > 3 else "")

    def find(self, ids: Sequence[Any]) -> list[int]:
        """Find the positions of ids; each may occur once.

        Raises
        ------
        DataError
            Naming the first id that is unknown or repeated.
        """
        if set(map(type, ids)) == {int} and set(self.index) >= (given := set(ids)) and len(given) == len(ids):
            return [self.index[x] for x in ids]
        positions: list[int] = []
        seen: set[int] = set()
        for x in ids:
            i = self._position(x)
            if i is None:
                raise DataError(
                    f"there is no {self.what} {shown(x)} in the instance, which has {self.summary}"
                )
            if i in seen:
                raise DataError(f"{self.what} {shown(x)} occurs twice in the solution")
            seen.add(i)
            positions.append(i)
        return positions

    def find_all(self, ids: Sequence[Any], absent: str) -> list[int]:
        """Find the positions of ids, in which every element occurs once.

        Raises
        ------
        DataError
            Naming the first id that is unknown or repeated, or an element without one, which is `absent`.
        """
        positions = self.find(ids)
        if len(positions) < len(self.ids):
            missing = min(set(range(len(self.ids))) - set(positions))
            raise DataError(f"{self.what} {shown(self.ids[missing])} {absent}")
        return positions

    def __contains__(self, x: Any) -> bool:
        return self._position(x) is not None

    def _position(self, x: Any) -> int | None:
        """Position of an id; JSON keeps 3 and "3" apart, a table or a command line does not."""
        if isinstance(x, bool) or not isinstance(x, int | float | str):
            return None
        forms: list[int | str] = []
        if isinstance(x, float):
            forms.append(str(x))  # 1.0 may be a name
            x = whole(x) if math.isfinite(x) else x
        elif isinstance(x, str):
            x = visible(x)
        forms += [] if isinstance(x, float) else [x]
        forms.append(int(x) if isinstance(x, str) and re.fullmatch(r"-?[0-9]{1,40}", x) else str(x))
        found = (index[form] for index in (self.index, self.also) for form in forms if form in index)
        return next(found, None)
