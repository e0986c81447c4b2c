"""A user's problem, read from its class and checked: moves with their functions, choices in a row."""

from __future__ import annotations

import inspect
import keyword
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from types import CodeType
from typing import Any

import numpy as np

from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.words import nearest
from nsa_cli.kernels.jit import Function
from nsa_cli.user.calls import MistakeError, call, class_place, definition_of, kind_of, mistake
from nsa_cli.user.functions import compiled, digest_of, plain
from nsa_cli.user.kernels.rules import MOST_CHOICES
from nsa_cli.user.moves import MoveType, values_of
from nsa_cli.user.problem import UserProblem
from nsa_cli.user.solutions import Count, SolutionKind

#: Functions of a problem and their parameters, required ones first.
FUNCTIONS = {
    "cost": ("data", "x"),
    "violation": ("data", "x"),
    "delta": ("data", "x", "move"),
    "allowed": ("data", "x", "chosen", "candidate"),
    "features": ("data", "x", "chosen", "candidate", "temperature"),
    "generate": ("size", "rng"),
    "start": ("data", "draws"),
    "check": ("data", "x"),
    "bound": ("data",),
}

#: What others call the cost.
_COSTS = ("energy", "objective", "fitness", "score", "loss", "value", "evaluate")

#: What costs are to be.
FINITE = "a finite number, large for what is not allowed"

#: Those that each type of moves may have its own of.
OF_MOVES = ("delta", "allowed", "features")


@dataclass(frozen=True)
class MoveModel:
    """A type of moves with the functions that serve it.

    Attributes
    ----------
    move : MoveType
    first : int
        Place of its first choice among those of all moves.
    delta, features : callable or None
    allowed : tuple of callable
        All of which must agree.
    choices : tuple
        Of what each one is: `AnyElement`, `Normal`, or a count.
    """

    move: MoveType
    first: int
    delta: Callable[..., Any] | None
    features: Callable[..., Any] | None
    allowed: tuple[Callable[..., Any], ...]
    choices: tuple[Any, ...]


