"""Folders and patterns as input, and the journal by which the same command goes on."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nsa_cli.inputs import read_inputs
from nsa_cli.report import progress

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


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_instance_is_left_out_and_named(nsa, folder, name):
    """It is no error."""
    (folder / name).write_bytes(OTHERS[name].encode("latin-1"))
    done = nsa("solve", folder, *OPTIONS)
    assert (done.code, done.out.count("\n")) == (0, 3)
    assert done.err == f"nsa: {folder}: 1 file holds no instance: {name}\n"


def test_all_others_are_one_line(nsa, folder):
    """With the first names."""
    for name, text in OTHERS.items():
        (folder / name).write_bytes(text.encode("latin-1"))
    done = nsa("solve", folder, *OPTIONS)
    assert done.code == 0
    assert done.err.count("\n") == 1
    assert f"{len(OTHERS)} files hold no instance: README.md, answer.json, answer.tour, …" in done.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("broken.tsp", "TYPE : TSP\nDIMENSION : x\n"),
        ("broken.txt", "NAME : x\nTYPE : TSP\nDIMENSION : x\nEDGE_WEIGHT_TYPE : EUC_2D\n"),
        ("broken.json", "{"),
        ("broken.csv", "item,value,weight\na,1\n"),
        ("broken.jsonl", '{"weights": [0.5, 7]}\n'),
    ],
)
def test_an_instance_with_a_fault_is_an_error(nsa, folder, name, text):
    """Beside the answers of the others; the exit code tells."""
    (folder / name).write_text(text)
    done = nsa("solve", folder, *OPTIONS)
    assert (done.code, done.out.count("\n")) == (2, 4)
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


def test_a_folder_without_instances_is_an_error(nsa, tmp_path):
    """That says what there is."""
    place = tmp_path / "in"
    place.mkdir()
    done = nsa("solve", place)
    assert (done.code, done.err) == (2, f"nsa: error: {place}: is a directory that holds no instance\n")
    (place / "notes.txt").write_text(OTHERS["notes.txt"])
    assert nsa("solve", place).err.endswith("holds no instance; there is notes.txt\n")


def test_parts_of_one_instance_count_once(nsa, tmp_path):
    """As they do when they are named."""
    for part, text in {"c": "10\n", "w": "3\n4\n5\n", "p": "1\n2\n3\n"}.items():
        (tmp_path / f"p01_{part}.txt").write_text(text)
    assert len(read_inputs([str(tmp_path)]).items) == 1
    assert read_inputs([str(tmp_path)]).skipped == []


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
    path = out if out.is_file() else out / "journal.jsonl"
    return [json.loads(line)["key"] for line in path.read_text().splitlines()[1:]]


def texts(out):
    return {path.name: path.read_text() for path in out.iterdir() if path.name != "journal.jsonl"}


@pytest.mark.parametrize("fmt", [["--format", "json"], ["--format", "jsonl"], ["--format", "csv"], []])
def test_the_same_command_again_solves_nothing(nsa, folder, tmp_path, fmt):
    """And leaves the files alone, to the second; one that is missing or changed is written as it was."""
    out = tmp_path / "out"
    command = ("solve", folder, "-o", out, "--seed", 1, *QUICK, *fmt)
    out.mkdir()
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
    (tmp_path / "moved").mkdir()
    for path in folder.iterdir():
        if path.is_file():
            (tmp_path / "moved" / path.name).write_text(path.read_text())
    assert solved("--seed", 1, among=tmp_path / "moved") == 0
    assert [solved("--seed", 2), solved(), solved()] == [3, 3, 0]
    assert [solved("--seed", 1, *options) for options in (["--no-bound"], ["--t-end", 0.5])] == [3, 3]
    (folder / "b.json").write_text('{"name": "bins", "weights": [0.5, 0.6, 0.4, 0.1]}')
    assert solved("--seed", 1) == 1
    (folder / "b.json").write_text('{"name": "other", "weights": [0.5, 0.6, 0.4, 0.1]}')
    assert solved("--seed", 1) == 1
    (folder / "d.json").write_text('{"name": "new", "weights": [1]}')
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
    from nsa_cli.core.errors import InfeasibleError
    from nsa_cli.problems.bin.instance import BinInstance

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
    out = tmp_path / "all.jsonl"
    assert nsa("solve", folder, "-o", out, *OPTIONS).code == 0
    whole = out.read_text()
    assert [json.loads(line)["problem"] for line in whole.splitlines()] == ["tsp", "bin", "knapsack"]
    assert not (tmp_path / "all.jsonl.part").exists()
    assert nsa("solve", folder, "-o", f"{tmp_path}/out/", *OPTIONS).code == 0
    lines = (tmp_path / "out" / "journal.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "all.jsonl.part").write_text("".join(lines[:2]) + lines[2][:40])
    done = nsa("solve", folder, "-o", out, *OPTIONS)
    assert "1 of 3 instances are in" in done.err
    assert not (tmp_path / "all.jsonl.part").exists()
    assert same(map(json.loads, out.read_text().splitlines())) == same(map(json.loads, whole.splitlines()))


def same(results):
    """Leave out what the clock says."""
    kept = []
    for result in results:
        bound = {k: v for k, v in (result["bound"] or {}).items() if k != "seconds"}
        kept.append({**result, "bound": bound, "seconds": None, "threads": None})
    return kept


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "hello\n", "journal.jsonl:1: expected"),
        (lambda text: text.replace('"key"', '"kex"', 1), "journal.jsonl:2: expected"),
        (lambda text: text.replace('"objective": 140', '"objective": 139'), "journal.jsonl: square: the sol"),
        (lambda text: re.sub(r'"solution": \[1, 3', '"solution": [1, 1', text), "journal.jsonl: "),
        (lambda text: text.replace('"limit"', '"limits"'), "journal.jsonl: expected a result of"),
        (
            lambda text: text.replace('"seconds": {', '"seconds": 3, "x": {'),
            "journal.jsonl: expected a result",
        ),
        (
            lambda text: text.replace('"status": "optimal"', '"status": "best"'),
            ": status: not as the solution",
        ),
        (lambda text: re.sub(r'"limit": "[0-9]+"', '"limit": "0/0"', text), "expected a result of"),
    ],
)
def test_a_journal_that_is_none_is_refused(nsa, folder, tmp_path, change, message):
    """In one line; solving all anew is the way out."""
    out = tmp_path / "out"
    command = ("solve", folder, "-o", f"{out}/", *OPTIONS)
    nsa(*command)
    text = (out / "journal.jsonl").read_text()
    changed = change(text)
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
    assert nsa("solve", square, square, *OPTIONS).code == 0


def process(*arguments, **options):
    command = [sys.executable, "-m", "nsa_cli", *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)


def wait_for(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.fixture
def towns(nsa, tmp_path):
    """Ten tours, each of which takes some tenths of a second."""
    nsa("generate", "tsp", "--size", 60, "--count", 10, "--seed", 1, "-o", f"{tmp_path}/towns/")
    return tmp_path / "towns"


#: Steps for that.
LONG = ("--seed", 1, "--steps", "60000", "--chains", 2, "--no-bound", "--threads", 1)


def test_two_runs_into_one_folder_are_refused(nsa, towns, tmp_path):
    """By name; a run that was killed is no obstacle."""
    out = tmp_path / "out"
    with process("solve", towns, "-o", f"{out}/", "--time-limit", 60, "--steps", "10000000N") as other:
        wait_for((out / "journal.jsonl").exists)
        wait_for(lambda: (out / "journal.jsonl").read_text())
        done = nsa("solve", towns, "-o", f"{out}/", *LONG)
        other.kill()
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert f"{out}/journal.jsonl: another run is writing to it; wait" in done.err
    assert nsa("solve", towns, "-o", f"{out}/", *LONG).code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_goes_on(nsa, towns, tmp_path, number):
    """What was under way has its best so far, and is solved again; what had not begun has no answer."""
    out = tmp_path / "out"
    with process("solve", towns, "-o", f"{out}/", *LONG) as first:
        wait_for(lambda: out.exists() and len([*out.glob("*.json")]) >= 2)
        first.send_signal(number)
        err = first.communicate(timeout=60)[1]
    assert first.returncode == 128 + number
    found = re.search(r"nsa: interrupted: (\d+) of 10 solved.*; the same command goes on", err)
    assert found, err
    assert len(entries(out)) == int(found[1]) < 10
    done = nsa("solve", towns, "-o", f"{out}/", *LONG)
    assert done.code == 0
    assert f"{found[1]} of 10 instances are in" in done.err
    assert nsa("solve", towns, "-o", f"{tmp_path}/whole/", *LONG).code == 0
    assert same(map(json.loads, texts(out).values())) == same(
        map(json.loads, texts(tmp_path / "whole").values())
    )


def test_a_run_that_is_killed_loses_what_was_under_way(nsa, towns, tmp_path):
    """The next one does the rest, and nothing twice."""
    out = tmp_path / "out"
    with process("solve", towns, "-o", f"{out}/", *LONG) as first:
        wait_for(lambda: out.exists() and len([*out.glob("*.json")]) >= 3)
        first.kill()
    assert len(entries(out)) >= len([*out.glob("*.json")]) >= 3
    assert nsa("solve", towns, "-o", f"{out}/", *LONG).code == 0
    assert len(set(entries(out))) == len(entries(out)) == 10
    assert len([*out.glob("*.json")]) == 10


def test_the_division_into_chunks_changes_no_answer(nsa, towns, tmp_path, monkeypatch):
    """Of a seed, by steps; manifests, too."""
    from nsa_cli import pool

    lines = [json.loads(line) for line in nsa("solve", towns, *LONG).out.splitlines()]
    for seconds in (0.0, 0.3, 1e9):
        monkeypatch.setattr(pool, "_SECONDS", seconds)
        out = tmp_path / f"out{seconds}.jsonl"
        assert nsa("solve", towns, "-o", out, *LONG).code == 0
        assert same(map(json.loads, out.read_text().splitlines())) == same(lines)


def test_a_time_limit_is_for_all(nsa, towns, tmp_path):
    """Whatever the chunks; each has its share, and schedules and manifests stay as they are."""
    begin = time.monotonic()
    done = nsa(
        "solve", towns, "-o", f"{tmp_path}/out/", "--time-limit", 3, "--no-bound", "--method", "anneal"
    )
    assert done.code == 0
    assert time.monotonic() - begin < 15
    results = [json.loads(text) for text in texts(tmp_path / "out").values()]
    assert {result["status"] for result in results} == {"time_limit"}
    assert {result["manifest"]["settings"]["time_limit"] for result in results} == {3}
    assert min(result["steps"] for result in results) > 0


def test_a_full_disk_is_no_reason_to_lose_answers(nsa, folder, tmp_path, monkeypatch):
    """The journal is given up, and the exit code tells."""
    from nsa_cli.core.errors import UsageError
    from nsa_cli.io.journal import Journal

    def full(self, key, outcome):
        raise UsageError("out/journal.jsonl: cannot be written: No space left on device")

    monkeypatch.setattr(Journal, "append", full)
    done = nsa("solve", folder, "-o", f"{tmp_path}/out/", *OPTIONS)
    assert done.code == 2
    assert done.err.count("No space left") == 1
    assert len(texts(tmp_path / "out")) == 3


def test_progress_in_words(nsa, towns, tmp_path, monkeypatch):
    """With ``-v``, lines that stay."""
    monkeypatch.setattr(progress, "_AFTER", 0.0)
    monkeypatch.setattr(progress, "_LASTING", 0.05)
    err = nsa("solve", towns, "-o", f"{tmp_path}/out/", *LONG, "-v").err
    assert re.search(r"nsa: \d+/10 done, \d+ s left\n", err), err


def test_progress_on_a_terminal(nsa, towns, tmp_path, monkeypatch):
    """One line that is written over, and erased before others."""
    monkeypatch.setattr(progress, "_AFTER", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    err = nsa("solve", towns, "-o", f"{tmp_path}/out/", *LONG).err
    assert re.search(r" \d+/10 done, \d+ s left", err), err
    assert re.search(r"\x1b\[2K" + "nsa: 10 of 10 solved, .* \\d+ s\n$", err), err
    assert nsa("solve", towns, "-o", f"{tmp_path}/new/", *LONG, "--quiet").err == ""


def test_an_own_problem_has_a_key_of_its_source(nsa, tmp_path):
    """An edit of a function is another problem, one of a remark is not."""
    source = Path(__file__).parents[2] / "examples" / "maxcut.py"
    own = tmp_path / "own.py"
    own.write_text(source.read_text())
    nsa("generate", f"{own}:MaxCut", "--size", 8, "--count", 2, "--seed", 1, "-o", f"{tmp_path}/in/")
    command = ("solve", tmp_path / "in", "-p", f"{own}:MaxCut", "-o", f"{tmp_path}/out/", "--seed", 1)
    command = (*command, "--steps", 200, "--chains", 1)
    assert nsa(*command).code == 0
    own.write_text(source.read_text() + "\n# a remark\n")
    for edit, known in (("# a remark", True), ("def cost(data, x):\n        assert True", False)):
        text = source.read_text()
        own.write_text(text.replace("def cost(data, x):", edit) if not known else text + edit)

        assert ("2 of 2 instances are in" in nsa(*command).err) == known


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_folder_that_cannot_be_read_is_named(nsa, folder):  # pragma: no cover
    """As a file is."""
    folder.chmod(0)
    done = nsa("solve", folder)
    folder.chmod(0o700)
    assert (done.code, done.err) == (2, f"nsa: error: {folder}: cannot be read: no permission\n")
