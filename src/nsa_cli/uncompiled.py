"""The process that `nsa_cli.stand_in` starts: it searches as told on standard input, uncompiled."""

from __future__ import annotations

import pickle
import signal
import sys

from nsa_cli.anneal.stop import Interrupt
from nsa_cli.run import solve_all
from nsa_cli.stand_in import Found


def main() -> None:
    """Search until the time is up or a termination request comes; then say what was found."""
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    tasks, settings = pickle.load(sys.stdin.buffer)
    results = solve_all(tasks, settings, stop=(Interrupt(lambda: bool(asked)),))
    found = [Found(result.solution, result.steps, result.accepted) for result in results]
    sys.stdout.buffer.write(pickle.dumps(found))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
