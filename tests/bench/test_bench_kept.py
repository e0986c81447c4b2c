"""Benchmarks go on from where they were killed, and are shared out among processes."""

from __future__ import annotations

import csv
import json
import random
import signal
import subprocess
import sys
import time

import pytest

from nsa_cli.bench.benchmark import circumstances_of, prepare
from nsa_cli.bench.request import Request
from nsa_cli.bench.solvers import Monitor

from helpers import ended

BY_STEPS = ("knapsack", "--sizes", "50", "--steps", "1", "--seeds", "1..2", "--count", "3")
NO_POLICY = ("--policies", "none", "--device", "cpu")

#: Units of the first command: batches of a solver and a seed, and runs of heuristics.
BATCHES, SINGLE = 3 * 2, 3 + 3 + 2 * 3


def runs(folder):
    """Rows of runs.csv, without what the clock says."""
    with (folder / "runs.csv").open() as file:
        rows = [*csv.DictReader(file)]
    return [{k: v for k, v in row.items() if k not in ("seconds", "cpu_seconds")} for row in rows]


def lines(folder):
    return (folder / "journal.jsonl").read_text().splitlines()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A benchmark that was never killed: its folder."""
    folder = tmp_path_factory.mktemp("whole")
    words = ["-m", "nsa_cli", "benchmark", *BY_STEPS, *NO_POLICY, "--out", str(folder)]
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    return folder


@pytest.fixture
def cut(whole, tmp_path):
    """A folder with the first lines of a journal, as a kill has left it."""

    def make(count, torn=""):
        text = "".join(line + "\n" for line in lines(whole)[: count + 1])
        (tmp_path / "journal.jsonl").write_text(text + torn)
        return tmp_path

    return make


def test_the_same_command_measures_nothing_again(command, cut, whole):
    """All files and the table are as they were; times, too, and it says so."""
    folder = cut(BATCHES + SINGLE)
    code, out, err = command(*BY_STEPS, *NO_POLICY, "--out", folder)
    assert (code, err) == (0, f"nsa: 30 of 30 runs are in {folder}/journal.jsonl; nothing is measured\n")
    assert (folder / "runs.csv").read_text() == (whole / "runs.csv").read_text()
    assert lines(folder) == lines(whole)
    rows = json.loads((folder / "summary.json").read_text())["rows"]
    assert rows == json.loads((whole / "summary.json").read_text())["rows"]
    assert "nsa-sa" in out


@pytest.mark.parametrize("torn", ["", '{"key": "12', lambda line: line[:-1]])
def test_what_a_kill_has_left_is_not_measured_again(command, cut, whole, torn):
    """A line that was being written is."""
    torn = torn if isinstance(torn, str) else torn(lines(whole)[4])
    folder = cut(3, torn)
    code, _, err = command(*BY_STEPS, *NO_POLICY, "--out", folder)
    assert (code, err) == (0, f"nsa: 9 of 30 runs are in {folder}/journal.jsonl; 21 are measured\n")
    assert lines(folder)[:4] == lines(whole)[:4]
    assert len(lines(folder)) == len(lines(whole))
    assert runs(folder) == runs(whole)


def test_again_measures_anew(command, cut, whole):
    """Nothing of the old journal is left; without a folder there is nothing to measure again."""
    folder = cut(BATCHES + SINGLE)
    assert command(*BY_STEPS, *NO_POLICY, "--out", folder, "--again")[::2] == (0, "")
    assert len(lines(folder)) == len(lines(whole))
    assert not {*lines(folder)[1:]} & {*lines(whole)[1:]}
    assert runs(folder) == runs(whole)
    code, _, err = command(*BY_STEPS, *NO_POLICY, "--again")
    assert code == 2
    assert "--again: nothing is kept without a folder; use --out DIR" in err


@pytest.mark.parametrize(
    ("changed", "known"),
    [
        (("--seeds", "2..3"), 12),  # of those that are random
        (("--count", "2"), 8),  # of batches none: side by side they were others
        (("--steps", "1,2"), 30),
        (("--references", "{folder}"), 30),
    ],
)
def test_what_is_asked_for_may_change(command, cut, changed, known):
    """What another command has measured counts, as far as it is the same."""
    import numpy as np

    folder = cut(BATCHES + SINGLE)
    np.save(folder / "knapsack50_opt.npy", np.full(3, 25.0))
    words = [word.format(folder=folder) for word in changed]
    code, _, err = command(*BY_STEPS, *NO_POLICY, *words, "--out", folder)
    assert code == 0
    assert f"nsa: {known} of " in err


@pytest.mark.parametrize("by", ["steps", "seconds"])
def test_keys_are_of_all_that_answers_depend_on(by, tmp_path):
    """And of nothing else."""

    def keys(**changed):
        timed = {"budget": (0.01,)} if by == "seconds" else {}
        wanted = {"what": ("knapsack",), "sizes": (50,), "count": 2, "policies": (), **timed, **changed}
        return {unit.key for unit in prepare(Request(**wanted)).units}

    assert keys() == keys(threads=1) == keys(time_limit=3.0)
    assert keys() < keys(seeds=(1, 2))
    assert not keys() & keys(seeds=(2,))
    assert not keys() & keys(what=("bin",))
    assert not keys() & keys(sizes=(100,))
    assert keys() < keys(sizes=(50, 100))
    if by == "steps":
        assert keys() < keys(steps=(10, 20))
        assert keys() < keys(policies=None)
    else:
        assert not keys() & keys(budget=(0.02,))
        assert not keys() & keys(budget=(0.01, 0.02))  # they take turns


@pytest.mark.parametrize(
    "harm",
    [
        lambda runs: runs[0].pop("steps"),
        lambda runs: runs[0].update(objective="many"),
        lambda runs: runs[0].update(seconds=-1),
        lambda runs: runs[0].update(solver="mine"),
        lambda runs: runs.clear(),
    ],
)
def test_a_journal_with_something_else_is_refused_by_name(command, cut, harm):
    """One line with what to do; the journal stays as it is."""
    folder = cut(4)
    head, first, *rest = lines(folder)
    entry = json.loads(first)
    harm(entry["outcome"]["runs"])
    (folder / "journal.jsonl").write_text("\n".join([head, json.dumps(entry), *rest, ""]))
    before = lines(folder)
    code, _, err = command(*BY_STEPS, *NO_POLICY, "--out", folder)
    assert code == 2
    assert f"{folder}/journal.jsonl: expected runs of knapsack 50, got none" in err
    assert err.rstrip().endswith("use --again")
    assert lines(folder) == before


def test_another_journal_is_not_overwritten(command, tmp_path):
    """Such as one of solved instances."""
    (tmp_path / "journal.jsonl").write_text('{"journal": "solve", "form": 1}\n')
    code, _, err = command(*BY_STEPS, *NO_POLICY, "--out", tmp_path)
    assert code == 2
    assert "journal.jsonl:1: expected" in err


def test_circumstances_of_times_are_said(measured):
    """Several processes on one machine, and several kinds of machine."""
    ready, some = measured("knapsack", 50)
    assert circumstances_of(some) == []
    (beside,) = circumstances_of([some[0]._replace(processes=3), *some])
    assert beside.startswith("Up to 3 processes measured at the same time: those of one machine")
    (kinds,) = circumstances_of([some[0]._replace(processor="Z80"), *some])
    assert "Z80" in kinds
    assert kinds in ready.caption([some[0]._replace(processor="Z80"), *some])


def test_an_instance_by_seconds_is_measured_by_all_solvers_or_by_none(tmp_path):
    """They are compared on the same instances; what was under way is not in the journal."""
    from nsa_cli.io.journal import Journal

    request = Request(what=("knapsack",), sizes=(50,), count=2, policies=(), budget=(0.002,))
    with Journal(tmp_path / "j", "benchmark") as journal:
        asked = iter([False] * 4)  # the first solver, and one more
        ready = prepare(request)
        got = [*ready.runs(Monitor(lambda: next(asked, True)), journal)]
        assert len(journal) == len(got) == 0
        for place, some in ready.runs(Monitor(), journal):
            assert {run.place for run in some} == {place}
            assert len(some) == len(ready.solvers[0])
        assert len(journal) == 2


def test_two_processes_give_the_rows_of_one(command, whole, tmp_path):
    """In its order, and the table says that they measured at the same time."""
    code, table, _ = command(*BY_STEPS, *NO_POLICY, "--out", tmp_path, "--jobs", 2)
    assert code == 0
    assert runs(tmp_path) == runs(whole)
    assert "Up to 2 processes measured at the same time" in " ".join(table.split())
    assert len(lines(tmp_path)) == len(lines(whole))


#: By seconds, so that it takes a few; and how many runs it has.
LONG = ("knapsack", "--sizes", "50", "--budget", "20ms", "--count", "12", "--policies", "none")
RUNS = 12 * 6


def await_lines(folder, count, process):
    """Wait until a journal has so many units."""
    until = time.monotonic() + 90
    while time.monotonic() < until and process.poll() is None:
        if (folder / "journal.jsonl").exists() and len(lines(folder)) > count:
            return
        time.sleep(0.01)
    pytest.fail("no such journal")


def check(folder):
    """Every run once, in order."""
    rows = runs(folder)
    keys = [(row["instance"], row["solver"], row["budget"]) for row in rows]
    assert len(keys) == len({*keys}) == RUNS
    names = [row["instance"] for row in rows]
    assert [*dict.fromkeys(names)] == [f"knap50-{k}" for k in range(1, 13)]
    assert names == sorted(names, key=names.index)
    assert len({json.loads(line)["key"] for line in lines(folder)[1:]}) == 12


def test_a_request_to_end_keeps_what_is_measured(tmp_path):
    """The exit code says so, as does a line with what to do."""
    process = subprocess.Popen(words(tmp_path), stdout=-1, stderr=-1, text=True)
    try:
        await_lines(tmp_path, 2, process)
        process.send_signal(signal.SIGTERM)
        codes, said = ended([process])
    finally:
        process.kill()
    assert codes == [143]
    assert f"of {RUNS} runs are complete; the same command measures the rest" in said
    subprocess.run(words(tmp_path), check=True, capture_output=True)
    check(tmp_path)


def words(folder):
    return [sys.executable, "-m", "nsa_cli", "benchmark", *LONG, "--out", str(folder)]


@pytest.mark.study
def test_killed_at_random_moments_nothing_is_lost(tmp_path):
    """Twenty times, with one process or two; the journal only grows."""
    chance, killed, round_ = random.Random(1), 0, 0
    while killed < 20:
        round_ += 1
        folder = tmp_path / str(round_)
        for _ in range(3):
            before = lines(folder) if (folder / "journal.jsonl").exists() else []
            process = subprocess.Popen([*words(folder), "--jobs", chance.choice("12")], stdout=-1, stderr=-1)
            time.sleep(chance.uniform(1.5, 5))
            killed += process.poll() is None
            process.kill()
            process.communicate()
            if before and (folder / "journal.jsonl").exists():
                assert lines(folder)[: len(before) - 1] == before[:-1]
        subprocess.run(words(folder), check=True, capture_output=True)
        check(folder)
