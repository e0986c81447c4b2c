"""Sharing out among worker processes of this machine: one that dies is replaced, and its units done again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from nsa_cli.core.errors import NsaError
from nsa_cli.work.pipes import STOP, Raised, receive, send
from nsa_cli.work.sharing import Chunk, Claim, Do, Stopped, Unit, chunks, counter

#: Seconds between two looks for a reason to stop, and that an idle worker has to end.
_LOOK, _GRACE = 0.1, 2.0


class LostError(NsaError):
    """A unit that ends the process that does it."""

    exit_code = 1


def among_processes(units: Sequence[Unit], do: Do, stopped: Stopped, jobs: int) -> Iterator[tuple[int, Any]]:
    """Share units out among processes; give each outcome, with its place, as it is ready.

    Parameters
    ----------
    units : sequence of Unit
        With payloads that can be pickled.
    do : callable
        Can be pickled, too.
    stopped : callable
        Once it is true no more units are begun, and those under way are asked to end.
    jobs : int
        Processes.

    Yields
    ------
    tuple of int and object
        A `LostError` for a unit that ended its worker twice, the second time alone.
    """
    found = SimpleQueue[Any]()
    claim = _locked(counter())
    hands = [_Hand(units, do, claim, found, jobs) for _ in range(min(jobs, len(units)))]
    working = len(hands)
    try:
        for hand in hands:
            hand.start()
        while working:
            if stopped():
                for hand in hands:
                    hand.stop()
            try:
                item = found.get(timeout=_LOOK)
            except Empty:
                continue
            if isinstance(item, BaseException):
                raise item
            if item is None:
                working -= 1
            else:
                yield item
    finally:
        for hand in hands:
            hand.end(_GRACE if working == 0 else 0.0)


def _locked(claim: Claim) -> Claim:
    lock = Lock()

    def locked(count: int) -> int:
        with lock:
            return claim(count)

    return locked


class _Hand:
    """A thread with its worker process, or the next one if that has died."""

    def __init__(
        self, units: Sequence[Unit], do: Do, claim: Claim, found: SimpleQueue[Any], hands: int
    ) -> None:
        self._units, self._do, self._found = units, do, found
        self._chunks = chunks(units, claim, hands)
        self._process: subprocess.Popen[bytes] | None = None
        self._how = ""
        self._stopped = self._closed = False
        self._lock = Lock()  # of the process and of the pipe to it
        self._thread = Thread(target=self._work, name="nsa hand", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask the worker to end what it has under way, and begin nothing more."""
        if not self._stopped:
            self._stopped = True
            with self._lock, contextlib.suppress(OSError):
                self._send(STOP)

    def end(self, grace: float) -> None:
        """End the worker and the thread."""
        self._stopped = True
        with self._lock:
            self._closed = True
            process = self._process
        if process is not None:
            _end(process, grace)
        if self._thread.ident is not None:
            self._thread.join()
        if process is not None and process.stdout is not None:
            process.stdout.close()

    def _work(self) -> None:
        try:
            for chunk in self._chunks:
                if self._stopped:
                    break
                self._again(chunk, self._left_of(chunk))
            self._found.put(None)
        except BaseException as error:  # handed to the one who waits, whatever it is
            self._found.put(error)

    def _again(self, chunk: Chunk, left: list[int]) -> None:
        """Do what a worker that has died left, one by one."""
        for place in left:
            if self._stopped:
                return
            if self._left_of(Chunk([place], chunk.share)) and not self._stopped:
                self._found.put((place, LostError(f"ended its process twice ({self._how})")))

    def _left_of(self, chunk: Chunk) -> list[int]:
        """Do a chunk; give the places that have no outcome because the worker has died."""
        left = dict(enumerate(chunk.places))
        try:
            with self._lock:
                process = self._running()
                self._send(([self._units[i].payload for i in chunk.places], chunk.share))
            assert process.stdout is not None
            while (answer := receive(process.stdout)) is not None:  # type: ignore[arg-type]
                if isinstance(answer, Raised):
                    raise answer.error
                k, outcome = answer
                self._found.put((left.pop(k), outcome))
            return []  # it may have left some out, because it was to stop
        except (EOFError, OSError):
            with self._lock:
                if self._process is not None:
                    _end(self._process, 0.0)
                    self._how = _how(self._process.returncode)
                    assert self._process.stdout is not None
                    self._process.stdout.close()
                    self._process = None
            return list(left.values())

    def _running(self) -> subprocess.Popen[bytes]:
        """Give the worker; start one if there is none."""
        if self._closed:
            raise EOFError
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "nsa_cli.work.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Ctrl-C is for this process, which tells the workers.
                process_group=0 if os.name == "posix" else None,
            )
            self._send(self._do)
            if self._stopped:
                self._send(STOP)
        return self._process

    def _send(self, value: Any) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            send(self._process.stdin, value)  # type: ignore[arg-type]


def _end(process: subprocess.Popen[bytes], grace: float) -> None:
    """End a worker: it leaves when nobody writes to it any more."""
    with contextlib.suppress(OSError):
        assert process.stdin is not None
        process.stdin.close()
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _how(code: int | None) -> str:
    """Say how a process ended."""
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            return f"{name}, as where memory is full" if name == "SIGKILL" else name
    return f"exit code {code}"
