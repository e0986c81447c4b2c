"""Neural simulated annealing: a solver for tours, knapsacks, bins and problems of your own.

The names below are imported when they are first used, so that ``nsa --help`` stays instant.
"""

from __future__ import annotations

import importlib

from nsa_cli.version import __version__ as __version__

# Not that of `typing`, whose import takes longer than all else here: an interrupt in it would be a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nsa_cli.api import Unread, generate, read, read_each, solve, solve_many
    from nsa_cli.contract import check_problem
    from nsa_cli.core.errors import DataError, InputError, NsaError, UsageError
    from nsa_cli.core.instance import Instance
    from nsa_cli.core.neighbourhood import Budget, Neighbourhood
    from nsa_cli.core.problem import Column, Problem
    from nsa_cli.core.result import Result
    from nsa_cli.core.task import Task
    from nsa_cli.problems import find_problem
    from nsa_cli.solver.settings import Settings
    from nsa_cli.user.problem import UserProblem

_HOMES = {
    "nsa_cli.api": ("Unread", "generate", "read", "read_each", "solve", "solve_many"),
    "nsa_cli.core.errors": ("DataError", "InputError", "NsaError", "UsageError"),
    "nsa_cli.core.instance": ("Instance",),
    "nsa_cli.core.neighbourhood": ("Budget", "Neighbourhood"),
    "nsa_cli.core.problem": ("Column", "Problem"),
    "nsa_cli.core.result": ("Result",),
    "nsa_cli.core.task": ("Task",),
    "nsa_cli.contract": ("check_problem",),
    "nsa_cli.problems": ("find_problem",),
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


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
