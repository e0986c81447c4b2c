"""What a tour must be beside short: open, from and to given cities, of directed edges, through fixed edges.

`Route` keeps what the user says, in positions of the file, and is what answers are checked against. How such
tours are searched for is another matter (`nsa_cli.problems.tsp.closed`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.instance import IdSet, Solution

#: An edge between two cities, or from one to the other.
Edge = tuple[int, int]

#: The most cities, or ends of directed edges: a search has a matrix of the lengths between them.
MOST_ENDS = 5_000

#: How yes and no are written where there are texts only.
_WRITTEN = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Route:
    """Requirements on a tour; by default it is closed, and its edges have no direction.

    Attributes
    ----------
    open : bool
        Whether it is a path that does not return to its beginning (a Hamiltonian path).
    first, last : int, optional
        The cities where the path begins and ends.
    fixed : tuple of pairs of int
        The edges that must be in it, each once; from the first city to the second where `directed`.
    directed : bool
        Whether the length of an edge, or whether it is fixed, depends on its direction.
    start : int, optional
        The city that a closed tour is written from, if not the first of the file. No requirement: every
        closed tour can be.
    """

    open: bool = False
    first: int | None = None
    last: int | None = None
    fixed: tuple[Edge, ...] = ()
    directed: bool = False
    start: int | None = field(default=None, compare=False)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is required."""
        return self == FREE

    @property
    def ends(self) -> tuple[int, ...]:
        """The ends of the path that are given."""
        return tuple(end for end in (self.first, self.last) if end is not None)

    def steps(self, tour: Solution) -> tuple[NDArray[Any], NDArray[Any]]:
        """Give the cities that edges of a tour int64[N] lead from and to, int64[N] or of a path [N - 1]."""
        following = np.roll(tour, -1)
        return (tour[:-1], following[:-1]) if self.open else (tour, following)

    def canonical(self, tour: Solution) -> Solution:
        """Write a tour int64[N] as all that are equal to it are written.

        A closed one begins at `start`, else at the first city of the file, and goes on to the one of its
        neighbours that comes first in the file. A path whose ends are not given begins at the end that comes
        first. Where edges have a direction, it stays.
        """
        if not self.open:
            begin = int(np.flatnonzero(tour == (self.start or 0))[0])
            tour = np.roll(tour, -begin)
            turned = not self.directed and len(tour) > 2 and tour[1] > tour[-1]
            return np.roll(tour[::-1], 1) if turned else tour
        return tour[::-1] if not (self.directed or self.ends) and tour[0] > tour[-1] else tour

    def violation(self, tour: Solution, cities: IdSet) -> str | None:
        """Describe the first end that is another, or fixed edge that is missing; None if there is none."""
        for word, wanted, there in (("begins", self.first, tour[0]), ("ends", self.last, tour[-1])):
            if wanted is not None and wanted != there:
                names = (shown(cities.ids[city]) for city in (there, wanted))
                return "the path {} in city {}, expected {}".format(word, *names)
        made = set(zip(*(ends.tolist() for ends in self.steps(tour)), strict=True))
        for a, b in self.fixed:
            if (a, b) not in made and (self.directed or (b, a) not in made):
                joined = "from city {} to city {}" if self.directed else "between city {} and city {}"
                names = (shown(cities.ids[city]) for city in (a, b))
                return f"the fixed edge {joined.format(*names)} is not in the tour"
        return None

    def record(self, cities: IdSet) -> dict[str, Any]:
        """Give the keys of the JSON form from which the same route is read."""
        keys: dict[str, Any] = {"open": True} if self.open else {}
        keys |= {} if self.first is None else {"from": cities.ids[self.first]}
        keys |= {} if self.last is None else {"to": cities.ids[self.last]}
        keys |= {} if self.start is None else {"depot": cities.ids[self.start]}
        keys |= {"asymmetric": True} if self.directed else {}
        fixed = [[cities.ids[a], cities.ids[b]] for a, b in self.fixed]
        return keys | ({"fixed_edges": fixed} if fixed else {})

    def paths(self, cities: IdSet) -> list[tuple[int, ...]]:
        """Join the fixed edges to the paths that every tour must contain.

        Raises
        ------
        DataError
            If no tour contains them all; names the cities.
        """
        size, most = len(cities.ids), 1 if self.directed else 2
        beyond: defaultdict[int, list[int]] = defaultdict(list)  # of directed edges the end alone
        before: defaultdict[int, list[int]] = defaultdict(list) if self.directed else beyond
        whole = list(range(size))  # a forest that tells paths apart

        def fail(why: str, at: int) -> NoReturn:
            message = f"fixed_edges{why} the edge of {_named(cities, self.fixed[at])}"
            raise DataError(message, "fixed_edges", at)

        for at, (a, b) in enumerate(self.fixed):
            beyond[a].append(b)
            before[b].append(a)
            if full := [city for city, there in ((a, beyond), (b, before)) if len(there[city]) > most]:
                edges = "one that leads to it and one that leads from it" if self.directed else "two"
                fail(f": city {shown(cities.ids[full[0]])} has more than {edges}; a tour has no room for", at)
            if (root := _root(whole, a)) != _root(whole, b):
                whole[root] = _root(whole, b)
            elif self.open or len(self.fixed) < size or at + 1 < len(self.fixed):
                cycle = [city for city in range(size) if _root(whole, city) == root]
                cities_of_it = f"{len(cycle)} of the {size} cities, among them {_named(cities, cycle[:3])}"
                fail(f" close a tour of {cities_of_it}; leave out", at)
        heads = [a for a in beyond if (a not in before if self.directed else len(beyond[a]) == 1)]
        found: dict[int, tuple[int, ...]] = {}  # by their last cities
        for head in heads or [a for a, _ in self.fixed[:1]]:
            if head not in found:
                path = _followed(head, beyond)
                found[path[-1]] = path
        self._check_ends([*found.values()], cities)
        return [*found.values()]

    def _check_ends(self, paths: Sequence[tuple[int, ...]], cities: IdSet) -> None:
        """Check that the path can begin and end where it must."""
        for key, end, side in (("from", self.first, 0), ("to", self.last, -1)):
            for path in paths:
                inner = path[1:] if side == 0 else path[:-1]
                if end in (inner if self.directed else path[1:-1]):
                    message = f"{key}: fixed edges lead past city {shown(cities.ids[end or 0])}"
                    raise DataError(f"{message}, which is to be an end of the path", key)
        for path in paths:
            if len(self.ends) == 2 and set(self.ends) <= set(path) and len(path) < len(cities.ids):
                message = f"fixed_edges lead from {_named(cities, self.ends)} past the other cities"
                raise DataError(message, "fixed_edges")

    def joined(self, tour: Solution, paths: Sequence[tuple[int, ...]]) -> Solution:
        """Bring the cities of each fixed path together where a tour int64[N] first comes to one of them."""
        order = tour.tolist()
        following = dict(zip(order, [*order[1:], order[0]], strict=True))
        member = {city: path for path in paths for city in path}

        def whole(city: int) -> tuple[int, ...]:
            path = member.get(city, (city,))
            first, second = path[0], path[min(1, len(path) - 1)]
            forth = following[first] == second
            back = not forth and (following[second] == first or city == path[-1])
            if self.first in path or self.last in path:
                back = self.first == path[-1] or (self.last == path[0] and self.first != path[0])
            return path[::-1] if back and not self.directed else path

        head = () if self.first is None else whole(self.first)
        tail = () if self.last is None or self.last in head else whole(self.last)
        made, seen = [*head], {*head, *tail}
        for city in order:
            if city not in seen:
                made += (path := whole(city))
                seen.update(path)
        return np.array([*made, *tail], dtype=np.int64)


