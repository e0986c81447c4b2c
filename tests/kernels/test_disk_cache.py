"""Compiled kernels on disk: nobody else's code is run, and broken files are made again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nsa_cli.kernels.toolchain import kept
from nsa_cli.kernels.toolchain.kept import cache_folder, is_private


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder that is chosen where it may be anything, and what may be done to it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir(mode=0o700)
    monkeypatch.setattr(kept.tempfile, "tempdir", str(tmp_path / "temporary"))
    cache_folder.cache_clear()
    yield cache_folder()
    cache_folder.cache_clear()


def chosen_again() -> Path:
    cache_folder.cache_clear()
    return cache_folder()


def test_the_folder_is_private(folder, tmp_path):
    """And the same again."""
    assert folder.parent == tmp_path / "cache" / "nsa"
    assert folder.stat().st_mode & 0o077 == 0
    assert chosen_again() == folder


@pytest.mark.parametrize("mode", [0o770, 0o757, 0o702])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_folder_that_others_can_write_to_is_not_used(folder, mode, level):
    """Nor one below such a folder."""
    [folder, *folder.parents][level].chmod(mode)
    assert chosen_again().parts[:-2] != folder.parts[:-2]
    assert is_private(chosen_again())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_folder_of_somebody_else_is_not_used(folder, level):
    """Who made it beforehand may have put anything there."""
    os.chown([folder, *folder.parents][level], 22222, 22222)
    assert chosen_again().parts[:-2] != folder.parts[:-2]


def test_a_link_counts_as_what_it_leads_to(folder, tmp_path):
    """A folder that others can write to is none behind a link, either."""
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    folder.rename(open_to_all / "kernels")
    folder.symlink_to(open_to_all / "kernels")
    assert open_to_all not in chosen_again().parents


def test_without_any_place_the_folder_is_the_processs_own(folder, tmp_path, monkeypatch):
    """Where neither the temporary folder has room for this user's one."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    chosen = chosen_again()
    assert chosen.parent.parent == tmp_path / "temporary"  # under this user's name
    chosen.parent.chmod(0o777)
    assert chosen_again().parent == tmp_path / "temporary"


def test_a_relative_folder_is_none(folder, tmp_path, monkeypatch):
    """As the specification of XDG_CACHE_HOME says: it would depend on the current directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert chosen_again().parent == tmp_path / "home" / ".cache" / "nsa"
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize("what", ["empty", "cut", "garbled"])
def test_broken_files_are_made_again(folder, what, monkeypatch):
    """As after a loss of power; and then they are whole."""
    compiled = []
    monkeypatch.setattr(kept, "tell", lambda *, own: compiled.append(own))
    monkeypatch.setattr(kept, "_compiled", lambda *_: (bytes(range(256)), "float64", True))
    monkeypatch.setattr(kept, "load", lambda entry, code: code)

    def found() -> int:
        assert kept.code_of(None, None, "kernel", (), 0) == (bytes(range(256)), "float64")
        return len(compiled)

    assert (found(), found()) == (1, 1)
    (file,) = folder.glob("*.o")
    content = file.read_bytes()
    middle = len(content) // 2
    garbled = content[:middle] + b"x" * 64 + content[middle + 64 :]
    file.write_bytes({"empty": b"", "cut": content[:middle], "garbled": garbled}[what])
    assert (found(), found()) == (2, 2)


def test_without_room_nothing_is_kept(tmp_path, monkeypatch):
    """And the run goes on."""
    kept.write_checked(tmp_path / "key", b"data")
    assert kept.read_checked(tmp_path / "key") == b"data"

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept.os, "replace", full)
    kept.write_checked(tmp_path / "other", b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["key"]
    assert kept.read_checked(tmp_path / "key") == b"data"
