"""Names from files, and their files': shown without what steers a terminal, and never as markup."""

import json
import os
import re

import pytest

NAMES = ["\x1b]0;title\x07", "[bold]b[/nope]", ":smile:", "c\x9b31m\u202e", "plain"]
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")

RECORDS = {
    "knapsack": {"values": [5, 4, 3, 2, 1], "weights": [1] * 5, "capacity": 3, "names": NAMES},
    "bin": {"weights": [1, 2, 1, 2, 1], "capacity": 3, "names": NAMES},
    "tsp": {"coords": [[0, 0], [0, 4], [3, 4], [3, 0], [1, 1]], "ids": NAMES},
}


@pytest.fixture
def instance(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(problem, **more):
        record = {"problem": problem, "name": "a\x1b[31mX[red]\nb", **RECORDS.get(problem, {}), **more}
        path = tmp_path / "x\x1b[31m.json"
        path.write_text(json.dumps(record))
        return path

    return write


@pytest.mark.parametrize("problem", list(RECORDS))
@pytest.mark.parametrize("fmt", ["table", "csv", "json", "jsonl"])
def test_answers(nsa, instance, tmp_path, problem, fmt):
    """In every form; what is written is read again as a solution."""
    path = instance(problem)
    done = nsa("solve", path, "--seed", 1, "--steps", 20, "-v", "--format", fmt, "-o", f"out.{fmt}")
    text = (tmp_path / f"out.{fmt}").read_text(encoding="utf-8")
    assert done.code == 0, done.err
    assert not STEERING.search(text)
    assert not STEERING.search(done.err)
    if fmt == "table":
        assert r"a\x1b[31mX[red]\nb" in text
    else:
        checked = nsa("check", path, f"out.{fmt}")
        assert checked.code == 0, checked.out + checked.err
        assert not STEERING.search(checked.out + checked.err)
    if fmt == "csv":
        assert "[bold]b[/nope]" in text
        assert ":smile:" in text


def test_several_answers_and_warnings(nsa, instance, tmp_path):
    """A table of several, names of files, and errors."""
    path = instance("tsp", best_known=1)
    other = tmp_path / "y\x1b[31m.json"
    other.write_text('{"problem": "\\u001b[31m"}')
    done = nsa("solve", path, path, "--seed", 1, "--steps", 20, "--format", "table")
    assert (done.code, STEERING.search(done.out)) == (0, None)
    for arguments in (
        *(("solve", other), ("solve", "\x1b[31m"), ("solve", path, "--init", "\x1b[31m")),
        *(("solve", path, "--policy", "\x1b[31m"), ("solve", path, "--set", "\x1b[31m=1")),
        *(("solve", path, "--instance", "\x1b[31m"), ("solve", path, "-o", "\x1b[31m/x")),
        *(("generate", "\x1b[31m", "--size", 3), ("\x1b[31m",), ("solve", path, "--\x1b[31m")),
    ):
        done = nsa(*arguments)
        assert done.code == 2
        assert not STEERING.search(done.err), done.err
        assert r"\x1b[31m" in done.err


def test_claims_of_a_solution(nsa, instance, tmp_path):
    """They are shown, too."""
    path = instance("knapsack")
    claims = {
        "name": "\x1b[31m",
        "bound": {"value": 0, "method": "\x1b[32m", "witness": {"capacity_multiplier": "2"}},
    }
    (tmp_path / "s.json").write_text(json.dumps({"solution": ["plain"], **claims}))
    for words in ((), ("--format", "json")):
        done = nsa("check", path, "s.json", *words)
        assert done.code == 0
        assert not STEERING.search(done.out + done.err)
    assert not os.path.exists("\x1b[31m")


def test_a_key_is_left_out_as_it_is_shown(nsa, instance):
    """What a message calls it is what the option takes."""
    path = instance("tsp", **{"\x1b[31mred": [1, 2]})
    done = nsa("solve", path, "--steps", 5)
    assert done.code == 2
    assert r"'\x1b[31mred' is not understood" in done.err
    assert nsa("solve", path, "--steps", 5, "--ignore", r"\x1b[31mred").code == 0
