"""Many instances shared out among processes; and what is left of a kill."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

#: Steps of some tenths of a second for each of the instances below.
LONG = ("--seed", 1, "--steps", "60000", "--chains", 2, "--no-bound")


@pytest.fixture
def towns(nsa, tmp_path):
    """Twelve tours of three sizes, and two knapsacks."""
    for size in (30, 60, 70):
        nsa("generate", "tsp", "--size", size, "--count", 4, "--seed", size, "-o", f"{tmp_path}/towns/")
    nsa("generate", "knapsack", "--size", 60, "--count", 2, "--seed", 1, "-o", f"{tmp_path}/towns/")
    return tmp_path / "towns"


def start(*arguments):
    words = [sys.executable, "-m", "nsa_cli", *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def answers(out):
    """What does not depend on the clock or the machine's cores, by file."""
    found = {}
    for path in out.glob("*.json"):
        result = json.loads(path.read_text())
        for key in ("seconds", "threads"):
            del result[key]
        if result["bound"]:
            del result["bound"]["seconds"]
        found[path.name] = result
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


linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def test_processes_give_what_one_gives(nsa, towns, tmp_path):
    """Answer for answer, manifests included; in order on stdout."""
    alone = nsa("solve", towns, "-o", f"{tmp_path}/one/", *LONG)
    shared = nsa("solve", towns, "-o", f"{tmp_path}/two/", "--jobs", 2, *LONG)
    assert (alone.code, shared.code) == (0, 0)
    assert len(answers(tmp_path / "one")) == 14
    assert answers(tmp_path / "two") == answers(tmp_path / "one")
    lines = nsa("solve", towns, "-j", 2, "--steps", 50).out.splitlines()
    names = [json.loads(line)["name"] for line in nsa("solve", towns, "--steps", 50).out.splitlines()]
    assert [json.loads(line)["name"] for line in lines] == names


def test_processes_share_the_cores(nsa, towns, tmp_path, monkeypatch):
    """Unless the user says how many threads each has."""
    from nsa_cli import pool

    monkeypatch.setattr(pool, "cores", lambda: 8)
    for options, threads in (((), 4), (("--threads", 1), 1)):
        out = tmp_path / f"out{threads}"
        assert nsa("solve", towns, "-o", f"{out}/", "-j", 2, "--steps", 50, "--seed", 1, *options).code == 0
        found = {json.loads(path.read_text())["threads"] for path in out.glob("*.json")}
        assert found == {threads}


def test_own_problems_are_shared_out_too(nsa, tmp_path):
    """The workers read the file."""
    own = f"{EXAMPLES}/maxcut.py:MaxCut"
    nsa("generate", own, "--size", 8, "--count", 3, "--seed", 1, "-o", f"{tmp_path}/in/")
    command = ("solve", tmp_path / "in", "-p", own, "--seed", 1, "--steps", 200, "--chains", 1)
    assert nsa(*command, "-o", f"{tmp_path}/one/").code == 0
    assert nsa(*command, "-o", f"{tmp_path}/two/", "-j", 2).code == 0
    assert len(answers(tmp_path / "one")) == 3
    assert answers(tmp_path / "two") == answers(tmp_path / "one")


def test_a_time_limit_is_for_all_processes(nsa, towns, tmp_path):
    """Each instance has its share of it, and of the processes."""
    begin = time.monotonic()
    done = nsa("solve", towns, "-o", f"{tmp_path}/out/", "-j", 2, "--time-limit", 4, "--no-bound")
    assert done.code == 0
    assert time.monotonic() - begin < 6
    assert len(answers(tmp_path / "out")) == 14


@pytest.mark.parametrize("jobs", ["0", "-1", "two", "1.5", ""])
def test_a_number_of_processes_that_is_none(nsa, towns, jobs):
    """In one line."""
    done = nsa("solve", towns, f"--jobs={jobs}")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "--jobs: expected a whole number from 1 on" in done.err


def test_bad_options_are_one_line(nsa, towns):
    """Though they are met in several processes."""
    done = nsa("solve", towns, "--jobs", 2, "--policy", "nowhere.json")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("nsa: error: ")
    assert done.err.count("\n") == 1


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
    command = ("solve", f"{tmp_path}/in*.json", "-p", own, "-o", f"{tmp_path}/out/", "--steps", 50)
    with start(*command, "-j", 2) as process:
        _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert err.count("ended its process twice") == 1
    assert "2 of 3 solved" in err
    assert len(keys(tmp_path / "out")) == 2


