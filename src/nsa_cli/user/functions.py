"""Functions of users for kernels, and the hash under which what is made of them is kept."""

from __future__ import annotations

import dis
import hashlib
import io
import pickle
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from nsa_cli.kernels.jit import Function
from nsa_cli.user.solutions import route

#: The folder of functions that are ready-made for those of users.
_HERE = str(Path(__file__).parent)

#: Packages whose functions and classes are known by their names: of the versions that machine code is kept
#: for.
_LIBRARY = sys.stdlib_module_names | {"llvmlite", "numba", "numpy"}

#: Instructions that look up a name, and an attribute of what is there.
_GLOBAL, _ATTRIBUTE = ("LOAD_GLOBAL", "LOAD_NAME"), ("LOAD_ATTR", "LOAD_METHOD")


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
            near = ours and str(Path(value.__code__.co_filename).parent).startswith((folder, _HERE))
            return compiled(value, made, checked=checked) or value if near else value

        scope = dict(function.__globals__)
        names = {name for is_global, name, _ in _looked_up(function.__code__) if is_global}
        scope |= {name: served(scope[name]) for name in names if name in scope}
        cells = tuple(CellType(served(cell.cell_contents)) for cell in function.__closure__ or ())
        copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells or None)
        copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
        made[function, checked] = Function(copy, inner=True, checked=checked, pasted=function is route)
    return made[function, checked]


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
    file = io.BytesIO()
    try:
        _ByValue(file).dump((np.__version__, values))
    except Exception:  # whatever an object raises that cannot be pickled
        return None
    return hashlib.sha256(file.getbuffer()).hexdigest()[:32]


class _ByValue(pickle.Pickler):
    """Pickles whose bytes tell what functions do: each is written as its code and what that looks up."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.fast = True  # equal values are the same bytes, be they one object or two
        self._seen: dict[int, Any] = {}  # functions and classes may refer to each other

    def reducer_override(self, value: Any) -> Any:
        """Write the value of what pickles otherwise have the name of."""
        parts = self._parts(value)
        return NotImplemented if parts is None else (str, (parts,))

    def _parts(self, value: Any) -> Any:
        if isinstance(value, type) and not issubclass(value, Enum) and not hasattr(value, "_fields"):
            return _name(value) and None  # a library's, which is pickled as its name
        if isinstance(value, FunctionType | type):
            if id(value) in self._seen:
                return value.__qualname__
            self._seen[id(value)] = value
            return list(_of_function(value) if isinstance(value, FunctionType) else _of_class(value))
        if isinstance(value, CodeType):
            told = value.co_argcount, value.co_flags, value.co_names, value.co_varnames, value.co_consts
            return *told, value.co_code, value.co_exceptiontable
        if isinstance(value, ModuleType | BuiltinFunctionType):
            return _name(value)
        if hasattr(value, "py_func") and hasattr(value, "targetoptions"):  # as Numba decorates a function
            return dict(value.targetoptions), value.py_func
        return str(value) if type(value).__module__.startswith("numba.core.types") else None


def _of_function(function: FunctionType) -> Iterator[Any]:
    """Give what a function's hash is made of: its name if a library has it, else all that it looks up."""
    home = str(function.__globals__.get("__name__"))
    yield f"{home}.{function.__qualname__}"
    if home.partition(".")[0] in _LIBRARY and "<locals>" not in function.__qualname__:
        return
    yield from (function.__code__, function.__defaults__, function.__kwdefaults__)
    closure = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    cells = {name: cell.cell_contents for name, cell in closure}
    yield [value for value in cells.values() if not isinstance(value, ModuleType)]
    for is_global, name, attributes in _looked_up(function.__code__):
        scope = function.__globals__ if is_global else cells
        if name in scope:  # else it is built in, or a variable
            value = scope[name]
            while isinstance(value, ModuleType) and attributes:
                value = getattr(value, attributes.pop(0), None)
            yield name, value


def _of_class(cls: Any) -> Iterator[Any]:
    """Give what kernels may know of an enumeration, or of a named tuple."""
    if issubclass(cls, Enum):
        return ((name, member.value) for name, member in cls.__members__.items())
    return iter((cls._fields, getattr(cls, "_field_defaults", None)))


def _name(value: Any) -> str:
    """Name what a library has.

    Raises
    ------
    TypeError
        If it is none of a library, or belongs to something: a user's module may change.
    """
    home = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    known = home.partition(".")[0] in _LIBRARY or home.startswith("nsa_cli.")
    if not known or not isinstance(getattr(value, "__self__", None), ModuleType | type(None)):
        raise TypeError(name)
    return f"{home} {name}"
