"""What the words in a file mean: keys of JSON, headers of tables, names of arrays, settings.

Each is understood, known to be harmless, or refused by name: what is left out in silence may change the
answer. The words tell which problem a file is of, too.
"""

from __future__ import annotations

import functools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NoReturn

import numpy as np

from nsa_cli.core.errors import shown, visible
from nsa_cli.core.problem import Problem
from nsa_cli.core.record import Reading, Record
from nsa_cli.core.words import listed, nearest, squeezed
from nsa_cli.problems import all_problems, builtin_names, find_problem


def _forms(text: str) -> frozenset[str]:
    """Split a text of words at commas, in the form in which words are compared."""
    return frozenset(map(squeezed, listed(text)))


#: Words of data on which no answer depends, whatever the problem: about the file, its numbers, its elements.
HARMLESS = _forms(
    "comment, comments, description, descriptions, desc, remark, remarks, note, notes, source, sources, "
    "reference, url, link, author, authors, creator, contact, email, date, created, created at, updated, "
    "updated at, timestamp, version, license, licence, copyright, schema, $schema, format, file, filename, "
    "generator, seed, uuid, hash, tags, tag, meta, metadata, info, keywords, language, type, problem type, "
    "unit, units, weight unit, distance unit, length unit, currency, crs, "
    "kind, category, color, colour, icon, image, brand, country, state, region, county, province, continent, "
    "address, street, zip, zip code, postcode, postal code, phone, population, iso, iso2, iso3, admin"
)

#: Parts of headers that no column of names has: what they say may be a constraint.
_MATTERS = frozenset(
    listed(
        "time, times, window, windows, hour, hours, opening, due, date, deadline, ready, service, priority, "
        "precedence, before, after, penalty, bonus, load, loads, skill, skills, pickup, delivery, vehicle, "
        "truck, trucks, demand, capacity, type, types, class, conflict, conflicts, fragile, rotation, setup, "
        "limit, max, min, group, cluster, color, colour, bound"
    )
)

#: Words for the number of elements, which must be the number that there is.
_COUNTS = _forms(
    "n, dimension, size, count, n items, num items, number of items, item count, items count, n cities, "
    "num cities, number of cities, city count, n nodes, num nodes, number of nodes, num locations, "
    "number of locations, n points, num points"
)

#: Words for keys that every record may have.
_EVERYWHERE = {
    "name": listed("name, instance, instance name, title, problem name"),
    "best_known": listed("best known, optimum, optimal value, best known value, bks, known optimum"),
}

#: Words of a file that near ones are looked for, at most: it may have thousands that are not understood.
_LOOKED_AT = 100

#: Raises an error about a word; further arguments are hints.
Fail = Callable[..., NoReturn]


@functools.cache
def vocabulary(problem: Problem[Any]) -> Vocabulary:
    """Give the vocabulary of a problem."""
    return Vocabulary(problem)


