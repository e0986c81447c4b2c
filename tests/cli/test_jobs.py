"""Many instances shared out among processes, shown while they are solved; and what is left of a kill."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nsa_cli import pool
from nsa_cli.cli.main import exit_code
from nsa_cli.report import progress

from helpers import command, wait_for

EXAMPLES = Path(__file__).parents[2] / "examples"

#: Steps of some tenths of a second for each of the instances below.
LONG = ("--seed", 1, "--steps", 40_000, "--chains", 2, "--no-bound", "--threads", 1)


def run(*words):
    assert exit_code([str(word) for word in words]) == 0


@pytest.fixture(scope="module")
def towns(tmp_path_factory):
    """Twelve tours of three sizes, and two knapsacks."""
    out = tmp_path_factory.mktemp("towns")
    for name, size, number in (("tsp", 30, 4), ("tsp", 60, 4), ("tsp", 70, 4), ("knapsack", 60, 2)):
        run("generate", name, "--size", size, "--count", number, "--seed", size, "-o", f"{out}/")
    return out


@pytest.fixture(scope="module")
def alone(towns, tmp_path_factory):
    """Their answers by one process."""
    out = tmp_path_factory.mktemp("alone")
    run("solve", towns, "-o", f"{out}/", *LONG)
    return answers(out)


def start(*words):
    return subprocess.Popen(command(*words), stderr=subprocess.PIPE, text=True)


def answers(out):
    """What does not depend on the clock or the machine's cores, by file."""
    found = {}
    for path in out.glob("*.json"):
        found[path.name] = result = json.loads(path.read_text())
        del result["seconds"], result["threads"]
    return found


def keys(out):
    return [json.loads(line)["key"] for line in (out / "journal.jsonl").read_text().splitlines()[1:]]


def count(out):
    return len([*out.glob("*.json")]) if out.exists() else 0


