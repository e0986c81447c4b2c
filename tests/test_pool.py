"""Sharing out of units: all of them once, in chunks that suit the clock, whatever happens to processes."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import nsa_cli as nsa
from nsa_cli import pool as pool_module
from nsa_cli.core.errors import InputError, UsageError
from nsa_cli.pool import HERE, LostError, Pool, Unit, _Waiting, ahead
from nsa_cli.solver.settings import Settings
from nsa_cli.solver.shared import SolveTasks

from helpers import wait_for


def never():
    return False


def units(count):
    return [Unit(str(k), 1.0 + k % 7, k) for k in range(count)]


def squares(payloads, share, stopped):
    assert 0 < share <= 1
    yield from ((k, x * x) for k, x in enumerate(payloads))


def shared(pool, some, do, stopped=never):
    with pool.executors() as executors:
        yield from executors.share(some, do, stopped)


def taken(waiting, clock=lambda chunk: 1.0):
    """Take all chunks one after the other, each in its time."""
    while waiting:
        chunk, share = waiting.take()
        yield chunk, share
        waiting.took(chunk, clock(chunk))


def test_all_units_are_done_once_largest_first():
    """And each of those not begun has an equal share of the time left."""
    some = units(40)
    assert sorted(shared(HERE, some, squares)) == [(k, k * k) for k in range(40)]
    work = [unit.work for unit in some]
    order = [work[i] for chunk, _ in taken(_Waiting(work, 1)) for i in chunk]
    assert order == sorted(work, reverse=True)
    assert _Waiting(work, 4).take()[1] == pytest.approx(4 / 40)
    assert list(shared(HERE, [], squares)) == []


def test_chunks_take_about_a_second():
    """Of small units there are many in one, of large ones one; the last ones of several count are small."""

    def sizes(seconds, count=1):
        waiting = _Waiting([1.0] * 400, count)
        return [len(chunk) for chunk, _ in taken(waiting, lambda chunk: seconds * len(chunk))]

    assert max(sizes(3.0)) == 1
    assert sizes(0.125)[:4] == [1, 4, 8, 8]
    assert max(sizes(0.001)) > 100
    assert sizes(0.001, count=2)[-1] == 1


def test_what_ends_its_process_is_tried_once_more_alone():
    """Before all else; and then it is given up."""
    waiting = _Waiting([1.0] * 4, 1)
    waiting.took([], 1e-9)
    first, _ = waiting.take()
    assert waiting.again([*first, 3]) == []
    assert [waiting.take()[0] for _ in range(2)] == [first, [3]]
    assert waiting.again(first) == first
    assert len(waiting) == 3


def test_once_stopped_nothing_is_begun():
    """What is under way ends."""
    done = []

    def do(payloads, share, stopped):
        yield from ((k, done.append(x)) for k, x in enumerate(payloads))

    list(shared(HERE, units(40), do, lambda: len(done) >= 3))
    assert 3 <= len(done) < 40


def test_items_come_ahead_of_who_takes_them():
    """In order, with the error at their end; closed early, what makes them is closed."""
    made, closed = [], []

    def items(count):
        try:
            for k in range(count):
                made.append(k)
                yield k
            raise ValueError("at the end")
        finally:
            closed.append(count)

    coming = ahead(items(5))
    assert next(coming) == 0
    wait_for(lambda: made == [*range(5)])
    with pytest.raises(ValueError, match="at the end"):
        list(coming)
    coming = ahead(items(10**9))
    assert [next(coming), next(coming)] == [0, 1]
    coming.close()
    assert closed == [5, 10**9]


# Processes

#: What is made of fifty units.
SQUARES = [(k, k * k) for k in range(50)]

MODULE = """
import os, time
from multiprocessing import connection
from nsa_cli.core.errors import InputError

def squares(payloads, share, stopped):
    print("noise")
    for k, x in enumerate(payloads):
        yield k, x * x

def dies(payloads, share, stopped):
    for k, x in enumerate(payloads):
        if x == 13:
            os.kill(os.getpid(), 9)
        yield k, x * x

def dies_once(payloads, share, stopped):
    for k, x in enumerate(payloads):
        if x == 13 and first(""):
            os._exit(3)
        yield k, x * x

def dies_while_it_answers(payloads, share, stopped):
    if first("answer"):
        connection.Connection._send = half
    for k, x in enumerate(payloads):
        yield k, bytes(1000)