class Vocabulary:
    """Words for the keys of a problem's records.

    Parameters
    ----------
    problem : Problem

    Attributes
    ----------
    problem : Problem
    columns : dict of str to Column
        By their keys.
    spelt : dict of str to tuple of str
        All words by key, as they are written here.
    """

    def __init__(self, problem: Problem[Any]) -> None:
        self.problem = problem
        self.columns = {column.key: column for column in problem.columns}
        required = [key for keys in problem.record_keys for key in keys]
        self._axes: dict[str, int | None] = dict.fromkeys(
            ("problem", *problem.settings, *required, *problem.keys, *problem.words)
        )
        self._axes |= {**problem.arrays, **dict.fromkeys(self.columns, 1), **dict.fromkeys(_EVERYWHERE, 0)}
        self._keys: defaultdict[str, list[str]] = defaultdict(list)
        self.spelt: dict[str, tuple[str, ...]] = {}
        for key in self._axes:
            headers = self.columns[key].headers if key in self.columns else ()
            self.spelt[key] = (key, *headers, *_EVERYWHERE.get(key, ()), *problem.words.get(key, ()))
            for form in dict.fromkeys(map(squeezed, self.spelt[key])):
                self._keys[form].append(key)
        self._harmless = HARMLESS | {squeezed(word) for word in problem.harmless}
        self._neutral = {squeezed(word): values for word, values in problem.neutral.items()}
        self._elsewhere = {squeezed(word): why for word, why in problem.elsewhere.items()}

    def key_of(self, word: str, axes: int | None, among: Iterable[str] | None = None) -> str | None:
        """Find the key that a word means.

        Parameters
        ----------
        word : str
        axes : int or None
            Of the value; a word may mean a list of names as well as a matrix of distances.
        among : iterable of str, optional
            The keys that it may mean.
        """
        form = squeezed(word)
        keys = [*([word] if word in self._axes else ()), *self._keys.get(form, ())]
        keys = [key for key in keys if among is None or key in among]
        fitting = (key for key in keys if axes is None or self._axes[key] in (None, axes))
        unknown = form not in self._neutral and form not in self._harmless and form not in _COUNTS
        otherwise = sorted(keys if unknown else (), key=lambda key: bool(self._axes[key]) != bool(axes))
        return next(chain(fitting, otherwise), None)

    def is_element(self, row: Mapping[str, Any]) -> bool:
        """Tell an object that is a city or an item: its values are those of columns that a table needs."""
        values = {word: axes_of(value) for word, value in row.items() if not says_nothing(value)}
        keys: dict[int, set[str]] = {0: set(), 1: set()}  # of an instance, and of an element
        for word, axes in values.items():
            for key in self._keys.get(squeezed(word), ()) if axes is not None else ():
                beyond = (self._axes[key] or 0) - (axes or 0)
                if beyond == 1 or (beyond == 0 and axes):
                    keys[beyond].add(key)
        if "problem" in row or keys[0]:
            return False
        return any(set(needed) <= keys[1] for needed in self.problem.column_sets)

    def spread(self, columns: Mapping[str, Sequence[Any]], fail: Fail) -> dict[str, Any]:
        """Give the data that columns are; one that is no element's, and the same in all rows, is a value.

        Parameters
        ----------
        columns : mapping
            Values, row by row, by words.
        fail : callable
            ``fail(message, word, row=row)`` raises an error about a word.
        """
        among = {*self.columns, *(key for key, axes in self.problem.arrays.items() if axes)}
        data: dict[str, Any] = {}
        for word, values in columns.items():
            if self.key_of(word, axes_of(values), among) is not None:
                data[word] = values
                continue
            other = next((i for i, value in enumerate(values) if value != values[0]), None)
            if other is None:
                data[word] = values[0]
            elif self.key_of(word, 0, self.problem.settings) is None:
                data[word] = values
            elif not self.is_harmless(word):
                expected, got = shown(values[0]), shown(values[other])
                fail(f"{visible(word)}: expected {expected} in all rows, got {got}", word, row=other)
        return data

    def bind(
        self, data: Mapping[str, Any], fail: Fail, reading: Reading, among: Iterable[str] | None = None
    ) -> dict[str, str]:
        """Find the word of each key in a record.

        Parameters
        ----------
        data : mapping
            Values by words.
        fail : callable
            ``fail(message, word, **hints)`` raises an error about a word.
        reading : Reading
            With the words that the user wants left out.
        among : iterable of str, optional
            The keys that words may mean.

        Returns
        -------
        dict of str to str
        """
        found = defaultdict[str, list[str]](list)
        counts, unknown = [], []
        for word, value in data.items():
            key = self.key_of(word, axes_of(value), among)
            if reading.leaves_out(word) or value is None or (key is None and says_nothing(value)):
                continue
            if key is not None:
                found[key].append(word)
            elif squeezed(word) in _COUNTS and isinstance(value, int) and not isinstance(value, bool):
                counts.append(word)
            elif not self.is_harmless(word, value):
                unknown.append(word)
        if unknown:
            self._refuse(unknown, data, among, fail)
        bound = {key: self._choose(key, words, data, fail) for key, words in found.items()}
        sizes = [(len(data[w]), key) for key, w in bound.items() if self._axes[key] and axes_of(data[w])]
        for word in counts:
            if not sizes:
                self._refuse([word], data, among, fail)
            size, key = sizes[0]
            if data[word] != size:
                fail(f"{word} is {data[word]}, but there are {size} {key}", word)
        return bound

    def is_harmless(self, word: str, value: Any = None) -> bool:
        """Tell whether no answer depends on a word and its value."""
        form = squeezed(word)
        if form not in self._neutral:
            return form in self._harmless
        harmless = (
            x is None or value == x or str(value).lower() == str(x).lower() for x in self._neutral[form]
        )
        return axes_of(value) == 0 and any(harmless)

    def is_neutral(self, word: str) -> bool:
        """Tell whether a word is of another problem, and harmless with some values."""
        return squeezed(word) in self._neutral

    def _choose(self, key: str, words: list[str], data: Mapping[str, Any], fail: Fail) -> str:
        """Choose the word of a key: of several names the one listed first; others must all say the same."""
        if key in self.columns and self.columns[key].text:
            forms = [*map(squeezed, self.spelt[key])]
            return min(words, key=lambda word: forms.index(squeezed(word)))
        for word in words[1:]:
            if str(data[word]) != str(data[words[0]]):
                message = f"{shown(words[0])} and {shown(word)} mean the same; expected one of them"
                fail(message, word, **leave_out(word))
        return words[0]

    def unknown_columns(self, columns: Mapping[str, Sequence[Any]]) -> list[str]:
        """List the columns that are of no key, and may matter; `columns` are values by words."""
        words = (word for word in columns if self.key_of(word, None) is None)
        return [w for w in words if not (self.is_harmless(w) or self.is_neutral(w) or squeezed(w) in _COUNTS)]

    def nearest_key(self, word: str) -> str | None:
        """Find the key of which a word is nearly another one."""
        near = nearest(word, chain.from_iterable(self.spelt.values()), 0.8)
        return None if near is None else self.key_of(near, 1)

    def column_of_names(self, columns: Mapping[str, Sequence[Any]], texts: Set[str]) -> str | None:
        """Find the one unknown column of text, whose values differ, where no other column has the names."""
        named = "names" in (self.key_of(word, 1, self.columns) for word in columns)
        unknown = [word for word in self.unknown_columns(columns) if word in texts]
        if named or "names" not in self.columns or len(unknown) != 1:
            return None
        (word,) = unknown
        matters = not _MATTERS.isdisjoint(re.findall(r"[a-z]+", word.lower()))
        if matters or self.nearest_key(word) not in (None, "names", "ids"):
            return None
        return word if len({*columns[word]}) == len(columns[word]) else None

    def _refuse(
        self, unknown: list[str], data: Mapping[str, Any], among: Iterable[str] | None, fail: Fail
    ) -> NoReturn:
        """Refuse words with what helps: the nearest word of some keys, or to leave them out."""
        for word in unknown:
            if squeezed(word) in self._neutral:
                what = f"{shown(word)} {shown(data[word])} is not supported"
                fail(f"{what}; an answer without it would be wrong", word)
        keys = [key for key in self._axes if among is None or key in among]
        near = nearest(unknown[0], [spelt for key in keys for spelt in self.spelt[key]])
        known = ", ".join(key for key in keys if key != "problem")
        what = f"{self.problem.name} understands {known}" if near is None else f"the nearest word is {near!r}"
        what = next(filter(None, map(self._elsewhere.get, map(squeezed, unknown))), what)
        fail(f"{not_understood(unknown)}; {what}", unknown[0], **leave_out(*unknown))