#: A closed tour of which nothing is required.
FREE = Route()


def _root(whole: list[int], city: int) -> int:
    while whole[city] != city:
        whole[city] = whole[whole[city]]
        city = whole[city]
    return city


def _followed(head: int, beyond: Mapping[int, list[int]]) -> tuple[int, ...]:
    """Go along fixed edges from a city, up to one without a further edge, or all around."""
    path, before, here = [head], -1, head
    while onwards := [x for x in beyond.get(here, ()) if x != before]:
        if onwards[0] == head:
            break
        before, here = here, onwards[0]
        path.append(here)
    return tuple(path)


def _named(cities: IdSet, some: Sequence[int]) -> str:
    return " and ".join(shown(cities.ids[city]) for city in some)


# --- reading -----------------------------------------------------------------------------------------


def is_symmetric(data: Mapping[str, Any]) -> bool | None:
    """Take from a record whether lengths are the same in both directions; None where it does not say."""
    return _either(data, "symmetric", "asymmetric")


def read_route(data: Mapping[str, Any], cities: IdSet, *, directed: bool) -> Route:
    """Take a route from a record.

    Parameters
    ----------
    data : mapping
    cities : IdSet
    directed : bool
        Whether lengths depend on the direction.

    Raises
    ------
    DataError
        If a city is unknown, or requirements contradict each other.
    """
    is_open = _either(data, "open", "closed")
    given = {key: _city(data, key, cities) for key in ("from", "to") if data.get(key) is not None}
    if is_open is False and given:
        key = next(iter(given))
        raise DataError(f"{key}: a closed tour has no ends; leave it out, or give open: true", key)
    start = None if data.get("depot") is None else _depot(data["depot"], cities)
    if (is_open or given) and start is not None:
        if given.setdefault("from", start) != start:
            raise DataError("depot and from name two cities; expected one where the path begins", "depot")
        start = None
    first, last = given.get("from"), given.get("to")
    if first is not None and first == last and len(cities.ids) > 1:
        message = f"from and to are both city {shown(cities.ids[first])}; expected two ends, or a closed tour"
        raise DataError(message, "to")
    fixed = _fixed(data, cities)
    directed = directed or (bool(fixed) and is_symmetric(data) is False)
    found = {edge if directed else tuple(sorted(edge)): None for edge in fixed}
    return Route(
        bool(is_open or given), first, last, tuple((a, b) for a, b in found), directed, start or None
    )