def half(pipe, data):
    os.write(pipe.fileno(), data[: len(data) // 2])
    os.kill(os.getpid(), 9)

FLAG = __file__ + ".flag"

def first(name):
    try:
        os.close(os.open(FLAG + name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True

def waits(payloads, share, stopped):
    first(f"-{os.getpid()}")
    while not stopped():
        time.sleep(0.01)
    for k, x in enumerate(payloads):
        yield k, "best so far"

def fails(payloads, share, stopped):
    raise InputError("broken", "file", 8)

def bug(payloads, share, stopped):
    yield 0, 1 // 0
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Functions that a worker can import."""
    (tmp_path / "work_of_tests.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.syspath_prepend(tmp_path)
    import work_of_tests

    return importlib.reload(work_of_tests)


def test_processes_do_all_units_once(work, capfd):
    """What they print is not among the answers."""
    assert sorted(shared(Pool(3), units(50), work.squares)) == SQUARES
    assert capfd.readouterr().out == ""


def test_a_unit_that_ends_its_worker_is_named(work):
    """The others of its chunk are done."""
    found = dict(shared(Pool(2), units(50), work.dies))
    lost = found[13]
    assert isinstance(lost, LostError)
    assert lost.exit_code == 1
    assert found == {**dict(SQUARES), 13: lost}


def test_a_worker_that_dies_is_replaced(work):
    """Nothing is lost, and nothing is twice."""
    assert sorted(shared(Pool(2), units(50), work.dies_once)) == SQUARES


def test_a_worker_may_die_in_the_middle_of_its_answer(work):
    """Nobody waits for the rest of it."""
    assert dict(shared(Pool(2), units(1), work.dies_while_it_answers)) == {0: bytes(1000)}


def test_workers_are_asked_to_stop(work, tmp_path):
    """What they have under way comes; nothing is left running."""
    found = list(shared(Pool(2), units(50), work.waits, lambda: len(began(tmp_path)) == 2))
    assert [outcome for _, outcome in found] == ["best so far"] * 2
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in began(tmp_path)))


def began(folder):
    """Give the processes that have begun to wait."""
    return [path.name.rpartition("-")[2] for path in folder.glob("*.flag-*")]


def test_a_reader_who_has_seen_enough_leaves_nothing_running(work):
    """The workers are ended at once."""
    before = threading.active_count()
    some = shared(Pool(2), units(50), work.squares)
    next(some)
    some.close()
    assert threading.active_count() == before


def test_errors_of_workers_are_raised(work):
    """With their places."""
    with pytest.raises(InputError, match="file:8: broken"):
        list(shared(Pool(2), units(1), work.fails))
    with pytest.raises(ZeroDivisionError):
        list(shared(Pool(2), units(1), work.bug))


# What travels


@pytest.mark.parametrize(
    "error",
    [InputError("m", "s", 3, use={"a": 1}), UsageError("m", option="o", drop={"b": None}), LostError("y")],
)
def test_errors_are_the_same_after_a_pickle(error):
    """With their places and hints."""
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_a_time_limit_counts_from_the_same_moment_elsewhere(monkeypatch):
    """On a machine whose clock began a thousand seconds later."""
    sent = pickle.dumps(SolveTasks(Settings(time_limit=5, started=time.monotonic() - 2)))
    clock = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: clock() - 1000)
    assert time.monotonic() - pickle.loads(sent).settings.started == pytest.approx(2, abs=0.5)


# A cluster


@pytest.fixture
def cluster(work, tmp_path):
    """Address of a real scheduler, its process, and two workers as processes."""
    pytest.importorskip("distributed")
    started = []

    def start(*words):
        command = [sys.executable, "-m", *map(str, words)]
        started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return started[-1]

    file = tmp_path / "scheduler.json"
    here = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file)
    scheduler = start("distributed.cli.dask_scheduler", *here)
    wait_for(lambda: file.exists() and file.read_text().endswith("}"))
    address = json.loads(file.read_text())["address"]
    workers = [
        start("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        for _ in range(2)
    ]
    pool = Pool(cluster=address)
    wait_for(lambda: size(pool) == 2)
    yield pool, scheduler, workers
    for process in started:
        process.kill()
        process.wait()


def size(pool):
    with contextlib.suppress(UsageError), pool.executors() as executors:
        return executors.count
    return 0


def test_a_cluster_does_all_units_though_a_worker_is_killed(cluster):
    """Nothing is lost, nothing is twice; and two workers give what one process gives."""
    pool, _, workers = cluster
    tasks = nsa.generate("tsp", 40, 12, 1)
    do = SolveTasks(Settings(seed=1, steps=100_000, chains=2, bound=False, threads=1))
    some, found = [Unit(str(k), 1.0, task) for k, task in enumerate(tasks)], []
    for place, result in shared(pool, some, do):
        found.append((place, result.objective))
        if len(found) == 2:
            workers[0].kill()
    assert sorted(found) == sorted((place, result.objective) for place, result in shared(HERE, some, do))


def test_a_cluster_stops_and_what_is_wrong_with_it_is_said(cluster, work, tmp_path, monkeypatch):
    """What is under way ends when it is asked to, and workers are free; errors; no workers; no scheduler."""
    pool, scheduler, workers = cluster
    assert list(shared(pool, units(50), work.waits, lambda: len(began(tmp_path)) == 2)) == []
    assert sorted(shared(pool, units(50), work.squares)) == SQUARES
    with pytest.raises(InputError, match="file:8: broken"):
        list(shared(pool, units(3), work.fails))
    with pytest.raises(pool_module.ClusterError, match=f"the cluster at {pool.cluster}: ZeroDivisionError"):
        list(shared(pool, units(3), work.bug))
    for process in workers:
        process.kill()
    monkeypatch.setattr(pool_module, "_PATIENCE", 1.0)
    wait_for(lambda: size(pool) == 0)
    with pytest.raises(UsageError, match=r"cluster: no worker at tcp://.*; start some: dask worker tcp"):
        list(shared(pool, units(3), work.squares))
    scheduler.kill()
    with pytest.raises(UsageError, match="cluster: no scheduler answers at tcp://"):
        list(shared(pool, units(3), work.squares))


@pytest.mark.parametrize(
    ("jobs", "cluster", "message"),
    [
        ("2", "tcp://localhost:1", "jobs: a cluster has processes of its own; leave out jobs"),
        ("0", None, "jobs: expected a whole number from 1 on"),
    ],
)
def test_pools_that_are_none(jobs, cluster, message):
    """Are refused by name."""
    with pytest.raises(UsageError, match=message):
        Pool(jobs, cluster)
