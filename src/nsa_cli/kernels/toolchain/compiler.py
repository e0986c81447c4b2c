"""Compilation of kernels by Numba."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from threading import RLock
from typing import Any

import numba
from numba import types
from numba.core.registry import cpu_target
from numba.extending import intrinsic, overload

# nogil: chains run in threads, and Ctrl-C is seen between chunks. error_model: NumPy's division needs no
# branch for zero; errors are checked in Python, before a kernel is entered. No fastmath: energies must be
# those of NumPy to the last bit, and sums the same on every machine. _nrt: without reference counts, whose
# atomic operations on every array of a NamedTuple take several times as long as the work of an inner loop;
# what is compiled so cannot allocate.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}

#: Of functions that only kernels call.
_INNER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True}

_dispatchers: dict[Any, Any] = {}
_told: list[Any] = []
_lock = RLock()


def dispatcher(function: Any, variants: Sequence[Any]) -> Any:
    """Give a function as Numba's dispatcher, which compiles it for the types that it is called with.

    Parameters
    ----------
    function : nsa_cli.kernels.jit.Function
    variants : sequence of nsa_cli.kernels.jit.Variant
        All, of which Numba is told of the new ones.
    """
    with _lock:
        tell(variants)
        if function not in _dispatchers:
            _dispatchers[function] = _made(function)
        return _dispatchers[function]


def tell(variants: Sequence[Any]) -> None:
    """Tell Numba of implementations of generic functions that it does not know yet."""
    with _lock:
        for variant in variants[len(_told) :]:
            overload(variant.generic, jit_options={**_INNER, "forceinline": True})(variant.choose)
            _told.append(variant)


def options_of(function: Any) -> dict[str, Any]:
    """Give Numba's options for a function."""
    # forceinline is said in any case: what is compiled from within an inlined function inherits it otherwise,
    # and the local search was copied into each of its call sites.
    options = {**OPTIONS, "forceinline": function.inline}
    if function.inner:
        options |= _INNER
    if function.checked:
        options["boundscheck"] = True
    if function.reordered:
        options["fastmath"] = {"reassoc", "contract", "nsz"}
    return options


def _made(function: Any) -> Any:
    before, numba.config.DISABLE_JIT = numba.config.DISABLE_JIT, 0  # a kernel is no Python
    try:
        return numba.njit(**options_of(function))(function.py_func)
    finally:
        numba.config.DISABLE_JIT = before


def type_of(function: Any, variants: Sequence[Any]) -> Any:
    """Give Numba's type of a function."""
    return types.Dispatcher(dispatcher(function, variants))


def operation_type(write: Callable[..., Any], returns: str, coder: Callable[..., Any]) -> Any:
    """Give Numba's type of an operation that writes its own instructions, see `lanes.Operation`."""

    @wraps(write)
    def typed(_: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            result = write(coder(context, builder, signature, values), *values)
            return context.get_dummy_value() if result is None else result

        return eval(returns, vars(types))(*arguments), generate

    made, context = intrinsic(typed), cpu_target.typing_context
    context.refresh()
    return context.resolve_value_type(made)
