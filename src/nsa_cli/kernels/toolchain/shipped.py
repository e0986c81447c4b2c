"""Machine code of the built-in problems' kernels, which was made when the package was built.

An object file for each kernel and types of arguments, for the usual processors. LLVM loads it in a
millisecond, and it is called without Numba. Each is known by a hash of the sources it was made from: after
an edit, on a processor or system that is not listed, and for types that nobody foresaw, Numba compiles.
The environment variable ``NSA_KERNELS`` chooses: ``jit`` for Numba always, ``shipped`` to refuse it; kernels
of users' problems are always compiled (`nsa_cli.kernels.toolchain.own`).
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.core.errors import UsageError
from nsa_cli.kernels.toolchain import own
from nsa_cli.kernels.toolchain.sources import PACKAGE, digest_of

#: Where the objects are: a folder a target, and an index of all.
OBJECTS = Path(__file__).parent / "objects"


class Target(NamedTuple):
    """A kind of machine that objects are made for.

    Attributes
    ----------
    name : str
    system, machine : str
        As `sys.platform` and `platform.machine` name them.
    triple, cpu, features : str
        For LLVM.
    needs : tuple of str
        Features of a processor without which the code does not run.
    """

    name: str
    system: str
    machine: str
    triple: str
    cpu: str
    features: str
    needs: tuple[str, ...]


_V3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")

#: Best first. Vectors of 512 bits make a processor slower as a whole.
TARGETS = (
    Target(
        "linux-x86-64-v4", "linux", "x86_64", "x86_64-unknown-linux-gnu", "x86-64-v4", "+prefer-256-bit", _V4
    ),
    Target("linux-x86-64-v3", "linux", "x86_64", "x86_64-unknown-linux-gnu", "x86-64-v3", "", _V3),
    Target("linux-arm64", "linux", "aarch64", "aarch64-unknown-linux-gnu", "generic", "", ()),
    Target("macos-arm64", "darwin", "arm64", "arm64-apple-macosx11.0", "apple-m1", "", ()),
    Target("macos-x86-64-v3", "darwin", "x86_64", "x86_64-apple-macosx10.15", "x86-64-v3", "", _V3),
)

#: How the result of a kernel lies in memory.
RESULTS: dict[str, Any] = {"bool": ctypes.c_bool, "int64": ctypes.c_int64, "float64": ctypes.c_double}

#: Letters of scalars' types.
_SCALARS = {
    int: "i",
    np.int64: "i",
    np.uint64: "u",
    bool: "b",
    np.bool_: "b",
    float: "d",
    np.float64: "d",
    np.float32: "f",
    type(None): "n",
}

_as_bits = struct.Struct("=d"), struct.Struct("=q")
_lock = Lock()


def code_for(
    function: Callable[..., Any], known: dict[Any, Any], arguments: Sequence[Any]
) -> tuple[Callable[[list[int]], Any] | None, list[int]]:
    """Find the shipped code of a kernel for the types of arguments, None where there is none; and its input.

    Parameters
    ----------
    function : callable
        As it was written.
    known : dict
        What was found for it before.
    arguments : sequence
    """
    key: list[Any] = []
    numbers: list[int] = []
    for argument in arguments:
        flatten(argument, key, numbers)
    types = tuple(key)
    if types not in known:
        with _lock:  # chains run in threads
            if types not in known:
                known[types] = find(function, types, arguments)
    return known[types], numbers


@cache
def _choice() -> str:
    return os.environ.get("NSA_KERNELS", "")


def flatten(value: Any, key: list[Any], numbers: list[int]) -> None:
    """Append what a value's type is told by to `key`, and its parts as 64 bits each to `numbers`.

    These are the parts that Numba passes: of an array, two that are for its owner, size, bytes an element,
    address, shape and strides.
    """
    if isinstance(value, np.ndarray):
        flags = value.flags
        key += (value.dtype.char, value.ndim, flags.c_contiguous, flags.writeable)
        numbers += (0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides)
    elif isinstance(value, tuple):
        key += (type(value), len(value))
        for part in value:
            flatten(part, key, numbers)
    else:
        letter, owner = _SCALARS.get(type(value)), getattr(value, "owner", None)
        key.append(letter or (type(value) if owner is None else owner))
        if letter == "d":
            real, whole = _as_bits
            numbers += whole.unpack(real.pack(value))
        elif letter == "f":
            numbers.append(int(value.view(np.uint32)))
        else:
            numbers.append(int(value or 0) if letter else 0)


def parts_of(arguments: Sequence[Any]) -> int:
    """Count the parts of arguments."""
    numbers: list[int] = []
    for argument in arguments:
        flatten(argument, [], numbers)
    return len(numbers)


def name_of(function: Callable[..., Any], types: Sequence[Any]) -> str:
    """Name a kernel for types of arguments, as objects are named."""
    spelt = [f"{x.__module__}.{x.__qualname__}" if isinstance(x, type) else str(x) for x in types]
    digest = hashlib.sha256(" ".join(spelt).encode()).hexdigest()[:12]
    return f"{function.__module__}.{function.__name__}-{digest}"


def find(
    function: Callable[..., Any], types: Sequence[Any], arguments: Sequence[Any]
) -> Callable[[list[int]], Any] | None:
    """Load a kernel's code for types of arguments; None where Numba is to compile it.

    Raises
    ------
    UsageError
        If there is none and nothing may be compiled.
    """
    name = name_of(function, types)
    if (owner := _owner(types)) is not None:
        return load(name, *own.object_of(owner, function, name, arguments, parts_of(arguments)))
    if _choice() == "jit":
        return None
    target = target_here()
    entry = _index().get(name)
    if target is not None and entry is not None and _is_current(tuple(entry["sources"]), entry["digest"]):
        code = object_file(OBJECTS, target, name, entry)
        if code is not None:
            return load(name, code, entry["returns"])
    if _choice() == "shipped":
        raise UsageError(f"NSA_KERNELS=shipped: there is no machine code {name}")
    return None


def object_file(folder: Path, target: Target, name: str, entry: Mapping[str, Any]) -> bytes | None:
    """Read a kernel's object for a target; None where it is missing, cut or garbled.

    Parameters
    ----------
    folder : Path
        As `OBJECTS`.
    target : Target
    name : str
    entry : mapping
        Of the index.
    """
    try:
        code = (folder / target.name / f"{name}.o").read_bytes()
    except OSError:
        return None
    wanted = entry.get("objects", {}).get(target.name)
    return code if hashlib.sha256(code).hexdigest() == wanted else None


def _owner(types: Sequence[Any]) -> own.Owner | None:
    return next((x for x in types if isinstance(x, own.Owner)), None)


class KernelError(Exception):
    """A kernel that an exception ended: an index out of range where that is checked, or a ``raise``."""


def failed(function: Callable[..., Any], arguments: Sequence[Any]) -> Exception:
    """Make the error of a kernel that an exception ended, as the owner of its functions explains it."""
    types: list[Any] = []
    for argument in arguments:
        flatten(argument, types, [])
    owner = _owner(types)
    return AssertionError(f"{function.__name__} failed") if owner is None else owner.explain(arguments)


@cache
def _index() -> dict[str, Any]:
    try:
        return json.loads((OBJECTS / "index.json").read_bytes())
    except (OSError, ValueError):  # not built, or half
        return {}


@cache
def _is_current(sources: tuple[str, ...], digest: str) -> bool:
    try:
        return digest_of(PACKAGE / source for source in sources) == digest
    except OSError:
        return False


def targets_of_machine(*, every: bool = False) -> list[Target]:
    """List the targets of this system and kind of processor, or all."""
    here = sys.platform, platform.machine()
    return [target for target in TARGETS if every or (target.system, target.machine) == here]


def fitting(targets: Sequence[Target]) -> Target | None:
    """Find the first of some targets whose code runs on this machine."""
    import llvmlite.binding as llvm

    have, here = llvm.get_host_cpu_features(), targets_of_machine()
    return next((t for t in targets if t in here and all(have.get(feature) for feature in t.needs)), None)


@cache
def target_here() -> Target | None:
    """Find the best target of this machine that there are objects for, or None."""
    return fitting([target for target in TARGETS if (OBJECTS / target.name).is_dir()])


@cache
def _target() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple())


#: What owns the code that was loaded: each object has an engine of its own, so that to load one while another
#: runs in a thread changes nothing of that.
_engines: list[Any] = []


def load(name: str, code: bytes, returns: str) -> Callable[[list[int]], Any]:
    """Load an object file; the result takes arguments as `flatten` gives their numbers."""
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target().create_target_machine())
    _engines.append(engine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
    entry, result_type = prototype(engine.get_function_address(name)), RESULTS.get(returns)

    def run(numbers: list[int]) -> Any:
        passed = (ctypes.c_int64 * len(numbers))(*numbers)
        result = None if result_type is None else result_type()
        if entry(passed, None if result is None else ctypes.byref(result)):
            raise KernelError(name)
        return None if result is None else result.value

    return run
