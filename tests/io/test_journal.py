"""Journals: what is in them after a kill, another run, and other hands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from nsa_cli.core.errors import InputError, UsageError
from nsa_cli.io.journal import Journal, key_of


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "journal.jsonl"


@pytest.fixture
def filled(path):
    with Journal(path, "test") as journal:
        for key in "abc":
            journal.append(key, {"of": key, "value": [0.1, None, "ü"]})
    return path


def keys_of(path):
    with Journal(path, "test") as journal:
        return {key for key in (*"abcdxz", *map(str, range(100_000))) if key in journal}


def test_what_is_appended_is_found(filled):
    """By the next who opens it; of a key that is there twice the last."""
    with Journal(filled, "test") as journal:
        assert [key in journal for key in "abcd"] == [True, True, True, False]
        assert journal["b"] == {"of": "b", "value": [0.1, None, "ü"]}
        journal.append("b", 7)
        assert (journal["b"], journal["c"]["of"], len(journal)) == (7, "c", 3)
    with Journal(filled, "test") as journal:
        assert journal["b"] == 7


def test_a_torn_line_is_dropped_wherever_it_was_torn(filled):
    """Each cut of the file leaves the whole lines before it."""
    data = filled.read_bytes()
    for cut in range(len(data)):
        filled.write_bytes(data[:cut])
        whole = max(data[:cut].count(b"\n") - 1, 0)
        with Journal(filled, "test") as journal:
            assert [key in journal for key in "abc"] == [k < whole for k in range(3)]
            journal.append("d", cut)
        with Journal(filled, "test") as journal:
            assert (journal["d"], len(journal)) == (cut, whole + 1)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        *((b"garbage\n", 3), (b"\n", 3), (b'{"key": 1, "outcome": 2}\n', 3), (b'{"key": "x"}\n', 3)),
        *((b"[1]\n", 3), (b"\xff\xfe\n", 3)),
    ],
)
def test_garbage_is_refused_with_its_line(filled, line, place):
    """And stays as it is."""
    lines = filled.read_bytes().splitlines(keepends=True)
    filled.write_bytes(b"".join([*lines[:2], line, *lines[2:]]))
    before = filled.read_bytes()
    with pytest.raises(InputError, match=rf"journal.jsonl:{place}: expected"):
        Journal(filled, "test")
    assert filled.read_bytes() == before


@pytest.mark.parametrize("data", [b"hello", b"hello\n", b'{"name": "square"}\n', b'{"journal": "other"}\n'])
def test_another_file_is_refused(path, data):
    """A journal of other work, too."""
    path.parent.mkdir()
    path.write_bytes(data)
    with pytest.raises(InputError, match="move the file away"):
        Journal(path, "test")
    assert path.read_bytes() == data


def test_a_second_run_is_refused_while_the_first_one_writes(filled):
    """By name; once it has ended, or was killed, there is no lock."""
    with Journal(filled, "test"), pytest.raises(UsageError, match="another run is writing to it; wait"):
        Journal(filled, "test")
    code = "import sys, time; from nsa_cli.io.journal import Journal; "
    code += "j = Journal(sys.argv[1], 'test'); j.append('x', 1); print('on', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code, str(filled)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(UsageError, match="another run"):
            Journal(filled, "test")
        process.send_signal(signal.SIGKILL)
    assert "x" in keys_of(filled)


def test_a_journal_that_is_removed_is_made_anew(filled):
    """Also by one who forgets what was in it."""
    journal = Journal(filled, "test")
    journal.close(remove=True)
    assert not filled.exists()
    assert keys_of(filled) == set()
    with Journal(filled, "test") as journal:
        journal.append("a", 1)
    with Journal(filled, "test", anew=True) as journal:
        journal.append("z", 1)
    assert keys_of(filled) == {"z"}


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    """A folder, a file in the way, a full disk."""
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "journal.jsonl", *filter(os.path.exists, ["/dev/full"])):
        with pytest.raises(UsageError, match="cannot be written"):
            Journal(place, "test")


def test_killed_at_any_moment_it_has_whole_lines(path):
    """Every unit that was reported is there."""
    code = (
        "import sys; from nsa_cli.io.journal import Journal; j = Journal(sys.argv[1], 'test')\n"
        "for k in range(10**6): j.append(str(k), 'x' * 5000); print(k, flush=True)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05)
        process.kill()
        said = [line for line in process.stdout.read().split("\n")[:-1] if line]
    found = keys_of(path)
    assert found >= {"0", *said}
    assert len(found) <= len(said) + 2


def test_keys_are_of_values_not_of_their_order():
    """Arrays count by value, shape and type."""
    parts = {"a": 1, "b": [0.1, "ü", "\udce9"], "c": np.arange(3)}
    key = key_of(parts)
    assert key == key_of(dict(reversed(parts.items())))
    assert len({key, *(key_of({**parts, "a": x}) for x in (1.0, 2, "1", None, True))}) == 6
    others = (np.arange(4), np.arange(3.0), np.arange(3)[None])
    assert len({key, *(key_of({**parts, "c": x}) for x in others)}) == 4
