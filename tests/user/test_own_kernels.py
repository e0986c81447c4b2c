"""Compiled code of own problems: kept on disk, found again, and never that of edited sources."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from nsa_cli.problems import _import_file
from nsa_cli.user.functions import digest_of

SOURCE = Path(__file__).parents[2] / "src"

PROBLEM = """from nsa_cli.user import UserProblem, flip, subset
from prices import FACTOR, price


class Picks(UserProblem):
    name = "picks"
    keys = ("values",)
    solution = subset("values")
    moves = (flip,)

    def cost(data, x):
        total = 0
        for i in range(len(x)):
            if x[i]:
                total += price(data.values[i])
        return total * FACTOR
"""

PRICES = """FACTOR = 1


def price(value):
    return value - 5
"""


@pytest.fixture
def picks(tmp_path):
    """Solve ten values in another process; its result, what it says, and its wall time."""
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    (tmp_path / "values.json").write_text(json.dumps({"values": list(range(10))}))
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(SOURCE)}

    def run(problem=PROBLEM, prices=PRICES, *words):
        (tmp_path / "picks.py").write_text(problem)
        (tmp_path / "prices.py").write_text(prices)
        command = [sys.executable, "-m", "nsa_cli", "solve", tmp_path / "values.json", "-p"]
        command += [f"{tmp_path / 'picks.py'}:Picks", "--seed", "1", "--steps", "200", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    run.cache = cache
    return run


def test_a_second_process_compiles_nothing(picks):
    """The first one says once that it does; Numba is not even imported by the second."""
    first, said = picks()
    assert said.count("compiling the functions of this problem") == 1
    again, told = picks()
    assert told == ""
    assert again["objective"] == first["objective"] == -15
    check = "import sys; from nsa_cli.cli.main import exit_code; exit_code(sys.argv[1:]); "
    check += "assert 'numba' not in sys.modules"
    folder = picks.cache.parent
    words = ("solve", folder / "values.json", "-p", f"{folder / 'picks.py'}:Picks")
    command = [sys.executable, "-c", check, *words]
    environment = {**os.environ, "XDG_CACHE_HOME": str(picks.cache), "PYTHONPATH": str(SOURCE)}
    subprocess.run(command, env=environment, capture_output=True, check=True)


@pytest.mark.parametrize(
    ("old", "new", "objective"),
    [
        ("FACTOR = 1", "FACTOR = 2", -30),
        pytest.param("value - 5", "value - 3", -6, marks=pytest.mark.slow),
        pytest.param("total * FACTOR", "total * FACTOR * 3", -45, marks=pytest.mark.slow),
    ],
)
def test_an_edit_is_never_missed(picks, old, new, objective):
    """Of the file, of a function or a constant beside it; within a second, of the same length."""
    found = [picks(PROBLEM.replace(*way), PRICES.replace(*way))[0] for way in ((old, new), (new, old))]
    assert [result["objective"] for result in found] == [objective, -15]


#: Globals that hold addresses, or cannot be hashed, and what a cost looks up.
NOT_KEPT = {
    "view": ("import numpy as np\nTABLE = np.arange(1.0, 40.0)[::2]", "TABLE[0]"),
    "large": ("import numpy as np\nTABLE = np.ones(200_000)", "TABLE[0]"),
    "foreign": (
        "import ctypes, ctypes.util\nabsolute = ctypes.CDLL(ctypes.util.find_library('m')).fabs\n"
        "absolute.restype, absolute.argtypes = ctypes.c_double, [ctypes.c_double]",
        "absolute(1.0)",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", NOT_KEPT)
def test_code_with_addresses_is_made_anew(picks, how):
    """Another process has other things there: it once ended in a crash."""
    shared, factor = NOT_KEPT[how]
    problem = f"{shared}\n{PROBLEM.replace('total * FACTOR', f'total * {factor}')}"
    answers = [picks(problem)[0] for _ in range(2)]
    assert [answer["objective"] for answer in answers] == [-15, -15]
    assert not list(picks.cache.rglob("*.o"))


@pytest.mark.slow
def test_files_are_private_and_what_was_garbled_is_made_again(picks):
    """A cut file, a changed one, and one that is no object at all."""
    assert picks()[0]["objective"] == -15
    files = sorted(picks.cache.rglob("*.o"))
    assert files
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
        content = file.read_bytes()
        file.write_bytes(content[:50] if len(content) > 100 else b"nothing")
    assert picks()[0]["objective"] == -15
    for file in files:
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
    assert picks()[0]["objective"] == -15


@pytest.mark.slow
def test_what_there_was_no_time_to_compile_is_compiled_in_the_background(picks):
    """By a process of its own; the next run, or one soon after, has it."""
    result, said = picks(PROBLEM, PRICES, "--time-limit", "0.8")
    if "they are compiled in the background now" not in said:
        pytest.skip("a machine that compiles within half a second, or does not begin to")
    end = time.monotonic() + 120
    while time.monotonic() < end and "start" in (result["found_by"]):
        time.sleep(1)
        result, *_ = picks(PROBLEM, PRICES, "--time-limit", "0.8")
    assert result["found_by"] != "start"


#: What a function may look up, with a number K in it; the last one is no constant.
LOOKED_UP = {
    "number": "def f():\n    return k\nk = K",
    "array": "import numpy as np\nk = np.array([K, 2.0])\ndef f():\n    return k[0]",
    "view": "import numpy as np\nk = np.array([K, 2.0, 3.0])[::2]\ndef f():\n    return k[0]",
    "tuple": "k = (1, (2, K))\ndef f():\n    return k[1][1]",
    "default": "def f(k=K):\n    return k",
    "keyword": "def f(*, k=K):\n    return k",
    "closure": "def made(k):\n    def f():\n        return k\n    return f\nf = made(K)",
    "function": "def f():\n    return g()\ndef g():\n    return K",
    "decorated": "import numba\n@numba.njit\ndef g():\n    return K\ndef f():\n    return g()",
    "enumeration": "from enum import Enum\nclass E(Enum):\n    A = K\ndef f():\n    return E.A.value",
    "named tuple": "import collections as c\nk = c.namedtuple('N', 'a')(K)\ndef f():\n    return k.a",
    "its default": "import typing\nclass N(typing.NamedTuple):\n    a: int = K\ndef f():\n    return N().a",
    "module": "import helper\ndef f():\n    return helper.K",
    "module of a module": "import helper\ndef f():\n    return helper.again.K",
    "module in a closure": "import helper\ndef made(m):\n    return lambda: m.K\nf = made(helper)",
    "inner": "def f():\n    def g():\n        return k\n    return g()\nk = K",
    "partial": "import functools\nk = functools.partial(abs, K)\ndef f():\n    return k()",
    "bare module": "import helper\ndef f():\n    m = helper\n    return m.K",
}


@pytest.mark.parametrize("how", LOOKED_UP)
def test_what_is_looked_up_is_hashed_by_value(how, monkeypatch):
    """Or not at all: what cannot be hashed is not kept."""

    def digest(number):
        helper, again = ModuleType("helper"), ModuleType("again")
        helper.K = again.K = number
        helper.again = again
        monkeypatch.setitem(sys.modules, "helper", helper)
        names = {"__name__": "mine", "K": number}
        exec(
            compile(LOOKED_UP[how].replace("K", str(number)).replace(f".{number}", ".K"), "mine.py", "exec"),
            names,
        )
        return digest_of(names["f"])

    if how == "bare module":
        assert digest(3) is None
    else:
        assert digest(3) == digest(3) is not None
        assert digest(3) != digest(4)


def test_a_path_does_not_tell_what_stays(tmp_path):
    """A folder may be called as this package is."""
    folder = tmp_path / "my_nsa_cli" / "site-packages"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text("import helper\ndef f():\n    return helper.K\n")
    found = set()
    for number in (1, 2):
        (folder / "helper.py").write_text(f"K = {number}\n")
        module, _ = _import_file(folder / "mine.py")
        found.add(digest_of(module.f))
    assert len(found) == 2
