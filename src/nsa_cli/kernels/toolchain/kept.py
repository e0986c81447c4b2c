"""Machine code that is compiled on this machine, and kept in the private folder of `disk_cache`.

That is the code of own problems; where the library has none (`nsa_cli.kernels.toolchain.library`), also that
of built-in ones. A kernel is known by its name, which has hashes of its sources and of a user's functions in
it, and by the processor. It is kept only if another process can run it: where those hashes cover all that was
compiled in, no address of this process is in the code, and it calls nothing but the C library. No pickle is
read; a file that is not what was written is as none.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from nsa_cli.kernels import calls, compiled
from nsa_cli.kernels.toolchain.disk_cache import cache_folder, read_checked, write_checked

#: Called once in a process, before the first kernel is compiled, with whether it is an own problem's: there
#: is something to wait for.
on_compile: list[Callable[[bool], None]] = []

#: Beginnings of names that are not of the C library.
_PYTHON = ("Py", "_Py", "numba", "NRT")


@dataclass(frozen=True)
class Owner:
    """Whose functions a kernel is compiled from.

    Attributes
    ----------
    digest : str
        Hash of all that is compiled in.
    kept : bool
        Whether it is; a digest is drawn where something cannot be hashed, and nothing is kept.
    explain : callable
        ``explain(arguments)`` makes the error of a kernel that an exception ended.
    """

    digest: str
    kept: bool
    explain: Callable[[Sequence[Any]], Exception] = field(compare=False)

    def __str__(self) -> str:
        return f"own {self.digest}"


def code_of(
    owner: Owner | None, kernel: Any, name: str, arguments: Sequence[Any], parts: int
) -> tuple[int, str]:
    """Load a kernel's code, and name the type of its result; compile it where there is none.

    Parameters
    ----------
    owner : Owner or None
        None for this package.
    kernel : nsa_cli.kernels.jit.Kernel
    name : str
        Of its code, see `nsa_cli.kernels.toolchain.library.name_of`.
    arguments : sequence
    parts : int
        Of the arguments, see `nsa_cli.kernels.toolchain.library.flatten`.
    """
    from nsa_cli.core.extras import check_installed

    check_installed("numba", "this machine, for which no machine code came with nsa,")
    keeps = owner is None or owner.kept
    if keeps and (found := _read(_path(name))) is not None:
        head, _, code = found.partition(b"\n")
        returns = head.decode()
        return load(f"{name}.{returns}", code), returns
    calls.append(None)
    try:
        tell(own=owner is not None)
        code, returns, alone = _compiled(kernel, name, arguments, parts)
    finally:
        calls.pop()
    if not alone:
        _left.add(owner)
    elif keeps:
        write_checked(_path(name), returns.encode() + b"\n" + code)
    return load(f"{name}.{returns}", code), returns


def tell(*, own: bool) -> None:
    """Say once that something is compiled: functions of an own problem, or kernels of this package."""
    if not compiled:
        compiled.append(None)
        for listener in on_compile:
            listener(own)


def is_known(owner: Owner, mark: str) -> bool:
    """Tell whether `note` was called with a mark: in this process, or any if the owner's code is kept."""
    return (owner, mark) in _noted or (owner.kept and _read(_mark(owner, mark)) is not None)


def note(owner: Owner, mark: str) -> None:
    """Remember a mark, beyond this process if the owner's code is kept."""
    _noted.add((owner, mark))
    if owner.kept and owner not in _left:
        write_checked(_mark(owner, mark), b"")


#: Marks of this process, and owners of code that only this process can run.
_noted: set[tuple[Owner, str]] = set()
_left: set[Owner | None] = set()


def _mark(owner: Owner, mark: str) -> Path:
    return _path(f"{mark} {owner.digest}")


def _read(path: Path) -> bytes | None:
    try:
        return read_checked(path)
    except (OSError, ValueError):
        return None


@cache
def _processor() -> str:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    return f"{sys.version} {llvm.get_host_cpu_name()} {features} {llvm.llvm_version_info}"


def _path(name: str) -> Path:
    digest = hashlib.sha256(f"{name} {_processor()}".encode()).hexdigest()[:32]
    return cache_folder() / f"{digest}.o"


def _compiled(kernel: Any, name: str, arguments: Sequence[Any], parts: int) -> tuple[bytes, str, bool]:
    """Compile a kernel: its object, the type of its result, and whether another process can run it."""
    import llvmlite.binding as llvm

    from nsa_cli.kernels.toolchain.compiler import holds_addresses, lowered, outside

    module, returns = lowered(kernel, name, arguments, parts)
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, reloc="pic"
    )
    alone = not holds_addresses(module) and all(_is_of_library(called) for called in outside(module))
    return machine.emit_object(module), returns, alone


@cache
def _target() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple())


#: What owns the code that was loaded: each object has an engine of its own, so that to load one while another
#: runs in a thread changes nothing of that.
_engines: list[Any] = []


def load(entry: str, code: bytes) -> int:
    """Load an object, and give the address of its entry, by the name that it has there."""
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target().create_target_machine())
    _engines.append(engine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return int(engine.get_function_address(entry))


def _is_of_library(name: str) -> bool:
    return not name.startswith(_PYTHON) and any(hasattr(library, name) for library in _libraries())


@cache
def _libraries() -> tuple[Any, ...]:
    return ctypes.CDLL(None), ctypes.CDLL(ctypes.util.find_library("m"))
