"""The shape of the house: imports point down, problems are named in their own rooms only."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from nsa_cli.problems import builtin_names

SOURCE = Path(__file__).parents[1] / "src" / "nsa_cli"
FILES = sorted(SOURCE.rglob("*.py"))

#: What each room may import, beside itself.
BELOW = {
    "core": {"core"},
    "io": {"core"},
    "user": {"core"},
    "problems": {"core", "io", "user"},
    "policy": {"core", "io"},
    "anneal": {"core"},
    "train": {"core", "anneal", "policy"},
    "report": {"core", "io"},
    "contract": {"core", "io", "policy", "problems", "api", "user"},
    "api": {"core", "io", "problems", "run"},
    "limits": {"core", "anneal", "api"},
    "verdict": {"core", "api", "limits", "problems"},
    "backends": {"core", "policy", "anneal", "backend_torch"},
    "backend_torch": {"core", "policy", "anneal"},
    "rollout": {"core", "anneal"},
    "in_time": set(),
    "stand_in": {"core", "api"},
    "run": {"core", "anneal", "api", "limits", "backends", "in_time", "stand_in"},
    "uncompiled": {"anneal", "run", "stand_in"},
    "ready": {"core", "api", "policy", "run"},
    "bench": {"core", "io", "problems", "policy", "anneal", "run", "ready", "api", "report"},
    "cli": {
        "core",
        "io",
        "problems",
        "policy",
        "anneal",
        "train",
        "bench",
        "report",
        "api",
        "run",
        "limits",
        "verdict",
        "backends",
        "rollout",
        "ready",
    },
}

#: Modules that --help, reading and writing must do without.
HEAVY = ("torch", "scipy", "numba", "rich", "matplotlib")


def room(path):
    """The top folder or module that a file is in."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path):
    """Modules of this package that a file imports anywhere, except for annotations only."""
    tree = ast.parse(path.read_text())
    annotations = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in annotations:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path):
    """From cli down to core, as listed above; neighbours do not know each other."""
    here = room(path)
    if here in ("__init__", "__main__"):
        return
    for module in imports(path):
        parts = module.split(".")
        if parts[0] == "nsa_cli" and len(parts) > 1 and parts[1] in BELOW:
            assert parts[1] in BELOW[here] | {here}, f"{here} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_problem_is_named_in_its_own_folder_only(path):
    """A new built-in problem is one folder, touched nowhere else."""
    parts = path.relative_to(SOURCE).parts
    own = parts[1] if parts[0] == "problems" and len(parts) > 2 else None
    names = set(builtin_names()) - {own}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert node.value not in names, f"{path.name}:{node.lineno} names {node.value!r}"
    for module in imports(path):
        parts = module.split(".")
        assert not (parts[:2] == ["nsa_cli", "problems"] and set(parts[2:3]) & names), module


def loaded_after(code):
    """Heavy modules that are loaded after some code has run in a new interpreter."""
    check = f"import sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    command = [sys.executable, "-c", f"{code}\n{check}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return ast.literal_eval(done.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize(
    "code",
    [
        "from nsa_cli.cli.main import exit_code; exit_code(['--help'])",
        "from nsa_cli.cli.main import exit_code; exit_code(['solve', '--help'])",
        "from nsa_cli.cli.main import exit_code; exit_code(['solve', '/nowhere'])",
        "from nsa_cli.cli.main import exit_code; exit_code(['benchmark', '--help'])",
        "from nsa_cli.cli.main import exit_code; exit_code(['generate', 'tsp', '--size', '5'])",
        "import nsa_cli; nsa_cli.generate('bin', 5)[0].instance.record()",
    ],
)
def test_what_needs_no_engine_does_not_load_it(code):
    """Help, errors, reading and generating start at once."""
    assert loaded_after(code) == []


@pytest.mark.parametrize("name", ["capitals.tsp", "packing.csv", "valley.json"])
def test_solving_by_kernels_does_not_load_torch(name):
    """Its import alone takes longer than a small solve."""
    file = Path(__file__).parents[1] / "examples" / name
    code = (
        "from nsa_cli.cli.main import exit_code; "
        f"exit_code(['solve', {str(file)!r}, '--steps', '10', '--no-bound', '--device', 'cpu', '-o', '-'])"
    )
    assert "torch" not in loaded_after(code)


def test_every_module_says_what_it_is():
    """A docstring at the top of each file."""
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text())), path
