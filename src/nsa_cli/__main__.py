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
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # some systems lack one
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    _open_streams()
    _check_folder()
    if sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]  # python -m puts it there: what lies in the current folder is nobody's code
    import gc

    # A million lists are no garbage: looking for it among them takes longer than making them.
    gc.set_threshold(200_000, 10, 100)
    from nsa_cli.core.clock import begin

    begin()
    from nsa_cli.cli.main import exit_code

    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = exit_code(sys.argv[1:])
    # Taking torch down takes half a second, in which nothing happens that anyone waits for.
    os._exit(_flushed(code))


def _open_streams() -> None:
    """Open closed standard streams so that using them is an error of theirs alone.

    The next file that is opened would have their number, and what is said to a stream would go there. What is
    read from, or written to, a stream that was closed fails as it should; words to stderr get lost.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            other = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}[name]
            os.dup2(found := os.open(os.devnull, other), number)
            if found != number:
                os.close(found)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def _check_folder() -> None:
    """Leave if the current folder is gone, which libraries ask for in the middle of their work."""
    try:
        os.getcwd()
    except OSError as error:
        os.write(
            2, f"nsa: error: the current directory: {error.strerror}; go to one that is there\n".encode()
        )
        os._exit(2)


def _flushed(code: int) -> int:
    """Write what the streams still hold; the exit code, which tells if that fails."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except (OSError, ValueError) as error:
        code = code or 2
        with open(2, "w", closefd=False, errors="backslashreplace") as stream:
            stream.write(f"nsa: error: standard output cannot be written: {error}\n")
    return code


def _leave(number: int, _: FrameType | None) -> None:
    os.write(2, b"nsa: interrupted before there was a solution\n")
    os._exit(128 + number)


if __name__ == "__main__":
    run()
