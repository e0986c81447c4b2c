"""Problems of one's own with a slip in them: no crash, no fault of ours, no answer of older code.

Each case is a problem drawn at random with one slip of some kind, or an edit of what its cost looks up. It
is solved by processes of their own, with a cache of machine code that is kept between them, and a fresh one.
``NSA_SLIPS=600 python -m pytest tests/fuzz/test_own_slips.py -m study`` solves six hundred times.
"""

import json
import os
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: Solves in all; a case has up to three.
RUNS = int(os.environ.get("NSA_SLIPS", "60"))

#: Kinds of solutions: the attributes, the start of a sum over the elements, and what one adds.
KINDS = {
    "permutation": ('permutation("weights")\n    moves = (swap,)', "i * data.weights[x[i]]"),
    "two moves": ('permutation("weights")\n    moves = (swap, insert)', "i * data.weights[x[i]]"),
    "subset": ('subset("weights")\n    moves = (flip,)', "abs(data.weights[i] * x[i] - 5)"),
    "assignment": ('assignment("weights", 3)\n    moves = (reassign,)', "data.weights[i] * (x[i] - 1) ** 2"),
    "reals": ('reals("weights", 0.0, 9.0)\n    moves = (gaussian(1.0),)', "(data.weights[i] - x[i]) ** 2"),
}

PROBLEM = """
import math
import numpy as np
from nsa_cli.user import *
{imports}
{globals}
@move(a=elements, b=elements)
def mine(data, x, move):
    total = 1.0
    {mine}
    kept = x[move[0]]
    x[move[0]] = x[move[1]]
    x[move[1]] = kept

class P(UserProblem):
    name = "p"
    keys = ("weights",)
    solution = {kind}
{attributes}
    def cost(data, x):
        total = 0.0
        for i in range(len(x)):
            total += ({term}) * {factor}
            {inner}
        {slip}
        return total
{functions}
"""

#: Other functions that a slip may be in.
FUNCTIONS = {
    "check": "(data, x):\n        total = 1.0\n        {}\n        return None",
    "allowed": "(data, x, chosen, candidate):\n        total = 1.0\n        {}\n        return True",
    "start": "(data, draws):\n        x = np.arange(len(data.weights))\n        total = 1.0\n"
    "        {}\n        return x",
    "delta": "(data, x, move):\n        total = 0.0\n        {}\n        return total",
    "bound": "(data):\n        x, total = data.weights, -1e9\n        {}\n        return total",
}

#: Conditions under which a slip is met: always, now and then, and hardly ever.
WHEN = ("if True", "if x[0] > x[1]", "if x[0] > x[1] and x[2] > x[3] and x[1] >= x[4]", "if total < -1e9")

#: What goes wrong, as a statement under a condition.
STATEMENTS = (
    "total += data.weights[len(x)]",
    "total += data.weights[len(x) + 3]",
    "total += data.weights[len(x) + 100000]",
    "total += data.weights[int(x[0]) + len(x) - 1]",
    "total += data.weights[-len(x) - 7]",
    "total += data.weights[1000000000000]",
    "data.weights[0] += 1",
    "x[0] = x[1]",
    "x[0], x[1] = x[1], x[0]",
    "x[len(x) + 2] = 0",
    "raise ValueError('no')",
    "raise ValueError(f'no {total}')",
    "raise KeyError(3)",
    "raise SystemExit",
    "raise StopIteration",
    "assert total < 0",
    "assert False, 'never'",
    "total = 1 / 0",
    "total = total / (total - total)",
    "total = float('nan')",
    "total = float('inf')",
    "total = 1 // int(total * 0)",
    "total = math.sqrt(-1 - total * total)",
    "total = math.exp(100000.0)",
    "total += int(1e30)",
    "return None",
    "return 'far'",
    "return (total, 1)",
    "return True",
    "return 1j",
    "return x",
    "return np.zeros(3)",
    "print('cost', total)",
    "print(total)",
    "print(f'{total:.3f}')",
    "open('never', 'w')",
    "total += data.weigths[0]",
    "total += data['weights'][0]",
    "total += data.weights[0.5]",
    "total += data.weights['a']",
    "total += data.weights.missing",
    "total += x[0, 0]",
    "total += undefined",
    "total += undefined(3)",
    "total += len(3)",
    "total += sum([w for w in data.weights])",
    "total += sum(w for w in data.weights)",
    "total += {1: 2.0}[1]",
    "total += {'a': 2.0}['a']",
    "total += [1.0, 2.0][5]",
    "total += (1.0, 2.0)[int(total) % 3]",
    "total += np.dot(data.weights, data.weights)",
    "total += np.arange(3)[int(total) % 5]",
    "total += data.weights[x].sum()",
    "total += np.random.random()",
    "import time; total += time.time()",
    "global COUNT; COUNT += 1; total += COUNT",
    "COUNTS.append(1); total += len(COUNTS)",
    "TABLE[0] += 1.0; total += TABLE[0]",
    "total += TABLE[len(x) + 5000]",
    "total += recursion(3)",
    "total += endless(3)",
    "total += (lambda a: a + total)(2)",
    "total += eval('1')",
    "total += getattr(data, 'weights')[0]",
    "total += isinstance(total, float)",
    "total += 'a' < 'b'",
    "data.scratch[len(x) + 2] = 1.0",
    "data.scratch[int(x[0]) * 3] = 1.0",
    "data.scratch[100000000] = 1.0",
    "del total",
    "yield total",
    "P.cost(data, x)",
    "try:\n                total += data.weights[77]\n            except IndexError:\n                pass",
)

