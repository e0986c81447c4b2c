"""Terminal output: results to stdout, all else to stderr, one line an error."""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import shlex
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from nsa_cli.core.errors import NsaError, UsageError, visible
from nsa_cli.core.options import OUTPUT, setting
from nsa_cli.io.atomic import write_text
from nsa_cli.io.json_text import ascii_only


@dataclass(frozen=True)
class Console:
    """Messages on stderr, by verbosity.

    Attributes
    ----------
    quiet : bool
        Write only errors to stderr.
    verbose : bool
        Say on stderr what was chosen, and how far the run is.
    """

    quiet: bool = setting(False, OUTPUT, short=("-q",))
    verbose: bool = setting(False, OUTPUT, short=("-v",))

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
    text = f"nsa: {visible(' '.join(message.split()))}\n"
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
        if hasattr(sys.stderr, "buffer"):
            sys.stderr.buffer.write(_encoded(text, sys.stderr.encoding))
        else:  # a replacement that takes text only
            sys.stderr.write(text)
        sys.stderr.flush()


def _encoded(text: str, encoding: str | None) -> bytes:
    """Encode a text as a stream does, or in UTF-8 where that cannot, so that all names stay what they are."""
    try:
        return text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def describe(error: NsaError) -> str:
    """Write an error with its options as the command line spells them."""
    return error.text(_on_command_line)


def _on_command_line(name: str, value: Any = None) -> str:
    """Spell an option: ``--time-limit 3``, ``--greedy``, ``--no-bound``."""
    flag = ("--no-" if value is False else "--") + name.replace("_", "-")
    return flag if value is None or isinstance(value, bool) else f"{flag} {shlex.quote(str(value))}"


class MisplacedError(UsageError):
    """A result that could not be written where it was wanted, and was written elsewhere."""


def emit(text: str, output: str | None) -> bool:
    """Write a result to stdout (``-`` or None) or, atomically, to a file; False if the reader has gone.

    Raises
    ------
    MisplacedError
        If it had to be written elsewhere: beside the file, to stdout, or into the current or the temporary
        folder. What follows on a stdout that failed goes to the same file.
    UsageError
        If it could be written nowhere.
    """
    if output not in (None, "-"):
        assert output is not None
        try:
            write_text(output, text)
        except UsageError as error:
            raise _misplaced(error.message, _written_instead(text, output)) from None
        return True
    try:
        _write_all(text)
    except OSError as error:
        if isinstance(error, BrokenPipeError):  # a reader that has seen enough is no fault
            # The interpreter would try to flush once more at exit, and say so.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return False
        why = f"standard output cannot be written: {error.strerror or error}"
        raise _misplaced(why, _stdout_replaced(text)) from None
    return True


def _misplaced(why: str, place: str | None) -> UsageError:
    if place is None:
        return UsageError(f"{why}; nor could the answer be written anywhere else")
    return MisplacedError(f"{why}; the answer is {place}")


def _written_instead(text: str, output: str) -> str | None:
    """Write a result beside its file, or to stdout; say where it is, None if nowhere."""
    path = Path(output)
    beside = path.with_name(f"{path.stem[:100]}.nsa-{os.getpid()}{path.suffix[:10]}")
    with contextlib.suppress(NsaError, OSError):
        if not beside.exists():
            write_text(beside, text)
            return f"in {beside}"
    try:
        _write_all(text)
    except OSError:
        return _stdout_replaced(text)
    return "on standard output"


def _stdout_replaced(text: str) -> str | None:
    """Write a result to a new file, which takes the place of stdout; say where it is, None if nowhere."""
    name = f"nsa-answer-{os.getpid()}{'.json' if _is_json(text) else '.txt'}"
    for folder in (os.curdir, tempfile.gettempdir()):
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            os.dup2(file, sys.stdout.fileno())
            os.close(file)
            sys.stdout = os.fdopen(sys.stdout.fileno(), "w", encoding="utf-8", closefd=False)
            _write_all(text)
            return f"in {path}"
    return None


def _is_json(text: str) -> bool:
    """Tell JSON from tables and tours, none of which begins so."""
    return text[:1] in ("{", "[")


def _write_all(text: str) -> None:
    """Write to stdout to the last character.

    Past Python's buffers: what cannot be written would wait there for the next file that stdout is. And where
    there are none (``PYTHONUNBUFFERED``, as in many containers) an interrupted write writes a part only.
    """
    sys.stdout.flush()
    try:
        file = sys.stdout.fileno()
    except (AttributeError, OSError):  # a replacement that takes text only
        sys.stdout.write(text)
        return
    encoding = sys.stdout.encoding or "utf-8"
    if _is_json(text) and codecs.lookup(encoding).name != "utf-8":
        text = ascii_only(text)  # JSON is UTF-8, whatever the terminal's encoding
    rest = memoryview(_encoded(text, encoding))
    while rest:
        try:
            rest = rest[os.write(file, rest) :]
        except BlockingIOError:
            select.select([], [file], [])


#: Two signals within this time, in seconds, are one: `timeout` and shells send one to a process and, through
#: its group, another.
_ONE_SIGNAL = 0.2


#: Requests to end: Ctrl-C, `kill`, and the loss of the terminal, which some systems do not have.
_REQUESTS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Signals:
    """Context in which the first request to end sets a flag, and the second one exits.

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
        for number in _REQUESTS:
            # What is ignored when a command begins stays so, as `nohup` and shells want it.
            if signal.getsignal(number) is not signal.SIG_IGN:
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
        """130 after Ctrl-C, 143 after a termination request, 129 after a lost terminal, else 0."""
        return 128 + self.received if self.received else 0
