"""Machine code of the built-in problems' kernels, which was made when the package was built.

A shared library for each kind of processor. A kernel is a function in it, whose name has a hash of the types
of its arguments and of the sources that it was made from: after an edit, and for types that nobody foresaw,
there is none of that name. Then, and where there is no library for this processor, or it is not what was
built, Numba compiles the kernel (`nsa_cli.kernels.toolchain.kept`). The environment variable ``NSA_KERNELS``
chooses: ``jit`` for Numba always, ``shipped`` to refuse it; kernels of own problems are always compiled.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import platform
import re
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.kernels.toolchain import kept
from nsa_cli.kernels.toolchain.sources import PACKAGE, digest_of_modules

#: Where macOS keeps names of features, and where they differ from those of Linux.
_KEYS = ("machdep.cpu.features", "machdep.cpu.leaf7_features", "machdep.cpu.extfeatures")
_OTHER_NAMES = {"lzcnt": "abm", "avx1.0": "avx"}


@cache
def features() -> frozenset[str]:
    """Names of the processor's features, as Linux has them; none where the system does not tell."""
    try:
        if sys.platform == "darwin":
            words = subprocess.run(
                ["sysctl", "-n", *_KEYS], capture_output=True, text=True, check=False
            ).stdout
        else:
            told = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
            words = told[1] if told else ""
    except OSError:
        return frozenset()
    return frozenset(_OTHER_NAMES.get(word, word) for word in words.lower().split())


#: Where the libraries are, and the file with a hash of each.
FOLDER, HASHES = PACKAGE / "kernels" / "libraries", "hashes.json"


class Target(NamedTuple):
    """A kind of machine that a library is made for.

    Attributes
    ----------
    name : str
    system, machine : str
        As `sys.platform` and `platform.machine` name them.
    triple, cpu, features : str
        For LLVM.
    needs : tuple of str
        Features of a processor without which the code does not run, as Linux names them.
    """

    name: str
    system: str
    machine: str
    triple: str
    cpu: str
    features: str
    needs: tuple[str, ...]

    @property
    def file(self) -> str:
        """Name of the library."""
        return self.name + (".dylib" if self.system == "darwin" else ".so")


_V3 = ("abm", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")
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

#: How the result of a kernel lies in memory, by Numba's name of its type.
RESULTS: dict[str, Any] = {
    "none": None,
    "bool": ctypes.c_bool,
    "int64": ctypes.c_int64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}

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


def flatten(value: Any, key: list[Any], numbers: list[int]) -> None:
    """Append what a value's type is told by to `key`, and its parts as 64 bits each to `numbers`.

    These are the parts that Numba passes: of an array, two that are for its owner, size, bytes an element,
    address, shape and strides.
    """
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        key += (value.dtype.char, value.ndim, layout, flags.writeable)
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


def name_of(function: Callable[..., Any], types: Sequence[Any]) -> str:
    """Name a kernel for types of arguments, as it is written now."""
    spelt = [f"{x.__module__}.{x.__qualname__}" if isinstance(x, type) else str(x) for x in types]
    modules = [function.__module__, *(x.__module__ for x in types if isinstance(x, type))]
    digest = hashlib.sha256(" ".join([digest_of_modules(modules), *spelt]).encode()).hexdigest()[:16]
    return f"{function.__module__}.{function.__name__}-{digest}"


def code_for(kernel: Any, arguments: Sequence[Any]) -> tuple[Callable[[list[int]], Any], list[int]]:
    """Find the code of a kernel for the types of arguments, or have it compiled; and its input.

    Raises
    ------
    UsageError
        If there is none, and nothing may be compiled.
    """
    types: list[Any] = []
    numbers: list[int] = []
    for argument in arguments:
        flatten(argument, types, numbers)
    key = tuple(types)
    if key not in kernel.code:
        with _lock:  # chains run in threads
            if key not in kernel.code:
                kernel.code[key] = find(kernel, key, arguments, len(numbers))
    return kernel.code[key], numbers


_lock = Lock()


def find(
    kernel: Any, types: Sequence[Any], arguments: Sequence[Any], parts: int
) -> Callable[[list[int]], Any]:
    """Find the code of a kernel in the library; where it has none, compile it.

    Parameters
    ----------
    kernel : nsa_cli.kernels.jit.Kernel
    types : sequence
        What the types of the arguments are told by, see `flatten`.
    arguments : sequence
    parts : int
        Of all arguments.
    """
    name, owner = name_of(kernel.py_func, types), _owner(types)
    if owner is None and _choice() != "jit" and (shipped := _shipped(name)) is not None:
        return shipped
    if owner is None and _choice() == "shipped":
        from nsa_cli.core.errors import UsageError

        raise UsageError(f"NSA_KERNELS=shipped: there is no machine code {name}")

    return caller(name, *kept.code_of(owner, kernel, name, arguments, parts))


@cache
def _choice() -> str:
    return os.environ.get("NSA_KERNELS", "")


def _owner(types: Sequence[Any]) -> kept.Owner | None:
    return next((x for x in types if isinstance(x, kept.Owner)), None)


class KernelError(Exception):
    """A kernel that an exception ended: an index out of range where that is checked, or a ``raise``."""


def failed(kernel: Any, arguments: Sequence[Any]) -> Exception:
    """Make the error of a kernel that an exception ended, as the owner of its functions explains it."""
    types: list[Any] = []
    for argument in arguments:
        flatten(argument, types, [])
    owner = _owner(types)
    return AssertionError(f"{kernel.py_func.__name__} failed") if owner is None else owner.explain(arguments)


def fitting(targets: Sequence[Target]) -> Target | None:
    """Find the first of some targets whose code runs on this machine."""
    here, have = (sys.platform, platform.machine()), features()
    return next((t for t in targets if (t.system, t.machine) == here and have.issuperset(t.needs)), None)


@cache
def target_here() -> Target | None:
    """Find the best target of this machine that there is a library for, or None."""
    return fitting([target for target in TARGETS if (FOLDER / target.file).is_file()])


@cache
def library() -> ctypes.CDLL | None:
    """Load the library of this machine; None where there is none, or not as it was built."""
    if (target := target_here()) is None:
        return None
    path = FOLDER / target.file
    try:
        hashes = json.loads((FOLDER / HASHES).read_bytes())
        if hashlib.sha256(path.read_bytes()).hexdigest() != hashes.get(target.file):
            return None  # code that is half there would be run
        return ctypes.CDLL(str(path))
    except (OSError, ValueError):
        return None


def _shipped(name: str) -> Callable[[list[int]], Any] | None:
    """Find a kernel in the library, by its name and that of its result's type; None if it is not there."""
    if (loaded := library()) is None:
        return None
    for returns in RESULTS:
        with contextlib.suppress(AttributeError):
            return caller(name, ctypes.cast(loaded[f"{name}.{returns}"], ctypes.c_void_p).value or 0, returns)
    return None


def caller(name: str, address: int, returns: str) -> Callable[[list[int]], Any]:
    """Make a function of machine code, which takes arguments as `flatten` gives their numbers.

    Parameters
    ----------
    name : str
    address : int
    returns : str
        Key of `RESULTS`.
    """
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
    entry, result_type = prototype(address), RESULTS[returns]

    def run(numbers: list[int]) -> Any:
        passed = (ctypes.c_int64 * len(numbers))(*numbers)
        result = None if result_type is None else result_type()
        if entry(passed, None if result is None else ctypes.byref(result)):
            raise KernelError(name)
        return None if result is None else result.value

    return run
