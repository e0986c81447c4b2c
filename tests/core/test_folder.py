"""Modules of a class's folder, found by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nsa_cli.core.folder import find_part


def test_a_part_of_the_package_of_a_base_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The own package comes first; a module that is not there is None, and a plain file has no parts."""
    for name, base in (("parent", "object"), ("child", "parent.Owner")):
        (tmp_path / name).mkdir()
        imported = "" if base == "object" else "import parent\n"
        (tmp_path / name / "__init__.py").write_text(f"{imported}class Owner({base}): pass\n")
        (tmp_path / name / "own.py").write_text(f"said = {name!r}\n")
    (tmp_path / "parent" / "common.py").write_text("said = 'common'\n")
    (tmp_path / "lonely.py").write_text("class Owner: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    import child  # type: ignore[import-not-found]
    import lonely  # type: ignore[import-not-found]

    owner = child.Owner()
    assert find_part(owner, "own", "said") == "child"
    assert find_part(owner, "common", "said") == "common"
    assert find_part(owner, "missing", "said") is None
    assert find_part(lonely.Owner(), "own", "said") is None
    with pytest.raises(AttributeError):
        find_part(owner, "own", "missing")
    for name in ("parent", "child", "lonely"):
        for module in [m for m in sys.modules if m.partition(".")[0] == name]:
            monkeypatch.delitem(sys.modules, module)
