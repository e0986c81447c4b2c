"""A TSP instance: cities with a metric, or a matrix of edge lengths."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, zip_longest
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.exact import Exact, ExactNumbers, binary_total, exact_numbers, rounded
from nsa_cli.core.instance import (
    IdSet,
    Instance,
    Number,
    Solution,
    list_of,
    number_array,
    number_of,
    positions,
    text_of,
)
from nsa_cli.problems.tsp import distances
from nsa_cli.problems.tsp.distances import MEASURES, METRICS, Metric, find_metric, measured_matrix, prepare
from nsa_cli.problems.tsp.matrix import flattened, read_matrix
from nsa_cli.problems.tsp.route import FREE, MOST_ENDS, Route, is_symmetric, read_route

#: The type of coordinates that come without one: real Euclidean lengths.
REAL = "EXACT_2D"

#: What measures of whole coordinates are in TSPLIB, but for the number of axes.
_ROUNDED = {"MANHATTAN": "MAN", "CHEBYSHEV": "MAX"}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TspInstance(Instance):
    """Cities to be visited once each and a way to measure the edges between them.

    A solution is the tour, int64[N]: positions in the file in the order of the visit.

    Attributes
    ----------
    edge_weight_type : str
        TSPLIB's name of the metric, or ``EXPLICIT``.
    coords : int64 or float64 [N, axes], or None
        As in the file.
    matrix : int64 or float64 [N, N], or None
        Zero diagonal; for ``EXPLICIT``. Symmetric unless the route is directed: then from row to column.
    ids : tuple of int or str, or None
        The file's own ids of the cities, no two alike.
    names : tuple of int or str, or None
        The file's names of the cities, which an answer has instead of ids.
    comment : str or None
    display : int64 or float64 [N, 2], or None
        Where to draw the cities of a matrix; never part of a length.
    absent : bool[N, N], or None
        Edges of a matrix that are not there; it has a large number in their places, see
        `nsa_cli.problems.tsp.matrix`.
    no_edge : int, float, str or None
        The number that stands for such an edge in the file, or ``none``, where the file or the user says so.
    notes : tuple of str
        Warnings about the file's matrix.
    measure : str or None
        Of a matrix that was computed, its key in `MEASURES`.
    places : int64 or float64 [N, axes], or None
        What such a matrix was computed from, as in the file; of another one latitude and longitude, for maps.
    route : Route
        What is required of a tour.
    """

    edge_weight_type: str = REAL
    coords: NDArray[Any] | None = None
    matrix: NDArray[Any] | None = None
    ids: tuple[int | str, ...] | None = None
    names: tuple[int | str, ...] | None = None
    comment: str | None = None
    display: NDArray[Any] | None = None
    absent: NDArray[np.bool_] | None = None
    no_edge: Number | str | None = None
    notes: tuple[str, ...] = ()
    measure: str | None = None
    places: NDArray[Any] | None = None
    route: Route = FREE

    def __post_init__(self) -> None:
        if (self.coords is None) == (self.matrix is None):
            got = "neither" if self.coords is None else "both"
            raise DataError(f"expected either coords or matrix, got {got}")
        if (self.edge_weight_type == "EXPLICIT") != (self.matrix is not None):
            got = "coords" if self.matrix is None else "a matrix"
            message = f"edge_weight_type: {self.edge_weight_type} does not go with {got}"
            raise DataError(message, "edge_weight_type")
        if self.size == 0:
            raise DataError("expected at least one city, got none", "coords")
        if self.display is not None and len(self.display) != self.size:
            raise DataError(f"display: expected {self.size} places, got {len(self.display)}", "display")
        _ = self.fixed_paths  # a wrong list of ids or edges is an error of the instance, not of its first use
        if not self.route.is_plain:
            self._check_route()

    def _check_route(self) -> None:
        what, most = "open paths and fixed edges", MOST_ENDS
        if self.route.directed:
            what, most = "lengths that depend on the direction", MOST_ENDS // 2
        if self.size > most:
            raise DataError(f"{what} are for {most} cities at most, got {self.size}; solve parts of it")
        for at, (a, b) in enumerate(self.route.fixed):
            if self.absent is not None and self.absent[a, b]:
                names = " and ".join(shown(self.cities.ids[city]) for city in (a, b))
                message = f"fixed_edges: between {names} there is no edge in the matrix"
                raise DataError(message, "fixed_edges", at)

    @classmethod
    def from_record(cls, data: Mapping[str, Any]) -> TspInstance:
        """Build from the JSON form: ``coords`` (or ``x``, ``y``, ``z``, or ``lat``, ``lon``) or ``matrix``.

        Raises
        ------
        DataError
            If rows are ragged, numbers are not finite, the matrix is not square, or no tour can obey.
        """
        made = cls._without_route(data)
        directed = made.matrix is not None and not _is_mirrored(made.matrix, made.absent)
        route = read_route(data, made.cities, directed=directed)
        if is_symmetric(data) is False and made.metric is not None:
            key = "asymmetric" if "asymmetric" in data else "symmetric"
            message = f"{key}: coordinates measure the same in both directions; give a matrix"
            raise DataError(message, key)
        return made if route.is_plain and route.start is None else replace(made, route=route)

    @classmethod
    def _without_route(cls, data: Mapping[str, Any]) -> TspInstance:
        square, display = list_of(data, "matrix"), list_of(data, "display")
        rows, field = _given_coords(data)
        lengths_apart = square is not None and field == "lat" and data.get("edge_weight_type") is None
        kind = "EXPLICIT" if lengths_apart else _kind(data, rows, field)
        labels = {key: tuple(names) for key in ("ids", "names") if (names := list_of(data, key)) is not None}
        fields: dict[str, Any] = {
            **cls.read_head(data),
            **labels,
            "comment": comment if isinstance(comment := data.get("comment"), str) else None,
            "display": None if display is None else _rows(display, "display", 2),
            "no_edge": (no_edge := _no_edge(data)),
        }
        if square is not None:
            lengths = read_matrix(square, no_edge, is_symmetric(data))
            fields |= {"matrix": lengths.lengths, "absent": lengths.absent, "notes": lengths.notes}
        if rows is None:
            return cls(edge_weight_type=kind, **fields)
        coords = _rows(rows, "coords", METRICS[kind].axes if kind in METRICS else max(_axes(rows), 2))
        if lengths_apart:
            return cls(edge_weight_type=kind, **{**fields, "places": coords, "display": coords[:, ::-1]})
        if kind not in MEASURES:
            return cls(edge_weight_type=kind, coords=coords, **fields)
        if square is not None:
            raise DataError("expected either coords or matrix, got both")
        whole = f"{_ROUNDED.get(kind)}_{coords.shape[1]}D"
        if coords.dtype == np.int64 and whole in METRICS:  # no rounding, and no matrix
            return cls(edge_weight_type=whole, coords=coords, **fields)
        places = coords[:, 1::-1] if MEASURES[kind].on_globe else coords[:, :2]
        fields |= {"matrix": measured_matrix(kind, coords), "display": places}
        return cls(edge_weight_type="EXPLICIT", measure=kind, places=coords, **fields)

    def record(self) -> dict[str, Any]:
        kind = None if self.edge_weight_type in (REAL, "EXPLICIT") else self.edge_weight_type
        matrix: NDArray[Any] | None = self.matrix
        if matrix is not None and self.absent is not None:
            matrix = matrix.astype(object)
            matrix[self.absent] = None
        arrays: dict[str, Any] = {"coords": self.coords, "matrix": matrix, "display": self.display}
        if self.measure is not None:
            kind, arrays = self.measure, {"coords": self.places}
        elif self.places is not None:
            arrays = {"matrix": matrix, "lat": self.places[:, 0], "lon": self.places[:, 1]}
        labels = {"ids": self.ids, "names": self.names}
        data: dict[str, Any] = {"comment": self.comment, "edge_weight_type": kind, "no_edge": self.no_edge}
        data |= {key: None if names is None else list(names) for key, names in labels.items()}
        data |= {key: None if array is None else array.tolist() for key, array in arrays.items()}
        given = {key: value for key, value in data.items() if value is not None}
        return {"problem": "tsp", **self.head(), **given, **self.route.record(self.cities)}

    @property
    def size(self) -> int:
        data = self.matrix if self.coords is None else self.coords
        assert data is not None
        return len(data)

    @property
    def metric(self) -> Metric | None:
        """The metric; None for a matrix."""
        return METRICS.get(self.edge_weight_type)

    @functools.cached_property
    def cities(self) -> IdSet:
        """Names of the cities, or their ids where there are no names."""
        if self.names is None:
            return IdSet(self.ids, self.size, "ids", "city")
        return IdSet(self.names, self.size, "names", "city", repeats=True, also=self.ids)

    @functools.cached_property
    def fixed_paths(self) -> list[tuple[int, ...]]:
        """Paths of fixed edges, which every tour contains."""
        return self.route.paths(self.cities)

    @property
    def elements(self) -> IdSet:
        return self.cities

    @property
    def numbers(self) -> list[int]:
        """Whole numbers of the cities for TSPLIB: their ids where these are such, else from 1 on."""
        ids = [x for x in self.ids or () if isinstance(x, int) and x >= 0]
        return ids if len(ids) == self.size else list(range(1, self.size + 1))

    @functools.cached_property
    def measured(self) -> NDArray[np.float64]:
        """Coordinates as the metric takes them, float64[N, axes]."""
        assert self.coords is not None
        return prepare(self.edge_weight_type, self.coords)

    @functools.cached_property
    def points(self) -> NDArray[np.float64]:
        """Points whose Euclidean distances order neighbours as the metric does, or nearly; float64[N, axes].

        GEO: in space, on the unit sphere.
        """
        if self.edge_weight_type != "GEO":
            return self.measured
        latitude, longitude = self.measured.T
        flat = np.cos(latitude)
        return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=1)

    @property
    def degrees(self) -> NDArray[np.float64] | None:
        """Latitude and longitude of the cities in decimal degrees, float64[N, 2]; None without them."""
        if self.edge_weight_type == "GEO":
            return self.measured * (180 / 3.141592)  # TSPLIB's value of pi
        if self.places is None or (self.measure is not None and not MEASURES[self.measure].on_globe):
            return None
        return self.places.astype(np.float64)

    @functools.cached_property
    def diagonal(self) -> float:
        """Length of the diagonal of the box around the cities, than which no edge is longer."""
        assert self.metric is not None
        with np.errstate(over="ignore"):
            return float(self.metric.lengths(self.measured.min(axis=0), self.measured.max(axis=0)))

    @property
    def has_finite_lengths(self) -> bool:
        """Whether no edge overflows float64, as those between coordinates of 1e200 do."""
        return self.metric is None or math.isfinite(self.diagonal)

    def edges(self, i: NDArray[np.integer[Any]], j: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """Lengths of the edges between cities `i` and `j` (positions in the file), elementwise."""
        if self.matrix is not None:
            return np.asarray(self.matrix[i, j])
        assert self.metric is not None
        return np.asarray(self.metric.lengths(self.measured[i], self.measured[j]))

    @functools.cached_property
    def exact_matrix(self) -> ExactNumbers:
        """The matrix as integers, [N, N]."""
        assert self.matrix is not None
        return exact_numbers(self.matrix)

    def exact_edges(self, i: NDArray[np.integer[Any]], j: NDArray[np.integer[Any]]) -> ExactNumbers:
        """Lengths of edges as integers: of a matrix those of the file, else float64, each rounded once."""
        if self.matrix is not None:
            return replace(self.exact_matrix, units=self.exact_matrix.units[i, j])
        found = exact_numbers(self.edges(i, j), decimal=False)
        return replace(found, whole=self.metric is not None and self.metric.rounded)

    def objective(self, solution: Solution) -> Number:
        return rounded(self.exact_objective(solution))

    def exact_objective(self, solution: Solution) -> Exact:
        if self.size == 1:
            return 0
        ends = self.route.steps(solution)
        if self.metric is None:
            return self.exact_edges(*ends).total()
        total = binary_total(self.edges(*ends))
        return int(total) if self.metric.rounded else total

    def violation(self, solution: Solution) -> str | None:
        if solution.shape != (self.size,):
            return f"the tour has {len(solution)} cities, expected {self.size}"
        counts = np.bincount(solution.clip(0, self.size - 1), minlength=self.size)
        if (missing := np.flatnonzero(counts == 0)).size:
            return f"city {shown(self.cities.ids[missing[0]])} is not in the tour"
        if self.absent is not None:
            ends = self.route.steps(solution)
            for place in np.flatnonzero(self.absent[ends])[:1]:
                a, b = (shown(self.cities.ids[cities[place]]) for cities in ends)
                return f"the tour goes from city {a} to city {b}, between which there is no edge"
        return None if self.route.is_plain else self.route.violation(solution, self.cities)

    @property
    def may_be_infeasible(self) -> bool:
        return self.absent is not None or not self.route.is_plain

    def canonical(self, solution: Solution) -> Solution:
        return self.route.canonical(solution)

    def to_ids(self, solution: Solution) -> list[Any]:
        return self.cities.named(solution)

    def from_ids(self, ids: Sequence[Any]) -> Solution:
        return np.array(self.cities.find_all(ids, "is not in the tour"), dtype=np.int64)

    def from_array(self, values: ArrayLike) -> Solution:
        return self.checked(positions(values, "solution", self.size))

    def table(self, solution: Solution) -> tuple[list[str], list[list[Any]]]:
        legs = ExactNumbers(np.zeros(1 - self.route.open, dtype=np.int64), whole=True)
        if self.size > 1:
            legs = self.exact_edges(*self.route.steps(solution))
        units: list[int] = legs.units.tolist()
        columns = [units, accumulate(units, initial=0)]
        lengths, so_far = ([x if legs.whole else x / legs.denominator for x in column] for column in columns)
        rows = zip_longest(range(1, self.size + 1), self.to_ids(solution), lengths, so_far[: self.size])
        return ["position", "id", "length_to_next", "length_so_far"], [list(row) for row in rows]

    def facts(self) -> dict[str, Any]:
        label = "EXPLICIT" if self.metric is None else self.metric.label
        label = label if self.measure is None else MEASURES[self.measure].label
        fixed = {"fixed_edges": len(self.route.fixed)} if self.route.fixed else {}
        return {"distance": label, **self.route.record(self.cities), **fixed}

    def told(self, facts: Mapping[str, Any]) -> dict[str, str]:
        kind = self.measure or self.edge_weight_type
        distance = distances.WORDS[kind.partition("_")[0]] + (f", in {self.unit}" if self.unit else "")
        return super().told(facts) | {"distance": distance}

    @property
    def unit(self) -> str:
        return distances.UNITS.get(self.measure or self.edge_weight_type, "")

    def remarks(self) -> list[str]:
        if self.route.directed and self.route.fixed:
            note = "fixed_edges lead from their first city to the second, as lengths have a direction"
            return [*self.notes, note]
        if self.edge_weight_type == "GEO" and (why := self._not_in_minutes()):
            return [why]
        if self.size == 1 or self.metric is None or not self.metric.rounded or self.diagonal:
            return list(self.notes)
        why = f"{self.edge_weight_type} rounds every edge to 0: these coordinates are too small for it"
        return [f"{why}; use {REAL} or JSON coords for real lengths"]

    def _not_in_minutes(self) -> str | None:
        """Question decimals that cannot be the minutes of GEO."""
        assert self.coords is not None
        flat = self.coords.ravel()
        minutes = np.round(abs(flat - np.trunc(flat)) * 100, 9)
        if not (bad := np.flatnonzero(minutes >= 60)).size:
            return None
        got = f"{flat[bad[0]]:g} would have {minutes[bad[0]]:g} minutes"
        instead = "of decimal degrees HAVERSINE_KM gives the great circle"
        return f"GEO means degrees and minutes, DDD.MM, but {got}; {instead}"


#: Keys of coordinates by axes, and the types that they may have where that is not any.
_BY_AXES = (("x", "y", "z"), ("lat", "lon"))


def _given_coords(data: Mapping[str, Any]) -> tuple[list[Any] | None, str]:
    """Take coordinates from whichever keys have them, with the first of these keys.

    Raises
    ------
    DataError
        If one of x and y, or of lat and lon, is missing, or several keys have coordinates.
    """
    found = [("coords", rows)] if (rows := list_of(data, "coords")) else []
    for keys in _BY_AXES:
        lists = {key: values for key in keys if (values := list_of(data, key)) is not None}
        if not lists:
            continue
        if (lacking := next((key for key in keys[:2] if key not in lists), None)) is not None:
            first = next(iter(lists))
            raise DataError(f"{lacking} is missing beside {first}; expected a list of numbers", first)
        found.append((keys[0], _paired(lists)))
    if len(found) > 1:
        got = " and ".join(key for key, _ in found)
        raise DataError(f"expected coordinates once, got {got}", found[1][0])
    return (found[0][1], found[0][0]) if found else (None, "coords")


def _paired(lists: Mapping[str, list[Any]]) -> list[Any]:
    (first, values), *others = lists.items()
    for key, more in others:
        if len(more) != len(values):
            raise DataError(f"{key}: expected {len(values)} numbers as in {first}, got {len(more)}", key)
    for key, numbers in lists.items():
        number_array(numbers, key)
    return list(map(list, zip(*lists.values(), strict=True)))


def _axes(rows: list[Any]) -> int:
    return len(rows[0]) if rows and isinstance(rows[0], list | tuple) else 0


def _kind(data: Mapping[str, Any], rows: list[Any] | None, field: str) -> str:
    """Find the type of the edges: what the data say, or what they are without a word.

    Raises
    ------
    DataError
        If it does not go with the coordinates, or these could be something else.
    """
    if (text := text_of(data, "edge_weight_type")) is not None:
        kind = find_metric(text, 0 if rows is None else _axes(rows))
        on_globe = kind == "GEO" or (kind in MEASURES and MEASURES[kind].on_globe)
        if (field == "lat" and not on_globe) or (field == "x" and on_globe and kind != "GEO"):
            wanted, got = ("x and y", "lat and lon") if field == "lat" else ("lat and lon", "x and y")
            message = f"edge_weight_type: {kind} measures {wanted}, got {got}"
            raise DataError(message, "edge_weight_type")
        if on_globe and kind in MEASURES and rows and _axes(rows) != 2:
            message = f"coords: {kind} measures latitude and longitude, got {_axes(rows)} numbers"
            raise DataError(message, "coords", 0)
        return kind
    if rows is None:
        return "EXPLICIT" if data.get("matrix") is not None else REAL
    if field == "coords" and _axes(rows) == len(rows) > 3:
        got = f"expected 2 or 3 numbers a city, got a square of {len(rows)} x {len(rows)}"
        raise DataError(f"coords: {got}; if these are distances, give them as matrix", "coords", 0)
    if field == "lat":
        return "HAVERSINE_KM"
    if _axes(rows) != 3:
        return REAL
    if field != "coords":
        return "EXACT_3D"
    why = None
    if len(rows) == 3 and [_part(row, i) for i, row in enumerate(rows)] == [0, 0, 0]:
        why = "cannot tell distances from points in space: three rows, zeros on the diagonal; give matrix"
    elif len(rows) > 1 and _counts_up([_part(row, 0) for row in rows]):
        why = "cannot tell ids from a third coordinate: the first numbers count the cities; give ids apart"
    if why is not None:
        raise DataError(f"coords: {why}, or edge_weight_type EXACT_3D", "coords", 0)
    return "EXACT_3D"


def _part(row: Any, place: int) -> Any:
    return row[place] if isinstance(row, list | tuple) and place < len(row) else None


def _is_mirrored(matrix: NDArray[Any], absent: NDArray[np.bool_] | None) -> bool:
    """Tell whether lengths are the same in both directions, and edges there in both."""
    return np.array_equal(matrix, matrix.T) and (absent is None or np.array_equal(absent, absent.T))


def _counts_up(values: Sequence[Any]) -> bool:
    """Tell whether numbers are 1, 2, … or 0, 1, …, as ids are."""
    return list(values) in (list(range(1, len(values) + 1)), list(range(len(values))))


def _rows(data: list[Any], field: str, width: int) -> NDArray[Any]:
    """Check a list of rows of `width` numbers each."""
    flat = flattened(data, field, width)
    try:
        return number_array(flat, field, width=width).reshape(len(data), width)
    except DataError as error:
        if width and error.index is not None and isinstance(data[error.index][0], str):
            message = f"{error.message}; give names apart, as names"
            raise DataError(message, field, error.index) from None
        raise


def _no_edge(data: Mapping[str, Any]) -> Number | str | None:
    given = data.get("no_edge")
    return "none" if given == "none" else number_of(data, "no_edge")
