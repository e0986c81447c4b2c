"""Rooms of source files that machine code is made from, and their hashes: code of edited sources is not run.

A room is a folder ``kernels``: the shared one, or that of a problem. Its files import nothing outside rooms,
so an edit elsewhere changes no kernel (`tests/kernels/test_rooms.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

#: The package's folder.
PACKAGE = Path(__file__).resolve().parents[2]

#: The shared room, and of the folder that makes machine code of it the files that what is made depends on.
SHARED, _MAKERS = "kernels", ("compiler.py",)


def rooms() -> list[str]:
    """Names of all rooms, as paths in the package."""
    found = (folder for folder in PACKAGE.rglob("kernels") if folder.is_dir())
    return sorted(folder.relative_to(PACKAGE).as_posix() for folder in found)


def room_of(module: str) -> str | None:
    """Find the room of a module of this package; None if it is in none."""
    parts = module.split(".")
    if parts[0] != "nsa_cli" or "kernels" not in parts:
        return None
    return "/".join(parts[1 : parts.index("kernels") + 1])


def files_of(room: str) -> list[Path]:
    """List the source files of a room, in order."""
    folder = PACKAGE / room
    makers = [folder / "toolchain" / name for name in _MAKERS] if room == SHARED else []
    return sorted([*folder.glob("*.py"), *makers])


@cache
def digest_of(room: str) -> str:
    """Hash the source files of a room."""
    digest = hashlib.sha256()
    for path in files_of(room):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def digest_of_modules(modules: Iterable[str]) -> str:
    """Hash the shared room and those of some modules."""
    needed = {SHARED, *filter(None, map(room_of, modules))}
    return hashlib.sha256(" ".join(map(digest_of, sorted(needed))).encode()).hexdigest()
