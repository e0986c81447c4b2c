"""Whatever is given to a command, it answers or says in a line what is wrong; no fault of ours is met.

One fuzzer for each kind of input; instances have theirs in `tests/problems/test_fuzz.py`. Every fuzzer runs
for a moment among the quick tests, and at length with ``-m study``; ``NSA_FUZZ`` is the number of its inputs.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import nsa_cli as nsa
from nsa_cli.bench.suites import load_references, read_references
from nsa_cli.cli.main import app, exit_code
from nsa_cli.core.errors import NsaError
from nsa_cli.problems import find_problem

from user_problems import MAXCUT

#: Inputs of a fuzzer among the quick tests, and at length.
FEW, MANY = 15, int(os.environ.get("NSA_FUZZ", "2000"))

#: Seconds that a small input may take, on a busy machine where kernels are still compiled.
PATIENCE = 60.0

QUICK = ("--steps", "20", "--chains", "1", "--seed", "1", "--threads", "1", "--time-limit", "5")

#: Values that are likely to hit a weak place, wherever they stand.
HOSTILE: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 3, 0.5, -0.0, 1e-320, 1e308, -1e308, 2**53 + 1, 2**63),
    *(10**400, -(10**400), "", "x", "1", "-1", "1e400", "1e999999999", "1/0", "7/3", "nan"),
    *("\x1b[31m", "[red]", "\ud800", "é" * 300, "tsp", "bin", "knapsack", "rosenbrock", "paper", "uniform"),
    *([], {}, [[]], [0], [1, 2], [[1], [2]], ["a"], [None], {"a": 1}, [[[[[[1]]]]]]),
]

INSTANCES = {
    "tsp": {"problem": "tsp", "name": "t", "coords": [[0, 0], [3, 4], [0, 4], [3, 0]]},
    "knapsack": {"problem": "knapsack", "name": "k", "values": [1, 2.5], "weights": [1, 2], "capacity": 2},
    "bin": {"problem": "bin", "name": "b", "weights": [0.5, 0.5, 0.7], "names": ["x", "y", "z"]},
    "rosenbrock": {"problem": "rosenbrock", "name": "r", "a": 1, "b": 100},
}


# --- changes --------------------------------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all parts of nested data."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    """Nested data in which the part at a path is changed."""
    if not path:
        return change(value)
    value = copy.copy(value)
    value[path[0]] = replaced(value[path[0]], path[1:], change)
    return value


def changed(value: Any, rng: random.Random) -> Any:
    """Nested data with a few parts replaced, left out, doubled or added."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        path = rng.choice(list(places(value)))
        value = replaced(value, path, lambda part: _another(part, rng))
    return value


def _another(part: Any, rng: random.Random) -> Any:
    how = rng.randrange(4)
    if isinstance(part, list) and part and how:
        at = rng.randrange(len(part))
        return {1: part[:at], 2: part + part[at:], 3: part[:at] + part[at + 1 :]}[how]
    if isinstance(part, dict) and part and how:
        key = rng.choice(list(part))
        rest = {k: v for k, v in part.items() if k != key}
        others = {**rest, rng.choice("abcx"): part[key]}, {**part, key: rng.choice(HOSTILE)}
        return (rest, *others)[how - 1]
    if isinstance(part, int | float) and not isinstance(part, bool) and how == 1:
        return rng.choice([-part, part + 1, part * 10**9, part / 3 if abs(part) < 1e300 else part, str(part)])
    return rng.choice(HOSTILE)


def as_text(value: Any, rng: random.Random) -> bytes:
    """JSON of nested data, now and then with a character too many or too few."""
    text = json.dumps(value)
    if rng.random() < 0.2:
        i = rng.randrange(len(text) + 1)
        piece = rng.choice(["", "[", "}", ",", '"', "\\", "NaN", "\0", "1e999", "\n", "\x1b"])
        text = text[:i] + piece + text[i + 1 :]
    return text.encode("utf-8", "surrogatepass")


# --- what must hold -------------------------------------------------------------------------------


