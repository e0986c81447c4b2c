"""Benchmarks go on from where they were killed, and are shared out among processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from nsa_cli.bench.benchmark import prepare
from nsa_cli.bench.request import Request
from nsa_cli.io.journal import Journal

from helpers import ended

BY_STEPS = ("knapsack", "--sizes", "50", "--steps", "1", "--seeds", "1..2", "--count", "3")
BY_STEPS = (*BY_STEPS, "--policies", "none", "--device", "cpu")

#: Units of the first command: batches of a solver and a seed, and runs of heuristics.
UNITS = 3 * 2 + 3 * 2 * 3


@pytest.fixture
def runs(rows_of):
    """Read runs.csv without what the clock says."""
    clock = ("seconds", "cpu_seconds")
    return lambda folder: [{k: v for k, v in row.items() if k not in clock} for row in rows_of(folder)]


def lines(folder):
    return (folder / "journal.jsonl").read_text().splitlines()


def process(folder, *words):
    return [sys.executable, "-m", "nsa_cli", "benchmark", *words, "--out", str(folder)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A benchmark that was never killed: its folder."""
    folder = tmp_path_factory.mktemp("whole")
    subprocess.run(process(folder, *BY_STEPS), check=True, capture_output=True)
    return folder


@pytest.fixture
def cut(whole, tmp_path):
    """A folder with the first lines of a journal, as a kill has left it."""

    def make(count=UNITS, torn=""):
        text = "".join(line + "\n" for line in lines(whole)[: count + 1])
        (tmp_path / "journal.jsonl").write_text(text + torn)
        return tmp_path

    return make


def test_the_same_command_measures_nothing_again(command, cut, whole):
    """All files and the table are as they were; times, too, and it says so."""
    folder = cut()
    code, out, err = command(*BY_STEPS, "--out", folder)
    assert (code, err) == (0, f"nsa: 36 of 36 runs are in {folder}/journal.jsonl; nothing is measured\n")
    assert (folder / "runs.csv").read_text() == (whole / "runs.csv").read_text()
    assert lines(folder) == lines(whole)
    rows, known = (json.loads((place / "summary.json").read_text())["rows"] for place in (folder, whole))
    assert rows == known
    assert "nsa-sa" in out


@pytest.mark.parametrize("torn", ["", '{"key": "12', lambda line: line[:-1]])
def test_what_a_kill_has_left_is_not_measured_again(command, cut, whole, torn, runs):
    """A line that was being written is."""
    folder = cut(3, torn if isinstance(torn, str) else torn(lines(whole)[4]))
    code, _, err = command(*BY_STEPS, "--out", folder)
    assert (code, err) == (0, f"nsa: 9 of 36 runs are in {folder}/journal.jsonl; 27 are measured\n")
    assert lines(folder)[:4] == lines(whole)[:4]
    assert len(lines(folder)) == len(lines(whole))
    assert runs(folder) == runs(whole)


def test_again_measures_anew(command, cut, whole, runs):
    """Nothing of the old journal is left."""
    folder = cut()
    assert command(*BY_STEPS, "--out", folder, "--again")[::2] == (0, "")
    assert len(lines(folder)) == len(lines(whole))
    assert not {*lines(folder)[1:]} & {*lines(whole)[1:]}
    assert runs(folder) == runs(whole)


def test_what_is_asked_for_may_change(command, cut):
    """What another command has measured counts, as far as it is the same; references do not."""
    folder = cut()
    np.save(folder / "knapsack50_opt.npy", np.full(3, 25.0))
    changed = ["2..3" if word == "1..2" else word for word in BY_STEPS]
    code, _, err = command(*changed, "--references", folder, "--out", folder)
    assert code == 0
    assert "nsa: 18 of 36 " in err


