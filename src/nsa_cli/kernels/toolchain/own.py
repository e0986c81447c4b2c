"""Machine code of kernels for problems of users: compiled once, kept in the private folder of `disk_cache`.

A kernel is known by its name, which has the hash of the user's functions in it, and by the processor. It is
kept only if another process can run it: where that hash covers all that was compiled in, no address of this
process is in the code, and it calls nothing but the C library. No pickle is read; a file that is not what was
written is as none.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from nsa_cli.kernels import calls, compiled
from nsa_cli.kernels.toolchain.disk_cache import cache_folder, read_checked, write_checked

#: Called once in a process, before the first kernel is compiled: there is something to wait for.
on_compile: list[Callable[[], None]] = []

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


def object_of(
    owner: Owner, function: Callable[..., Any], name: str, arguments: Sequence[Any], parts: int
) -> tuple[bytes, str]:
    """Read a kernel's object, and the type of its result; compile it where there is none.

    Parameters
    ----------
    owner : Owner
    function : callable
        As it was written.
    name : str
        Of the kernel, see `nsa_cli.kernels.toolchain.shipped.name_of`.
    arguments : sequence
    parts : int
        Of the arguments, see `nsa_cli.kernels.toolchain.shipped.flatten`.
    """
    if owner.kept and (kept := _read(_path(name))) is not None:
        head, _, code = kept.partition(b"\n")
        return code, json.loads(head)["returns"]
    calls.append(None)
    try:
        tell()
        code, returns, alone = _compiled(function, name, arguments, parts)
    finally:
        calls.pop()
    if alone and owner.kept:
        write_checked(_path(name), json.dumps({"returns": returns}).encode() + b"\n" + code)
    return code, returns


def tell() -> None:
    """Say that something is compiled, once."""
    if not compiled:
        compiled.append(None)
        for listener in on_compile:
            listener()


def is_known(owner: Owner, mark: str) -> bool:
    """Tell whether `note` was called with a mark: in this process, or any if the owner's code is kept."""
    return (owner, mark) in _noted or (owner.kept and _read(_mark(owner, mark)) is not None)


def note(owner: Owner, mark: str) -> None:
    """Remember a mark."""
    _noted.add((owner, mark))
    if owner.kept:
        write_checked(_mark(owner, mark), b"")


#: Marks of this process.
_noted: set[tuple[Owner, str]] = set()


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
    return cache_folder() / f"own-{digest}.o"


def _compiled(
    function: Callable[..., Any], name: str, arguments: Sequence[Any], parts: int
) -> tuple[bytes, str, bool]:
    """Compile a kernel: its object, the type of its result, and whether another process can run it."""
    import llvmlite.binding as llvm

    from nsa_cli.kernels.toolchain.ahead import holds_addresses, lowered, outside

    module, returns = lowered(function, name, arguments, parts)
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, reloc="pic"
    )
    alone = not holds_addresses(module) and all(_is_of_library(called) for called in outside(module))
    return machine.emit_object(module), returns, alone


def _is_of_library(name: str) -> bool:
    return not name.startswith(_PYTHON) and any(hasattr(library, name) for library in _libraries())


@cache
def _libraries() -> tuple[Any, ...]:
    return ctypes.CDLL(None), ctypes.CDLL(ctypes.util.find_library("m"))
