"""Several processes of one run that end with one error."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import typer


@contextlib.contextmanager
def one_voice(fails_first: Callable[[], bool]) -> Iterator[None]:
    """Have one of the processes of a run say why it ends.

    A mistake that all make, or the loss of one of them, is a line as from a single process. The others leave
    with its exit code.

    Parameters
    ----------
    fails_first : callable
        Tells the first process that asks from the others.
    """
    try:
        yield
    except Exception as error:
        if fails_first():
            raise
        raise typer.Exit(getattr(error, "exit_code", 1)) from None
