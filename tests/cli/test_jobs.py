"""Many instances shared out among processes, and among the ranks of torchrun; and what is left of a kill."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import socket
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


def start(*arguments, environment=(), command=("-m", "nsa_cli")):
    words = [sys.executable, *command, *map(str, arguments)]
    return subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **dict(environment)},
    )


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
    """Processes that a process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
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
    from nsa_cli.cli import many

    monkeypatch.setattr(many, "cores", lambda: 8)
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
    assert err.count("ended its process twice (SIGKILL") == 1
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


# Ranks


def torchrun(*arguments, environment=()):
    return start(
        *("--standalone", "--nproc-per-node", 2, "-m", "nsa_cli", *arguments),
        command=("-m", "torch.distributed.run"),
        environment=environment,
    )


def ranks(*arguments, world=2):
    """Start ranks without torchrun, as other launchers do."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [start(*arguments, environment={**shared, "RANK": str(rank)}) for rank in range(world)]


def finished(processes):
    """Wait for all; exit codes and what each wrote."""
    said = [process.communicate(timeout=180) for process in processes]
    return [process.returncode for process in processes], said


def test_torchrun_gives_what_one_process_gives(nsa, towns, tmp_path):
    """Answer for answer; rank 0 speaks for all. The same command again solves nothing."""
    pytest.importorskip("torch")
    assert nsa("solve", towns, "-o", f"{tmp_path}/one/", *LONG).code == 0
    command = ("solve", towns, "-o", f"{tmp_path}/two/", *LONG)
    codes, [(out, err)] = finished([torchrun(*command)])
    assert (codes, out) == ([0], "")
    assert err.count("14 of 14 solved") == 1
    assert answers(tmp_path / "two") == answers(tmp_path / "one")
    assert len(set(keys(tmp_path / "two"))) == len(keys(tmp_path / "two")) == 14
    assert "14 of 14 instances are in" in nsa(*command).err


def test_ranks_need_no_torchrun_and_no_seed(towns, tmp_path):
    """Rank 0 draws one for all; lines come on its stdout, in order."""
    pytest.importorskip("torch")
    codes, said = finished(ranks("solve", towns, "--steps", 500))
    assert codes == [0, 0]
    assert said[1] == ("", "")
    results = [json.loads(line) for line in said[0][0].splitlines()]
    assert [r["name"] for r in results] == sorted((r["name"] for r in results), key=str)
    assert len({r["seed"] for r in results}) == 1
    assert len(results) == 14


def test_a_rank_that_is_killed_is_made_good(towns, tmp_path):
    """By the others, where nobody ends them."""
    pytest.importorskip("torch")
    out = tmp_path / "out"
    processes = ranks("solve", towns, "-o", f"{out}/", *LONG)
    wait_for(lambda: count(out) >= 2)
    processes[1].kill()
    codes, said = finished(processes)
    assert codes[0] == 0, said
    assert len(set(keys(out))) == len(keys(out)) == count(out) == 14
    assert "14 of 14 solved" in said[0][1]


@linux
def test_torchrun_ends_all_ranks_if_one_dies_and_the_run_goes_on(nsa, towns, tmp_path):
    """What there is is written, what is missing is named."""
    pytest.importorskip("torch")
    out = tmp_path / "out"
    with torchrun("solve", towns, "-o", f"{out}/", *LONG) as process:
        wait_for(lambda: count(out) >= 2)
        # The journal is rank 0's.
        others = [pid for pid in children(process.pid) if not _has_open(pid, out / "journal.jsonl")]
        os.kill(others[0], signal.SIGKILL)
        _, err = process.communicate(timeout=120)
    assert process.returncode != 0
    found = re.search(
        r"interrupted: (\d+) of 14 solved.*not begun or lost \(.*; the same command goes on", err
    )
    assert found, err
    assert len(keys(out)) == int(found[1])
    assert nsa("solve", towns, "-o", f"{out}/", *LONG).code == 0
    assert len(set(keys(out))) == len(keys(out)) == count(out) == 14


def _has_open(pid, path):
    with contextlib.suppress(OSError):
        return any(
            os.path.realpath(link) == str(path.resolve()) for link in Path(f"/proc/{pid}/fd").iterdir()
        )
    return False


def test_ranks_that_have_other_instances_refuse(towns, tmp_path):
    """All of them, in one line each."""
    pytest.importorskip("torch")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = [
        start("solve", towns, "--seed", seed, environment={**shared, "RANK": str(seed)}) for seed in range(2)
    ]
    codes, said = finished(processes)
    assert codes == [2, 2]
    for out, err in said:
        assert (out, err.count("\n")) == ("", 1)
        assert "rank 1 has other instances or options than rank 0" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--jobs", "2"], "--jobs: torchrun has started the processes; leave out --jobs"),
        (["-"], "standard input has one reader"),
    ],
)
def test_what_ranks_cannot_do_is_refused(nsa, towns, monkeypatch, arguments, message):
    """Before anything is read."""
    for name, value in {"RANK": 0, "WORLD_SIZE": 2, "MASTER_ADDR": "localhost", "MASTER_PORT": 1}.items():
        monkeypatch.setenv(name, str(value))
    done = nsa("solve", towns, *arguments)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err


@linux
@pytest.mark.slow
@pytest.mark.parametrize("moment", range(20))
@pytest.mark.parametrize("victim", ["alone", "jobs", "worker", "torchrun", "rank"])
def test_killed_at_a_random_moment(nsa, towns, tmp_path, victim, moment):
    """Whatever is killed: nothing is lost but what was under way, and nothing is double."""
    chance, out = random.Random(f"{victim} {moment}"), tmp_path / "out"
    command = ("solve", towns, "-o", f"{out}/", *LONG)
    if victim in ("torchrun", "rank"):
        process = torchrun(*command)
    else:
        process = start(*command, *(["-j", 2] if victim != "alone" else []))
    time.sleep(chance.uniform(0, {"alone": 4.0, "jobs": 4.0, "worker": 4.0}.get(victim, 9.0)))
    below = children(process.pid)
    target = process.pid if victim in ("alone", "jobs", "torchrun") or not below else chance.choice(below)
    os.kill(target, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    if victim == "torchrun":  # its ranks go on without it until they have heard; what they do counts
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below), 120)
    if victim == "worker" and target != process.pid:
        assert process.returncode == 0, err
    told = len(keys(out)) if (out / "journal.jsonl").exists() and (out / "journal.jsonl").read_text() else 0
    written = count(out)
    done = nsa(*command)
    assert done.code == 0, done.err
    assert len(set(keys(out))) == len(keys(out)) == count(out) == 14
    assert told >= written - 2
    if told:
        assert f"{told} of 14 instances are in" in done.err
    reference = tmp_path / "one"
    assert nsa("solve", towns, "-o", f"{reference}/", *LONG).code == 0
    assert answers(out) == answers(reference)
