"""Neural simulated annealing: a solver for tours, knapsacks, bins and problems of your own.

The names below are imported when they are first used, so that ``nsa --help`` stays instant. Type checkers and
editors read them in ``__init__.pyi``. A built-in problem's function is in the module `python` of its folder.
"""

from __future__ import annotations

import importlib

from nsa_cli.version import __version__ as __version__

# Not that of `typing`, whose import takes longer than all else here: an interrupt in it would be a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HOMES = {
    "nsa_cli.api": ("Unread", "generate", "read", "read_each", "solve", "solve_many"),
    "nsa_cli.core.errors": ("DataError", "InputError", "NsaError", "UsageError"),
    "nsa_cli.core.instance": ("Instance",),
    "nsa_cli.core.neighbourhood": ("Budget", "Neighbourhood"),
    "nsa_cli.core.problem": ("Column", "Problem", "Task"),
    "nsa_cli.contract": ("check_problem",),
    "nsa_cli.problems": ("find_problem",),
    "nsa_cli.report.result": ("Result",),
    "nsa_cli.solver.settings": ("Settings",),
    "nsa_cli.user.problem": ("UserProblem",),
}

__all__ = [
    "Budget",
    "Column",
    "DataError",
    "InputError",
    "Instance",
    "Neighbourhood",
    "NsaError",
    "Problem",
    "Result",
    "Settings",
    "Task",
    "Unread",
    "UsageError",
    "UserProblem",
    "check_problem",
    "find_problem",
    "generate",
    "read",
    "read_each",
    "solve",
    "solve_many",
]


def _functions() -> dict[str, Any]:
    """Functions of the built-in problems, by name."""
    from nsa_cli.problems.functions import functions

    return functions()


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(_imported(module), name)
    if not name.startswith("_") and name in (found := _functions()):
        return found[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _imported(module: str) -> Any:
    """Import a module that may need an optional package."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        from nsa_cli.core.extras import how_to_install

        if error.name != "torch":
            raise
        from nsa_cli.core.errors import UsageError

        raise UsageError(f"{module} needs {how_to_install('torch')}") from None


def __dir__() -> list[str]:
    return sorted({*__all__, *_functions(), "__version__"})
