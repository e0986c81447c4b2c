"""What fused kernels are made of: compilation, random draws, vector operations, choice among candidates.

A kernel takes chains through many steps without returning to Python. The loop (`nsa_cli.anneal.kernel`) is
one for all problems; a problem gives the parts named in `nsa_cli.core.kernel.hooks`. This module itself does
not import Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_waiting: list[Callable[[], None]] = []


@contextmanager
def on_first_compilation(tell: Callable[[], None]) -> Iterator[None]:
    """Have `tell` called when first something is compiled that is not kept on disk: that takes seconds."""
    _waiting.append(tell)
    try:
        yield
    finally:
        if tell in _waiting:
            _waiting.remove(tell)


def compiling() -> None:
    """Tell whoever waits for it, once."""
    while _waiting:
        _waiting.pop()()
