"""Compilation of a user's functions: at first one by one, so that an error names the function and its line.

Where compiled code has failed, the same is done in Python, which names the line.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from nsa_cli.core.errors import NsaError, UncompiledError, cut, shown
from nsa_cli.core.extras import how_to_install, is_installed
from nsa_cli.kernels import calls
from nsa_cli.kernels.toolchain import kept
from nsa_cli.user.calls import LINE, Data, MistakeError, class_place, definition_of, line_of_name, mistake
from nsa_cli.user.check import look_around
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.model import Model
from nsa_cli.user.moves import Normal

#: Beginnings of the names of functions that need Python's interpreter, which kernels run without.
_OF_PYTHON = ("Py", "_Py")

#: Messages of Numba where something is allocated, and where data are changed.
_ALLOCATES = ("NRT required", "Only accept returning of array passed into the function")
_CHANGES = re.compile("read-?only|Cannot modify", re.IGNORECASE)

#: What other messages mean.
_MEANINGS = {
    r"name '(\w+)': Cannot determine Numba type of <class 'function'>": r"\1 calls itself, or lies elsewhere",
    r"name '(\w+)': Cannot determine Numba type of <class '(\w+)'>": r"it looks up \1, a \2",
    r"Unknown attribute '(\w+)' of type Module\(<module '(\w+)'": (
        r"it calls \2.\1; a function of your own would be compiled after 'from \2 import \1'"
    ),
    r"STORE_GLOBAL": r"it changes a global variable",
    r"yield in a closure": r"it has a generator; a loop would do",
}

#: Where an error is, in Numba's messages; colours; and beginnings of lines that say little.
_LINE = re.compile(r'File "([^"]+)", line (\d+)')
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_BORING = re.compile("Failed in|During:|File |>>>|- Resolution|[\\^]|Overload|There are|<source|Please|$")

#: Seconds that the case is sought for in which compiled code fails.
_SECONDS = 2.0


@cache
def owner_of(model: Model) -> kept.Owner:
    """Make the owner of the kernels that are compiled from a problem's functions."""
    return kept.Owner(model.digest, model.hash is not None, partial(explained, model))


def uncompiled(model: Model) -> str | None:
    """Tell why a problem's functions are not compiled; empty where it says so itself, None if they are."""
    if not model.cls.compiled:
        return ""
    if not is_installed("numba"):
        return f"{model.spec}: its functions are not compiled without {how_to_install('numba')}"
    return kept.noted(owner_of(model), _mark_of(model))


def _mark_of(model: Model) -> str:
    """Under what it is kept why functions are not compiled; with their lines, which the reason names."""
    return f"uncompiled {' '.join(f'{code.co_filename}:{code.co_firstlineno}' for code in model.codes)}"


def check_functions(model: Model, batch: Any, instance: UserInstance) -> None:
    """Compile the functions of a problem, unless that has been done before.

    Parameters
    ----------
    model : Model
    batch : nsa_cli.user.kernels.annealing.UserArrays
        Of the types of data that they are compiled for.
    instance : UserInstance
        One of these.

    Raises
    ------
    UncompiledError
        If a function cannot be compiled, or gives something else than it should; names its line.
    """
    if (why := uncompiled(model)) is not None:
        raise UncompiledError(why)
    x = instance.typical
    kinds = [f"{array.dtype}{array.ndim}" for array in batch.data]
    mark = f"compiled {' '.join(kinds)} {x.dtype}"
    if kept.is_known(owner_of(model), mark):
        return
    calls.append(None)
    try:
        kept.tell(own=True)
        _compile_all(model, batch, x)
    except UncompiledError as error:
        kept.note(owner_of(model), _mark_of(model), error.message)
        raise
    finally:
        calls.pop()
    kept.note(owner_of(model), mark)


