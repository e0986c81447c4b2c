"""The README and the documentation: their code blocks run, and what they name is there.

Blocks of a page run in order, in one folder that begins with `examples/`, and share Python's names. A mark
above a block, ``<!-- test: … -->``, is one of: ``slow`` (only with ``-m slow``), ``needs PROGRAM``, and
``skip: REASON``.

- ``sh``: a line each, or a script for bash where there is more in it than calls of `nsa`. Solves without
  steps and without a limit get half a second.
- ``console``: lines that begin with ``$`` are run as they are, and give the output below them, where ``…``
  stands for anything. ``# exit code N`` says that it is not 0. Solves show tables, as on a terminal.
- ``python``: run as it is; what stands behind a ``print`` and begins with a digit must be printed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import typer
from jsonschema import Draft202012Validator

import nsa_cli as nsa
from nsa_cli.cli.command import grouped
from nsa_cli.cli.main import app, exit_code
from nsa_cli.io.json_text import dumps

from helpers import KEYS

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "docs" / "result.schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)
FENCE = re.compile(
    r"^(?:<!-- test: (?P<mark>.+?) -->\n+)?```(?P<kind>sh|console|python)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
#: What a shell would do something about; without any of it a line is a call of `nsa`.
SHELL = re.compile(r"[|<>;&$`(*\\]")


class Block(NamedTuple):
    """A fenced block of a page."""

    line: int
    kind: str
    code: str
    mark: str


def blocks_of(text):
    places = [(text[: m.start("code")].count("\n") + 1, m) for m in FENCE.finditer(text)]
    return [Block(line, m["kind"], m["code"], m["mark"] or "") for line, m in places]


PAGES = {path: path.read_text() for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]}
BLOCKS = {path: blocks_of(text) for path, text in PAGES.items()}
SLOW = [path for path, blocks in BLOCKS.items() if any(block.mark == "slow" for block in blocks)]


def test_marks_are_known_and_give_reasons():
    """A block that is not run says why."""
    every = [(path.name, block) for path, blocks in BLOCKS.items() for block in blocks]
    assert len(every) > 40
    for name, block in every:
        assert re.fullmatch(r"|slow|needs \w+|skip: \w.{9,}", block.mark), (name, block)


@pytest.mark.parametrize(
    ("path", "slow"),
    [
        *(pytest.param(path, False, id=path.name) for path in PAGES),
        *(pytest.param(path, True, id=f"{path.name}, slow", marks=pytest.mark.slow) for path in SLOW),
    ],
)
def test_blocks_run(path, slow, capsys, tmp_path, monkeypatch):
    """In their order; what a block leaves is there for the next."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__*"))
    (tmp_path / "checkpoints").symlink_to(ROOT / "checkpoints")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__docs__"}
    for block in BLOCKS[path]:
        needs = block.mark.removeprefix("needs ") if block.mark.startswith("needs") else None
        if not block.mark or (slow and block.mark == "slow") or (needs and shutil.which(needs)):
            run(f"{path}:{block.line}", block, names, capsys)


def run(place, block, names, capsys):
    """Run one block, and compare what it prints with what the page says."""
    if block.kind == "python":
        exec(compile("\n" * block.line + block.code, place, "exec"), names)
        printed = capsys.readouterr().out.splitlines()
        for expected in re.findall(r"^print\(.*\)  # (\d.*)$", block.code, re.MULTILINE):
            assert expected in printed, place
        return
    if block.kind == "console":
        calls = [(plain(command), command, expected) for command, expected in transcript(block.code)]
    else:
        lines = [line for line in map(plain, block.code.splitlines()) if line]
        simple = all(line.startswith("nsa ") and not SHELL.search(line) for line in lines)
        calls = [(line, "", "") for line in (map(shortened, lines) if simple else [block.code])]
    for command, remarked, expected in calls:
        remark = re.search(r"# exit code (\d+)", remarked)
        code, out, err = call(command, capsys, table=block.kind == "console")
        assert code == (int(remark[1]) if remark else 0), f"{place}: {command}\n{out}{err}"
        if expected:
            assert matches(expected, out) or matches(expected, err), f"{place}: {command}\n{out}{err}"


def plain(line):
    """Take the remark off a line."""
    return re.sub(r"(^|\s+)#\s.*", "", line)


