"""What fused kernels are made of: compilation, random draws, vector operations, choice among candidates.

A kernel takes chains through many steps without returning to Python. The loop (`nsa_cli.anneal.kernel`) is
one for all problems; a problem gives the parts named in `nsa_cli.core.kernel.parts`. This module itself does
not import Numba.
"""

from __future__ import annotations

from collections.abc import Callable

_waiting: list[Callable[[], None]] = []


def on_first_compilation(tell: Callable[[], None]) -> None:
    """Have `tell` called when first something is compiled that is not kept on disk: that takes seconds."""
    _waiting[:] = [tell]


def compiling() -> None:
    """Tell whoever waits for it, once."""
    while _waiting:
        _waiting.pop()()
