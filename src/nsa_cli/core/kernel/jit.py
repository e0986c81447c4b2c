"""Compilation of kernels, and their disk cache.

Numba keeps compiled functions on disk, each under the time stamp of its own source file. A kernel is made of
functions from several files, and an edit of another one would go unnoticed. So the folder is named by a hash
of all kernels' sources: whatever is edited, an old compilation is never found again.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numba
from numba.core import event
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import overload

from nsa_cli.core.kernel import compiling

ReturnT = TypeVar("ReturnT")

#: A compiled function: Numba checks its arguments, and tells float32 from float64, as annotations do not.
Compiled: TypeAlias = Callable[..., ReturnT]

#: Numba's, typed: an operation written as LLVM instructions.
intrinsic: Callable[[Callable[..., Any]], Compiled[Any]] = numba_intrinsic

# nogil: chains run in threads, and Ctrl-C is seen between chunks. error_model: NumPy's division needs no
# branch for zero; errors are checked in Python, before a kernel is entered. No fastmath: energies must be
# those of NumPy to the last bit, and sums the same on every machine.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

#: Without reference counts, whose atomic operations on every array of a NamedTuple take several times as long
#: as the work of an inner loop; what is compiled so cannot allocate.
_LEAN: dict[str, Any] = {**_OPTIONS, "_nrt": False}

#: Caches of other versions are dropped when unused for this long, in seconds.
_KEEP = 30 * 24 * 3600

_IMPORT = re.compile(rb"^from nsa_cli\.([\w.]+) import ([\w, ]*)", re.MULTILINE)

#: Functions that are cached on disk.
_kept: set[Any] = set()


def sources() -> list[Path]:
    """Files that compiled code depends on: those with kernels, and the modules that they import.

    An import is seen where a line begins with it; what a function imports, no kernel can use.
    """
    package = Path(__file__).resolve().parents[2]
    texts = {path: path.read_bytes() for path in package.rglob("*.py")}
    room = Path(__file__).parent
    waiting = [path for path, text in texts.items() if b"core.kernel.jit" in text or path.parent == room]
    found: set[Path] = set()
    while waiting:
        if (path := waiting.pop()) in found or path not in texts:
            continue
        found.add(path)
        for module, names in _IMPORT.findall(texts[path]):
            folder = package.joinpath(*module.decode().split("."))
            inner = [folder / f"{name.strip().decode()}.py" for name in names.split(b",")]
            waiting += [folder.with_suffix(".py"), folder / "__init__.py", *inner]
    return sorted(found)


@cache
def cache_folder() -> Path:
    """Writable folder of this version's compiled kernels."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sources():
        digest.update(path.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    for parent in (Path(home) / "nsa", Path(tempfile.gettempdir()) / f"nsa-{os.getuid()}"):
        folder = parent / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "used").touch()
        except OSError:
            continue
        _drop_old(parent)
        return folder
    return Path(tempfile.mkdtemp(prefix="nsa-kernels-"))


def _drop_old(parent: Path) -> None:
    for folder in parent.glob("kernels-*"):
        try:
            if (folder / "used").stat().st_mtime < time.time() - _KEEP:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue


def kernel(function: Compiled[ReturnT]) -> Compiled[ReturnT]:
    """Compile a function that allocates nothing at its first call, or load it if that was done before."""
    return _compiled(function, cache=True, **_LEAN)


def inlined(function: Compiled[ReturnT]) -> Compiled[ReturnT]:
    """Compile such a function into its callers: to pass many arrays takes long.

    It is kept as part of them, and never by itself: its caller may be `uncached`, for types of a user's
    module, which no other process could read again.
    """
    return cast(Compiled[ReturnT], numba.njit(forceinline=True, **_LEAN)(function))


def allocating(function: Compiled[ReturnT]) -> Compiled[ReturnT]:
    """Compile a function that makes arrays."""
    return _compiled(function, cache=True, **_OPTIONS)


def reordered(function: Compiled[ReturnT]) -> Compiled[ReturnT]:
    """Compile a function whose sums may be taken in any order, as vectors: gradients, never energies."""
    return _compiled(function, cache=True, fastmath={"reassoc", "contract", "nsz"}, **_LEAN)


def uncached(function: Compiled[ReturnT], *, forceinline: bool = False) -> Compiled[ReturnT]:
    """Compile without the disk cache: for code that is, or calls, a user's functions.

    No hash of this package's sources knows when those were edited. Such code allocates nothing, either.
    """
    plain = getattr(function, "py_func", function)
    return cast(Compiled[ReturnT], numba.njit(forceinline=forceinline, **_LEAN)(plain))


def _compiled(function: Compiled[ReturnT], **options: Any) -> Compiled[ReturnT]:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())  # read while decorating; others keep theirs
    try:
        made = numba.njit(**options)(function)
        _kept.add(made)
        return cast(Compiled[ReturnT], made)
    finally:
        numba.config.CACHE_DIR = before


def generic(function: Compiled[ReturnT]) -> Compiled[ReturnT]:
    """Make a generic function, of a signature and a docstring; `variant` registers implementations.

    Where nothing is compiled (``NUMBA_DISABLE_JIT``), it finds the one for the arguments' types itself.
    """
    variants: list[Callable[..., Any]] = []

    @wraps(function)
    def dispatch(*arguments: Any) -> Any:
        types = [type(argument) for argument in arguments]
        for choose in variants:
            if (found := choose(*types)) is not None:
                return found(*arguments)
        raise NotImplementedError(f"{function.__name__}: no variant for {types}")

    dispatch.variants = variants  # type: ignore[attr-defined]
    return cast(Compiled[ReturnT], dispatch)


def variant(
    generic: Callable[..., Any], **classes: type | tuple[type, ...]
) -> Callable[[Compiled[ReturnT]], Compiled[ReturnT]]:
    """Register the decorated function as the implementation of `generic` for types of arguments.

    Parameters
    ----------
    generic : callable
        As the decorator `generic` made it.
    **classes : NamedTuple class or tuple of them
        By argument name.
    """

    def register(function: Compiled[ReturnT]) -> Compiled[ReturnT]:
        signature = inspect.signature(function)
        names = list(signature.parameters)
        wanted = [(names.index(n), cls if isinstance(cls, tuple) else (cls,)) for n, cls in classes.items()]

        def choose(*types: Any) -> Compiled[ReturnT] | None:
            """Give the function if Numba's types, or Python's, are those of the NamedTuple classes."""
            fits = all(getattr(types[i], "instance_class", types[i]) in some for i, some in wanted)
            return function if fits else None

        choose.__signature__ = signature  # type: ignore[attr-defined]  # Numba compares the two
        generic.variants.append(choose)  # type: ignore[attr-defined]
        if not numba.config.DISABLE_JIT:
            overload(generic, jit_options={**_LEAN, "forceinline": True})(choose)
        return function

    return register


class _Announcer(event.Listener):  # type: ignore[misc]
    """Announces compilations that Numba begins, other than those loaded from disk.

    Uncached functions and their callees take a few seconds in every process, and are not announced.
    """

    def __init__(self) -> None:
        self._uncached = 0  # such compilations under way

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"] not in _kept:
            self._uncached += 1
        elif not self._uncached:
            compiling()

    def on_end(self, event: Any) -> None:
        self._uncached -= event.data["dispatcher"] not in _kept


event.register("numba:compile", _Announcer())
