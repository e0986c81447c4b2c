"""Bin packing text files: the right weights, or the right line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nsa_cli.core.errors import DataError, InputError
from nsa_cli.io.source import decode
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.files import read_instances


def instances_of(text: str, suffix: str = ".txt", **settings: Any) -> list[BinInstance]:
    found = read_instances(decode(text.encode(), "f.txt", suffix), None, settings)
    assert all(isinstance(instance, BinInstance) for _, instance in found)
    return [instance for _, instance in found]  # type: ignore[misc]


def only(text: str, suffix: str = ".txt", **settings: Any) -> BinInstance:
    (instance,) = instances_of(text, suffix, **settings)
    return instance


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("4\n10\n6\n5\n5\n4\n", ".txt"),
        (" 4 \r\n\r\n10\r\n6\r\n5\r\n5\r\n4", ".bpp"),
        ("3\n10\n6 1\n5 2\n4 1\n", ".txt"),
        ("3\n10\n6\t1\n5\t2\n4\t1\n", ".csp"),
        ("4 10 6 5 5 4", ".bpp"),
        ("3 10 6 1 5\n2 4 1\n", ".csp"),
        ("1\n x\n 10 4 2\n6\n5\n5\n4\n", ".txt"),
        ("1\nx\n10 4 2\n6 5\n5 4\n", ""),
        ("# capacity = 10\nweight\n6\n5\n5\n4\n", ".csv"),
        ("item;size\na;6\nb;5\nc;5\nd;4\n", ".csv"),
        ("# capacity = 10\nquantity,weight\n1,6\n2,5\n1,4\n", ".csv"),
        ('{"weights": [6, 5, 4], "copies": [1, 2, 1], "bin_capacity": 10}', ".json"),
    ],
    ids=[
        *("bpplib", "dos", "demands", "tabs", "one line", "wrapped pairs", "orlib", "orlib wrapped"),
        *("csv", "csv with names", "csv with copies", "json of others"),
    ],
)
def test_one_packing_in_many_formats(text: str, suffix: str) -> None:
    """All formats give the same weights, and bins that are filled exactly are full, not over."""
    instance = only(text, suffix, **({} if "10" in text else {"capacity": 10}))
    assert (instance.weights.tolist(), instance.capacity) == ([6, 5, 5, 4], 10)
    packing = np.array([0, 1, 1, 0])  # 6 + 4 and 5 + 5
    assert (instance.objective(packing), instance.violation(packing)) == (2, None)
    over = instance.violation(np.array([0, 0, 1, 1]))  # 6 + 5 = 11
    assert over is not None
    assert over.endswith("holds 11, more than the capacity 10")


def test_several_instances_in_one_file() -> None:
    """Each instance has its id and its best known number of bins."""
    first, second = instances_of(" 2\n a_1\n 10 3 2\n6\n5\n5\n a_2\n 100.0 2 1\n49.9\n50.1\n")
    assert (first.name, first.best_known, first.weights.tolist()) == ("a_1", 2, [6, 5, 5])
    assert (second.name, second.best_known, second.capacity) == ("a_2", 1, 100.0)
    assert second.violation(np.array([0, 0])) is None  # 49.9 + 50.1 fill the bin


def test_decimals_fill_a_bin() -> None:
    """Ten tenths fill a bin of one, and so do seven and three."""
    instance = only("12\n1\n" + "0.1\n" * 10 + "0.7\n0.3\n")
    assert instance.violation(np.array([0] * 10 + [1, 1])) is None


def test_answers_have_no_empty_bins() -> None:
    """Bins are numbered without gaps and none is empty, whatever the packing calls them."""
    instance = only("4\n10\n6\n5\n5\n4\n")
    packing = np.array([3, 0, 0, 3])
    assert instance.to_ids(packing) == [[1, 4], [2, 3]]
    assert instance.objective(packing) == 2
    assert instance.from_ids([[2, 3], [], [1, 4]]).tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("4\n10\n6\n12\n5\n4\n", 4, "item 2 does not fit any bin: weight 12 > capacity 10"),
        ("2\n10\n4 3\n12 1\n", 4, "item 4 does not fit any bin: weight 12 > capacity 10"),
        ("3\n10\n6\nx\n4\n", 4, "weight: expected a number, got 'x'"),
        ("3\n10\n6\n12345678901234567890\n4\n", 4, "weights, element 2: expected an integer of at most 64"),
        ("3\n10\n6\n5 2\n4\n", 4, "expected a weight, got 2 numbers"),
        ("3\n10\n6 1\n5\n4 1\n", 4, "expected a weight and a demand, got 1 numbers"),
        ("2\n10\n6 1\n5 0\n", 4, "demand: expected a positive integer, got '0'"),
        ("2\n10\n6 1\n5 1000000\n", 4, "copies, element 2: more than 1000000 items in all"),
        ("4\n10\n6\n5\n4\n", 5, "expected 4 weights as line 1 says, got 3"),
        ("3\n-10\n6\n5\n4\n", 2, "capacity: expected a number >= 0, got -10"),
        ("0\n10\n6\n", 1, "number of items: expected a positive integer, got '0'"),
        ("2\na\n10 2 1\n6\n4\n", 1, "expected 2 instances, got 1"),
        ("1\na\n10 2 1\n6\n4\nb\n10 1 1\n6\n", 1, "expected 1 instances, got 2"),
        ("1\na\n10 3 1\n6\n4\n", 5, "instance 'a': expected 3 weights, got 2"),
        ("1\na\n10 3 1\n6\n4 5 6\n", 5, "instance 'a': expected 3 weights, got 4"),
        ("2\na\n10 1 1\n6\nb\n10 1\n6\n", 5, "expected an instance's id, then a line with capacity, n and"),
        ("1\na\n-1 1 1\n0\n", 3, "capacity: expected a number >= 0, got -1"),
        ("1\na\n10 1 x\n6\n", None, "is no instance"),
    ],
)
def test_faults_have_lines(text: str, line: int | None, message: str) -> None:
    """What cannot be read is named with its line and what should be there."""
    with pytest.raises(InputError) as caught:
        instances_of(text)
    assert (caught.value.line, caught.value.message[: len(message)]) == (line, message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["5\n", "5\n10\n", "5 10 6 7\n", "x\n10\n6\n"])
def test_a_suffix_is_not_enough(text: str) -> None:
    """A file with the right ending and the wrong text is refused in its first line."""
    with pytest.raises(InputError, match=r"^f\.txt:1: "):
        instances_of(text, ".bpp")


@pytest.mark.parametrize(
    ("record", "field", "index", "message"),
    [
        ({}, None, None, "weights are missing"),
        ({"weights": []}, "weights", None, "expected at least one item, got none"),
        ({"weights": [0.5, 1.5]}, "weights", 1, "item 2 does not fit any bin: weight 1.5 > capacity 1;"),
        ({"weights": [0.5, "x"]}, "weights", 1, "weights, element 2: expected a number, got 'x'"),
        (
            {"weights": [2**53 + 1], "capacity": 2.0**53},
            "weights",
            0,
            "item 1 does not fit any bin: weight 9",
        ),
        ({"weights": [1, 5], "capacity": 3, "names": ["a", "b"]}, "weights", 1, "item 'b' does not fit any"),
        ({"weights": [1], "names": [None]}, "names", 0, "names, element 1: expected an integer or a string"),
    ],
)
def test_records_that_make_no_packing(record: dict[str, Any], field: str, index: int, message: str) -> None:
    """Wrong data name the key that the record uses, and the element."""
    with pytest.raises(DataError) as caught:
        BinInstance.from_record(record)
    assert (caught.value.field, caught.value.index) == (field, index)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([[1, 2]], "item 3 is in no bin"),
        ([], "item 1 is in no bin"),
        ([[1, 2], [2, 3]], "item 2 occurs twice in the solution"),
        ([[1, 2, 3, 4]], "there is no item 4 in the instance"),
        ([1, 2, 3], "bin 1: expected a list of items, got 1"),
    ],
)
def test_packings_that_are_none(ids: list[Any], message: str) -> None:
    """A packing that misses, repeats or invents an item names it."""
    with pytest.raises(DataError, match=message):
        BinInstance.from_record({"weights": [0.5, 0.5, 0.5]}).from_ids(ids)
