"""Problems of one's own with a slip in them: no crash, no fault of ours, the same answer again.

Each case is a problem drawn at random with one slip of some kind. It is solved twice by processes of their
own, with a cache of machine code that is kept between them. Of edits see tests/user/test_own_kernels.py.
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

#: Solves in all; a case has two.
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
COUNT, COUNTS, TABLE = 0, [], np.arange(9.0)

def recursion(n):
    return 1.0 if n == 0 else recursion(n - 1)

def endless(n):
    return endless(n) + 1.0

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
            total += {term}
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
    "total += data.weights[int(x[0]) + len(x) - 1]",
    "total += data.weights[-len(x) - 7]",
    "total += data.weights[1000000000000]",
    "data.weights[0] += 1",
    "x[0] = x[1]",
    "x[0], x[1] = x[1], x[0]",
    "x[len(x) + 2] = 0",
    "raise ValueError(f'no {total}')",
    "raise SystemExit",
    "assert False, 'never'",
    "total = 1 / 0",
    "total = float('nan')",
    "total = 1 // int(total * 0)",
    "total = math.sqrt(-1 - total * total)",
    "total = math.exp(100000.0)",
    "total += int(1e30)",
    "return None",
    "return 'far'",
    "return (total, 1)",
    "return x",
    "return np.zeros(3)",
    "print('cost', total)",
    "open('never', 'w')",
    "total += data.weigths[0]",
    "total += data['weights'][0]",
    "total += data.weights.missing",
    "total += x[0, 0]",
    "total += undefined",
    "total += sum([w for w in data.weights])",
    "total += {'a': 2.0}['a']",
    "total += (1.0, 2.0)[int(total) % 3]",
    "total += np.dot(data.weights, data.weights)",
    "total += data.weights[x].sum()",
    "total += np.random.random()",
    "import time; total += time.time()",
    "global COUNT; COUNT += 1; total += COUNT",
    "TABLE[0] += 1.0; total += TABLE[0]",
    "total += recursion(3)",
    "total += endless(3)",
    "total += (lambda a: a + total)(2)",
    "total += isinstance(total, float)",
    "data.scratch[len(x) + 2] = 1.0",
    "del total",
    "yield total",
    "P.cost(data, x)",
    "try:\n                total += data.weights[77]\n            except IndexError:\n                pass",
)


def write(folder, kind, place, slip):
    """Write a problem with a slip."""
    attributes, term = KINDS[kind]
    slips = dict.fromkeys(("inner", "slip", "mine"), "pass")
    functions = ""
    if place in slips:
        slips[place] = slip
    else:
        functions = f"    def {place}{FUNCTIONS[place].format(slip)}"
    if place == "mine":
        attributes = re.sub(r"moves = .*", "moves = (mine,)", attributes)
    scratch = "    scratch = 2" if "scratch" in slip else ""
    text = PROBLEM.format(kind=attributes, attributes=scratch, term=term, functions=functions, **slips)
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
    """Run a case; say what is wrong."""
    rng = random.Random(number)
    kind, size, statement = rng.choice(list(KINDS)), rng.choice([6, 12, 101, 130]), rng.choice(STATEMENTS)
    place = rng.choice(["inner", "slip", "slip", "slip", "mine", *FUNCTIONS])
    kind = "permutation" if place == "mine" else kind
    indent = {"inner": 16, "mine": 8}.get(place, 12) * " "
    slip = f"{rng.choice(WHEN)}:\n{indent}" + statement.replace("\n            ", f"\n{indent}")
    cache, wrong, answers = folder / "kept", [], []
    cache.mkdir(parents=True)
    write(folder, kind, place, slip)
    for what in ("first", "again"):
        try:
            code, answer, said = solve(folder, cache, size)
        except subprocess.TimeoutExpired:
            wrong.append(f"{what}: hangs")
            continue
        answers.append((code, answer))
        errors = [line for line in said.splitlines() if "error" in line]
        if code not in (0, 2, 3) or "Traceback" in said or "internal error" in said or len(errors) > 1:
            wrong.append(f"{what}: exit code {code}: {said[-400:]}")
        elif code == 2 and (len(errors) != 1 or not re.search(r"p\.py(:\d+|: )|w\.json", errors[0])):
            wrong.append(f"{what}: {said[-400:]}")
    # What lies beyond the end of an array is nobody's; an index that is hardly ever wrong may go unseen.
    changing = ("random(", "time()", "COUNT", "TABLE", "data.weights[", "scratch", "x[len(x)")
    if len(set(map(str, answers))) > 1 and not any(word in statement for word in changing):
        wrong.append(f"differ: {answers}")
    return [f"{number} {kind} {size} {place} {slip!r}: {w}" for w in wrong]


@pytest.mark.study
def test_slips_are_lines(tmp_path):
    """Exit code 0, 2 or 3; at most one line of error, which names the file; the same answer again."""
    first, found = int(os.environ.get("NSA_SLIPS_FROM", "0")), []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for wrong in pool.map(lambda n: faults(n, tmp_path / str(n)), range(first, first + RUNS // 2)):
            found += wrong
            for fault in wrong:
                print(fault, flush=True)
    assert not found, "\n".join(found)