def not_understood(words: Sequence[str]) -> str:
    """Say that words are not understood."""
    are, it = ("is", "it") if len(words) == 1 else ("are", "them")
    named = " and ".join(map(shown, words[:3])) + (f" and {len(words) - 3} more" if len(words) > 3 else "")
    return f"{named} {are} not understood, and an answer may depend on {it}"


def leave_out(*words: str) -> dict[str, Any]:
    """Hint at leaving words out, where they can be typed."""
    plain = all(len(word) <= 40 and word.isprintable() and "," not in word for word in words)
    return {"use": {"ignore": ",".join(words)}} if plain and len(words) <= 10 else {}


def says_nothing(value: Any) -> bool:
    """Tell whether a value is none: null, an empty list, object or text."""
    return value is None or (isinstance(value, str | list | tuple | dict) and len(value) == 0)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and not any(isinstance(x, list | tuple | dict) for x in value)


def axes_of(value: Any) -> int | None:
    """Count the axes of nested lists by their first elements; None for lists of objects."""
    axes = 0
    while isinstance(value, list | tuple):
        axes += 1
        value = value[0] if value else 0
    return None if isinstance(value, dict) else axes + np.ndim(value)


def understood(record: Record, problem: Problem[Any]) -> Record:
    """Translate the keys of a record; errors still point to the file's own.

    Raises
    ------
    InputError
        If a key is not understood and may matter, or two mean the same.
    """

    def fail(message: str, word: str, **hints: Any) -> NoReturn:
        source = record.sources.get(word, record.source)
        raise source.error(message, record.locate(word, None), **hints)

    words = vocabulary(problem)
    lists = {word: values for word, values in record.data.items() if _is_list(values)}
    texts = {word for word, values in lists.items() if any(isinstance(x, str) for x in values)}
    if (name := words.column_of_names(lists, texts)) is not None:
        remarks = (*record.remarks, f"{shown(name)} is read as the names")
        record = replace(record, data={**record.data, "names": record.data[name]}, remarks=remarks)
        record.data.pop(name)
    bound = words.bind(record.data, fail, record.source.reading)
    for key, word in bound.items():
        values = record.data[word]
        if problem.arrays.get(key) == 2 and axes_of(values) == 1 and len(values) > 1:
            side = math.isqrt(len(values))
            square = f"; {side} rows of {side} would make it" if side**2 == len(values) else ""
            fail(f"{visible(word)}: expected rows of numbers, got one list of {len(values)}{square}", word)

    def locate(key: str | None, index: int | None) -> int | None:
        return record.locate(bound.get(key or "", key), index)

    data = {key: record.data[word] for key, word in bound.items()}
    return replace(record, data=data, locate=locate, words=record.words or bound)