def _compile_all(model: Model, batch: Any, x: Any) -> None:
    import numba
    from numba import types

    number = (types.Integer, types.Float), "a real number"
    truth = (types.Boolean, types.Integer), "True or False"
    nothing = types.NoneType, "nothing: it changes x"
    work = model.work([0] * len(model.scratch))
    data = batch.rules.row.py_func(batch.data, batch.which[0], work)
    state = (numba.typeof(data), numba.typeof(x))
    _returned(model, "cost", model.functions["cost"], state, *number)
    if (broken := model.function("violation")) is not None:
        _returned(model, "violation", broken, state, *number)
    for m in model.moves:
        kinds = [types.float64 if isinstance(c, Normal) else types.int64 for c in m.choices]
        move = (*state, numba.typeof(tuple(0.5 if k is types.float64 else np.int64(0) for k in kinds)))
        _returned(model, f"the move {m.move.name}", m.move.apply, move, *nothing)
        if m.delta is not None:
            _returned(model, "delta", m.delta, move, *number)
        for kind in dict.fromkeys(kinds):
            for allowed in m.allowed:
                _returned(model, "allowed", allowed, (*move, kind), *truth)
            if m.features is not None:
                wanted = model.cls.feature_names
                expected = f"{len(wanted)} numbers ({', '.join(wanted)})"
                seen = (*move, kind, types.float64)
                given = _returned(model, "features", m.features, seen, types.BaseTuple, expected)
                real = types.Integer | types.Float | types.Boolean
                if len(given) != len(wanted) or not all(isinstance(part, real) for part in given):
                    raise _wrong(model, "features", m.features, expected, given)


def _returned(
    model: Model, name: str, function: Any, arguments: tuple[Any, ...], kind: Any, meaning: str
) -> Any:
    """Compile a function for types of arguments; give the type of its result."""
    from nsa_cli.kernels.toolchain.compiler import dispatcher, module_of

    made = dispatcher(model.compiled(function, checked=True))
    try:
        made.compile(arguments)
    except Exception as error:  # Numba's own, and whatever else its passes may trip over
        why = f"{name} cannot be compiled by Numba: {_reason(error)}"
        raise UncompiledError(f"{_place_of(error, function)}: {model.cls.__name__}: {why}") from None
    found = made.overloads[arguments]
    if any(called.name.startswith(_OF_PYTHON) for called in module_of(found).functions):
        place = line_of_name(function, "print") or definition_of(function)
        why = f"{name} cannot be compiled by Numba: it calls Python, as print does"
        raise UncompiledError(f"{place}: {model.cls.__name__}: {why}")
    given = found.signature.return_type
    if not isinstance(given, kind):
        raise _wrong(model, name, function, meaning, given)
    return given


def _wrong(model: Model, name: str, function: Any, expected: str, given: Any) -> UncompiledError:
    got = "None" if str(given) == "none" else shown(given)
    return UncompiledError(mistake(function, f"{model.cls.__name__}: {name}", expected, got).message)


def _place_of(error: Exception, function: Any) -> str:
    """Find the line of the user's file that an error is about, else where the function is defined."""
    file = function.__code__.co_filename
    found = [line for named, line in _LINE.findall(str(error)) if file.endswith(named.lstrip("./"))]
    return f"{file}:{found[-1]}" if found else definition_of(function)


def _reason(error: Exception) -> str:
    """Cause of an error, a line of Numba's message."""
    text = _COLOUR.sub("", str(error))
    if any(sign in text for sign in _ALLOCATES):
        return "it makes an array; a loop over numbers would do"
    if _CHANGES.search(text):
        return "it changes the data, which belong to all chains; change x only"
    for words, meaning in _MEANINGS.items():
        if found := re.search(words, text):
            return found.expand(meaning)
    lines = (line.strip() for line in text.partition(" Raised from")[0].splitlines())
    told = next((line for line in lines if not _BORING.match(line)), type(error).__name__)
    return cut(told.rstrip(".:"), LINE)


def explained(model: Model, arguments: Sequence[Any]) -> NsaError:
    """Make the error of a kernel that an exception ended.

    Parameters
    ----------
    model : Model
    arguments : sequence
        Of the kernel: among their parts are the data, and solutions as it left them.
    """
    parts = list(_parts(arguments))
    fields = (*model.keys, "scale")
    data = next(part for part in parts if getattr(part, "_fields", ())[: len(fields)] == fields)
    try:
        for which in range(len(data.scale)):
            keys = {key: getattr(data, key)[which] for key in model.keys}
            instance = UserInstance(model=model, data=Data(**keys, scale=1.0))
            rows = [row for part in parts if isinstance(part, np.ndarray) for row in np.atleast_2d(part)]
            kind = model.kind.dtype
            found = [x for x in rows if x.dtype == kind and instance.wrong_form(x) is None]
            if found:
                look_around(instance, found, time.monotonic() + _SECONDS / len(data.scale))
    except NsaError as error:
        return error
    message = "compiled code fails where Python was not seen to: an index out of range, or a raise"
    return MistakeError(f"{class_place(model.cls)}: {model.cls.__name__}: {message}")


def _parts(value: Any) -> Iterator[Any]:
    yield value
    for part in value if isinstance(value, tuple | list) else ():
        yield from _parts(part)
