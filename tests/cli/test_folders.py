"""Folders and patterns as input, and the journal by which the same command goes on."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from nsa_cli.core.errors import InfeasibleError, UsageError
from nsa_cli.inputs import read_inputs
from nsa_cli.io.journal import Journal
from nsa_cli.problems.bin.instance import BinInstance

from helpers import QUICK

OPTIONS = ("--seed", 1, *QUICK)

#: Files that are no instances, as they lie about in folders.
OTHERS = {
    "README.md": "# Towns\n\nA, b and c\n- d\n",
    "notes.txt": "to do, some\nday: 3\n",
    "run.py": "import sys\nprint(1, 2)\n",
    "study.yaml": "seed: 1\nset: {capacity: 5}\n",
    "empty.txt": "",
    "optima": "a280 : 2579\nali535 : 202339\n",
    "weather.csv": "city,date,temp\nA,2020,3\n",
    "answer.json": '{"problem": "tsp", "name": "a", "objective": 3, "solution": [1, 2, 3]}',
    "answers.jsonl": '{"problem": "tsp", "objective": 3, "solution": [1, 2]}\n{"name": "b", "error": "c"}\n',
    "answer.tour": "TYPE : TOUR\nTOUR_SECTION\n1 3 2 4 -1\n",
    "packed.csv": "bin,item,weight\n1,a,0.5\n",
    "journal.jsonl": '{"journal": "solve", "form": 1}\n{"key": "a", "outcome": {"coords": [[1, 2]]}}\n',
    "picture.png": "\x89PNG\x00\x00",
    "policy.json": '{"format": "nsa-policy-1", "problem": "bin", "feature_set": "squares", "weights": {}}',
    "check.json": '{"problem": "tsp", "feasible": true, "violation": null, "objective": 3, "remarks": []}',
    "trace.csv": "seconds,step,temperature,best,mean,acceptance\n0.1,0,1,3,3,1\n",
    "package.json": '{"dependencies": {}}',
}

#: Instances with a fault.
BROKEN = {
    "broken.tsp": "TYPE : TSP\nDIMENSION : x\n",
    "broken.txt": "NAME : x\nTYPE : TSP\nDIMENSION : x\nEDGE_WEIGHT_TYPE : EUC_2D\n",
    "broken.json": "{",
    "broken.csv": "item,value,weight\na,1\n",
    "broken.jsonl": '{"weights": [0.5, 7]}\n',
}


@pytest.fixture
def folder(tmp_path, square):
    """Three instances of three problems, a hidden one, one in a folder within."""
    place = tmp_path / "in"
    (place / "inner").mkdir(parents=True)
    (place / "b.json").write_text('{"name": "bins", "weights": [0.5, 0.6, 0.4]}')
    (place / "a.tsp").write_text(square.read_text())
    (place / "c.txt").write_text("3 7\n6 2\n5 3\n6 4\n")
    for other in (place / ".hidden.json", place / "inner" / "x.json"):
        other.write_text('{"weights": [1]}')
    return place


def names(out):
    return sorted(path.name for path in out.iterdir())


def test_a_folder_is_the_instances_in_it(nsa, folder, tmp_path):
    """Sorted; hidden ones and those in folders within are not meant."""
    done = nsa("solve", folder, *OPTIONS)
    assert done.code == 0
    assert [json.loads(line)["problem"] for line in done.out.splitlines()] == ["tsp", "bin", "knapsack"]
    done = nsa("solve", folder, "-o", f"{tmp_path}/out/", *OPTIONS)
    assert done.code == 0
    assert names(tmp_path / "out") == ["bins.json", "c.json", "journal.jsonl", "square.json"]
    assert re.search(r"^nsa: 3 of 3 solved, \d optimal(, worst gap .*)?, 1 s$", done.err.strip()), done.err


def test_what_is_no_instance_is_left_out_and_named(nsa, folder):
    """It is no error; of many the first names are in a line."""
    for name, text in OTHERS.items():
        (folder / name).write_bytes(text.encode("latin-1"))
        if len(names(folder)) == 6:
            err = nsa("solve", folder, *OPTIONS).err
            assert err == f"nsa: {folder}: 1 file holds no instance: README.md\n"
    (skipped,) = read_inputs([str(folder)]).skipped
    assert sorted(skipped.files) == sorted(OTHERS)
    done = nsa("solve", folder, *OPTIONS)
    assert (done.code, done.out.count("\n"), done.err.count("\n")) == (0, 3, 1)
    assert f"{len(OTHERS)} files hold no instance: README.md, answer.json, answer.tour, …" in done.err


def test_an_instance_with_a_fault_is_an_error(nsa, folder):
    """Beside the answers of the others; the exit code tells."""
    for name, text in BROKEN.items():
        (folder / name).write_text(text)
    done = nsa("solve", folder, *OPTIONS)
    assert (done.code, done.out.count("\n"), done.err.count("\n")) == (2, 8, 5)
    for name in BROKEN:
        assert f"error: {folder}/{name}:" in done.err


def test_patterns_are_expanded_where_the_shell_has_not(nsa, folder, tmp_path):
    """A file of such a name is itself."""
    done = nsa("solve", f"{folder}/[ab].*", *OPTIONS)
    assert (done.code, done.out.count("\n")) == (0, 2)
    odd = tmp_path / "what?.json"
    odd.write_text('{"name": "odd", "weights": [1]}')
    assert nsa("solve", odd, *OPTIONS).json["name"] == "odd"
    done = nsa("solve", f"{folder}/*.nix", *OPTIONS)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"nsa: error: {folder}/*.nix: no file matches this pattern\n"
    done = nsa("solve", folder / "a.tsp", f"{folder}/*.nix", *OPTIONS)
    assert (done.code, done.out.count("\n")) == (2, 2)


def test_a_folder_without_instances_is_an_error(nsa, tmp_path, monkeypatch):
    """That says what there is, or that it cannot be read."""
    place = tmp_path / "in"
    place.mkdir()
    done = nsa("solve", place)
    assert (done.code, done.err) == (2, f"nsa: error: {place}: is a directory that holds no instance\n")
    (place / "notes.txt").write_text(OTHERS["notes.txt"])
    assert nsa("solve", place).err.endswith("holds no instance; there is notes.txt\n")

    def refuse(path):
        raise PermissionError

    monkeypatch.setattr(os, "listdir", refuse)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert nsa("solve", place).err == f"nsa: error: {place}: cannot be read: no permission\n"


def test_the_folder_of_the_instances_is_none_for_answers(nsa, folder):
    """By whatever name."""
    for output in (f"{folder}/", f"{folder}/../in/"):
        done = nsa("solve", folder, "-o", output, *OPTIONS)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert "is the folder of the instances" in done.err
    done = nsa("solve", folder, "-o", f"{folder}/out/", *OPTIONS)
    assert done.code == 0
    assert nsa("solve", folder, "-o", f"{folder}/out/", *OPTIONS).err.count("3 of 3 instances are in") == 1


# The journal


def entries(out):
    return [json.loads(line)["key"] for line in (out / "journal.jsonl").read_text().splitlines()[1:]]


def texts(out):
    return {path.name: path.read_text() for path in out.iterdir() if path.name != "journal.jsonl"}


@pytest.mark.parametrize("fmt", ["json", "jsonl", "csv"])
def test_the_same_command_again_solves_nothing(nsa, folder, tmp_path, fmt):
    """And leaves the files alone, to the second; one that is missing or changed is written as it was."""
    out = tmp_path / "out"
    out.mkdir()
    command = ("solve", folder, "-o", out, *OPTIONS, "--format", fmt)
    assert nsa(*command).code == 0
    before, when = texts(out), {path: path.stat().st_mtime_ns for path in out.iterdir()}
    done = nsa(*command)
    assert done.code == 0
    assert f"3 of 3 instances are in {out}/journal.jsonl; nothing is solved" in done.err
    assert "3 of 3 solved" in done.err
    assert "3 from an earlier run" in done.err
    assert {path: path.stat().st_mtime_ns for path in out.iterdir()} == when
    first, second, _ = sorted(before)
    (out / first).unlink()
    (out / second).write_text("scribble")
    assert nsa(*command).code == 0
    assert texts(out) == before
    assert len(entries(out)) == len(set(entries(out))) == 3


def test_what_changes_an_answer_is_solved_again(nsa, folder, tmp_path):
    """An instance, a setting, a seed; not threads, processes, another place or form."""
    out = tmp_path / "out"

    def solved(*options, among=folder):
        before = len(entries(out)) if out.exists() else 0
        assert nsa("solve", among, "-o", f"{out}/", *QUICK, *options).code == 0
        return len(entries(out)) - before

    assert [solved("--seed", 1), solved("--seed", 1)] == [3, 0]
    same = (["--threads", 1], ["--format", "csv"], ["--quiet"], ["--jobs", 2])
    assert [solved("--seed", 1, *options) for options in same] == [0] * 4
    moved = tmp_path / "moved"
    moved.mkdir()
    for path in folder.glob("?.*"):
        (moved / path.name).write_text(path.read_text())
    assert solved("--seed", 1, among=moved) == 0
    assert [solved("--seed", 2), solved(), solved()] == [3, 3, 0]
    assert [solved("--seed", 1, *options) for options in (["--no-bound"], ["--t-end", 0.5])] == [3, 3]
    for file, text in (
        ("b.json", '{"name": "bins", "weights": [0.5, 0.6, 0.4, 0.1]}'),
        ("b.json", '{"name": "other", "weights": [0.5, 0.6, 0.4, 0.1]}'),
        ("d.json", '{"name": "new", "weights": [1]}'),
    ):
        (folder / file).write_text(text)
        assert solved("--seed", 1) == 1
    assert len(entries(out)) > 4
    solved("--seed", 1, "--again")
    assert len(entries(out)) == 4


def test_equal_instances_have_an_answer_each(nsa, tmp_path):
    """Though they are the same."""
    path, out = tmp_path / "i.jsonl", tmp_path / "out"
    path.write_text('{"name": "a", "weights": [1]}\n' * 3)
    for _ in range(2):
        assert nsa("solve", path, "-o", f"{out}/", *OPTIONS).code == 0
        assert names(out) == ["a-2.json", "a-3.json", "a.json", "journal.jsonl"]
        assert len(set(entries(out))) == len(entries(out)) == 3


def test_answers_follow_the_settings_of_the_last_run(nsa, folder, tmp_path):
    """Also where the journal has those of another run since."""
    out = tmp_path / "out"
    found = []
    for seed in (1, 2, 1):
        assert nsa("solve", folder, "-o", f"{out}/", *QUICK, "--seed", seed).code == 0
        found.append(texts(out))
    assert found[0] == found[2] != found[1]
    assert len(entries(out)) == 6


def test_what_fails_is_tried_again(nsa, folder, tmp_path, monkeypatch):
    """It is not in the journal."""

    def broken(self, solution):
        raise InfeasibleError("there is none")

    with monkeypatch.context() as patch:
        patch.setattr(BinInstance, "objective", broken)
        done = nsa("solve", folder, "-o", f"{tmp_path}/out/", *OPTIONS)
    assert done.code == 3
    assert "error: bins: there is none" in done.err
    assert "2 of 3 solved" in done.err
    assert "1 failed (bins)" in done.err
    done = nsa("solve", folder, "-o", f"{tmp_path}/out/", *OPTIONS)
    assert done.code == 0
    assert "2 of 3 instances are in" in done.err
    assert "; 1 is solved" in done.err


def test_one_file_of_many_answers_has_a_journal_beside_it(nsa, folder, tmp_path):
    """Until it is complete, in order."""
    out, part = tmp_path / "all.jsonl", tmp_path / "all.jsonl.part"
    assert nsa("solve", folder, "-o", out, *OPTIONS).code == 0
    whole = [json.loads(line) for line in out.read_text().splitlines()]
    assert [result["problem"] for result in whole] == ["tsp", "bin", "knapsack"]
    assert not part.exists()
    assert nsa("solve", folder, "-o", f"{tmp_path}/out/", *OPTIONS).code == 0
    lines = (tmp_path / "out" / "journal.jsonl").read_text().splitlines(keepends=True)
    part.write_text("".join(lines[:2]) + lines[2][:40])
    done = nsa("solve", folder, "-o", out, *OPTIONS)
    assert "1 of 3 instances are in" in done.err
    assert not part.exists()
    again = [json.loads(line) for line in out.read_text().splitlines()]
    assert [result["solution"] for result in again] == [result["solution"] for result in whole]


#: Changes of a journal by other hands, and what is said of each.
CHANGES = [
    (r"\A.*\n", "hello\n", "journal.jsonl:1: expected"),
    ('"objective": 140', '"objective": 139', "journal.jsonl: square: the sol"),
    (r'"solution": \[1, 3', '"solution": [1, 1', "journal.jsonl: "),
    ('"limit"', '"limits"', "journal.jsonl: expected a result of"),
    ('"seconds": {', '"seconds": 3, "x": {', "journal.jsonl: expected a result"),
    ('"limit": "[0-9]+"', '"limit": "0/0"', "expected a result of"),
]


def test_a_journal_that_is_none_is_refused(nsa, folder, tmp_path):
    """In one line; solving all anew is the way out."""
    out = tmp_path / "out"
    command = ("solve", folder, "-o", f"{out}/", *OPTIONS)
    nsa(*command)
    text = (out / "journal.jsonl").read_text()
    for old, new, message in CHANGES:
        changed = re.sub(old, new, text)
        assert changed != text
        (out / "journal.jsonl").write_text(changed)
        done = nsa(*command, "-q")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert message in done.err, done.err
    assert nsa(*command, "--again").code == 0
    assert len(entries(out)) == 3


def test_single_answers_need_no_journal(nsa, square, tmp_path):
    """So that tasks of a job array may share a folder."""
    assert nsa("solve", square, "-o", f"{tmp_path}/out/", *OPTIONS).code == 0
    assert names(tmp_path / "out") == ["square.json"]


def test_two_runs_into_one_folder_are_refused(nsa, folder, tmp_path):
    """By name."""
    out = tmp_path / "out"
    with Journal(out / "journal.jsonl", "solve"):
        done = nsa("solve", folder, "-o", f"{out}/", *OPTIONS)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert f"{out}/journal.jsonl: another run is writing to it; wait" in done.err
    assert nsa("solve", folder, "-o", f"{out}/", *OPTIONS).code == 0


def test_a_full_disk_is_no_reason_to_lose_answers(nsa, folder, tmp_path, monkeypatch):
    """The journal is given up, and the exit code tells."""

    def full(self, key, outcome):
        raise UsageError("out/journal.jsonl: cannot be written: No space left on device")

    monkeypatch.setattr(Journal, "append", full)
    done = nsa("solve", folder, "-o", f"{tmp_path}/out/", *OPTIONS)
    assert done.code == 2
    assert done.err.count("No space left") == 1
    assert len(texts(tmp_path / "out")) == 3


def test_an_own_problem_has_a_key_of_its_source(nsa, tmp_path):
    """An edit of a function is another problem, one of a remark is not."""
    text = (Path(__file__).parents[2] / "examples" / "maxcut.py").read_text()
    own = tmp_path / "own.py"
    own.write_text(text)
    nsa("generate", f"{own}:MaxCut", "--size", 8, "--count", 2, "--seed", 1, "-o", f"{tmp_path}/in/")
    command = ("solve", tmp_path / "in", "-p", f"{own}:MaxCut", "-o", f"{tmp_path}/out/", "--seed", 1)
    command = (*command, "--steps", 200, "--chains", 1)
    assert nsa(*command).code == 0
    own.write_text(f"{text}\n# a remark\n")
    assert "2 of 2 instances are in" in nsa(*command).err
    own.write_text(text.replace("def cost(data, x):", "def cost(data, x):\n        assert True"))
    assert "2 of 2 instances are in" not in nsa(*command).err
