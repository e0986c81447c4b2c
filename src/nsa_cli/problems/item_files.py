"""Text files of knapsacks and of bin packing: several instances in a file, and a list of numbers a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from nsa_cli.core.record import Record, Source, locator
from nsa_cli.io.tokens import read_numbers

PieceT = TypeVar("PieceT")


def read_one_by_one(
    source: Source,
    pieces: Sequence[PieceT],
    begin: int,
    read: Callable[[Source, Sequence[PieceT], int], tuple[Record, int]],
) -> list[Record]:
    """Read instances that follow each other in a file.

    Parameters
    ----------
    source : Source
    pieces : sequence
        Lines or tokens.
    begin : int
        Position of the first instance in `pieces`.
    read : callable
        ``read(source, pieces, at)``: the instance that begins at a position, and the position after it.
    """
    records = []
    while begin < len(pieces):
        record, begin = read(source, pieces, begin)
        records.append(record)
    return records


def read_lists(stem: str, sources: Mapping[str, Source], keys: Mapping[str, str]) -> Record:
    """Read a file set of J. Burkardt (Florida State University): a list of numbers a file.

    Parameters
    ----------
    stem : str
        Name of the instance.
    sources : mapping of str to Source
        By part; ``c`` holds the capacity.
    keys : mapping of str to str
        Key of the record by part, ``weights`` first.

    Raises
    ------
    InputError
        If there are several capacities, or lists differ in length.
    """
    (capacity, *more), at = read_numbers(sources["c"], "capacity")
    if more:
        raise sources["c"].error(f"expected one capacity, got {1 + len(more)}", at[-1])
    lists: dict[str, list[int | float]] = {}
    lines: dict[str, Sequence[int]] = {}
    for part, key in keys.items():
        lists[key], lines[key] = read_numbers(sources[part], key.removesuffix("s"))
        if (size := len(lists["weights"])) != (got := len(lists[key])):
            message = f"expected {size} {key} as {sources['w'].name} has weights, got {got}"
            raise sources[part].error(message, lines[key][-1])

    data = {"name": stem, "capacity": capacity, **lists}
    return Record(
        data,
        sources["c"],
        locator({"capacity": at[0], **lines}),
        {key: sources[part] for part, key in keys.items()},
    )
