"""`nsa example`: the examples of the documentation, for whoever has the installed package alone."""

from __future__ import annotations

import ast
import keyword
import os
from pathlib import Path
from typing import Annotated

import typer

from nsa_cli.api import read
from nsa_cli.cli.command import completion
from nsa_cli.cli.console import emit
from nsa_cli.cli.writing import is_directory
from nsa_cli.core.errors import NsaError, UsageError, shown
from nsa_cli.core.words import nearest


def example_folder() -> Path:
    """Folder of the examples: in the installed package, or in a checkout."""
    package = Path(__file__).resolve().parents[1]
    return next(f for f in (package / "examples", package.parents[1] / "examples") if f.is_dir())


def example_names() -> list[str]:
    """Names of the examples."""
    folder = example_folder()
    files = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    return sorted(p.as_posix() for p in files if not any(part.startswith((".", "_")) for part in p.parts))


def example(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Name of an example; without it they are listed.",
            autocompletion=completion(example_names),
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE|DIR",
            help="Write it there instead of here; - is stdout.",
        ),
    ] = None,
    new: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Begin a problem of your own: write NAME.py, which solves at once."
        ),
    ] = None,
) -> int:
    """Write the example NAME into the current folder, or list what there is."""
    if new is not None:
        if name is not None:
            raise UsageError("writes a file of its own; leave out the example", option="new")
        if not new.isidentifier() or keyword.iskeyword(new):
            raise UsageError(f"expected a name that Python can have, got {shown(new)}", option="new")
        text = (Path(__file__).parents[1] / "user" / "template.txt").read_text(encoding="utf-8")
        word = "".join(part.capitalize() for part in new.split("_"))
        return _written(text.replace("NAME", new).replace("CLASS", word).encode(), f"{new}.py", output)
    if name is None:
        if output is not None:
            raise UsageError("expected the name of an example with it", option="output")
        width = max(map(len, example_names()))
        emit("".join(f"{n:<{width}}  {_about(n)}".rstrip() + "\n" for n in example_names()), None)
        return 0
    if name not in example_names():
        near = nearest(name, example_names())
        known = ", ".join(example_names()) if near is None else f"the nearest is {near}"
        raise UsageError(f"there is no example {shown(name)}; {known}")
    return _written((example_folder() / name).read_bytes(), Path(name).name, output)


def _written(data: bytes, name: str, output: str | None) -> int:
    """Write an example, but over nothing."""
    if output == "-":
        emit(data.decode(), None)
        return 0
    path = Path(output or ".") / name if is_directory(output or ".") else Path(output or "")
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError:
        raise UsageError(f"{path}: is there already; give another name", option="output") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{path}: cannot be written: {why}", option="output") from None
    emit(f"{path}\n", None)
    return 0


def _about(name: str) -> str:
    """Say what an example is: the first line of a program, the problem and the size of an instance."""
    path = example_folder() / name
    if path.suffix == ".py":
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        return text.partition("\n")[0]
    try:
        (task,) = read(os.fspath(path))
    except (NsaError, ValueError):
        return ""  # of a problem of one's own
    return f"{task.problem.summary}; n = {task.instance.size}"
