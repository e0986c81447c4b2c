"""Pages that the build of the documentation makes: of help, exports, the notebook, and files elsewhere.

`mkdocs.yml` names this file. Nothing is written by hand twice: the commands' page is their help, the Python
page is what `nsa_cli` exports, with its docstrings, and results, policies, security and changes are files
of the repository.
"""

from __future__ import annotations

import ast
import html
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING
from dataclasses import fields as dataclass_fields
from pathlib import Path
from types import ModuleType
from typing import Any

import typer
from mkdocs.structure.files import File, Files

import nsa_cli
from nsa_cli import user
from nsa_cli.cli.command import grouped
from nsa_cli.cli.main import app
from nsa_cli.problems import all_problems
from nsa_cli.problems.vocabulary import vocabulary
from nsa_cli.user import moves as user_moves
from nsa_cli.user import solutions
from nsa_cli.user.moves import MoveType
from nsa_cli.user.solutions import SolutionKind

ROOT = Path(__file__).parent

#: Files elsewhere in the repository, and the pages that they become.
ELSEWHERE = {
    "benchmarks/RESULTS.md": "RESULTS.md",
    **{f"benchmarks/results/{p.name}": f"results/{p.name}" for p in ROOT.glob("benchmarks/results/*.md")},
    "checkpoints/README.md": "POLICIES.md",
    "SECURITY.md": "SECURITY.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
}

#: What is wanted most, first on the Python page.
FIRST = (
    "solve",
    "tsp",
    "knapsack",
    "bin_packing",
    "rosenbrock",
    "solve_many",
    "read",
    "read_each",
    "generate",
    "Result",
    "Settings",
)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made."""
    for source, page in ELSEWHERE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    files.append(File.generated(config, "tutorial.md", content="\n".join(tutorial_page())))
    files.append(File.generated(config, "words.md", content="\n".join(words_page())))
    files.append(File.generated(config, "own-reference.md", content="\n".join(own_page())))
    files.append(File.generated(config, "commands.md", content="\n".join(commands_page())))
    files.append(File.generated(config, "python.md", content="\n".join(python_page())))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put tables in, and turn links to files elsewhere in the repository into links to pages."""
    markdown = markdown.replace("](tutorial.ipynb", "](tutorial.md")
    markdown = re.sub(r"<!-- nsa (\S+): (\w+) -->", lambda found: _options(*found.groups()), markdown)
    markdown = re.sub(r"<!-- result: (\w+) -->", lambda found: _fields(found[1]), markdown)
    markdown = markdown.replace("<!-- packages -->", _packages())
    for source, page in ELSEWHERE.items():
        markdown = markdown.replace(f"](../{source}", f"]({page}")
    return markdown.replace("](../../docs/", "](../")  # pictures, from the pages of results


def _options(name: str, heading: str) -> str:
    """Write the options of a command under a heading of its help as a table."""
    root = typer.main.get_command(app)
    with typer.Context(root, info_name="nsa") as context:
        command = root.get_command(context, name)  # type: ignore[attr-defined]
        records = dict(grouped(command, context))[heading]
    rows = [f"| <code>{_cell(declaration)}</code> | {_cell(text)} |" for declaration, text in records]
    return "\n".join(["| option | meaning |", "|---|---|", *rows])


def _packages() -> str:
    """Write the packages and modules at the top, with the first lines of their docstrings."""
    places = sorted([*(ROOT / "src/nsa_cli").glob("*/__init__.py"), *(ROOT / "src/nsa_cli").glob("[!_]*.py")])
    rows = ["| under `src/nsa_cli` | |", "|---|---|"]
    for path in places:
        about = ast.get_docstring(ast.parse(path.read_text())) or ""
        name = f"{path.parent.name}/" if path.stem == "__init__" else path.name
        rows.append(f"| `{name}` | {about.splitlines()[0]} |")
    return "\n".join(rows)


def _fields(of: str) -> str:
    """Write the fields of a result, or of its object `of`, as a table."""
    fields = json.loads((ROOT / "docs" / "result.schema.json").read_text())["properties"]
    if of != "fields":
        fields = fields[of]["anyOf"][1]["properties"]
    rows = [f"| `{name}` | {field['description']} |" for name, field in fields.items()]
    return "\n".join(["| field | meaning |", "|---|---|", *rows])


