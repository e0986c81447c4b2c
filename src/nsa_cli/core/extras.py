"""Optional packages: what needs one that is not installed says so in a line, with what installs it."""

from __future__ import annotations

import importlib
import importlib.util

from nsa_cli.core.errors import UsageError

#: Optional packages as they are called, by the name that they are imported by, and that pip knows.
_NAMES = {
    "torch": "PyTorch",
    "matplotlib": "matplotlib",
    "numba": "Numba",
    "distributed": "Dask",
    "pandas": "pandas",
}


def is_installed(package: str) -> bool:
    """Tell whether a package is there, without importing it."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # hidden by whoever runs this process
        return False


def check_installed(package: str, what: str) -> None:
    """Refuse where an optional package is not there; it is not imported yet.

    Raises
    ------
    UsageError
        With the command that installs it.
    """
    if not is_installed(package):
        raise UsageError(f"{what} needs {how_to_install(package)}")


def how_to_install(package: str) -> str:
    """Name an optional package with the command that installs it, whether or not nsa is on an index."""
    return f"{_NAMES[package]}: pip install {package}"


def need(package: str, what: str, option: str | None = None) -> None:
    """Import an optional package.

    Parameters
    ----------
    package : str
        As it is imported.
    what : str
        What needs it, for the message; may be empty where the option says it.
    option : str, optional
        The option that asks for it.

    Raises
    ------
    UsageError
        If it is not installed; with the command that installs it.
    """
    try:
        importlib.import_module(package)
    except ModuleNotFoundError:
        message = f"{what} needs {how_to_install(package)}".strip()
        raise UsageError(message, option=option) from None
