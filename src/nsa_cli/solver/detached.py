"""The process that `nsa_cli.solver.late` leaves behind: it compiles what a task needs, once."""

from __future__ import annotations

import fcntl
import os
import pickle
import signal
import sys

from nsa_cli.core.clock import Clock
from nsa_cli.kernels.toolchain.disk_cache import cache_folder
from nsa_cli.solver.batch import batches
from nsa_cli.solver.solve import solve_batch

#: Seconds after which it ends in any case.
_LONGEST = 600


def main() -> None:
    """Take a few steps of the tasks on standard input, unless another process is at it."""
    os.nice(19)
    signal.alarm(_LONGEST)
    tasks, settings = pickle.load(sys.stdin.buffer)
    with open(cache_folder() / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for batch in batches(tasks, settings, Clock()):
            solve_batch(batch)


if __name__ == "__main__":
    main()