def transcript(code):
    """Split a console block into commands and what they print."""
    parts = re.split(r"^\$ ", code, flags=re.MULTILINE)
    assert not parts[0].strip(), "a console block begins with $"
    for part in parts[1:]:
        command, _, output = re.sub(r"\\\n\s*", "", part).partition("\n")
        yield command, output.strip("\n")


def shortened(command):
    """Give a solve that would take as long as it likes half a second."""
    words = shlex.split(command)
    if words[1] == "solve" and not {"--steps", "--time-limit", "--config"} & set(words):
        return f"{command} --time-limit 500ms"
    return command


def call(command, capsys, table=False):
    """Run a command in this process, or by bash if there is more in it: exit code, stdout, stderr."""
    if command.startswith("nsa ") and not SHELL.search(command):
        arguments = shlex.split(command)[1:]
        if table and arguments[0] == "solve" and not {"--format", "-o"} & set(arguments):
            arguments += ["--format", "table"]
        capsys.readouterr()
        code = exit_code(arguments)
        return code, *capsys.readouterr()
    nsa = Path("bin") / "nsa"
    if not nsa.exists():
        nsa.parent.mkdir(exist_ok=True)
        nsa.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nsa_cli "$@"\n')
        nsa.chmod(0o755)
    programs = Path(sys.executable).parent  # torchrun, whether its environment is active or not
    env = os.environ | {"PATH": f"{nsa.parent.absolute()}:{programs}:{os.environ['PATH']}"}
    env["PYTHONPATH"] = f"{ROOT / 'src'}:{env.get('PYTHONPATH', '')}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command], env=env, capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


def matches(expected, printed):
    """Compare line by line but for blanks at their ends; … is anything, over lines, too."""
    lines = [re.escape(line.rstrip()).replace("…", ".*") for line in expected.splitlines()]
    return re.fullmatch(r"[ ]*\n".join(lines), printed.strip("\n").rstrip(), re.DOTALL) is not None


def test_outputs_are_compared():
    """A page that shows something else than is printed fails."""
    assert matches("a  1\n…\nb 2", "a  1\nx\ny\nb 2  \n")
    assert not matches("a  1\nb 2", "a  1\nb 3\n")


def options_of(*commands):
    """Collect the options that commands' help names."""
    import typer

    from nsa_cli.cli.main import app

    found = set()

    def collect(command):
        for name in getattr(command, "commands", {}):
            collect(command.commands[name])
        if not commands or command.name in commands:
            found.update(o for p in command.params for o in p.opts if o.startswith("--"))

    collect(typer.main.get_command(app))
    return found | {"--help"}