def _depot(city: Any, cities: IdSet) -> int:
    """Find the depot; 0 is the first city where none is called so: programs count from 0."""
    if isinstance(city, list | tuple) and len(city) == 1:
        city = city[0]
    if isinstance(city, list | tuple | dict):
        raise DataError(f"depot: expected one city, got {shown(city)}; several are not supported", "depot")
    if str(city) == "0" and 0 not in cities:
        return 0
    return _found(city, "depot", "depot", cities)


def _fixed(data: Mapping[str, Any], cities: IdSet) -> list[Edge]:
    pairs = data.get("fixed_edges")
    if isinstance(pairs, str):  # a line above a table
        with suppress(ValueError, RecursionError):
            pairs = json.loads(pairs)
    if pairs is None:
        return []
    pairs = pairs.tolist() if isinstance(pairs, np.ndarray) else pairs
    if not isinstance(pairs, list | tuple):
        raise DataError(f"fixed_edges: expected pairs of cities, got {shown(pairs)}", "fixed_edges")
    edges = []
    for at, pair in enumerate(pairs):
        place = f"fixed_edges, element {at + 1}"
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise DataError(f"{place}: expected two cities, got {shown(pair)}", "fixed_edges", at)
        a, b = (_found(city, place, "fixed_edges", cities, at) for city in pair)
        if a == b:
            raise DataError(f"{place}: expected two cities, got {shown(pair[0])} twice", "fixed_edges", at)
        edges.append((a, b))
    return edges


def _city(data: Mapping[str, Any], key: str, cities: IdSet) -> int:
    return _found(data[key], key, key, cities)


def _found(city: Any, place: str, key: str, cities: IdSet, at: int | None = None) -> int:
    try:
        return cities.find([city])[0]
    except DataError as error:
        raise DataError(f"{place}: {error.message}", key, at) from None


def _either(data: Mapping[str, Any], yes: str, no: str) -> bool | None:
    """Take one of two keys that say the same the other way round; None if there is neither."""
    found = {key: _flag(data, key) for key in (yes, no) if data.get(key) is not None}
    if len(found) == 2 and found[yes] == found[no]:
        raise DataError(f"{yes} and {no} are both {str(found[yes]).lower()}; expected one of them", no)
    return found[yes] if yes in found else not found[no] if no in found else None


def _flag(data: Mapping[str, Any], key: str) -> bool:
    value = data[key]
    written = str(value).strip().lower()
    if isinstance(value, bool | int | float | str) and (written := written.removesuffix(".0")) in _WRITTEN:
        return _WRITTEN[written]
    raise DataError(f"{key}: expected true or false, got {shown(value)}", key)
