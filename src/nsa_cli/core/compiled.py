"""How kernels are compiled: the flags of Numba in one place, with their reasons.

Importing this module loads Numba (a third of a second): import it, and modules of kernels, inside functions.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba


def _cache_folder() -> Path:
    """Name a folder by all sources of kernels.

    Numba looks only at the file of the kernel that is called: after an edit in another file it would run
    stale code.
    """
    package = Path(__file__).parents[1]
    sources = (path.read_bytes() for path in sorted(package.rglob("*.py")))
    digest = hashlib.sha256(b"".join(text for text in sources if b"core.compiled import" in text))
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "nsa-cli" / f"kernels-{digest.hexdigest()[:16]}"


if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(_cache_folder())  # type: ignore[attr-defined]

#: Untyped: Numba's declarations leave out options that it has.
_njit: Any = numba.njit

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

# cache: a first compilation takes seconds. nogil: chains run in threads, and Ctrl-C is seen between chunks.
# error_model: NumPy's division needs no branch for zero. No fastmath: lengths must be those of NumPy to the
# last bit, and sums the same on every machine.
_FLAGS = {"cache": True, "nogil": True, "error_model": "numpy"}


def kernel(function: FunctionT) -> FunctionT:
    """Compile a function that allocates no arrays, at its first call.

    Without reference counts, whose atomic operations on every array of a NamedTuple take several times as
    long
    as the work of an inner loop.
    """
    return cast(FunctionT, _njit(_nrt=False, **_FLAGS)(function))


def inlined(function: FunctionT) -> FunctionT:
    """Compile such a function into its callers: many arrays are dear to pass."""
    return cast(FunctionT, _njit(_nrt=False, forceinline=True, **_FLAGS)(function))


def allocating(function: FunctionT) -> FunctionT:
    """Compile a function that makes arrays."""
    return cast(FunctionT, _njit(**_FLAGS)(function))