@pytest.mark.parametrize("timed", [{}, {"budget": (0.01,)}], ids=["steps", "seconds"])
def test_keys_are_of_all_that_answers_depend_on(timed):
    """And of nothing else."""

    def keys(**changed):
        wanted = {"what": ("knapsack",), "sizes": (50,), "count": 2, "policies": (), **timed, **changed}
        return {unit.key for unit in prepare(Request(**wanted)).units}

    assert keys() == keys(threads=1) == keys(time_limit=3.0)
    assert keys() < keys(seeds=(1, 2))
    assert keys() < keys(sizes=(50, 100))
    for changed in ({"seeds": (2,)}, {"what": ("bin",)}, {"sizes": (100,)}):
        assert not keys() & keys(**changed)
    if timed:
        assert not keys() & keys(budget=(0.02,))
        assert not keys() & keys(budget=(0.01, 0.02))  # they take turns
    else:
        assert keys() < keys(steps=(10, 20))
        assert keys() < keys(policies=None)


@pytest.mark.parametrize(
    "harm",
    [
        lambda runs: runs[0].pop("steps"),
        lambda runs: runs.clear(),
    ],
)
def test_a_journal_with_something_else_is_refused_by_name(command, cut, harm):
    """One line with what to do; the journal stays as it is."""
    folder = cut(4)
    head, first, *rest = lines(folder)
    entry = json.loads(first)
    harm(entry["outcome"])
    before = [head, json.dumps(entry), *rest]
    (folder / "journal.jsonl").write_text("\n".join([*before, ""]))
    code, _, err = command(*BY_STEPS, "--out", folder)
    assert code == 2
    assert f"{folder}/journal.jsonl: expected runs of knapsack 50, got none" in err
    assert err.rstrip().endswith("use --again")
    assert lines(folder) == before


def test_circumstances_of_times_are_said(measured):
    """Several processes on one machine."""
    ready = measured("knapsack", 50)
    (first, *_) = ready.runs
    ready.found[-1] = [first._replace(processes=3)]
    assert ready.caption()[-1].startswith("Up to 3 processes measured at the same time: those of one machine")


def test_an_instance_by_seconds_is_measured_by_all_solvers_or_by_none(tmp_path):
    """They are compared on the same instances; what was under way is not in the journal."""
    request = Request(what=("knapsack",), sizes=(50,), count=2, policies=(), budget=(0.002,))
    with Journal(tmp_path / "j", "benchmark") as journal:
        asked = iter([False] * 4)  # the first solver, and one more
        ready = prepare(request)
        assert [*ready.run(lambda: next(asked, True), journal)] == ready.runs == []
        assert len(journal) == 0
        assert len([*ready.run(journal=journal)]) == len(journal) == 2
        for place, some in ready.found.items():
            assert [run.task.stream for run in some] == [place] * len(ready.solvers[0])


def test_two_processes_give_the_rows_of_one(command, whole, tmp_path, runs):
    """In its order, and the table says that they measured at the same time."""
    code, table, _ = command(*BY_STEPS, "--out", tmp_path, "--jobs", 2)
    assert code == 0
    assert runs(tmp_path) == runs(whole)
    assert "Up to 2 processes measured at the same time" in " ".join(table.split())
    assert len(lines(tmp_path)) == len(lines(whole))


#: By seconds, so that it takes a few; and how many runs it has.
LONG = ("knapsack", "--sizes", "50", "--budget", "20ms", "--count", "12", "--policies", "none")
RUNS = 12 * 5


def test_a_request_to_end_keeps_what_is_measured(tmp_path, runs):
    """The exit code says so, as does a line with what to do; then every run is there once, in order."""
    running = subprocess.Popen(process(tmp_path, *LONG), stdout=-1, stderr=-1, text=True)
    try:
        until = time.monotonic() + 90
        while not (tmp_path / "journal.jsonl").exists() or len(lines(tmp_path)) < 3:
            assert running.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        running.send_signal(signal.SIGTERM)
        codes, said = ended([running])
    finally:
        running.kill()
    assert codes == [143]
    assert f"of {RUNS} runs are complete; the same command measures the rest" in said
    subprocess.run(process(tmp_path, *LONG), check=True, capture_output=True)
    rows = runs(tmp_path)
    keys = [(row["instance"], row["solver"], row["budget"]) for row in rows]
    assert len(keys) == len({*keys}) == RUNS
    assert [row["instance"] for row in rows] == [f"knap50-{k}" for k in range(1, 13) for _ in range(5)]
    assert len({json.loads(line)["key"] for line in lines(tmp_path)[1:]}) == 12