#: What a cost looks up, with an edit: imports, globals, and the factor; K becomes -K.
LOOKED_UP = (
    ("", "K = {k}", "K"),
    ("", "K = np.float64({k})", "K"),
    ("", "K = ({k}, 2.0)", "K[0]"),
    ("", "K = np.array([{k}, 3.0])", "K[0]"),
    ("", "K = np.array([{k}, 3.0] * 90)[::2]", "K[0]"),
    ("", "K = np.full(200000, {k})", "K[-1]"),
    ("", "K = np.asfortranarray(np.full((3, 4), {k}))", "K[2, 1]"),
    ("", "K = np.full((3, 4), {k}).T", "K[2, 1]"),
    ("", "from enum import IntEnum\nclass E(IntEnum):\n    K = {whole}", "E.K"),
    ("", "from enum import Enum\nclass E(Enum):\n    K = {k}", "E.K.value"),
    ("", "class C:\n    K = {k}", "C.K"),
    ("", "from collections import namedtuple\nK = namedtuple('K', 'a b')({k}, 2.0)", "K.a"),
    ("", "from typing import NamedTuple\nclass T(NamedTuple):\n    a: float = {k}", "T().a"),
    ("", "import numba\n@numba.njit\ndef f():\n    return {k}", "f()"),
    ("", "def f(a={k}):\n    return a", "f()"),
    ("", "def f(*, a={k}):\n    return a", "f()"),
    ("", "def made(k):\n    def f():\n        return k\n    return f\nf = made({k})", "f()"),
    ("", "f = lambda: {k}", "f()"),
    ("", "def f():\n    return g()\ndef g():\n    return {k}", "f()"),
    ("", "import functools\nf = functools.partial(abs, {k})", "f()"),
    (
        "",
        "import ctypes, ctypes.util\nf = ctypes.CDLL(ctypes.util.find_library('m')).fabs\n"
        "f.restype = ctypes.c_double\nf.argtypes = [ctypes.c_double]\nK = {k}",
        "f(K) * K",
    ),
    ("", "K = {{1: {k}}}", "K[1]"),
    ("", "K = [{k}]", "K[0]"),
    ("", "K = '{k}'", "float(K)"),
    ("import helper", "", "helper.K"),
    ("import helper", "", "helper.again.K"),
    ("import helper as h", "", "h.again.DEEP.K"),
    ("import helper", "m = helper", "m.K"),
    ("from helper import K", "", "K"),
    ("from helper import f", "", "f()"),
    ("import helper", "", "helper.f()"),
    ("from again import K as L", "", "L"),
)
HELPER = "import again\nfrom again import K\ndef f():\n    return K\n"
AGAIN = (
    "import json, pathlib\nK = json.loads((pathlib.Path(__file__).parent / 'k.json').read_text())\n"
    "class DEEP:\n    K = K\n"
)


