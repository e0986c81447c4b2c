"""A file is written whole or not at all."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from nsa_cli.core.errors import UsageError
from nsa_cli.io.atomic import write_text


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "a"
    path.write_text("old")
    return path


def test_writes_utf_8_and_leaves_nothing_else(tmp_path: Path) -> None:
    """One file comes out, no temporary one stays."""
    write_text(tmp_path / "a.json", '"ö"\n')
    assert (tmp_path / "a.json").read_bytes() == b'"\xc3\xb6"\n'
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    """The private mode of a temporary file is not what the user gets."""
    mask = os.umask(0o022)
    try:
        write_text(tmp_path / "a", "x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644


def test_a_replaced_file_keeps_its_mode_and_its_links(tmp_path: Path, old: Path) -> None:
    """Permissions given to the old file hold for the new one; the target of a link is replaced."""
    old.chmod(0o640)
    (tmp_path / "link").symlink_to("a")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (old.read_text(), stat.S_IMODE(old.stat().st_mode)) == ("new", 0o640)


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    """The temporary file's name is not longer than the file's own."""
    path = tmp_path / ("n" * 255)
    write_text(path, "x")
    assert path.read_text() == "x"


def test_a_failure_keeps_the_old_file(tmp_path: Path, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the last step fails, or half a character cannot be written; no temporary file is there."""

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(UsageError, match="cannot be written"):
        write_text(old, "\ud800")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(UsageError, match=r"a: cannot be written: No space left on device$"):
        write_text(old, "new")
    assert old.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_file_may_be_writable_where_none_can_be_made(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no temporary file may be made, a file that may be written is written."""

    def refuse_new(path: Path, mode: str = "r", **more: Any) -> Any:
        if mode == "xb":
            raise PermissionError(13, "Permission denied")
        return open(path, mode, **more)

    monkeypatch.setattr(Path, "open", refuse_new)
    write_text(old, "new")
    assert old.read_text() == "new"
    with pytest.raises(UsageError, match="b: cannot be written: Permission denied"):
        write_text(old.with_name("b"), "new")


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    """What cannot be replaced is written through."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(path.read_text()))
    reader.start()
    write_text(path, "through")
    reader.join(timeout=10)
    assert got == ["through"]
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.parametrize("name", [".", "none/a", "a/a", "a\0b", "/dev/full"])
def test_what_cannot_be_written_is_one_line(old: Path, name: str) -> None:
    """A directory, no parent, a file as parent, a zero byte, a full device: a usage error of one line."""
    if name == "/dev/full" and not os.path.exists(name):
        pytest.skip("this system has no full device")
    with pytest.raises(UsageError) as caught:
        write_text(old.parent / name, "x" * 100_000)
    assert "\n" not in str(caught.value)
