"""Types of the package's names for type checkers and editors: writes ``src/nsa_cli/__init__.pyi``.

    python build_stub.py

The names are imported when they are used; a stub says where they come from. It is made when the package is
built, so that a built-in problem is one folder and nothing else.
"""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "src" / "nsa_cli"


def stub() -> str:
    """Make the text: one import a name, of the homes in ``__init__.py`` and of the problems' functions."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    (homes,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES"
    )
    homes |= {f"nsa_cli.problems.{path.parent.name}.python": _functions(path) for path in _modules()}
    lines = [f"from {module} import {n} as {n}" for module in sorted(homes) for n in homes[module]]
    return "\n".join(["# Made by build_stub.py.", *lines, "", "__version__: str", ""])


def _modules() -> list[Path]:
    return sorted(PACKAGE.glob("problems/*/python.py"))


def _functions(path: Path) -> list[str]:
    """Name the functions that a module offers."""
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    return [n.name for n in nodes if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]


if __name__ == "__main__":
    file = PACKAGE / "__init__.pyi"
    if not file.exists() or file.read_text(encoding="utf-8") != stub():  # a source may be read-only
        file.write_text(stub(), encoding="utf-8")