# --- which problem -----------------------------------------------------------------------------------


def candidates(problem: Problem[Any] | None) -> list[Problem[Any]]:
    """Give the problems that a file may be of: the one that the user named, or all."""
    return all_problems() if problem is None else [problem]


def recognise(record: Record, settings: Mapping[str, Any] = {}) -> Problem[Any]:
    """Choose the problem that a record names, or the one that requires most of its keys.

    Parameters
    ----------
    record : Record
    settings : mapping
        Keys that the user gives beside the file.

    Raises
    ------
    OtherTextError
        If it is of none.
    """
    data, source = {**record.data, **settings}, record.source
    if (name := data.get("problem")) is not None:
        known = all_problems() if name not in builtin_names() else [find_problem(name)]
        for problem in known:
            if problem.name == name:
                return problem
        message = f"problem: expected one of {', '.join(p.name for p in known)}, got {shown(name)}"
        raise source.error(message, record.locate("problem", None))
    fitting = [p for p in all_problems() if has_keys(data, p)]
    if fitting:
        return max(fitting, key=lambda p: len(p.record_keys))
    got = shown(", ".join(data), 80) if data else "none"
    required = [key for p in all_problems() for keys in p.record_keys for key in keys if len(key) > 3]
    rows = [row for value in data.values() if isinstance(value, list) for row in value[:1]]
    words = [*data, *(word for row in rows if isinstance(row, dict) for word in row)]
    near = ((word, nearest(word, required, 0.75)) for word in islice(dict.fromkeys(words), _LOOKED_AT))
    hints = [
        f"; the nearest word to {shown(word)} is {known!r}"
        for word, known in near
        if known is not None and squeezed(known) != squeezed(word)
    ]
    message = f"cannot tell the problem from the keys {got}; expected ({needs()}){''.join(hints[:2])}"
    raise source.other(message, record.locate(None, None))


def needs(problems: Sequence[Problem[Any]] | None = None) -> str:
    """List the keys that each of some problems, or of all, requires."""
    some = all_problems() if problems is None else problems
    return "; ".join(f"{p.name}: {', '.join(map('|'.join, p.record_keys))}" for p in some)


def has_keys(data: Mapping[str, Any], problem: Problem[Any]) -> bool:
    """Tell whether a record has what a problem requires; lists of objects are none of it."""
    words = vocabulary(problem)
    keys = {
        words.key_of(word, axes)
        for word, value in data.items()
        if (axes := axes_of(value)) is not None or isinstance(value, dict)
    }
    return all(any(key in keys for key in needed) for needed in problem.record_keys)
