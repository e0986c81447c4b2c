"""Decorators of kernels: functions in a subset of Python that are run as machine code.

Nothing here imports a compiler. Machine code of the built-in problems' kernels travels with the package
(`nsa_cli.kernels.toolchain.library`); where it has none for the arguments' types, or the sources were edited,
Numba compiles it at the first call (`nsa_cli.kernels.toolchain.kept`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

from nsa_cli.kernels import calls, variants

ReturnT = TypeVar("ReturnT")

#: A compiled function: Numba checks its arguments, and tells float32 from float64, as annotations do not.
Compiled: TypeAlias = Callable[..., ReturnT]


class Variant(NamedTuple):
    """Implementation of a generic function for NamedTuple classes of arguments.

    Attributes
    ----------
    generic, function : callable
    choose : callable
        Gives the function if Numba's types are those of the classes, else None.
    classes : tuple of type
    """

    generic: Callable[..., Any]
    function: Callable[..., Any]
    choose: Callable[..., Any]
    classes: tuple[type, ...]


def is_compiling() -> bool:
    """Tell whether a kernel is compiled now, or one that was compiled by Numba is run."""
    return bool(calls)


class Function(Generic[ReturnT]):
    """A function of kernels, compiled when it is first called, or first used by one that is.

    Parameters
    ----------
    function : callable
    inline : bool
        Whether it is made part of its callers, kernels only: to pass many arrays takes long.
    inner : bool
        Whether only kernels call it.
    checked : bool
        Whether an index out of range ends the kernel with an error.
    pasted : bool
        Whether it is made part of its callers before types are known: a part of an array is given only so.
    owner : nsa_cli.kernels.toolchain.kept.Owner, optional
        A kernel that has a function with an owner among its arguments is a user's, not the package's.
    """

    def __init__(
        self,
        function: Callable[..., ReturnT],
        *,
        inline: bool = False,
        inner: bool = False,
        checked: bool = False,
        pasted: bool = False,
        owner: Any = None,
    ) -> None:
        update_wrapper(cast(Callable[..., Any], self), function)
        self.py_func, self.inline = function, inline
        self.inner, self.checked, self.owner = inner or inline, checked, owner
        if pasted:
            self.targetoptions = {"inline": "always"}  # as Numba asks for it

    def __call__(self, *arguments: Any) -> ReturnT:
        if self.inner:
            raise TypeError(f"{self.py_func.__name__} is part of kernels; in Python call uncached(…) of it")
        calls.append(None)
        try:
            from nsa_cli.kernels.toolchain import compiler

            return compiler.dispatcher(self)(*arguments)
        finally:
            calls.pop()

    @property
    def _numba_type_(self) -> Any:
        """The type by which Numba knows this function, where another one calls it."""
        from nsa_cli.kernels.toolchain import compiler

        return compiler.type_of(self)


class Kernel(Function[ReturnT]):
    """A function that is called from Python, as a rule by machine code that travels with the package.

    Attributes
    ----------
    code : dict
        What was found for the types of arguments so far.
    """

    def __init__(self, function: Callable[..., ReturnT]) -> None:
        super().__init__(function)
        self.code: dict[Any, Any] = {}

    def __call__(self, *arguments: Any) -> ReturnT:
        from nsa_cli.kernels.toolchain import library

        code, numbers = library.code_for(self, arguments)
        try:
            return code(numbers)
        except library.KernelError:
            raise library.failed(self, arguments) from None


def kernel(function: Compiled[ReturnT]) -> Compiled[ReturnT]:
    """Compile a function that allocates nothing, and that Python may call."""
    return Kernel(function)


def inlined(function: Compiled[ReturnT]) -> Compiled[ReturnT]:
    """Compile such a function into its callers.

    It is kept as part of them, and never by itself.
    """
    return Function(function, inline=True)


def uncached(function: Compiled[ReturnT]) -> Compiled[ReturnT]:
    """Compile without a place of its own on the disk: a user's functions, and what calls them.

    They are kept as part of kernels. Such code allocates nothing, either.
    """
    return Function(getattr(function, "py_func", function))


def generic(function: Compiled[ReturnT]) -> Compiled[ReturnT]:
    """Make a generic function for kernels to call, of a signature and a docstring; see `variant`."""
    return function


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
            """Give the function if the types are those of the NamedTuple classes."""
            return function if all(types[i].instance_class in some for i, some in wanted) else None

        choose.__signature__ = signature  # type: ignore[attr-defined]  # Numba compares the two
        found = tuple(cls for _, some in wanted for cls in some)
        variants.append(Variant(generic, function, choose, found))
        return function

    return register
