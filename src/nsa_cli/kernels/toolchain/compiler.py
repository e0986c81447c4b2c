"""Compilation of kernels by Numba: in this process, or to a module of LLVM that runs without Numba.

The entry of such a module takes the address of the arguments' parts, as
`nsa_cli.kernels.toolchain.library.flatten` gives them, and that of the result. It returns Numba's status,
which is 0 unless an exception ended the kernel.

This is the only place that uses parts of Numba that are not documented; `pyproject.toml` bounds its version
for their sake:

- the flags ``_nrt``, ``no_cfunc_wrapper``, ``no_cpython_wrapper`` and ``forceinline`` of functions;
- ``numba.core.registry.cpu_target`` and ``numba.core.cgutils``, for intrinsics; ``types.Dispatcher``;
- ``overloads[…].library`` and ``fndesc``: the module of a compiled function, and its name in there;
- names of what it puts into a module: ``numba.dynamic.globals``, for addresses of this process;
- ``JITCodeLibrary`` and ``JITCPUCodegen``, of which `linked_only` makes others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from threading import RLock
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import types
from numba.core import cgutils, codegen
from numba.core.registry import cpu_target
from numba.extending import intrinsic, overload

from nsa_cli.kernels import variants

__all__ = ["cgutils"]  # for operations that write their own instructions

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


def dispatcher(function: Any) -> Any:
    """Give a `nsa_cli.kernels.jit.Function` as Numba's dispatcher, which compiles it for arguments' types."""
    with _lock:
        _tell()
        if function not in _dispatchers:
            _dispatchers[function] = _made(function)
        return _dispatchers[function]


def _tell() -> None:
    """Tell Numba of implementations of generic functions that it does not know yet."""
    with _lock:
        for variant in variants[len(_told) :]:
            overload(variant.generic, jit_options={**_INNER, "forceinline": True})(variant.choose)
            _told.append(variant)


def _options_of(function: Any) -> dict[str, Any]:
    """Give Numba's options for a function."""
    # forceinline is said in any case: what is compiled from within an inlined function inherits it otherwise,
    # and the local search was copied into each of its call sites.
    options = {**OPTIONS, "forceinline": function.inline}
    if function.inner:
        options |= _INNER
    if function.checked:
        options["boundscheck"] = True
    return options


def _made(function: Any) -> Any:
    before, numba.config.DISABLE_JIT = numba.config.DISABLE_JIT, 0  # a kernel is no Python
    try:
        return numba.njit(**_options_of(function))(function.py_func)
    finally:
        numba.config.DISABLE_JIT = before


def type_of(function: Any) -> Any:
    """Give Numba's type of a function."""
    return types.Dispatcher(dispatcher(function))


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


def lowered(kernel: Any, name: str, arguments: Sequence[Any], expected: int) -> tuple[Any, str]:
    """Type and lower a kernel; the module of all its parts with one entry, and the type of its result.

    The entry is called ``NAME.TYPE``, of the kernel and its result.

    Parameters
    ----------
    kernel : nsa_cli.kernels.jit.Kernel
    name : str
        See `nsa_cli.kernels.toolchain.library.name_of`.
    arguments : sequence
        Of the types that it is compiled for.
    expected : int
        Parts of the arguments.
    """
    _tell()
    options = {**_options_of(kernel), "no_cpython_wrapper": True}
    compiled = numba.njit(**options)(kernel.py_func)
    signature = tuple(map(numba.typeof, arguments))
    compiled.compile(signature)
    made = compiled.overloads[signature]
    made.library._ensure_finalized()
    module = module_of(made).clone()
    inner, returns = made.fndesc.llvm_func_name, str(made.signature.return_type)
    parts = [str(argument.type) for argument in module.get_function(inner).arguments]
    if expected != len(parts) - 2:
        raise RuntimeError(f"{name}: expected {len(parts) - 2} parts of arguments, got {expected}")
    entry = f"{name}.{returns}"
    module.link_in(llvm.parse_assembly(_entry(entry, inner, parts, returns)))
    for thing in [*module.functions, *module.global_variables]:
        if not thing.is_declaration and thing.name != entry:
            thing.linkage = "internal"
    return module, returns


def module_of(made: Any) -> Any:
    """Give the module of LLVM that has a compiled function, an overload of Numba's dispatcher."""
    return made.library._final_module


def _entry(name: str, inner: str, parts: Sequence[str], returns: str) -> str:
    """Write the entry of a kernel, in LLVM's assembly."""
    loads = "".join(
        f"  %p{k} = getelementptr i64, ptr %a, i64 {k}\n  %v{k} = load {part}, ptr %p{k}\n"
        for k, part in enumerate(parts[2:])
    )
    passed = ", ".join(["ptr %r", "ptr %e", *(f"{part} %v{k}" for k, part in enumerate(parts[2:]))])
    result = "  %r = alloca i64\n" if returns == "none" else "  %r = getelementptr i8, ptr %ret, i64 0\n"
    return f"""
declare i32 @"{inner}"({", ".join(parts)})
define i32 @"{name}"(ptr %a, ptr %ret) {{
  %e = alloca ptr
{result}{loads}  %s = call i32 @"{inner}"({passed})
  ret i32 %s
}}
"""


def holds_addresses(module: Any) -> bool:
    """Tell whether addresses of this process are part of a module: of large arrays, views, C functions."""
    return any(thing.name.startswith("numba.dynamic.globals") for thing in module.global_variables)


def outside(module: Any) -> set[str]:
    """Name the functions that a module calls and does not have, but for those of LLVM."""
    return {f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")}


def linked_only() -> None:
    """Keep Numba from optimising each part of a kernel by itself: `lowered` makes do without."""

    class LinkedLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
        def add_llvm_module(self, module: Any) -> None:
            self._final_module.link_in(module)

        def finalize(self) -> None:
            for library in dict.fromkeys(self._linking_libraries):
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._finalize_dynamic_globals()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            return 0

    codegen.JITCPUCodegen._library_class = LinkedLibrary
    codegen.JITCPUCodegen.set_env = lambda *_: None
