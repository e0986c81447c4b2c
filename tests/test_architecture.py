"""The shape of the house: imports point down, problems are named in their own rooms only."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

from nsa_cli.problems import builtin_names

SOURCE = Path(__file__).parents[1] / "src" / "nsa_cli"
FILES = sorted(SOURCE.rglob("*.py"))

#: What each room may import, beside itself.
BELOW = {
    "kernels": "core",  # an error of the tool chain; rooms import rooms, see tests/kernels/test_rooms.py
    "core": "version kernels",
    "io": "core",
    "user": "core kernels",
    "problems": "core io user kernels",
    "pool": "core",
    "inputs": "core io problems api",
    "policy": "core io kernels",
    "anneal": "core kernels",
    "train": "core io anneal policy version kernels",
    "report": "core io anneal",
    "solver": "core io problems policy anneal report version pool kernels",
    "api": "core io problems anneal report solver",
    "python": "core report api",
    "contract": "core io policy problems api user",
    "bench": "core io problems policy anneal solver api report version pool inputs",
    "cli": "core io problems policy anneal train bench report solver api user contract version pool inputs "
    "kernels",
    "version": "",
}


def room(path):
    """The top folder or module that a file is in; functions of Python are above the problems."""
    if path.name == "python.py":
        return "python"
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def module(path):
    """The dotted name of a file."""
    parts = ("nsa_cli", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


MODULES = {module(path) for path in FILES}
TREES = {path: ast.parse(path.read_text()) for path in FILES}


def texts(path):
    """Texts in a file, each with its node."""
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value


def imports(path, annotations=True):
    """Modules that a file imports anywhere, in functions too, and on demand for annotations only.

    So does a text that is the name of a module: it is what a subprocess runs.
    """
    left_out = set()
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not annotations:
            left_out.update(ast.walk(node))
        if node in left_out:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & MODULES
            yield from inner
            if len(inner) < len(node.names):
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and node.value in MODULES and "." in node.value:
            yield node.value


def test_no_modules_import_each_other_in_a_circle():
    """Not by imports inside functions or for annotations either, nor through a subprocess.

    The package itself only says where its names are at home.
    """
    graph = {module(path): set(imports(path)) - {module(path), "nsa_cli"} for path in FILES}
    del graph["nsa_cli"]
    for others in graph.values():
        others &= graph.keys()
    TopologicalSorter(graph).prepare()  # a CycleError names the circle


def test_only_the_command_line_spells_options():
    """Messages elsewhere name options as data; a lone flag is an argument for another program."""
    spelt = []
    for path in (path for path in FILES if room(path) != "cli"):
        docstrings = {node.value for node in ast.walk(TREES[path]) if isinstance(node, ast.Expr)}
        for node, text in texts(path):
            if node not in docstrings and " " in text and re.search(r"(?<![\w-])--[a-z]", text):
                spelt.append(f"{path}:{node.lineno}")
    assert spelt == []


def test_imports_point_down():
    """From cli down to core, as listed above; neighbours do not know each other."""
    upwards = []
    for path in FILES:
        here = room(path)
        allowed = BELOW[here].split() if here in BELOW else BELOW
        for name in imports(path, annotations=False):
            package, _, inside = name.partition(".")
            there = inside.partition(".")[0]
            if package == "nsa_cli" and there in BELOW and there not in {here, *allowed}:
                upwards.append(f"{path} imports {name}")
    assert upwards == []


def test_a_problem_is_named_in_its_own_folder_only():
    """A new built-in problem is one folder, touched nowhere else."""
    named = []
    for path in FILES:
        parts = path.relative_to(SOURCE).parts
        names = set(builtin_names()) - set(parts[1:2] if parts[0] == "problems" and len(parts) > 2 else ())
        named += [f"{path}:{node.lineno} names {text!r}" for node, text in texts(path) if text in names]
        for name in imports(path):
            parts = name.split(".")
            if parts[:2] == ["nsa_cli", "problems"] and set(parts[2:3]) & names:
                named.append(f"{path} imports {name}")
    assert named == []


#: Does some lines in turn, and prints what is loaded after each.
LOADED = """
import sys
from nsa_cli.cli.main import exit_code
for code in sys.argv[2:]:
    exec(code)
    print("loaded:", *(name for name in sys.argv[1].split() if name in sys.modules))
"""


def loaded_after(modules, lines):
    """Modules that are loaded after each of some lines in a new interpreter."""
    command = [sys.executable, "-c", LOADED, modules, *lines]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("loaded:")]
    return dict(zip(lines, told, strict=True))


def test_what_needs_no_engine_does_not_load_it():
    """Help, errors, reading, generating and completion start at once."""
    commands = (["--help"], ["solve", "--help"], ["solve", "/nowhere"], ["benchmark", "--help"])
    lines = [f"exit_code({command})" for command in (*commands, ["generate", "tsp", "--size", "5"])]
    lines.append("import nsa_cli; nsa_cli.generate('bin', 5)[0].instance.record()")
    lines.append(
        "import os; os.environ.update(_NSA_COMPLETE='complete_bash', COMP_WORDS='so', COMP_CWORD='1')"
    )
    lines.append("exit_code([])")
    assert loaded_after("torch scipy numba rich matplotlib", lines) == {line: [] for line in lines}


def test_solving_by_kernels_does_not_load_torch():
    """Its import alone takes longer than a small solve."""
    folder = Path(__file__).parents[1] / "examples"
    options = ["--steps", "10", "--no-bound", "--device", "cpu", "-o", "-"]
    files = [str(folder / name) for name in ("capitals.tsp", "packing.csv", "valley.json")]
    lines = [f"exit_code({['solve', file, *options]})" for file in files]
    assert loaded_after("torch", lines) == {line: [] for line in lines}
