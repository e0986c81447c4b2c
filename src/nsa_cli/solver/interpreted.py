"""The process that `nsa_cli.solver.fallback` starts: it solves the tasks on standard input without Numba."""

from __future__ import annotations

import pickle
import signal
import sys

from nsa_cli.anneal.stop import Interrupt
from nsa_cli.core.result import Result
from nsa_cli.solver.batch import Hooks, batches


def main() -> None:
    """Search until the time limit or a termination request; then write the answers."""
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    tasks, settings = pickle.load(sys.stdin.buffer)
    results: dict[int, Result] = {}
    for batch in batches(tasks, settings, Hooks(stop=(Interrupt(lambda: bool(asked)),))):
        results |= zip(batch.plan.places, batch.solve(), strict=True)
    found = [(results[i].solution, results[i].steps, results[i].accepted) for i in range(len(tasks))]
    sys.stdout.buffer.write(pickle.dumps(found))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
