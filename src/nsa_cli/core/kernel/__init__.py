"""Fused kernels: compilation, hooks, random draws, vector operations, choice among candidates.

A kernel takes chains through many steps without returning to Python. The loop (`nsa_cli.anneal.kernel`) is
one for all problems; a problem implements the hooks of `nsa_cli.core.kernel.hooks`. Nothing here but
`compiler` imports Numba.
"""

from __future__ import annotations

import sys


def is_compiling() -> bool:
    """Tell whether this process has, or has had, something to compile."""
    return "nsa_cli.core.kernel.compiler" in sys.modules