@linux
def test_a_worker_that_is_killed_is_replaced(towns, tmp_path):
    """Nothing is lost, nothing is twice, and the exit code is 0."""
    out = tmp_path / "out"
    with start("solve", towns, "-o", f"{out}/", "-j", 2, *LONG) as process:
        wait_for(lambda: count(out) >= 2)
        os.kill(random.choice(children(process.pid)), signal.SIGKILL)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert len(set(keys(out))) == len(keys(out)) == count(out) == 14


@linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_running(nsa, towns, tmp_path, number):
    """However the run ends; and it goes on."""
    out = tmp_path / "out"
    with start("solve", towns, "-o", f"{out}/", "-j", 2, *LONG) as process:
        wait_for(lambda: count(out) >= 2)
        workers = children(process.pid)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert len(workers) == 2
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    before = len(keys(out))
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number
        assert f"interrupted: {before} of 14 solved" in err
    assert nsa("solve", towns, "-o", f"{out}/", "-j", 2, *LONG).code == 0
    assert len(set(keys(out))) == len(keys(out)) == count(out) == 14


@pytest.mark.parametrize("command", ["solve", "benchmark"])
def test_torchrun_is_refused(nsa, towns, monkeypatch, command):
    """Before anything is read, with what to use instead."""
    for name, value in {"RANK": 0, "WORLD_SIZE": 2, "MASTER_ADDR": "localhost", "MASTER_PORT": 1}.items():
        monkeypatch.setenv(name, str(value))
    done = nsa(command, towns)
    assert (done.code, done.out) == (2, "")
    assert done.err == "nsa: error: torchrun is for trainings; use --jobs N or --cluster ADDRESS\n"


def test_a_cluster_that_is_not_there_is_named(nsa, towns, tmp_path, monkeypatch):
    """In a line; nothing is lost, and one process goes on."""
    pytest.importorskip("distributed")
    from nsa_cli import pool

    monkeypatch.setattr(pool, "_PATIENCE", 0.5)
    done = nsa("solve", towns, "-o", f"{tmp_path}/out/", "--cluster", "tcp://127.0.0.1:1", "--steps", 50)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "--cluster: no scheduler answers at tcp://127.0.0.1:1: " in done.err
    assert nsa("solve", towns, "-o", f"{tmp_path}/out/", "--steps", 50).code == 0


@linux
@pytest.mark.study
@pytest.mark.parametrize("victim", ["alone", "jobs", "worker"])
def test_killed_at_random_moments(nsa, tmp_path, victim):
    """Forty tours, twenty times: nothing is lost but what was under way, and nothing is double."""
    nsa("generate", "tsp", "--size", 40, "--count", 40, "--seed", 1, "-o", f"{tmp_path}/towns/")
    jobs = [] if victim == "alone" else ["--jobs", 2]
    options = ("--seed", 1, "--steps", 40_000, "--chains", 2, "--no-bound", "--threads", 1)
    reference = tmp_path / "one"
    assert nsa("solve", tmp_path / "towns", "-o", f"{reference}/", *options).code == 0
    assert len(answers(reference)) == 40
    for moment in range(20):
        chance, out = random.Random(f"{victim} {moment}"), tmp_path / str(moment)
        command = ("solve", tmp_path / "towns", "-o", f"{out}/", *options)
        process = start(*command, *jobs)
        time.sleep(chance.uniform(0, 5.0))
        workers = children(process.pid)
        target = chance.choice(workers) if victim == "worker" and workers else process.pid
        with contextlib.suppress(ProcessLookupError):
            os.kill(target, signal.SIGKILL)
        _, err = process.communicate(timeout=120)
        assert target == process.pid or process.returncode == 0, err
        written, whole = count(out), (out / "journal.jsonl").exists()
        told = len(keys(out)) if whole else 0
        done = nsa(*command, *jobs)
        assert done.code == 0, done.err
        assert not told or f"{told} of 40 instances are in" in done.err
        assert told >= written
        assert len(set(keys(out))) == len(keys(out)) == count(out) == 40
        assert answers(out) == answers(reference)
