"""Terminal output: results to stdout, all else to stderr, one line an error."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from types import FrameType, TracebackType
from typing import Any

from nsa_cli.core.errors import NsaError, UsageError
from nsa_cli.io.atomic import write_text
from nsa_cli.io.json_text import dumps

#: How words on stderr look: ``text``, or ``json`` for one object a line.
_LOG_FORMAT: ContextVar[str] = ContextVar("log format", default="text")

#: What a message may begin with that says how grave it is.
_LEVELS = ("error", "internal error", "warning")


@dataclass(frozen=True)
class Console:
    """Messages on stderr, by verbosity.

    Attributes
    ----------
    quiet : bool
        Errors only.
    verbose : bool
        Also what was chosen and why.
    """

    quiet: bool = False
    verbose: bool = False

    def note(self, message: str) -> None:
        """Print a message if verbose."""
        if self.verbose and not self.quiet:
            say(message)

    def tell(self, message: str) -> None:
        """Print a message unless quiet."""
        if not self.quiet:
            say(message)

    def warn(self, message: str) -> None:
        """Print a warning unless quiet."""
        if not self.quiet:
            say(f"warning: {message}")


def say(message: str) -> None:
    """Write one line to stderr; a closed terminal is no reason to fail."""
    text = " ".join(message.split())
    if log_is_json():
        level, colon, rest = text.partition(": ")
        graded = bool(colon) and level in _LEVELS
        log_event(level.split()[-1] if graded else "note", message=rest if graded else text)
        return
    with contextlib.suppress(OSError, ValueError):
        print(f"nsa: {text}", file=sys.stderr, flush=True)


def describe(error: NsaError) -> str:
    """Write an error with its options as the command line spells them."""
    return error.text(_on_command_line)


def _on_command_line(name: str, value: Any = None) -> str:
    """Spell an option: ``--time-limit 3``, ``--greedy``, ``--no-bound``."""
    flag = ("--no-" if value is False else "--") + name.replace("_", "-")
    return flag if value is None or isinstance(value, bool) else f"{flag} {shlex.quote(str(value))}"


def log_event(event: str, **fields: Any) -> None:
    """Write one JSON object to stderr, as a line."""
    with contextlib.suppress(OSError, ValueError):
        print(dumps({"event": event, **fields}), file=sys.stderr, flush=True)


def log_is_json() -> bool:
    """Tell whether messages on stderr are JSON."""
    return _LOG_FORMAT.get() == "json"


@contextlib.contextmanager
def log_format(arguments: list[str]) -> Iterator[None]:
    """Apply ``--log-format`` before the command line is parsed, so that its errors follow it."""
    words = [*arguments, ""]
    asked = "--log-format=json" in words or ("--log-format", "json") in pairwise(words)
    token = _LOG_FORMAT.set("json" if asked else "text")
    try:
        yield
    finally:
        _LOG_FORMAT.reset(token)


def set_log_format(name: str) -> None:
    """Set the format of messages on stderr for the rest of the command.

    Raises
    ------
    UsageError
        If it is neither ``text`` nor ``json``.
    """
    if name not in ("text", "json"):
        raise UsageError(f"expected text or json, got {name!r}", option="log_format")
    _LOG_FORMAT.set(name)


def emit(text: str, output: str | None) -> bool:
    """Write a result to stdout (``-`` or None) or, atomically, to a file; False if the reader has gone."""
    if output not in (None, "-"):
        assert output is not None
        write_text(output, text)
        return True
    try:
        _write_all(text)
    except OSError as error:
        # The interpreter would try to flush once more at exit, and say so.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # a reader that has seen enough is no fault
            raise UsageError(f"standard output cannot be written: {error.strerror or error}") from None
        return False
    return True


def _write_all(text: str) -> None:
    """Write to stdout to the last character.

    Where Python does not buffer (``PYTHONUNBUFFERED``, as in many containers), a write that a signal
    interrupts writes a part only, and the rest would be lost.
    """
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:  # a replacement that takes text only
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        rest = memoryview(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
        while rest:
            rest = rest[stream.write(rest) :]
    sys.stdout.flush()


#: Two signals within this time, in seconds, are one: `timeout` and shells send one to a process and, through
#: its group, another.
_ONE_SIGNAL = 0.2


class Signals:
    """Context in which the first Ctrl-C or termination request sets a flag, and the second one exits.

    Attributes
    ----------
    received : int
        Number of the signal, 0 if none came.
    """

    def __init__(self) -> None:
        self.received = 0
        self._when = 0.0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _: FrameType | None) -> None:
        now = time.monotonic()
        if self.received and now - self._when > _ONE_SIGNAL:
            os._exit(128 + number)
        if not self.received:
            self.received, self._when = number, now

    @property
    def exit_code(self) -> int:
        """130 after Ctrl-C, 143 after a termination request, else 0."""
        return 128 + self.received if self.received else 0


class Status:
    """Status line on stderr, rewritten in place; silent unless stderr is a terminal."""

    def __init__(self, console: Console) -> None:
        self._shown = not console.quiet and sys.stderr.isatty()

    def update(self, text: str) -> None:
        """Rewrite the line."""
        if self._shown:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Erase the line."""
        self.update("")
