"""Functions of users for kernels, and the hash under which what is made of them is kept."""

from __future__ import annotations

import dis
import hashlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import BuiltinFunctionType, CellType, CodeType, EllipsisType, FunctionType, ModuleType
from typing import Any

import numpy as np

from nsa_cli.kernels.jit import Function

#: Packages whose functions and classes are known by their names: of the versions that machine code is kept
#: for.
_LIBRARY = sys.stdlib_module_names | {"llvmlite", "numba", "numpy"}

#: Values that their representation tells.
_PLAIN = (bool, int, float, complex, str, bytes, range, slice, EllipsisType, type(None))

#: Instructions that look up a name, and an attribute of what is there.
_GLOBAL, _ATTRIBUTE = ("LOAD_GLOBAL", "LOAD_NAME"), ("LOAD_ATTR", "LOAD_METHOD")


class _UnhashableError(TypeError):
    """A value that machine code may depend on, and that cannot be hashed."""


def plain(function: Any) -> Any:
    """Give a function as it was written, without a decorator of Numba or `staticmethod`."""
    function = getattr(function, "__func__", function)
    return getattr(function, "py_func", function)


def compiled(function: Any, made: dict[tuple[FunctionType, bool], Any], *, checked: bool) -> Function[Any]:
    """Make a function for kernels, with the functions of its own file or folder that it calls.

    Parameters
    ----------
    function : callable
    made : dict
        Functions made before, while what they look up has the same values; added to. None stands for one
        that is being made and calls itself.
    checked : bool
        Whether an index out of range is an error: loops take up to three times as long.
    """
    function = plain(function)
    if (function, checked) not in made:
        made[function, checked] = None
        folder = str(Path(function.__code__.co_filename).parent)

        def served(value: Any) -> Any:
            ours = isinstance(value, FunctionType) and value is not function
            near = ours and str(Path(value.__code__.co_filename).parent).startswith(folder)
            return compiled(value, made, checked=checked) or value if near else value

        scope = dict(function.__globals__)
        scope |= {name: served(scope[name]) for name in _names(function.__code__) if name in scope}
        cells = tuple(CellType(served(cell.cell_contents)) for cell in function.__closure__ or ())
        copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells or None)
        copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
        made[function, checked] = Function(copy, inner=True, checked=checked)
    return made[function, checked]


def _names(code: CodeType) -> set[str]:
    """Collect the global names that a function, or one inside it, looks up."""
    return {name for is_global, name, _ in _looked_up(code) if is_global}


def _looked_up(code: CodeType) -> Iterator[tuple[bool, str, list[str]]]:
    """Give what a function, or one inside it, looks up: whether a global, its name, attributes of it."""
    found: list[tuple[bool, str, list[str]]] = []
    follows = False
    for step in dis.get_instructions(code):
        if step.opname in _GLOBAL or (step.opname.startswith("LOAD_") and step.opname.endswith("DEREF")):
            found.append((step.opname in _GLOBAL, step.argval, []))
            follows = True
        elif follows and step.opname in _ATTRIBUTE:
            found[-1][2].append(step.argval)
        else:
            follows = False
    yield from found
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _looked_up(constant)


def digest_of(*values: Any) -> str | None:
    """Hash functions with all that they look up, by value; None where something cannot be hashed.

    What Numba compiles depends on nothing else: code, constants, defaults, closures, global names, and
    attributes of modules and classes. So no old code is found after an edit, of whatever file. Comments do
    not count.
    """
    digest, seen = hashlib.sha256(np.__version__.encode()), dict[int, Any]()
    try:
        for value in values:
            for part in _parts(value, seen):
                digest.update(b"%d " % len(part) + part)
    except (_UnhashableError, RecursionError, ValueError):  # the last one of a cell that is empty yet
        return None
    return digest.hexdigest()[:32]


