"""Functions of users for kernels, and the hash under which what is made of them is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from nsa_cli.core.kernel.jit import Function, uncached


def plain(function: Any) -> Any:
    """Give a function as it was written, without a decorator of Numba or `staticmethod`."""
    function = getattr(function, "__func__", function)
    return getattr(function, "py_func", function)


def compiled(function: Any) -> Function[Any]:
    """Make a function for kernels, with the functions of its own file or folder that it calls."""
    return _compiled(plain(function))


#: Functions for kernels by those that were written; None while one is made, which may call itself.
_made: dict[FunctionType, Function[Any] | None] = {}


def _compiled(function: FunctionType) -> Any:
    if function not in _made:
        _made[function] = None
        folder = str(Path(function.__code__.co_filename).parent)

        def served(value: Any) -> Any:
            ours = isinstance(value, FunctionType) and value is not function
            near = ours and str(Path(value.__code__.co_filename).parent).startswith(folder)
            return _compiled(value) or value if near else value

        scope = dict(function.__globals__)
        scope |= {name: served(scope[name]) for name in _names(function.__code__) if name in scope}
        cells = tuple(CellType(served(cell.cell_contents)) for cell in function.__closure__ or ())
        copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells or None)
        copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
        _made[function] = uncached(copy)  # type: ignore[assignment]
    return _made[function]


def _names(code: CodeType) -> Iterator[str]:
    """Give the names that a function, or one inside it, looks up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def digest_of(*values: Any) -> str:
    """Hash functions with all they refer to: code, functions, constants, modules of their folder.

    What Numba compiles depends on nothing else, so that after an edit of a file, or of one that it imports
    from, no old code is found. Comments do not count.
    """
    digest, seen = hashlib.sha256(), set[int]()
    for value in values:
        for part in _parts(value, seen):
            digest.update(part)
            digest.update(b"\0")
    return digest.hexdigest()[:32]


def _parts(value: Any, seen: set[int]) -> Iterator[bytes]:
    """Give what a value's hash is made of."""
    value = plain(value)
    if isinstance(value, FunctionType):
        if id(value) in seen:
            return
        seen.add(id(value))
        yield from _parts(value.__code__, seen)
        yield from _parts(value.__defaults__, seen)
        for cell in value.__closure__ or ():
            yield from _parts(cell.cell_contents, seen)
        for name in sorted(set(_names(value.__code__)) & set(value.__globals__)):
            yield name.encode()
            yield from _parts(value.__globals__[name], seen)
    elif isinstance(value, CodeType):
        yield repr((value.co_argcount, value.co_flags, value.co_names, value.co_varnames)).encode()
        yield value.co_code
        yield from _parts(value.co_consts, seen)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}".encode()
        yield value.tobytes()
    elif isinstance(value, ModuleType):
        yield _module(value)
    elif isinstance(value, tuple | list):
        yield f"{type(value).__name__} {len(value)}".encode()
        for part in value:
            yield from _parts(part, seen)
    elif isinstance(value, Mapping):
        yield from _parts(list(value.items()), seen)
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value).__qualname__.encode()
        yield from _parts([getattr(value, f.name) for f in fields(value)], seen)
    elif isinstance(value, type) or callable(value):
        yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value))}".encode()
    else:
        yield repr(value).encode()


def _module(module: ModuleType) -> bytes:
    """Name a module; one of a user's also by its content."""
    file = getattr(module, "__file__", None)
    if file is None or not file.endswith(".py") or "site-packages" in file or "nsa_cli" in file:
        return module.__name__.encode()
    try:
        return module.__name__.encode() + hashlib.sha256(Path(file).read_bytes()).digest()
    except OSError:
        return file.encode()


def parameters_of(function: Callable[..., Any]) -> list[str]:
    """List the names of a function's parameters."""
    code = function.__code__
    return list(code.co_varnames[: code.co_argcount])
