"""Functions of the built-in problems for Python, found in the modules `python` of their folders."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from nsa_cli.problems import builtin_names


@functools.cache
def functions() -> dict[str, Callable[..., Any]]:
    """Functions by name: those that such a module defines."""
    found: dict[str, Callable[..., Any]] = {}
    for problem in builtin_names():
        module = f"nsa_cli.problems.{problem}.python"
        if find_spec(module):
            members = vars(importlib.import_module(module)).items()
            found |= {n: f for n, f in members if inspect.isfunction(f) and f.__module__ == module}
    return found