class Model:
    """What a user's class says.

    Parameters
    ----------
    cls : type
        Of a `UserProblem`.
    spec : str
        Where it comes from, for messages.
    home : tuple, optional
        Function and arguments that give the `AdaptedProblem` in another process, as pickles have them.

    Raises
    ------
    UsageError
        If something is missing, is of the wrong kind, or has a name that means nothing.
    """

    def __init__(
        self, cls: type[UserProblem], spec: str, home: tuple[Callable[..., Any], tuple[str]] | None = None
    ) -> None:
        self.cls, self.spec, self.home = cls, spec, home
        self._require("name", str, "a text")
        self._require("keys", tuple, "a tuple of texts, such as ('weights',)")
        self._require(
            "solution", SolutionKind, "permutation(…), routes(…), subset(…), assignment(…) or reals(…)"
        )
        if isinstance(getattr(cls, "moves", None), MoveType):
            cls.moves = (cls.moves,)  # type: ignore[assignment]  # as one may write it
        self._require("moves", tuple, "a tuple of moves, such as (swap,)")
        self.name: str = cls.name
        self.keys: tuple[str, ...] = cls.keys
        self.kind: SolutionKind = cls.solution
        #: Keys of the data with what the solutions add.
        self.given: tuple[str, ...] = (*self.keys, *self.kind.added)
        scratch = plain(cls.scratch)
        named = scratch if isinstance(scratch, dict) else {"scratch": (scratch, float)}
        #: Of each work array the number of its elements, and their type.
        self.scratch: dict[str, tuple[Count, type]] = {} if scratch is None else named
        self._check_names()
        self._check_scratch()
        self._check_moves()
        self._check_counts()
        self.functions = self._functions()
        self.moves = tuple(self._move_models())
        self._compiled: dict[Any, Any] = {}

    def function(self, name: str) -> Callable[..., Any] | None:
        """Give a function as it was written, or None."""
        return self.functions.get(name)

    @cached_property
    def codes(self) -> dict[CodeType, str]:
        """Name all functions for messages, with the class, by their code."""
        cls = self.cls.__name__
        return (
            {f.__code__: f"{cls}.{f.__name__}" for m in self.moves for f in m.allowed}
            | {m.move.apply.__code__: f"{cls}: the move {m.move.name}" for m in self.moves}
            | {f.__code__: f"{cls}.{name}" for name, f in self.functions.items()}
        )

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call what calls functions of the problem; see `nsa_cli.user.calls.call`."""
        return call(self.codes, function, *arguments)

    def mistake(self, function: Callable[..., Any], expected: str, got: object) -> MistakeError:
        """Make the error of a function that gives something else than it should."""
        return mistake(function, self.codes[function.__code__], expected, got)

    def number(
        self, found: Any, function: Callable[..., Any], expected: str = "a number", *, finite: bool = True
    ) -> Any:
        """Give what a function returned as a plain number.

        Raises
        ------
        MistakeError
            If it is none, or not finite.
        """
        value = found.item() if isinstance(found, np.generic) else found
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.mistake(function, expected, kind_of(found))
        if finite and value - value != 0:
            raise self.mistake(function, FINITE, f"{value}")
        return value

    @property
    def file(self) -> str:
        """The file of its functions."""
        return self.functions["cost"].__code__.co_filename

    @property
    def several(self) -> bool:
        """Whether there are several types of moves, the choice of which comes first."""
        return len(self.moves) > 1

    @property
    def choices(self) -> int:
        """How many choices there are in a row, of all moves and that of their type."""
        return self.moves[-1].first + len(self.moves[-1].choices)

    @property
    def learns(self) -> bool:
        """Whether there are features for learnt policies."""
        return all(m.features is not None for m in self.moves)

    def compiled(self, function: Callable[..., Any], *, checked: bool = False) -> Function[Any]:
        """Make one of the functions for kernels, see `nsa_cli.user.functions.compiled`."""
        return compiled(function, self._compiled, checked=checked)

    def work(self, sizes: Sequence[int]) -> tuple[Any, ...]:
        """Allocate work arrays of some sizes, for functions to write to."""
        types = (dtype for _, dtype in self.scratch.values())
        return tuple(np.zeros(size, dtype) for size, dtype in zip(sizes, types, strict=True))

    @cached_property
    def hash(self) -> str | None:
        """Hash of everything that is compiled, with what it looks up; None where something has none."""
        functions = [self.functions[name] for name in sorted(self.functions)]
        steps = [getattr(choice, "steps", None) for m in self.moves for choice in m.choices]
        work = [(name, dtype.__name__) for name, (_, dtype) in self.scratch.items()]
        return digest_of(functions, self.keys, work, self.kind, self.moves, steps, self.cls.feature_names)

    @cached_property
    def digest(self) -> str:
        """The hash; drawn where there is none."""
        return self.hash or secrets.token_hex(16)

    def _fail(self, message: str, place: str = "") -> UsageError:
        return UsageError(f"{place or self.spec}: {message}")

    def _require(self, name: str, kind: type, expected: str) -> None:
        value = getattr(self.cls, name, None)
        if value is None:
            raise self._fail(f"is not complete: the class has no {name}; expected {expected}")
        if isinstance(value, str) and kind is tuple:
            raise self._fail(f"{name}: expected {expected}, got {shown(value)}; is a comma missing?")
        if not isinstance(value, kind) or (name == "moves" and not value):
            raise self._fail(f"{name}: expected {expected}, got {shown(value)}")

    def _check_names(self) -> None:
        for what, names in (("keys", self.keys), ("scratch", self.scratch)):
            for name in names:
                if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
                    raise self._fail(f"{what}: expected names that Python can have, got {shown(name)}")
        taken = {"scale", "violation_weight", "scratch", *self.scratch, *self.kind.added}
        for key in self.keys:
            if key.startswith("_") or key in taken:
                raise self._fail(f"keys: {key!r} is taken; give it another name")
        names = self.cls.feature_names
        if not isinstance(names, tuple) or not all(isinstance(n, str) for n in names):
            raise self._fail(f"feature_names: expected a tuple of texts, got {shown(names)}")

    def _check_counts(self) -> None:
        counts = {
            "solution": [getattr(self.kind, field.name) for field in fields(self.kind)],
            "scratch": [count for count, _ in self.scratch.values()],
        }
        for move in self.cls.moves:
            counts[f"moves: {move.name}"] = [values_of(choice, self.kind) for choice in move.choices.values()]
        for name, found in counts.items():
            for count in found:
                if isinstance(count, str) and count not in self.keys:
                    raise self._fail(f"{name}: there is no key {count!r}; there are {', '.join(self.keys)}")

    def _check_scratch(self) -> None:
        for name, room in self.scratch.items():
            count, dtype = room if isinstance(room, tuple) and len(room) == 2 else (room, None)
            if dtype not in (int, float):
                raise self._fail(f"scratch: {name}: expected a pair such as (10, int), got {shown(room)}")
            if type(count) not in (int, str) and not callable(count):
                expected = "a number, a key, or a function of the data"
                raise self._fail(f"{name}: expected {expected}, got {shown(count)}")

    def _check_moves(self) -> None:
        names: set[str] = set()
        for move in self.cls.moves:
            if not isinstance(move, MoveType):
                raise self._fail(f"moves: expected moves such as swap, got {shown(move)}")
            if move.name in names:
                raise self._fail(f"moves: two are called {move.name}; give them names of their own")
            names.add(move.name)
            if not isinstance(self.kind, move.kinds):
                kinds, got = " or ".join(k.__name__ for k in move.kinds), type(self.kind).__name__
                message = f"{move.name} is for solutions that are {kinds.lower()}, got {got.lower()}"
                raise self._fail(f"moves: {message}")
            if not 1 <= len(move.choices) <= MOST_CHOICES:
                expected = f"expected 1 to {MOST_CHOICES} choices"
                raise self._fail(f"moves: {move.name}: {expected}, got {len(move.choices)}")

    def _functions(self) -> dict[str, Callable[..., Any]]:
        """Collect the functions of the class; refuse unknown ones and wrong parameters."""
        suffixed = {f"{n}_{move.name}": n for n in OF_MOVES for move in self.cls.moves}
        known = {**{name: name for name in FUNCTIONS}, **suffixed}
        found: dict[str, Callable[..., Any]] = {}
        for name in dir(self.cls):
            value = inspect.getattr_static(self.cls, name)
            if name.startswith("_") or name == "scratch" or isinstance(value, MoveType | SolutionKind | None):
                continue
            function = plain(value)
            if not inspect.isfunction(function):
                if name in known or isinstance(value, property | classmethod):
                    raise self._fail(f"{name}: expected a function, got {shown(value)}")
                continue
            if name not in known:
                near = "cost" if name in _COSTS else nearest(name, known)
                hint = f"; the nearest is {near}" if near else ""
                message = f"{self.cls.__name__}.{name}: there is no such function of a problem{hint}"
                message = f"{message}; begin the name of one of your own with _"
                raise self._fail(message, definition_of(function))
            self._check_parameters(function, name, FUNCTIONS[known[name]])
            found[name] = function
        if "cost" not in found:
            raise self._fail("is not complete: the class has no cost(data, x)", class_place(self.cls) or "")
        return found

    def _check_parameters(self, function: Callable[..., Any], name: str, expected: tuple[str, ...]) -> None:
        given = list(function.__code__.co_varnames[: function.__code__.co_argcount])
        if len(given) == len(expected):
            return
        wanted, got = f"{name}({', '.join(expected)})", f"{name}({', '.join(given)})"
        why = "; functions of a problem take no self" if given[:1] == ["self"] else ""
        place = definition_of(function)
        raise self._fail(f"{self.cls.__name__}.{name}: expected {wanted}, got {got}{why}", place)

    def _move_models(self) -> list[MoveModel]:
        moves, place = self.cls.moves, len(self.cls.moves) > 1
        alike = len({tuple(map(str, m.choices)) for m in moves}) == 1
        found, first = [], int(place)
        for move in moves:
            own: dict[str, Any] = {}
            for name in OF_MOVES:
                plain_one = self.functions.get(name)
                own[name] = self.functions.get(f"{name}_{move.name}", plain_one)
                if plain_one is not None and not alike and own[name] is plain_one:
                    wanted = ", ".join(f"{name}_{m.name}" for m in moves)
                    message = f"{name}: the moves choose different things; write {wanted}"
                    raise self._fail(message, definition_of(plain_one))
            if own["features"] is not None and not self.cls.feature_names:
                raise self._fail("feature_names: expected a tuple of texts beside features, got none")
            allowed = tuple(f for f in (move.allowed, own["allowed"]) if f is not None)
            choices = tuple(values_of(choice, self.kind) for choice in move.choices.values())
            found.append(MoveModel(move, first, own["delta"], own["features"], allowed, choices))
            first += len(choices)
        return found
