"""Who searches while kernels are compiled for the first time, if the user has no time to wait for that.

Large-step kernels are plain Python, too. Uncompiled they are some three hundred times slower, but still solve
a small instance in a second or two; so the same search runs uncompiled in a process of its own meanwhile, and
what it has found is the answer if the time is up first.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from nsa_cli.api import Settings, Task
from nsa_cli.core.instance import Solution

#: Seconds before the deadline at which it ends, so that what it found can be taken over in time.
_EARLY = 0.3

#: Seconds below which it is not worth to begin: starting Python takes half of one.
_LEAST = 0.8


class Found(NamedTuple):
    """What the stand-in has found for an instance.

    Attributes
    ----------
    solution : Solution
    steps, accepted : int
    """

    solution: Solution
    steps: int
    accepted: int


class StandIn:
    """The same search, uncompiled, in another process; nothing until it is called.

    Parameters
    ----------
    tasks : sequence of Task
        With one method for all.
    settings : Settings
        What the user said, with a seed.
    deadline : float or None
        By `time.monotonic`; without one nobody is in a hurry.
    """

    def __init__(self, tasks: Sequence[Task], settings: Settings, deadline: float | None) -> None:
        self._tasks, self._settings, self._deadline = list(tasks), settings, deadline
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start, if there is time enough."""
        now = time.monotonic()
        if self._deadline is None or self._deadline - now < _LEAST:
            return
        settings = replace(
            self._settings,
            bound=False,
            threads=1,
            chains=self._settings.chains or 1,
            time_limit=self._deadline - _EARLY - now,
            started=now,
        )
        process = subprocess.Popen(
            [sys.executable, "-m", "nsa_cli.uncompiled"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"},
            start_new_session=True,  # Ctrl-C is for us, who then ask for what it has found
        )
        stdin, process.stdin = process.stdin, None  # or to communicate would be to write to it again
        self._process = process
        assert stdin is not None
        with contextlib.suppress(BrokenPipeError), stdin:
            stdin.write(pickle.dumps((self._tasks, settings)))

    def found(self) -> list[Found] | None:
        """End it, and give what it has found for each instance; None if there is nothing."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.terminate()
        try:
            output, _ = process.communicate(timeout=_EARLY / 2)
            found: list[Found] = pickle.loads(output)
        except (subprocess.TimeoutExpired, pickle.UnpicklingError, EOFError):
            process.kill()
            return None
        return found

    def dismiss(self) -> None:
        """End it: it is not needed."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
