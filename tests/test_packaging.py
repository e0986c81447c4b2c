"""What the package promises to those who install it."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import yaml

from nsa_cli.version import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SOURCES = sorted((ROOT / "src" / "nsa_cli").rglob("*.py"))


def names(requirements):
    """Names of packages without versions."""
    return {re.match(r"[\w-]+", text)[0] for text in requirements}


def test_torch_and_the_compiler_are_extras_that_tests_have():
    """Who only solves downloads none of it."""
    extras = PROJECT["optional-dependencies"]
    assert names(extras["torch"]) == {"numba", "torch"}
    assert names(extras["own"]) == {"numba"}
    assert not {"torch", "numba"} & names(PROJECT["dependencies"])
    assert {"torch", "numba"} <= names(extras["test"])


def test_advice_to_install_works_before_anything_is_published():
    """It names packages of the index, which the extras have; nobody owns the name of this one there."""
    from nsa_cli.core.extras import _NAMES

    extras = {name for packages in PROJECT["optional-dependencies"].values() for name in names(packages)}
    assert _NAMES.keys() <= extras
    for path in [*SOURCES, *ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"]:
        assert "nsa-cli[" not in path.read_text(), path


def test_classifiers_say_which_pythons():
    """From the oldest that may install it on."""
    versions = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in versions
    assert "Typing :: Typed" in PROJECT["classifiers"]
    assert (ROOT / "src" / "nsa_cli" / "py.typed").exists()


def test_the_citation_is_of_this_version():
    """And has what the format requires."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert str(cited["version"]) == __version__
    assert cited["license"] == PROJECT["license"]
    assert {"cff-version", "title", "message", "authors"} <= cited.keys()
    assert cited["references"][0]["title"] == "Neural Simulated Annealing"


def test_what_contributing_names_is_there():
    """Files and folders, of the checkout or of the package."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = [p for p in re.findall(r"`([\w./-]+/[\w./-]*|\w+\.py)`", text) if "NAME" not in p]
    assert len(paths) > 8
    folders = (ROOT, ROOT / "src" / "nsa_cli", *(ROOT / "src" / "nsa_cli" / "problems").iterdir())
    for path in paths:
        assert any((folder / path).exists() for folder in folders), path