def tutorial_page() -> Iterator[str]:
    """Write the notebook as a page: its text, its cells, and what they print and draw."""
    for cell in json.loads((ROOT / "docs" / "tutorial.ipynb").read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield f"{source}\n"
            continue
        kind = "sh" if source.startswith("!") else "python"
        yield f"```{kind}\n{re.sub('^!', '', source, flags=re.MULTILINE)}\n```\n"
        for output in cell["outputs"]:
            if text := "".join(output.get("text", [])):
                yield f"```text\n{text.rstrip()}\n```\n"
            elif image := output["data"].get("image/png"):
                yield f"![{cell['metadata']['alt']}](data:image/png;base64,{image})\n"


def words_page() -> Iterator[str]:
    """Write the keys of each problem, with the words that files may have for them."""
    yield "# Keys and words of files\n"
    yield "A file may use any of these words for a key. [Read your files](formats.md#words) says where.\n"
    for problem in all_problems():
        yield f"## {problem.name}\n\n| key | also |\n|---|---|"
        for key, spelt in vocabulary(problem).spelt.items():
            yield f"| `{key}` | {', '.join(f'`{word}`' for word in spelt if word != key)} |"
        yield ""


def own_page() -> Iterator[str]:
    """Write what a problem's file may have: the class, kinds of solutions, moves, and functions for them."""
    yield "# Own problems: all names\n"
    yield "Import them from `nsa_cli.user`. [Solve a problem of your own](own-problem.md) shows their use.\n"
    yield "## The class\n\n::: nsa_cli.user.UserProblem\n"
    yield "## Kinds of solutions\n\n| `solution =` | `x` | moves |\n|---|---|---|"
    exports = {name: getattr(user, name) for name in user.__all__}
    kinds = {n: e for n, e in exports.items() if isinstance(e, type) and issubclass(e, SolutionKind)}
    moves = {n: e for n, e in exports.items() if isinstance(e, MoveType)}
    moves["gaussian"] = user.gaussian(1.0)
    for name, kind in kinds.items():
        fields = [f.name if f.default is MISSING else f"{f.name}={f.default}" for f in dataclass_fields(kind)]
        fitting = ", ".join(f"`{n}`" for n, move in moves.items() if issubclass(kind, move.kinds))
        yield f"| `{name}({', '.join(fields)})` | {_cell(remark_of(solutions, name))} | {fitting} |"
    yield "\n## Moves\n\n| move | chooses | does |\n|---|---|---|"
    for name, move in moves.items():
        about = inspect.getdoc(exports[name]) if name == "gaussian" else remark_of(user_moves, name)
        signature = "gaussian(sigma, name)" if name == "gaussian" else name
        yield f"| `{signature}` | {', '.join(move.choices)} | {_cell((about or '').splitlines()[0])} |"
    yield "\n## Functions\n\n| function | |\n|---|---|"
    for name, function in exports.items():
        if inspect.isfunction(function) and name != "gaussian":
            about = (inspect.getdoc(function) or "").splitlines()[0]
            yield f"| `{name}({', '.join(inspect.signature(function).parameters)})` | {_cell(about)} |"


def remark_of(module: ModuleType, name: str) -> str:
    """Give the comment above a name in a module."""
    found = re.search(rf"((?:^#: .*\n)+){name}\b", inspect.getsource(module), re.MULTILINE)
    assert found, name
    return found[1].replace("#: ", "").replace("``", "`").replace("\n", " ").strip()


def commands_page() -> Iterator[str]:
    """Write the help of every command, a table for each heading."""
    yield "# All commands\n"
    yield "What `nsa COMMAND --help` says.\n"
    root = typer.main.get_command(app)
    with typer.Context(root, info_name="nsa") as context:
        yield from _commands(root, context)


def _commands(command: Any, context: Any) -> Iterator[str]:
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        with typer.Context(found, info_name=name, parent=context) as inner:
            if hasattr(found, "list_commands"):
                yield from _commands(found, inner)
            else:
                yield from _command(found, inner)


def _command(command: Any, context: Any) -> Iterator[str]:
    about, _, examples = (command.help or "").partition("\b\nExamples:\n")
    yield f"## {context.command_path}\n\n{html.escape(about.strip())}\n"
    if examples:
        yield f"```sh\n{textwrap.dedent(examples).strip()}\n```\n"
    yield f"```text\n{' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```\n"
    for heading, records in grouped(command, context):
        yield f"| {heading} | |\n|---|---|"
        for declaration, text in records:
            yield f"| <code>{_cell(declaration)}</code> | {_cell(text)} |"
        yield ""


def _cell(text: str) -> str:
    """Write text into a cell of a table."""
    return html.escape(text).replace("|", "&#124;").replace("*", "&#42;").replace("\n", " ")


def python_page() -> Iterator[str]:
    """Name every export for mkdocstrings, which writes its docstring there."""
    yield "# Python\n"
    yield "What `import nsa_cli as nsa` gives. Everything is typed; nothing is printed. Where there are"
    yield "`**options`, these are the [options of nsa solve](options.md) with `_` for `-`: `time_limit=10`.\n"
    yield "What the file of an own problem may have is on [a page of its own](own-reference.md).\n"
    exports = {name for name in dir(nsa_cli) if not name.startswith("_")} - {"UserProblem"}
    names = [*(name for name in FIRST if name in exports), *sorted(exports - {*FIRST})]
    kinds = {
        "Functions": [name for name in names if name.islower()],
        "Classes": [name for name in names if not name.islower() and not name.endswith("Error")],
        "Errors": [name for name in names if name.endswith("Error")],
    }
    for kind, members in kinds.items():
        yield f"## {kind}\n"
        yield from (f"::: nsa_cli.{name}\n" for name in members)
