"""Source files that machine code is made from, and their hash: code of edited sources is not run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

#: The package's folder.
PACKAGE = Path(__file__).resolve().parents[2]

_IMPORT = re.compile(rb"^from nsa_cli\.([\w.]+) import ([\w, ]*)", re.MULTILINE)


def kernel_sources() -> list[Path]:
    """Files with kernels, and the modules that they import."""
    return sources(path for path in PACKAGE.rglob("*.py") if b"kernels.jit" in path.read_bytes())


def sources(modules: Iterable[Path]) -> list[Path]:
    """Files of modules, and those that they import, which may hold what is compiled into their kernels.

    An import is seen where a line begins with it; what a function imports, no kernel can use. This folder,
    which says how they are compiled, is among them.
    """
    waiting, found = [*modules, *Path(__file__).parent.glob("*.py")], set[Path]()
    while waiting:
        if (path := waiting.pop()) in found or not path.is_file():
            continue
        found.add(path)
        for module, names in _IMPORT.findall(path.read_bytes()):
            folder = PACKAGE.joinpath(*module.decode().split("."))
            inner = [folder / f"{name.strip().decode()}.py" for name in names.split(b",")]
            waiting += [folder.with_suffix(".py"), folder / "__init__.py", *inner]
    return sorted(found)


def digest_of(paths: Iterable[Path]) -> str:
    """Hash the contents of files."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()
