"""Items with weights and a capacity, shared by knapsacks and bin packing."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.errors import DataError
from nsa_cli.core.exact import ExactWeights, exact_weights
from nsa_cli.core.instance import (
    IdSet,
    Instance,
    Number,
    list_of,
    number_array,
    number_of,
)
from nsa_cli.core.neighbourhood import Budget, Neighbourhood, Trained
from nsa_cli.core.problem import Column, Problem
from nsa_cli.core.record import Record, Source, locator
from nsa_cli.core.words import listed
from nsa_cli.io.tokens import read_numbers

#: Items in all, at most.
_MOST_ITEMS = 1_000_000

#: The most steps of a chain, times items.
_LOOKS = 4_000_000_000

#: Columns beside the numbers of items: how often an item occurs, its name, and its id.
COPIES = Column(
    "copies",
    listed(
        "copies, copy, demand, demands, quantity, quantities, qty, count, counts, pieces, amount, amounts, "
        "multiplicity, multiplicities, anzahl, stück, quantité, cantidad"
    ),
)
NAMES = Column(
    "names",
    listed(
        "name, names, item, items, label, labels, item name, item names, title, product, article, "
        "object, part"
    ),
    text=True,
)
IDS = Column(
    "ids",
    listed(
        "id, ids, item id, item ids, no, nr, index, indices, key, code, i, #, item number, item no, sku, row"
    ),
    text=True,
)
COLUMNS = (COPIES, NAMES, IDS)
WEIGHTS = listed(
    "weight, weights, size, sizes, w, mass, volume, volumes, item weight, item weights, item size, "
    "item sizes, kilos, kilograms, kg, gewicht, poids, peso"
)
#: Words for the capacity.
CAPACITY = listed(
    "cap, capacities, max weight, weight limit, maximum weight, weight capacity, limit, budget, "
    "bin capacity, bin size, c, w"
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ItemInstance(Instance):
    """N items whose weights must respect a capacity; filling it exactly is allowed.

    Attributes
    ----------
    problem : str
        Name of the problem.
    lists : tuple of str
        Fields with a number an item.
    default_capacity : int or float, optional
        Where a record has none.
    weights : int64[N] or float64[N]
        Not negative.
    capacity : int or float
        Not negative.
    names : tuple of int or str, or None
        The file's own names of the items.
    ids : tuple of int or str, or None
        The file's ids beside names; a solution that is read may have either.
    """

    problem: ClassVar[str]
    lists: ClassVar[tuple[str, ...]]
    default_capacity: ClassVar[Number | None] = None

    weights: NDArray[Any]
    capacity: Number
    names: tuple[int | str, ...] | None = None
    ids: tuple[int | str, ...] | None = None

    def __post_init__(self) -> None:
        (first, size), *others = ((field, len(getattr(self, field))) for field in self.lists)
        for field, got in others:
            if got != size:
                raise DataError(f"{field}: expected {size} as there are {first}, got {got}", field)
        if size == 0:
            raise DataError("expected at least one item, got none", first)
        _ = self.items

    @classmethod
    def from_record(cls, data: Mapping[str, Any]) -> Self:
        """Build from the JSON form; ``copies`` says how often each item occurs.

        Raises
        ------
        DataError
            If a list or the capacity is missing, lists differ in length, or a number is negative, not finite
            or too heavy.
        """
        for key in cls.lists:
            if data.get(key) is None:
                raise DataError(f"{key} are missing; expected a list of numbers")
        capacity = number_of(data, "capacity", minimum=0)
        if capacity is None and (capacity := cls.default_capacity) is None:
            raise DataError("capacity is missing", use={"capacity": None})
        numbers: dict[str, Any] = {key: number_array(list_of(data, key), key, minimum=0) for key in cls.lists}
        count = len(next(iter(numbers.values())))
        rows = _rows_of_items(data, count)
        if len(set(map(len, numbers.values()))) == 1:
            numbers = {field: array[rows] for field, array in numbers.items()}
        if (ids := list_of(data, "ids")) is not None:
            _ = IdSet(ids, len(ids), "ids", "item")  # no two alike, or they would be something else
        labels: dict[str, Any] = {
            key: tuple(names[i] for i in rows) if len(names) == count else tuple(names)
            for key in ("names", "ids")
            if (names := list_of(data, key)) is not None
        }
        try:
            return cls(**cls.read_head(data), capacity=capacity, **labels, **numbers)
        except DataError as error:  # the data may have fewer rows
            index = None if error.index is None else int(rows[error.index])
            raise DataError(error.message, error.field, index, **error.hints) from None

    def record(self) -> dict[str, Any]:
        data: dict[str, Any] = {"problem": self.problem, **self.head(), "capacity": self.capacity}
        data |= {field: getattr(self, field).tolist() for field in self.lists}
        labels = {"names": self.names, "ids": self.ids}
        return data | {key: list(names) for key, names in labels.items() if names is not None}

    @property
    def size(self) -> int:
        return len(self.weights)

    @functools.cached_property
    def items(self) -> IdSet:
        """Names of the items, or their ids where there are no names."""
        if self.names is None and self.ids is not None:
            return IdSet(self.ids, self.size, "ids", "item", repeats=True)
        return IdSet(self.names, self.size, "names", "item", repeats=True, also=self.ids)

    @property
    def elements(self) -> IdSet:
        return self.items

    @functools.cached_property
    def exact(self) -> ExactWeights:
        """Weights and capacity as integers."""
        return exact_weights(self.weights, self.capacity)

    def facts(self) -> dict[str, Any]:
        return {"capacity": self.capacity}


def _rows_of_items(data: Mapping[str, Any], rows: int) -> NDArray[np.int64]:
    """Find the row of each item: as many items a row as ``copies`` says (demands in cutting stock), else 1.

    Raises
    ------
    DataError
        If the copies are not `rows` positive integers, or more than a million items in all.
    """
    copies = list_of(data, "copies")
    if copies is None:
        return np.arange(rows)
    if len(copies) != rows:
        raise DataError(f"copies: expected {rows} of them, got {len(copies)}", "copies")
    counts = number_array(copies, "copies")
    wrong = (counts < 1) | (counts != np.floor(counts))
    if wrong.any():
        i = int(wrong.argmax())
        message = f"copies, element {i + 1}: expected a positive integer, got {counts[i]}"
        raise DataError(message, "copies", i)
    many = np.cumsum(np.minimum(counts, _MOST_ITEMS + 1)) > _MOST_ITEMS
    if many.any():
        i = int(many.argmax())
        raise DataError(f"copies, element {i + 1}: more than {_MOST_ITEMS} items in all", "copies", i)
    return np.repeat(np.arange(rows), counts)


def read_lists(stem: str, sources: Mapping[str, Source], keys: Mapping[str, str]) -> Record:
    """Read a file set of J. Burkardt (Florida State University): a list of numbers a file.

    Parameters
    ----------
    stem : str
        Name of the instance.
    sources : mapping of str to Source
        By part; ``c`` holds the capacity.
    keys : mapping of str to str
        Key of the record by part, ``weights`` first.

    Raises
    ------
    InputError
        If there are several capacities, or lists differ in length.
    """
    (capacity, *more), at = read_numbers(sources["c"], "capacity")
    if more:
        raise sources["c"].error(f"expected one capacity, got {1 + len(more)}", at[-1])
    lists: dict[str, list[int | float]] = {}
    lines: dict[str, Sequence[int]] = {}
    for part, key in keys.items():
        lists[key], lines[key] = read_numbers(sources[part], key.removesuffix("s"))
        if (size := len(lists["weights"])) != (got := len(lists[key])):
            message = f"expected {size} {key} as {sources['w'].name} has weights, got {got}"
            raise sources[part].error(message, lines[key][-1])
    data = {"name": stem, "capacity": capacity, **lists}
    files = {key: sources[part] for part, key in keys.items()}
    return Record(data, sources["c"], locator({"capacity": at[0], **lines}), files)


ItemT = TypeVar("ItemT", bound=ItemInstance)


class ItemNeighbourhood(Neighbourhood[ItemT]):
    """Moves of items.

    Attributes
    ----------
    most_steps : int
        Of a learnt policy's chain; one of uniform proposals has twice as many.
    temperatures : tuple of float
        Of uniform proposals from greedy solutions.
    """

    most_steps: ClassVar[int]
    temperatures: ClassVar[tuple[float, float]]

    def budget(self, instance: ItemT, trained: Trained | None = None) -> Budget:
        """Choose some seconds of the kernel at most: a step may look at all items."""
        size, most, affordable = instance.size, self.most_steps, max(_LOOKS // instance.size, 1)
        if trained is not None:
            steps, chains = max(min(200 * size, most), 50_000), max(min(4_000 // size, 8), 1)
            return Budget(min(steps, affordable), trained.t_start, trained.t_end, chains)
        steps, chains = max(min(400 * size, 2 * most), 100_000), max(min(most // 25 // size, 16), 1)
        return Budget(min(steps, affordable), *self.temperatures, chains)


class ItemProblem(Problem[ItemT]):
    """Problem on items whose numbers the paper draws uniformly from [0, 1) (Appendix A).

    Attributes
    ----------
    instance_class : type
        Subclass of `ItemInstance`.
    paper_name : str
        Of the instances in the paper's test sets.
    """

    instance_class: type[ItemT]
    paper_name: ClassVar[str]
    settings = ("capacity", *Problem.settings)
    words = {"capacity": CAPACITY}
    paper_sizes = (50, 100, 200, 500, 1000, 2000)

    def paper_capacity(self, size: int) -> float:
        """Capacity of random instances of a size."""
        raise NotImplementedError

    def from_record(self, data: Mapping[str, Any]) -> ItemT:
        return self.instance_class.from_record(data)

    def generate(self, size: int, rng: np.random.Generator, name: str | None = None) -> ItemT:
        return self._made(name, [rng.random(size) for _ in self.instance_class.lists])

    def paper_set(self, size: int, count: int | None = None) -> Sequence[ItemT]:
        """1,000 instances from torch's generator with seed 0, one list after the other."""
        if size not in self.paper_sizes:
            return super().paper_set(size, count)
        generator = np.random.RandomState(0)  # torch's generator; of its 32 bits torch takes 24
        shape = (len(self.instance_class.lists), 1000, size)
        bits = generator.randint(2**32, size=shape, dtype=np.uint32)[:, :count] & (2**24 - 1)
        rows = zip(*(bits * 2.0**-24), strict=True)
        return [self._made(f"{self.paper_name}{size}-{i}", row) for i, row in enumerate(rows, start=1)]

    def _made(self, name: str | None, numbers: Sequence[NDArray[np.float64]]) -> ItemT:
        fields: dict[str, Any] = dict(zip(self.instance_class.lists, numbers, strict=True))
        return self.instance_class(name=name, capacity=self.paper_capacity(len(numbers[0])), **fields)
