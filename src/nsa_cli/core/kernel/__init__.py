"""Fused kernels: compilation, hooks, random draws, vector operations, choice among candidates.

A kernel takes chains through many steps without returning to Python. The loop (`nsa_cli.anneal.kernel`) is
one for all problems; a problem implements the hooks of `nsa_cli.core.kernel.hooks`. This module itself does
not import Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_waiting: list[Callable[[], None]] = []


@contextmanager
def on_first_compilation(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` at the first compilation that is not on disk yet: it takes seconds."""
    _waiting.append(tell)
    try:
        yield
    finally:
        if tell in _waiting:
            _waiting.remove(tell)


def compiling() -> None:
    """Tell the waiting callbacks, once."""
    while _waiting:
        _waiting.pop()()
