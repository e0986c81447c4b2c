"""Kernels as object files: typed and lowered by Numba, with one entry, to be loaded without Numba.

The entry takes the address of the arguments' parts, as `nsa_cli.kernels.toolchain.library.flatten` gives
them, and that of the result. It returns Numba's status, which is 0 unless an exception ended the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm
import numba

from nsa_cli.kernels import variants
from nsa_cli.kernels.toolchain import compiler


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
    compiler.tell(variants)
    options = {**compiler.options_of(kernel), "no_cpython_wrapper": True}
    compiled = numba.njit(**options)(kernel.py_func)
    signature = tuple(map(numba.typeof, arguments))
    compiled.compile(signature)
    made = compiled.overloads[signature]
    made.library._ensure_finalized()
    module = made.library._final_module.clone()
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