def run(arguments: list[str], codes: tuple[int, ...] = (0, 2, 3)) -> int:
    """Run a command in this process and check how it ends."""
    out, err, begin = io.StringIO(), io.StringIO(), time.perf_counter()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = exit_code(arguments)
    seconds, said = time.perf_counter() - begin, err.getvalue()
    about = f"{arguments}: {code}, {said[:500]}"
    assert code in codes, about
    assert "internal error" not in said, about
    assert "Traceback" not in said, about
    assert all(line.startswith("nsa: ") and line.isprintable() for line in said.splitlines()), about
    assert code == 0 or "error: " in said or code == 3, about
    assert seconds < PATIENCE, about
    return code


def one_line(work: Callable[[], Any]) -> None:
    """Do something that may raise an expected error, of one line."""
    said = None
    try:
        work()
    except NsaError as error:
        said = str(error)
    assert said is None or (said and "\n" not in said)


@pytest.fixture(autouse=True)
def _instances(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name, record in INSTANCES.items():
        Path(f"{name}.json").write_text(json.dumps(record))


def counted() -> Any:
    """Few inputs by default, many in a study."""
    many = pytest.param(MANY, 1, id="many", marks=pytest.mark.study)
    return pytest.mark.parametrize(("count", "seed"), [pytest.param(FEW, 0, id="few"), many])


# --- the fuzzers ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solved() -> dict[str, Any]:
    """A result of each problem, with its bound and witness."""
    found = {}
    for name, record in INSTANCES.items():
        problem = find_problem(name)
        task = nsa.Task(problem, problem.from_record(record))
        found[name] = nsa.solve(task, steps=20, chains=1, seed=1).to_dict()
        found[name]["bound"]["witness"] = dict(problem.bound(task.instance).witness or {})
    found["tsp"]["bound"]["witness"] = {"scale": 3, "potentials": [0, 1, -1, 0]}
    return found


@counted()
def test_solutions(count, seed, solved):
    """Results with parts changed, checked and as starts."""
    rng = random.Random(seed)
    for i in range(count):
        name = list(INSTANCES)[i % len(INSTANCES)]
        result = solved[name] if rng.random() < 0.7 else solved[name]["solution"]
        Path("s.json").write_bytes(as_text(changed(result, rng), rng))
        run(["check", f"{name}.json", "s.json", "--format", rng.choice(["json", "text"])])
        run(["solve", f"{name}.json", "--init", "s.json", *QUICK, "-q"])


TOUR = "NAME : t.tour\nCOMMENT : Length = 14\nTYPE : TOUR\nDIMENSION : 4\nTOUR_SECTION\n1\n3\n2\n4\n-1\nEOF\n"
TABLES = {
    "tsp": [TOUR, "position,city,x,y\n1,1,0,0\n2,3,0,4\n3,2,3,4\n4,4,3,0\n", "1 3 2 4\n", "4\n0 2 1 3\n"],
    "bin": ["bin,item,weight\n1,x,0.5\n1,y,0.5\n2,z,0.7\n", "x y\nz\n", "x y | z\n"],
    "knapsack": ["item,value,weight\n2,2.5,2\n", "2\n", "0 1\n"],
    "rosenbrock": ["coordinate,value\n1,0.5\n2,0.25\n", "0.5 0.25\n"],
}
SIGNS = ', ; -1 1e400 nan x # | " EOF TYPE'
PIECES = ["\n", " ", "\x1b", "\0", "\t", "9" * 30, *SIGNS.split()]


@counted()
def test_tours_and_plain_solutions(count, seed):
    """Tours, tables and ids with pieces changed."""
    rng = random.Random(seed)
    for i in range(count):
        name = list(INSTANCES)[i % len(INSTANCES)]
        text = rng.choice(TABLES[name])
        for _ in range(rng.choice([1, 1, 2, 4])):
            a, b = sorted(rng.randrange(len(text) + 1) for _ in range(2))
            more = text[:a] + rng.choice(PIECES) + text[a:]
            text = rng.choice([more, text[:a] + text[b:], text[:b] + text[a:]])
        path = Path(rng.choice(["s.txt", "s.tour", "s.csv"]))
        path.write_text(text)
        run(["check", f"{name}.json", str(path)])


@counted()
def test_policies(count, seed):
    """Shipped policies with parts changed."""
    rng = random.Random(seed)
    shipped = sorted((Path(__file__).parents[2] / "checkpoints").glob("*.json"))
    for _ in range(count):
        path = rng.choice(shipped)
        problem = path.name.split("-")[0]
        policy = json.loads(path.read_text())
        policy["weights"] = policy["weights"] if rng.random() < 0.3 else changed(policy["weights"], rng)
        Path("p.json").write_bytes(as_text(changed(policy, rng) if rng.random() < 0.7 else policy, rng))
        run(["solve", f"{problem}.json", "--policy", "p.json", *QUICK, "-q"])


CONFIG = {"steps": "10N", "seed": 1, "chains": 1, "time_limit": 2, "init": "greedy", "no_bound": True} | {
    "set": {"name": "n"},
    "format": "json",
    "t_start": 1,
    "policy": "uniform",
}
TRAINING = (
    {"size": 5, "steps": 3, "problems": 2, "epochs": 1, "population": 2, "hidden": 16, "sigma": 0.1}
    | {"validation_problems": 2, "validation_size": 5, "validate_every": 1, "validation_steps": "2N"}
    | {"mixed_sizes": [4], "features": "paper", "unit": 1.0, "learning_rate": 1e-2, "fitness": "best"}
)
YAML = [
    *("!!int ''", "!!float ''", "!!bool x", "!!timestamp x", "!!python/none", "&a [*a]"),
    *("[[[[", "{", "'", "? x", "- ", "9" * 5000),
]


def yaml_of(config: dict[str, Any], rng: random.Random) -> str:
    """A configuration with parts changed; large numbers, which are work and no faults, made small."""
    new = changed(config, rng)
    if not isinstance(new, dict):
        return json.dumps(new)
    lines = []
    for key, value in new.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and 100 < abs(value) < 1e19:
            value = 7
        text = json.dumps(value) if rng.random() < 0.9 else rng.choice(YAML)
        lines.append(f"{key}: {text}")
    return "\n".join(lines)


@counted()
def test_configurations(count, seed):
    """Of solves and of trainings."""
    rng = random.Random(seed)
    for i in range(count):
        if i % 2:
            Path("c.yaml").write_text(yaml_of(CONFIG, rng), errors="backslashreplace")
            run(["solve", f"{rng.choice(list(INSTANCES))}.json", "--config", "c.yaml", "-q"])
        else:
            for old in Path().glob("t.*"):
                old.unlink()
            Path("c.yaml").write_text(yaml_of(TRAINING, rng), errors="backslashreplace")
            run(["train", "knapsack", "--config", "c.yaml", "-q", "--epochs", "1", "-o", "t.json"])


@counted()
def test_training_states(count, seed):
    """States with bytes changed; each is gone on from, or refused."""
    rng = random.Random(seed)
    for method in ("es", "ppo"):
        few = {"problems": 2, "steps": 3, "validation_problems": 2, "validation_size": 5, "validate_every": 1}
        more = {"population": 2} if method == "es" else {"passes": 1}
        Path("c.yaml").write_text(json.dumps({**few, **more}))
        command = ["train", "knapsack", "--method", method, "-n", "5", "--config", "c.yaml", "-q", "-o"]
        command.append(f"{method}.json")
        assert run([*command, "--epochs", "1"]) == 0
        path, log = Path(f"{method}.state.pt"), Path(f"{method}.csv")
        whole, rows = path.read_bytes(), log.read_bytes()
        for _ in range(count // 2):
            at = rng.randrange(len(whole))
            piece = bytes([rng.randrange(256)]) * rng.choice([0, 1, 3])
            path.write_bytes(whole[:at] + piece + whole[at + 1 :])
            log.write_bytes(rng.choice([rows, rows, b"", rows[: rng.randrange(len(rows))], b"\xff\n1,2\n"]))
            run([*command, "--epochs", "2", "--resume"])


@counted()
def test_references(count, seed):
    """Lists of optima and reference sets with bytes changed."""
    rng = random.Random(seed)
    array = io.BytesIO()
    np.savez(array, ffd=np.arange(5.0))
    for _ in range(count):
        for name, data, read in (
            ("o.txt", b"berlin52 : 7542\na280 : 2579 (opt)\n", lambda: read_references(Path("o.txt"))),
            ("bin50_ref.npz", array.getvalue(), lambda: load_references(Path(), find_problem("bin"), 50)),
        ):
            a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
            piece = rng.choice([b"", b"\n", b",", b"nan", b"\0", b"1e999", b"\xff", b":", b'"', b"9" * 5000])
            new = rng.choice([data[:a] + piece + data[a:], data[:a] + data[b:], data[:a] + piece])
            Path(name).write_bytes(new)
            one_line(read)


@counted()
def test_data_of_own_problems(count, seed):
    """Data of a problem in a file with parts changed."""
    rng = random.Random(seed)
    record = {"problem": "maxcut", "name": "m", "weights": [[0, 3, 1], [3, 0, 2], [1, 2, 0]]}
    for _ in range(count):
        Path("m.json").write_bytes(as_text(changed(record, rng), rng))
        run(["solve", "m.json", "-p", MAXCUT, *QUICK, "-q", "--backend", "torch"])
        Path("s.json").write_bytes(as_text(changed({"solution": [0, 1, 0], "objective": 4}, rng), rng))
        Path("m.json").write_text(json.dumps(record))
        run(["check", "m.json", "s.json", "-p", MAXCUT])


NUMBERS = "-1 0 1 2 3 0.5 nan inf -inf 1e400 10N 2N2 1% 2s 1ms 50MB"
NAMES = "auto uniform greedy paper squares nearest:2 cpu cuda:9 torch numba anneal large-step linear"
FORMS = "json table csv tour es ppo best tsp bin x é a=1 = a=[[[ name=x"
PATHS = ". / /dev/null nowhere/x out.json out.csv"
VALUES = [*f"{NUMBERS} {NAMES} {FORMS} {PATHS}".split(), *(f"{name}.json" for name in INSTANCES)]
VALUES += ["", " ", "\x1b[31m", "\udce9", "x" * 300, "a=" + "[" * 5000, "9" * 5000, "--", "-", "0" * 30]

#: Options that wait for a terminal, change the user's shell, or are no small work.
UNTRIED = {
    *("--install-completion", "--show-completion", "--size", "--count", "--epochs", "-n", "--sizes"),
    *("--budget", "--steps", "--seeds", "--against", "--chains", "--threads", "--no-improvement", "--preset"),
}

#: Beginnings of command lines that are little work whatever follows.
LITTLE = {
    "solve": ["knapsack.json", *QUICK],
    "check": ["tsp.json"],
    "generate": ["knapsack", "--size", "3"],
    "train": ["knapsack", "-n", "5", "--epochs", "1", "--config", "c.yaml"],
    "plot policy": ["knapsack-es-best", "--size", "5"],
    "plot solution": ["tsp.json"],
    "benchmark": ["knapsack.json", "--budget", "1ms", "--policies", "none", "--count", "1"],
}


@counted()
def test_command_lines(count, seed):
    """Options and values at random, of all commands; what is said is said in lines of ours."""
    rng = random.Random(seed)
    root: Any = typer.main.get_command(app)
    commands = {**root.commands, **{f"plot {k}": v for k, v in root.commands["plot"].commands.items()}}
    Path("c.yaml").write_text(json.dumps({**TRAINING, "mixed_sizes": []}))
    names = [name for name in LITTLE if name != "benchmark"] * 5 + ["benchmark"]
    for _ in range(count):
        name = rng.choice(names)
        words = [*name.split(), *LITTLE[name]]
        options = [o for p in commands[name].params for o in p.opts if o.startswith("-") and o not in UNTRIED]
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            at = rng.randrange(1, len(words) + 1)
            option, value = rng.choice(options), rng.choice(VALUES)
            words[at:at] = rng.choice([[option], [option, value], [value]])
        if "-" in words:
            continue  # standard input
        run(words)
