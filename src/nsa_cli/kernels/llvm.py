"""LLVM's instructions and types, imported when something is compiled: a solve does without.

Every name is that of `llvmlite.ir`; `types` has those of vectors.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from nsa_cli.kernels.draws import LANES


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # Python asks for some as it imports this
        raise AttributeError(name)
    import llvmlite.ir

    return getattr(llvmlite.ir, name)


class _Types:
    """Types of numbers, and of vectors of `LANES` of them."""

    @cached_property
    def float(self) -> Any:
        return __getattr__("FloatType")()

    @cached_property
    def int32(self) -> Any:
        return __getattr__("IntType")(32)

    @cached_property
    def int64(self) -> Any:
        return __getattr__("IntType")(64)

    @cached_property
    def floats(self) -> Any:
        return self._vector(self.float)

    @cached_property
    def doubles(self) -> Any:
        return self._vector(__getattr__("DoubleType")())

    @cached_property
    def int32s(self) -> Any:
        return self._vector(self.int32)

    @cached_property
    def int64s(self) -> Any:
        return self._vector(self.int64)

    @staticmethod
    def _vector(element: Any) -> Any:
        return __getattr__("VectorType")(element, LANES)


types = _Types()
