"""What does not fit into the machine is refused beforehand: Linux ends a process that fills memory."""

from __future__ import annotations

import os

from nsa_cli.core.errors import NoMemoryError


def check_memory(needed: int) -> None:
    """Refuse what takes more bytes than the machine has.

    Parameters
    ----------
    needed : int
        Bytes, as a low estimate.

    Raises
    ------
    NoMemoryError
        If there is not so much, used or not.
    """
    if needed > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        raise NoMemoryError