def options_in(text):
    """Collect what looks like an option."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


def test_options_on_pages_exist():
    """Whatever page names an option of ours; those of pip, mkdocs, tests and torchrun are known."""
    others = {"--index-url", "--strict", "--install-completion", "--show-completion", "--version"}
    others |= {"--standalone", "--nnodes", "--nproc-per-node", "--max-restarts"}
    others |= {"--rdzv-backend", "--rdzv-endpoint"}
    for path, text in PAGES.items():
        assert options_in(text) - others <= options_of(), path.name


def test_every_option_of_solve_is_on_its_page():
    """The page has a place for the table of each heading of the help, which its build fills in."""
    text = (ROOT / "docs" / "options.md").read_text()
    root = typer.main.get_command(app)
    with typer.Context(root, info_name="nsa") as context:
        headings = dict(grouped(root.get_command(context, "solve"), context))
    assert re.findall(r"<!-- nsa solve: (\w+) -->", text) == [
        name for name in headings if name != "Arguments"
    ]


def fields_on(heading, text):
    """Collect the fields that the table below a heading explains."""
    rows = text[text.index(heading) :].split("\n\n|", 1)[1].split("\n\n", 1)[0].splitlines()
    return {word for row in rows for word in re.findall(r"`(\w+)`", row.split(" | ")[0])}


LENGTHS = [[0, 3, 9, 4], [5, 0, 2, 7], [6, 1, 0, 8], [2, 9, 3, 0]]
FLOWSHOP = f"{ROOT}/examples/flowshop.py:FlowShop"
RESULTS = {
    "default tour": lambda: nsa.solve(ROOT / "examples" / "capitals.csv", seed=1),
    "path": lambda: nsa.tsp(matrix=LENGTHS, from_city=0, to_city=2, fixed_edges=[(1, 3)], seed=1),
    "annealed": lambda: nsa.tsp([[0, 0], [0, 4], [3, 4], [3, 0], [1, 1]], steps=100, seed=1),
    "torch": lambda: nsa.knapsack([3, 2, 1], [1, 1, 1], 2, backend="torch", steps=20, bound=False, seed=1),
    "linear": lambda: nsa.bin_packing([1, 2, 3] * 5, 4, steps=300, schedule="linear", bound=False, seed=1),
    "optimal": lambda: nsa.knapsack([3, 2, 1], [1, 1, 1], 2, best_known=5),
    "timed": lambda: nsa.rosenbrock(dim=3, time_limit=0.2, seed=1),
    "target": lambda: nsa.rosenbrock(target=100, seed=1),
    "own": lambda: nsa.solve({"times": LENGTHS}, problem=FLOWSHOP, backend="python", steps=50, seed=1),
}


def test_results_are_as_page_and_schema_say(tmp_path, capsys):
    """Whatever was solved, and however it ended; the page has every field, and no others."""
    written = set()
    for name, solved in RESULTS.items():
        result = json.loads(dumps(solved().to_dict()))
        assert [error.message for error in VALIDATOR.iter_errors(result)] == [], name
        written |= result.keys()
    assert written == SCHEMA["properties"].keys() - {"violation"}
    bound = SCHEMA["properties"]["bound"]["anyOf"][1]["properties"]
    assert all("description" in field for field in [*SCHEMA["properties"].values(), *bound.values()])
    text = PAGES[ROOT / "docs" / "result.md"]
    instance, solution = tmp_path / "instance.json", tmp_path / "solution.json"
    instance.write_text(json.dumps({"problem": "rosenbrock", "a": 1, "b": 10}))
    assert exit_code(["solve", str(instance), "--time-limit", "200ms", "-o", str(solution)]) == 0
    capsys.readouterr()
    assert exit_code(["check", str(instance), str(solution), "--format", "json"]) == 0
    checked = set(json.loads(capsys.readouterr().out))
    assert checked - (written - {"violation"}) == fields_on("`nsa check --format json`", text)


def test_the_schema_is_strict_enough_to_refuse():
    """A checker that finds nothing would prove nothing; scripts may rely on what it requires."""
    result = nsa.knapsack([3], [1], 2).to_dict()
    Draft202012Validator.check_schema(SCHEMA)
    wrong = {"status": "good", "n": 0, "objective": "3", "seed": True, "bound": {}, "seconds": {}}
    for key, value in wrong.items():
        assert not VALIDATOR.is_valid({**result, key: value}), key
    (error,) = VALIDATOR.iter_errors({k: v for k, v in result.items() if k != "gap"})
    assert error.message == "'gap' is a required property"
    assert KEYS <= set(SCHEMA["required"]) <= SCHEMA["properties"].keys()


def test_links_lead_to_files():
    """Links within the repository; the documentation's build checks those between pages again."""
    for path in [*PAGES, *(ROOT / "benchmarks").rglob("*.md"), ROOT / "checkpoints/README.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
            if "://" not in target and target not in (
                "commands.md",
                "own-reference.md",
                "python.md",
                "words.md",
            ):  # these are made
                assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_the_readme_is_short_and_its_test_command_is_what_runs_before_landing():
    """Word for word; what is not for newcomers is in the documentation."""
    text = PAGES[ROOT / "README.md"]
    (command,) = [line for line in text.splitlines() if line.endswith("-m pytest")]
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()
    assert len(re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL).split()) < 700


def test_the_way_through_the_code_names_what_is_there():
    """Each file on the page of the code, and each function or class of one, up to its rules."""
    way = (ROOT / "docs/code.md").read_text().split("## A solve")[1].split("## Rules")[0]
    named = re.findall(r"(?<![\w/])((?:[a-z_]+/)+[a-z_]+)(?:\.(\w+))?", way)
    assert len(named) > 40
    for path, name in named:
        place = ROOT / "src/nsa_cli" / path
        assert place.is_dir() or place.with_suffix(".py").is_file(), path
        if name:
            assert re.search(rf"^(def|class) {name}\b", place.with_suffix(".py").read_text(), re.M), (
                path,
                name,
            )
