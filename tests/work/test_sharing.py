"""Sharing out of units: all of them once, in chunks that suit the clock, whatever happens to processes."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time

import pytest
from torch.distributed import HashStore

from nsa_cli.core.errors import InputError, NsaError, UsageError
from nsa_cli.work import ranks as ranks_module
from nsa_cli.work.pickles import pack, unpack
from nsa_cli.work.processes import LostError, among_processes
from nsa_cli.work.ranks import AloneError, Ranks
from nsa_cli.work.sharing import Unit, ahead, alone, chunks, counter


def never():
    return False


def units(count):
    return [Unit(str(k), 1.0 + k % 7, k) for k in range(count)]


def squares(payloads, share, stopped):
    assert 0 < share <= 1
    yield from ((k, x * x) for k, x in enumerate(payloads))


def test_all_units_are_done_once_largest_first():
    """And each of those not begun has an equal share of the time left."""
    some = units(40)
    assert sorted(alone(some, squares, never)) == [(k, k * k) for k in range(40)]
    work = [some[i].work for chunk in chunks(some, counter()) for i in chunk.places]
    assert work == sorted(work, reverse=True)
    first = next(chunks(some, counter(), hands=4))
    assert first.share == pytest.approx(4 / 40)
    assert list(chunks([], counter())) == []


def test_chunks_take_about_a_second(monkeypatch):
    """Of small units there are many in one, of large ones one; the last ones of several hands are small."""
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    def sizes(seconds, hands=1):
        found = []
        for chunk in chunks([Unit(str(k)) for k in range(400)], counter(), hands):
            clock[0] += seconds * len(chunk.places)
            found.append(len(chunk.places))
        return found

    assert max(sizes(3.0)) == 1
    assert sizes(0.125)[:4] == [1, 4, 8, 8]
    assert max(sizes(0.001)) > 100
    assert sizes(0.001, hands=2)[-1] == 1


def test_once_stopped_nothing_is_begun():
    """What is under way ends."""
    done = []

    def do(payloads, share, stopped):
        yield from ((k, done.append(x)) for k, x in enumerate(payloads))

    list(alone(units(40), do, lambda: len(done) >= 3))
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

    taken = ahead(items(5))
    assert next(taken) == 0
    wait_for(lambda: made == [*range(5)])
    with pytest.raises(ValueError, match="at the end"):
        list(taken)
    taken = ahead(items(10**9))
    assert [next(taken), next(taken)] == [0, 1]
    taken.close()
    assert closed == [5, 10**9]


# Processes

MODULE = """
import os, time
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
        if x == 13:
            try:
                os.close(os.open(FLAG, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os._exit(3)
        yield k, x * x

FLAG = __file__ + ".flag"

def waits(payloads, share, stopped):
    open(f"{FLAG}-{os.getpid()}", "w").close()
    while not stopped():
        time.sleep(0.01)
    for k, x in enumerate(payloads):
        yield k, "best so far"

def fails(payloads, share, stopped):
    yield 0, InputError("wrong", "file", 7)
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
    import importlib

    import work_of_tests

    return importlib.reload(work_of_tests)


@pytest.mark.parametrize("jobs", [1, 3])
def test_processes_do_all_units_once(work, jobs, capfd):
    """What they print is not among the answers."""
    assert sorted(among_processes(units(50), work.squares, never, jobs)) == [(k, k * k) for k in range(50)]
    assert capfd.readouterr().out == ""


def test_a_unit_that_ends_its_worker_is_named(work):
    """The others of its chunk are done."""
    found = dict(among_processes(units(50), work.dies, never, 2))
    assert len(found) == 50
    lost = found.pop(13)
    assert isinstance(lost, LostError)
    assert lost.exit_code == 1
    assert "ended its process twice (SIGKILL, as where memory is full)" in str(lost)
    assert found == {k: k * k for k in range(50) if k != 13}


def test_a_worker_that_dies_is_replaced(work):
    """Nothing is lost, and nothing is twice."""
    assert sorted(among_processes(units(50), work.dies_once, never, 2)) == [(k, k * k) for k in range(50)]


def test_workers_are_asked_to_stop(work, tmp_path):
    """What they have under way comes; nothing is left running."""
    began = lambda: [*tmp_path.glob("*.flag-*")]  # noqa: E731
    found = list(among_processes(units(50), work.waits, lambda: len(began()) == 2, 2))
    assert len(found) == 2
    assert {outcome for _, outcome in found} == {"best so far"}
    assert not any(alive(int(path.name.rpartition("-")[2])) for path in began())


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_reader_who_has_seen_enough_leaves_nothing_running(work, tmp_path):
    """The workers are ended at once."""
    shared = among_processes(units(50), work.squares, never, 2)
    next(shared)
    shared.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "nsa hand"]


def test_errors_travel(work):
    """As outcomes, and as what stops the run."""
    shared = among_processes(units(1), work.fails, never, 1)
    place, error = next(shared)
    assert (place, str(error)) == (0, "file:7: wrong")
    with pytest.raises(InputError, match="file:8: broken"):
        next(shared)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        list(among_processes(units(1), work.bug, never, 1))


def test_workers_end_with_their_parent(work, tmp_path):
    """Also if that is killed."""
    import subprocess
    import sys

    code = (
        "import work_of_tests; from nsa_cli.work.processes import among_processes; "
        "from nsa_cli.work.sharing import Unit; "
        "list(among_processes([Unit(str(k)) for k in range(9)], work_of_tests.waits, lambda: False, 2))"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    wait_for(lambda: len([*tmp_path.glob("*.flag-*")]) == 2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    pids = [int(path.name.rpartition("-")[2]) for path in tmp_path.glob("*.flag-*")]
    wait_for(lambda: not any(map(alive, pids)))


def wait_for(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize(
    "error",
    [
        InputError("m", "s", 3, use={"a": 1}),
        UsageError("m", option="o", drop={"b": None}),
        AloneError("x"),
        LostError("y"),
    ],
)
def test_errors_are_the_same_after_a_pickle(error):
    """With their places and hints."""
    again = unpack(pack(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


# Ranks


def run_ranks(world, do_of, count=50, stopped_of=lambda rank: never):
    """Run ranks in threads; give rank 0's outcomes and what the others raised."""
    store, raised = HashStore(), []

    def other(rank):
        try:
            assert list(Ranks(store, rank, world).share(units(count), do_of(rank), stopped_of(rank))) == []
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=other, args=(rank,), daemon=True) for rank in range(1, world)]
    for thread in threads:
        thread.start()
    found = list(Ranks(store, 0, world).share(units(count), do_of(0), stopped_of(0)))
    return found, raised, threads


def slow(payloads, share, stopped):
    for k, x in enumerate(payloads):
        time.sleep(0.005)
        yield k, x * x


@pytest.fixture(autouse=True)
def _hasty(monkeypatch):
    monkeypatch.setattr(ranks_module, "_PATIENCE", 0.1)
    monkeypatch.setattr(ranks_module, "_HEAD_START", 0.1)


def test_ranks_do_all_units_once():
    """Each of them some, and several rounds in a row."""
    done = {0: 0, 1: 0, 2: 0}

    def do_of(rank):
        def do(payloads, share, stopped):
            done[rank] += len(payloads)
            yield from slow(payloads, share, stopped)

        return do

    found, raised, threads = run_ranks(3, do_of)
    assert sorted(found) == [(k, k * k) for k in range(50)]
    assert raised == []
    assert min(done.values()) > 0
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("how", ["dies", "hangs", "stops"])
def test_what_a_rank_leaves_is_done_by_the_others(how):
    """Without anybody having to notice."""
    gone = threading.Event()

    def do_of(rank):
        def do(payloads, share, stopped):
            if rank != 1:
                gone.wait(10)
                yield from slow(payloads, share, stopped)
                return
            gone.set()
            if how == "dies":
                raise SystemExit
            while not stopped():
                time.sleep(0.01)
            if how == "stops":
                yield from ((k, "interrupted") for k in range(len(payloads)))

        return do

    def asked(rank):
        return rank == 1 and how == "stops" and gone.is_set()

    found, _, _ = run_ranks(3, do_of, stopped_of=lambda rank: lambda: asked(rank))
    assert sorted(found) == [(k, k * k) for k in range(50)]


def test_a_run_that_is_stopped_gives_what_there_is():
    """The others' best so far, too."""
    begun = threading.Barrier(3)

    def do_of(rank):
        def do(payloads, share, stopped):
            begun.wait(10)
            while not stopped():
                time.sleep(0.01)
            yield from ((k, f"best of {rank}") for k in range(len(payloads)))

        return do

    asked = lambda: begun.broken or time.monotonic() > until  # noqa: E731
    until = time.monotonic() + 1
    found, raised, _ = run_ranks(3, do_of, stopped_of=lambda rank: asked if rank == 0 else never)
    assert sorted(outcome for _, outcome in found) == ["best of 0", "best of 1", "best of 2"]
    assert raised == []


def agreed(digests):
    store, found = HashStore(), {}

    def agree(rank):
        try:
            found[rank] = Ranks(store, rank, len(digests)).agree(digests[rank], f"of {rank}", never)
        except NsaError as error:
            found[rank] = str(error)

    threads = [threading.Thread(target=agree, args=(rank,)) for rank in range(len(digests))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[rank] for rank in range(len(digests))]


def test_ranks_agree_before_they_begin():
    """All have what rank 0 gives; a difference is refused by all."""
    assert agreed(["a", "a", "a"]) == ["of 0"] * 3
    refused = agreed(["a", "b", "a", "c"])
    assert len(set(refused)) == 1
    assert "rank 1, 3 has other instances or options than rank 0" in refused[0]


@pytest.mark.parametrize("agent", ["True", "False"])
def test_a_store_that_is_not_there_is_named(monkeypatch, agent):
    """In a line, before torch tries for minutes."""
    monkeypatch.setattr(ranks_module, "_CONNECT", 0.2)
    monkeypatch.setattr(ranks_module, "_AGENT", 0.2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    there = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    for key, text in {**there, "TORCHELASTIC_USE_AGENT_STORE": agent}.items():
        monkeypatch.setenv(key, text)
    with pytest.raises(
        AloneError, match=f"rank 1: the store at 127.0.0.1:{port} cannot be reached: .*refused"
    ):
        ranks_module._reach()


def test_a_rank_that_does_not_come_is_named(monkeypatch):
    """After a while."""
    monkeypatch.setattr(ranks_module, "_BEGIN", 0.2)
    with pytest.raises(AloneError, match="rank 0: rank 1 has not come"):
        Ranks(HashStore(), 0, 2).agree("a", None, never)