def children(pid):
    """Workers that a process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            ours = int(stat.read_text().rpartition(")")[2].split()[1]) == pid
            if ours and b"spawn_main" in (stat.parent / "cmdline").read_bytes():
                found.append(int(stat.parent.name))
    return found


def test_processes_give_what_one_gives(nsa, towns, alone, tmp_path):
    """Answer for answer, manifests included; in order on stdout."""
    assert len(alone) == 14
    assert nsa("solve", towns, "-o", f"{tmp_path}/two/", "--jobs", 2, *LONG).code == 0
    assert answers(tmp_path / "two") == alone
    both = [nsa("solve", towns, *jobs, "--steps", 50).out.splitlines() for jobs in ((), ("-j", 2))]
    names = [[json.loads(line)["name"] for line in lines] for lines in both]
    assert names[0] == names[1]


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_the_division_into_chunks_changes_no_answer(nsa, towns, alone, tmp_path, monkeypatch, seconds):
    """Of a seed, by steps; manifests, too."""
    monkeypatch.setattr(pool, "_SECONDS", seconds)
    assert nsa("solve", towns, "-o", f"{tmp_path}/out/", *LONG).code == 0
    assert answers(tmp_path / "out") == alone


def test_processes_share_the_cores(nsa, towns, tmp_path, monkeypatch):
    """Unless the user says how many threads each has."""
    monkeypatch.setattr(pool, "cores", lambda: 8)
    for options, threads in (((), 4), (("--threads", 1), 1)):
        out = tmp_path / f"out{threads}"
        assert nsa("solve", towns, "-o", f"{out}/", "-j", 2, "--steps", 50, "--seed", 1, *options).code == 0
        assert {json.loads(path.read_text())["threads"] for path in out.glob("*.json")} == {threads}


def test_own_problems_are_shared_out_too(nsa, tmp_path):
    """The workers read the file."""
    own = f"{EXAMPLES}/maxcut.py:MaxCut"
    nsa("generate", own, "--size", 8, "--count", 3, "--seed", 1, "-o", f"{tmp_path}/in/")
    words = ("solve", tmp_path / "in", "-p", own, "--seed", 1, "--steps", 200, "--chains", 1, "--no-bound")
    assert nsa(*words, "-o", f"{tmp_path}/one/").code == 0
    assert nsa(*words, "-o", f"{tmp_path}/two/", "-j", 2).code == 0
    assert len(answers(tmp_path / "one")) == 3
    assert answers(tmp_path / "two") == answers(tmp_path / "one")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_time_limit_is_for_all(nsa, towns, tmp_path, jobs):
    """Each instance has its share of it, and of the processes; manifests tell the whole."""
    begin = time.monotonic()
    options = ("-j", jobs, "--time-limit", 3, "--no-bound", "--method", "anneal")
    assert nsa("solve", towns, "-o", f"{tmp_path}/out/", *options).code == 0
    assert time.monotonic() - begin < 15
    results = answers(tmp_path / "out").values()
    assert len(results) == 14
    assert {(r["status"], r["manifest"]["settings"]["time_limit"]) for r in results} == {("time_limit", 3)}
    assert jobs > 1 or min(result["steps"] for result in results) > 0


def test_bad_options_are_one_line(nsa, towns):
    """Though they are met in several processes."""
    done = nsa("solve", towns, "--jobs", 2, "--policy", "nowhere.json")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("nsa: error: ")


@pytest.mark.slow
def test_an_instance_that_ends_its_worker_is_named(nsa, tmp_path):
    """After a second try; the others are solved, and the next run tries it again."""
    text = (EXAMPLES / "maxcut.py").read_text()
    (tmp_path / "own.py").write_text(text)
    own = f"{tmp_path}/own.py:MaxCut"
    for size in (6, 7, 8):
        nsa("generate", own, "--size", size, "--seed", size, "-o", f"{tmp_path}/in{size}.json")
    (tmp_path / "own.py").write_text(
        text
        + "\n    def start(data, draws):\n        import os\n"
        + "        if len(data.weights) == 7:\n            os.kill(os.getpid(), 9)\n"
        + "        return (draws(len(data.weights)) < 0.5) * 1\n"
    )
    options = ("-p", own, "-o", f"{tmp_path}/out/", "--steps", 50, "-j", 2)
    with start("solve", f"{tmp_path}/in*.json", *options) as process:
        _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert err.count("ended its process twice") == 1
    assert "2 of 3 solved" in err
    assert len(keys(tmp_path / "out")) == 2


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("jobs", "number"),
    [(1, signal.SIGTERM), (1, signal.SIGKILL), (2, signal.SIGINT), (2, signal.SIGKILL)],
)
def test_a_run_that_is_ended_leaves_nothing_running_and_goes_on(nsa, towns, alone, tmp_path, jobs, number):
    """What was under way has its best so far, or nothing, and is solved again; nothing is done twice."""
    out = tmp_path / "out"
    with start("solve", towns, "-o", f"{out}/", "-j", jobs, *LONG) as process:
        wait_for(lambda: count(out) >= 2)
        workers = children(process.pid)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert len(workers) == (jobs if jobs > 1 else 0)
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    before = len(keys(out))
    if number == signal.SIGKILL:
        assert before >= count(out) >= 2
    else:
        assert process.returncode == 128 + number
        assert re.search(rf"interrupted: {before} of 14 solved.*; the same command goes on", err), err
    done = nsa("solve", towns, "-o", f"{out}/", "-j", jobs, *LONG)
    assert (done.code, f"{before} of 14 instances are in" in done.err) == (0, True)
    assert len(set(keys(out))) == len(keys(out)) == 14
    assert answers(out) == alone


@pytest.mark.study
def test_a_folder_that_is_killed_at_twenty_moments_ends_as_if_it_had_not_been(nsa, tmp_path):
    """Forty tours by two jobs; the process alone, or its workers with it."""
    draw, kills, folder, out = random.Random(7), 0, tmp_path / "in", tmp_path / "out"
    nsa("generate", "tsp", "--size", 60, "--count", 40, "--seed", 1, "-o", f"{folder}/")
    words = (
        "solve",
        folder,
        *LONG[:2],
        "--steps",
        60_000,
        "--method",
        "large-step",
        *LONG[4:],
        "-j",
        2,
        "-q",
    )
    while kills < 20 and (not out.exists() or count(out) < 40):
        killed = subprocess.Popen(command(*words, "-o", f"{out}/"), start_new_session=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            killed.wait(draw.uniform(0.6, 2.2))
        kills += killed.poll() is None
        with contextlib.suppress(ProcessLookupError):
            os.kill(killed.pid if draw.random() < 0.5 else -killed.pid, signal.SIGKILL)
        killed.wait()
    assert kills > 10
    for place in ("out", "whole"):
        assert nsa(*words, "-o", f"{tmp_path / place}/").code == 0
    assert len(set(keys(out))) == len(keys(out)) == 40
    assert answers(out) == answers(tmp_path / "whole")


def test_progress_in_words(nsa, towns, tmp_path, monkeypatch):
    """With ``-v``, lines that stay."""
    monkeypatch.setattr(progress, "_LASTING", 0.05)
    err = nsa("solve", towns, "-o", f"{tmp_path}/out/", *LONG, "-v").err
    assert re.search(r"nsa: \d+/14 done, \d+ s left\n", err), err


def test_progress_on_a_terminal(nsa, towns, tmp_path, monkeypatch):
    """One line that is written over, and erased before others."""
    monkeypatch.setattr(progress, "_AFTER", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    err = nsa("solve", towns, "-o", f"{tmp_path}/out/", *LONG).err
    assert re.search(r" \d+/14 done, \d+ s left", err), err
    assert re.search(r"\x1b\[2K" + "nsa: 14 of 14 solved, .* \\d+ s\n$", err), err
    assert nsa("solve", towns, "-o", f"{tmp_path}/new/", *LONG, "--quiet").err == ""


def test_a_cluster_that_is_not_there_is_named(nsa, towns, monkeypatch):
    """In a line."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(pool, "_PATIENCE", 0.5)
    done = nsa("solve", towns, "--cluster", "tcp://127.0.0.1:1", "--steps", 50)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "--cluster: no scheduler answers at tcp://127.0.0.1:1: " in done.err
