"""First compilation of a user's functions, one by one, so that an error names the function and its line."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from nsa_cli.core.errors import UsageError, shown
from nsa_cli.kernels import calls
from nsa_cli.kernels.toolchain import kept
from nsa_cli.user.calls import definition_of, line_of_name
from nsa_cli.user.failures import owner_of
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.model import Model
from nsa_cli.user.moves import Normal
from nsa_cli.user.scalar import Scalars

#: Beginnings of the names of functions that need Python's interpreter, which kernels run without.
_OF_PYTHON = ("Py", "_Py")

#: Messages of Numba where something is allocated.
_ALLOCATES = ("NRT required", "Only accept returning of array passed into the function")

#: Where an error is, in Numba's messages.
_LINE = re.compile(r'File "([^"]+)", line (\d+)')


def check_functions(model: Model, batch: Any, instance: UserInstance) -> None:
    """Evaluate a cost in Python, and compile the functions of a problem, unless that has been done before.

    Parameters
    ----------
    model : Model
    batch : nsa_cli.user.kernels.annealing.UserArrays
        Of the types of data that they are compiled for.
    instance : UserInstance
        One of these.

    Raises
    ------
    UsageError
        If the cost fails, or a function cannot be compiled or gives something else than it should; names its
        line.
    """
    x = instance.typical
    kinds = [f"{array.dtype}{array.ndim}" for array in batch.data]
    mark = f"compiled {' '.join(kinds)} {x.dtype}"
    if kept.is_known(owner_of(model), mark):
        return
    Scalars(instance).cost(x.copy())
    calls.append(None)
    try:
        kept.tell(own=True)
        _check(model, batch, x)
    finally:
        calls.pop()
    kept.note(owner_of(model), mark)


def _check(model: Model, batch: Any, x: Any) -> None:
    import numba
    from numba import types

    data = batch.rules.row.py_func(batch.data, batch.which[0], np.zeros(0))
    state = (numba.typeof(data), numba.typeof(x))
    _returned(model, "cost", model.function("cost"), state, (types.Integer, types.Float), "a real number")
    if (recombine := model.function("recombine")) is not None:
        both = (*state, numba.typeof(x))
        _returned(model, "recombine", recombine, both, types.NoneType, "nothing: it changes x")
    for m in model.moves:
        kinds = [types.float64 if isinstance(c, Normal) else types.int64 for c in m.choices]
        move = numba.typeof(tuple(0.5 if k is types.float64 else np.int64(0) for k in kinds))
        _returned(
            model,
            f"the move {m.move.name}",
            m.move.apply,
            (*state, move),
            types.NoneType,
            "nothing: it changes x",
        )
        if m.delta is not None:
            _returned(model, "delta", m.delta, (*state, move), (types.Integer, types.Float), "a real number")
        if m.move.reverse is not None:
            given = _returned(
                model, f"reverse of {m.move.name}", m.move.reverse, (*state, move), types.BaseTuple, "a move"
            )
            if len(given) != len(kinds):
                raise _wrong(
                    model, f"reverse of {m.move.name}", m.move.reverse, f"{len(kinds)} choices", given
                )
        for kind in dict.fromkeys(kinds):
            for allowed in m.allowed:
                _returned(
                    model,
                    "allowed",
                    allowed,
                    (*state, move, kind),
                    (types.Boolean, types.Integer),
                    "True or False",
                )
            if m.features is not None:
                more = (*state, move, kind, types.float64)
                given = _returned(model, "features", m.features, more, types.BaseTuple, "a tuple of numbers")
                wanted = model.cls.feature_names
                if len(given) != len(wanted) or not all(
                    isinstance(t, types.Integer | types.Float | types.Boolean) for t in given
                ):
                    expected = f"{len(wanted)} numbers ({', '.join(wanted)})"
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
        place, why = _place_of(error, function), _reason(error)
        raise UsageError(
            f"{place}: {model.cls.__name__}: {name} cannot be compiled by Numba: {why}"
        ) from None
    found = made.overloads[arguments]
    if any(called.name.startswith(_OF_PYTHON) for called in module_of(found).functions):
        place = line_of_name(function, "print") or definition_of(function)
        why = f"{name} cannot be compiled: it calls Python, as print does; take that out"
        raise UsageError(f"{place}: {model.cls.__name__}: {why}")
    given = found.signature.return_type
    if not isinstance(given, kind):
        raise _wrong(model, name, function, meaning, given)
    return given


def _wrong(model: Model, name: str, function: Any, expected: str, given: Any) -> UsageError:
    hint = "; is its return missing?" if str(given) == "none" else ""
    message = f"expected {expected}, got {shown(given)}{hint}"
    return UsageError(f"{definition_of(function)}: {model.cls.__name__}: {name}: {message}")


def _place_of(error: Exception, function: Any) -> str:
    """Find the line of the user's file that an error is about, else where the function is defined."""
    file = function.__code__.co_filename
    lines = [
        line
        for found, line in _LINE.findall(str(error))
        if file.endswith(found.lstrip("./")) or found == file
    ]
    return f"{file}:{lines[-1]}" if lines else definition_of(function)


def _reason(error: Exception) -> str:
    """Cause of an error, a line of Numba's message."""
    if any(sign in str(error) for sign in _ALLOCATES):
        return "it makes an array; write a loop over numbers"
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [" ".join(line.split()) for line in text.partition(" Raised from")[0].splitlines()]
    boring = (
        "Failed in",
        "During:",
        "File ",
        ">>>",
        "- Resolution",
        "^",
        "Overload",
        "There are",
        "<source",
        "Please",
    )
    told = [line for line in lines if line and not line.startswith(boring)]
    if "readonly" in text or "read-only" in text.lower() or "Cannot modify" in text:
        return "it changes the data, which belong to all chains; change x only"
    found = told[0].rstrip(".:") if told else type(error).__name__
    return found if len(found) <= 200 else found[:199] + "…"
