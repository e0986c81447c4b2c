"""What users see of the compilation of own problems' functions: that it goes on, and that it came too late.

This is also the program that compiles in the background what there was no time for.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING

from nsa_cli.cli.console import Console
from nsa_cli.core.problem import Task
from nsa_cli.solver.settings import Settings

if TYPE_CHECKING:
    from nsa_cli.report.result import Result

#: Seconds after which the program ends in any case.
_LONGEST = 600


def announce_compiling(console: Console) -> None:
    """Say once if functions of a user's problem are compiled: that takes some seconds."""
    from nsa_cli.kernels.toolchain import kept

    kept.listeners[:] = [console.tell]


class LateFunctions:
    """Notes whether there was no time to compile, says so, and has it done in the background.

    Attributes
    ----------
    found : Task or None
        What there was no time for.
    """

    def __init__(self) -> None:
        self.found: Task | None = None

    def note(self, task: Task, result: Result, settings: Settings) -> None:
        """Look at an answer."""
        late = result.backend == "python" != settings.backend
        if late and task.problem.neighbourhood().why_uncompiled() is None:
            self.found = task

    def compile_later(self, settings: Settings, console: Console) -> None:
        """Warn, and compile."""
        assert self.found is not None
        console.warn(
            "there was no time to compile the functions of this problem: the answer was found in Python; "
            "they are compiled in the background now, and the next run has them"
        )
        _compile_later(self.found, settings)


def _compile_later(task: Task, settings: Settings) -> None:
    """Start a process of low priority that compiles what a task needs, and outlives this one."""
    settings = replace(settings, threads=1, init=None)
    try:
        work = pickle.dumps((task, settings))
    except (pickle.PicklingError, AttributeError, TypeError):  # a user's module
        return
    with contextlib.suppress(OSError), tempfile.TemporaryFile() as file:
        file.write(work)  # not a pipe: its other end is read only once Python has started
        file.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "nsa_cli.cli.compiling"],
            stdin=file,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        process.returncode = 0  # nobody waits for it


def main() -> None:
    """Compile what the task on standard input needs, unless another process is at it."""
    import fcntl

    from nsa_cli.kernels.toolchain.kept import cache_folder
    from nsa_cli.solver.batch import plan
    from nsa_cli.solver.late import compiling

    os.nice(19)
    signal.alarm(_LONGEST)
    task, settings = pickle.load(sys.stdin.buffer)
    with open(cache_folder() / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for batch in plan([task], settings):
            compiling(batch).result()


if __name__ == "__main__":
    main()
