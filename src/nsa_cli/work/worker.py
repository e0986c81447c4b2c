"""A worker process: does the units that `nsa_cli.work.processes` sends it, and ends with its parent."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from queue import SimpleQueue
from typing import Any, BinaryIO

from nsa_cli.core.errors import NsaError
from nsa_cli.work.pipes import STOP, Raised, receive, send


def main() -> None:
    """Do units until there are no more."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # for the parent, which says what to do
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    gc.set_threshold(200_000, 10, 100)
    # What a user's functions print, or read, is not for the parent.
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    asked, stopped = SimpleQueue[Any](), threading.Event()
    threading.Thread(target=_listen, args=(requests, asked, stopped), daemon=True).start()
    do = asked.get()
    while True:
        request = asked.get()
        try:
            if isinstance(request, Raised):
                raise request.error
            for found in do(*request, stopped.is_set):
                send(answers, found)
            send(answers, None)
        except BrokenPipeError:
            _leave()
        except Exception as error:
            send(answers, Raised(error if isinstance(error, NsaError) else _plain(error)))


def _plain(error: Exception) -> Exception:
    """Make an error that can be pickled."""
    return RuntimeError(f"{type(error).__name__}: {error}")


def _listen(file: BinaryIO, asked: SimpleQueue[Any], stopped: threading.Event) -> None:
    """Pass requests on; leave at once if the parent has gone, however that came."""
    try:
        while True:
            request = receive(file)
            if request == STOP:
                stopped.set()
            else:
                asked.put(request)
    except (EOFError, OSError):
        _leave()
    except Exception as error:  # what was sent cannot be made here
        asked.put(Raised(error))


def _leave() -> None:
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