def _parts(value: Any, seen: dict[int, Any]) -> Iterator[bytes]:
    """Give what a value's hash is made of.

    Parameters
    ----------
    value : object
    seen : dict
        Functions and classes met before, by identity: they may refer to each other.

    Raises
    ------
    _UnhashableError
        If it is nothing whose value can be told.
    """
    value = value.__func__ if isinstance(value, staticmethod) else value
    kind = type(value)
    yield f"{kind.__module__}.{kind.__qualname__}".encode()
    if kind in _PLAIN:
        yield repr(value).encode()
    elif isinstance(value, Enum):
        yield value.name.encode()
        yield from _parts(kind, seen)
    elif isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        yield f"{value.dtype.descr} {value.shape}".encode()
        yield value.tobytes()
    elif kind in (list, tuple):
        yield str(len(value)).encode()
        for part in value:
            yield from _parts(part, seen)
    elif isinstance(value, Mapping):
        yield from _parts(list(value.items()), seen)
    elif isinstance(value, frozenset | set):
        yield from sorted(b"".join(_parts(part, seen)) for part in value)
    elif isinstance(value, CodeType):
        yield from _parts((value.co_argcount, value.co_flags, value.co_names, value.co_varnames), seen)
        yield value.co_code + value.co_exceptiontable
        yield from _parts(value.co_consts, seen)
    elif isinstance(value, FunctionType | type):
        if id(value) not in seen:
            seen[id(value)] = value
            yield from _of_class(value, seen) if isinstance(value, type) else _of_function(value, seen)
    elif kind is ModuleType or isinstance(value, BuiltinFunctionType) or kind.__module__ == "numpy":
        yield _name(value)
    elif hasattr(value, "py_func") and hasattr(value, "targetoptions"):  # as Numba decorates a function
        yield from _parts([dict(value.targetoptions), value.py_func], seen)
    elif kind.__module__.startswith("numba.core.types"):
        yield str(value).encode()
    elif isinstance(value, tuple):
        yield from _parts([kind, *value], seen)
    elif is_dataclass(value):
        yield from _parts([kind, *(getattr(value, field.name) for field in fields(value))], seen)
    else:
        raise _UnhashableError(value)


def _of_function(function: FunctionType, seen: dict[int, Any]) -> Iterator[bytes]:
    """Give what a function's hash is made of: its name if a library has it, else all that it looks up."""
    home = str(function.__globals__.get("__name__"))
    yield f"{home}.{function.__qualname__}".encode()
    if home.partition(".")[0] in _LIBRARY and "<locals>" not in function.__qualname__:
        return
    yield from _parts([function.__code__, function.__defaults__, function.__kwdefaults__], seen)
    for cell in function.__closure__ or ():
        if not isinstance(cell.cell_contents, ModuleType):
            yield from _parts(cell.cell_contents, seen)
    closure = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for is_global, name, attributes in _looked_up(function.__code__):
        if is_global and name in function.__globals__:
            value = function.__globals__[name]
        elif not is_global and name in closure:
            value = closure[name].cell_contents
        else:
            continue  # built in, or a variable
        while isinstance(value, ModuleType) and attributes:
            value = getattr(value, attributes.pop(0), None)
        yield name.encode()
        yield from _parts(value, seen)


def _of_class(cls: type, seen: dict[int, Any]) -> Iterator[bytes]:
    """Give what a class's hash is made of: of an enumeration and a named tuple what kernels may know."""
    if issubclass(cls, Enum):
        yield from _parts({name: member.value for name, member in cls.__members__.items()}, seen)
    elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
        yield from _parts([cls._fields, cls._field_defaults], seen)  # type: ignore[attr-defined]
    else:
        yield _name(cls)


def _name(value: Any) -> bytes:
    """Name what a library has.

    Raises
    ------
    _UnhashableError
        If it is none of a library, or belongs to something: a user's module may change.
    """
    home = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    belongs = getattr(value, "__self__", None)
    known = home.partition(".")[0] in _LIBRARY or home.startswith("nsa_cli.")
    if not known or not isinstance(belongs, ModuleType | type(None)):
        raise _UnhashableError(value)
    return f"{home} {name}".encode()
