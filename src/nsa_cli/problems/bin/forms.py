"""Forms of files of bin packing, and how their first lines or their names tell them."""

from __future__ import annotations

from nsa_cli.core.folder import deferred
from nsa_cli.core.problem import FileFormat, FileSet
from nsa_cli.core.record import Source
from nsa_cli.io.tokens import shape, split_lines

_FORMATS = "nsa_cli.problems.bin.formats"


def is_bpplib(source: Source) -> bool:
    """One number in the first line and in the second, one or two in the third; or both in the first."""
    return shape(source, 3) in ((1, 1, 1), (1, 1, 2), (2, 1, 1))


def is_orlib(source: Source) -> bool:
    """One number, an id, then three numbers."""
    counts = [len(line.tokens) for line in split_lines(source, 12)[:3]]
    return counts == [1, 1, 3] and shape(source, 3)[::2] == (1, 3)


FORMATS = (
    FileFormat("orlib", (), is_orlib, deferred(_FORMATS, "read_orlib")),
    FileFormat("bpplib", (".bpp", ".csp"), is_bpplib, deferred(_FORMATS, "read_bpplib")),
)

FILE_SETS = (
    FileSet(
        "burkardt",
        r"(?P<stem>.+)_(?P<part>[cws])\.txt(\.gz)?",
        {"c": True, "w": True, "s": False},
        deferred(_FORMATS, "read_burkardt"),
    ),
    FileSet(
        "packingsolver",
        r"(?P<stem>.*?)(?P<part>items|bins)\.csv(\.gz)?",
        {"items": True, "bins": True},
        deferred(_FORMATS, "read_packingsolver"),
    ),
)
