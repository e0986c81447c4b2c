"""Modules of a class's folder, found by name and imported when they are needed.

Torch, Numba and SciPy take longer to import than small instances to solve, so what needs them lies in modules
beside the package that describes it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any


def deferred(module: str, function: str) -> Callable[..., Any]:
    """Give a function that imports another one when it is called."""
    return lambda *arguments: getattr(importlib.import_module(module), function)(*arguments)


def find_part(owner: object, module: str, attribute: str) -> Any | None:
    """Import an attribute of a module in the package that defines a class, or one of its bases.

    Parameters
    ----------
    owner : object
        Of the class.
    module, attribute : str

    Returns
    -------
    object or None
        None if no such package has the module.
    """
    for cls in type(owner).__mro__:
        package = sys.modules[cls.__module__]
        if hasattr(package, "__path__") and find_spec(name := f"{package.__name__}.{module}"):
            return getattr(importlib.import_module(name), attribute)
    return None