def write(folder, kind, looked_up, place, slip, k):
    """Write a problem, and what lies beside it."""
    attributes, term = KINDS[kind]
    imports, shared, factor = looked_up
    slips = dict.fromkeys(("inner", "slip", "mine"), "pass")
    functions = ""
    if place in slips:
        slips[place] = slip
    elif place is not None:
        functions = f"    def {place}{FUNCTIONS[place].format(slip)}"
    more = "    scratch = 2" if "scratch" in slip else ""
    shared = shared.format(k=float(k), whole=int(k))
    if slip:
        shared += (
            "\nCOUNT = 0\nCOUNTS = []\nTABLE = np.arange(9.0)\n"
            "def recursion(n):\n    return 1.0 if n == 0 else recursion(n - 1)\n"
            "def endless(n):\n    return endless(n) + 1.0\n"
        )
    if place == "mine":
        attributes = re.sub(r"moves = .*", "moves = (mine,)", attributes)
    text = PROBLEM.format(
        imports=imports,
        globals=shared,
        kind=attributes,
        attributes=more,
        term=term,
        factor=factor,
        functions=functions,
        **slips,
    )
    (folder / "helper.py").write_text(HELPER)
    (folder / "again.py").write_text(AGAIN)
    (folder / "k.json").write_text(str(float(k)))
    (folder / "p.py").write_text(text)


def solve(folder, cache, size, timeout=300):
    """Solve in a process of its own: exit code, answer, and what it said."""
    weights = [(7 * i + 3) % 23 for i in range(size)]
    (folder / "w.json").write_text(json.dumps({"weights": weights}))
    command = [sys.executable, "-P", "-m", "nsa_cli", "solve", "w.json", "--problem", "p.py:P", "--seed", "1"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [*command, "--steps", "400", "--threads", "1", "--format", "json"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    answer = json.loads(done.stdout) if done.returncode in (0, 3) and done.stdout else None
    return done.returncode, answer and (answer["objective"], answer["solution"]), done.stderr


def faults(number, folder):
    """Run a case; say what is wrong, and how often it solved."""
    rng = random.Random(number)
    kind = rng.choice(list(KINDS))
    size = rng.choice([6, 12, 101, 130])
    folder.mkdir()
    caches = [folder / "kept", folder / "fresh"]
    for cache in caches:
        cache.mkdir()
    wrong = []

    def solved(what, cache):
        try:
            code, answer, said = solve(folder, cache, size)
        except subprocess.TimeoutExpired:
            wrong.append(f"{what}: hangs")
            return None, None
        errors = [line for line in said.splitlines() if "error" in line]
        if code not in (0, 2, 3) or "Traceback" in said or "internal error" in said or len(errors) > 1:
            wrong.append(f"{what}: exit code {code}: {said[-400:]}")
        elif code == 2 and (len(errors) != 1 or not re.search(r"p\.py(:\d+|: )|w\.json", errors[0])):
            wrong.append(f"{what}: {said[-400:]}")
        return code, answer

    if number % 2:
        looked_up = rng.choice(LOOKED_UP)
        write(folder, kind, looked_up, None, "", 1)
        first = solved("before the edit", caches[0])
        write(folder, kind, looked_up, None, "", -1)
        edited = solved("after the edit", caches[0])
        fresh = solved("with a fresh cache", caches[1])
        if edited != fresh:
            wrong.append(f"stale: {first}, then {edited}, with a fresh cache {fresh}")
        return 3, [f"{number} {kind} {size} {looked_up}: {w}" for w in wrong]
    statement = rng.choice(STATEMENTS)
    place = rng.choice(["inner", "slip", "slip", "slip", "mine", *FUNCTIONS])
    if place == "mine":
        kind = "permutation"
    when = rng.choice(WHEN)
    indent = {"inner": 16, "mine": 8}.get(place, 12) * " "
    slip = f"{when}:\n{indent}" + statement.replace("\n            ", f"\n{indent}")
    write(folder, kind, ("", "", "1.0"), place, slip, 1)
    first = solved("first", caches[0])
    again = solved("again", caches[0])
    # What lies beyond the end of an array is nobody's; an index that is hardly ever wrong may go unseen.
    changing = ("random(", "time()", "COUNT", "TABLE", "data.weights[", "scratch", "x[len(x)")
    if first != again and not any(word in statement for word in changing):
        wrong.append(f"differ: {first}, {again}")
    return 2, [f"{number} {kind} {size} {place} {slip!r}: {w}" for w in wrong]


@pytest.mark.study
def test_slips_are_lines_and_edits_are_seen(tmp_path):
    """Exit code 0, 2 or 3; at most one line of error, which names the file; the answers of a fresh cache."""
    done, found, number = 0, [], int(os.environ.get("NSA_SLIPS_FROM", "0"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        while done < RUNS:
            numbers = range(number, number + 8)
            number += 8
            for runs, wrong in pool.map(lambda n: faults(n, tmp_path / str(n)), numbers):
                done += runs
                found += wrong
                for fault in wrong:
                    print(fault, flush=True)
    assert not found, "\n".join(found)
