"""Fused kernels: compilation, hooks, random draws, vector operations, choice among candidates.

A kernel takes chains through many steps without returning to Python. Read `hooks` and `steps` first: what a
problem implements, in a folder ``kernels`` of its own. Then the loops over them: `annealing`, `large_steps`.
`lanes` and `slots` choose among candidates. A room imports NumPy and rooms; `toolchain` makes machine code of
them, and nothing else imports Numba.
"""

from __future__ import annotations

from typing import Any

#: All implementations of generic functions (`nsa_cli.kernels.jit.Variant`): the compiler is told of them
#: when there is something to compile.
variants: list[Any] = []

#: One entry for each call under way of a kernel that Numba compiles.
calls: list[None] = []


#: Whether anything was compiled in this process that a user has to wait for.
compiled: list[None] = []
