"""Entry point of ``nsa`` and of ``python -m nsa_cli``."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # see `nsa_cli`
if TYPE_CHECKING:
    from types import FrameType


def run() -> None:
    """Run the command line and leave with an exit code of the contract."""
    # An interrupt in the middle of an import can be swallowed there, or end in a traceback.
    signal.signal(signal.SIGINT, _leave)
    import contextlib
    import gc

    # A million lists are no garbage: looking for it among them takes longer than making them.
    gc.set_threshold(200_000, 10, 100)
    from nsa_cli.core.clock import begin

    begin()
    from nsa_cli.cli.main import exit_code

    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = exit_code(sys.argv[1:])
    # Taking torch down takes half a second, in which nothing happens that anyone waits for.
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _leave(number: int, _: FrameType | None) -> None:
    os.write(2, b"nsa: interrupted before there was a solution\n")
    os._exit(128 + number)


if __name__ == "__main__":
    run()
