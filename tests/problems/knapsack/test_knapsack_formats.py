"""Knapsack text files: the right items, or the right line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nsa_cli.core.errors import DataError, InputError
from nsa_cli.io.source import decode
from nsa_cli.problems.files import read_instances
from nsa_cli.problems.knapsack.instance import KnapsackInstance


def instances_of(text: str, suffix: str = ".txt", **settings: Any) -> list[KnapsackInstance]:
    """Read a text, whose problem is recognised."""
    found = read_instances(decode(text.encode(), "f.txt", suffix), None, settings)
    assert all(isinstance(instance, KnapsackInstance) for _, instance in found)
    return [instance for _, instance in found]  # type: ignore[misc]


def only(text: str, suffix: str = ".txt", **settings: Any) -> KnapsackInstance:
    (instance,) = instances_of(text, suffix, **settings)
    return instance


#: Values and weights; 2 and 3 weigh 7 = 3 + 4 and are worth 11; all three weigh 9 and are worth 17.
ITEMS = {"values": [6, 5, 6], "weights": [2, 3, 4]}


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("3 7\n6 2\n5 3\n6 4\n", ".txt"),
        ("7 3\n6 2\n5 3\n6 4\n", ".txt"),
        ("  3\t7 \r\n\r\n 6 2\r\n5\t3\r\n6 4", ""),
        ("3\n1 6 2\n2 5 3\n3 6 4\n7\n", ".in"),
        ("s\nn 3\nc 7\nz 11\ntime 0.00\n1,6,2,0\n2,5,3,1\n3,6,4,1\n-----\n", ".csv"),
        ("s\nn 3\nc 7\n1, 6, 2, 0\n2, 5, 3, 1\n3, 6, 4, 1\n", ""),
        ("s\nn 3\nc 7\n1,6,2\n2,5,3\n3,6,4\n-----\n\n", ""),
        ("# capacity = 7\nweight,value\n2,6\n3,5\n4,6\n", ".csv"),
        ("3 7\n6 2\n5 3\n6 4\n\n0 1 1\n", ".txt"),
        ("1\n3 1 11\n6 5 6\n2 3 4\n7\n", ".txt"),
        (" 1\n 3 1 11\n 6\n 5 6 2\n 3 4 7\n", ""),
    ],
    ids=[
        *("n C", "C n", "blanks", "ids", "blocks", "blocks with blanks", "blocks without x", "csv"),
        *("with the best", "or-library", "or-library wrapped"),
    ],
)
def test_one_sack_in_many_formats(text: str, suffix: str) -> None:
    """All formats give the same items, and the set that fills the sack exactly fits."""
    instance = only(text, suffix)
    assert {key: instance.record()[key] for key in ITEMS} == ITEMS
    assert instance.capacity == 7
    chosen = instance.from_ids([2, 3])
    assert (instance.objective(chosen), instance.violation(chosen)) == (11, None)
    assert instance.violation(instance.from_ids([1, 2, 3])) == "weight 9 exceeds the capacity 7"


def test_blocks_hold_several_sacks_and_their_optima() -> None:
    """Each block is an instance with its name; z is the best known value."""
    text = "one\nn 1\nc 5\nz 3\ntime 0.1\n1,3,5,1\n-----\n\ntwo\nn 2\nc 1.5\n1,3,1,0\n2,4.5,1.5,1\n-----\n"
    first, second = instances_of(text)
    assert (first.name, first.best_known, first.capacity) == ("one", 3, 5)
    assert (second.name, second.best_known, second.capacity) == ("two", None, 1.5)
    assert second.objective(second.from_ids([2])) == 4.5


def test_known_optima_are_read() -> None:
    """A last line of zeros and ones is a selection; OR-Library's 0 means that nobody knows."""
    assert only("3 7\n6 2\n5 3\n6 4\n0 1 1\n").best_known == 11
    tenths = "10 7\n" + "0.1 0\n" * 10 + "1 " * 10
    assert only(tenths).best_known == 1.0  # added up one by one they are less
    first, second = instances_of("2\n3 1 9\n5 6\n4\n1 2\n3\n4\n1 1 0\n5 2 2\n")
    assert (first.best_known, first.capacity, first.record()["values"]) == (9, 4, [5, 6, 4])
    assert (second.best_known, second.capacity, second.record()["weights"]) == (None, 2, [2])


def test_copies_are_items() -> None:
    """A column of copies in a table; each has its own id."""
    instance = only("# capacity = 7\nname;value;weight;copies\nnut;6;2;2\nbolt;5,5;3;1\n", ".csv")
    assert instance.record()["values"] == [6, 6, 5.5]
    assert instance.to_ids(np.array([True, True, True])) == ["nut", "nut (2)", "bolt"]


def test_ids_of_a_file_are_kept() -> None:
    """Ids that are not 1, 2, … come back in the answer."""
    instance = only("2\n10 6 2\n30 5 3\n7\n")
    assert instance.names == (10, 30)
    assert instance.to_ids(np.array([False, True])) == [30]


@pytest.mark.parametrize(
    ("text", "chosen", "value"),
    [
        ("3 4\n3 0\n0 2\n5 4\n", [1, 3], 8),  # weight 0 costs nothing, value 0 is no error
        ("2 1\n5 2\n6 3\n", [], 0),  # nothing fits
        ("11 1\n" + "1 0.1\n" * 10 + "9.5 0.95\n", list(range(1, 11)), 10),  # ten tenths are one
        ("3 1\n0.5 0.5\n0.5 0.5\n0.9 0.9\n", [1, 2], 1.0),  # decimals are not cut
        ("2 25000000000\n25000000001 12500000000\n3 12500000000\n", [1, 2], 25000000004),
        ("1 9007199254740993\n9007199254740993 9007199254740993\n", [1], 9007199254740993),
        ("2 3\n1e3 1E0\n2.5D2 2\n", [1, 2], 1250),
        ("1 7\n2 3\n", [1], 2),
        ("1 1\n2 1\n", [1], 2),
    ],
)
def test_values_by_hand(text: str, chosen: list[int], value: float) -> None:
    """The value of a selection is exact, and the selection fits."""
    instance = only(text)
    selection = instance.from_ids(chosen)
    assert (instance.objective(selection), instance.violation(selection)) == (value, None)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("3 7\n6 2\n5 x\n6 4\n", 3, "weight: expected a number, got 'x'"),
        ("3 7\n6 2\n\n5 -3\n6 4\n", 4, "weights, element 2: expected a number >= 0, got -3"),
        ("3 7\n6 2\n5 12345678901234567890\n6 4\n", 3, "weights, element 2: expected an integer of at most"),
        ("3 7\n6 2\n5 1e200\n6 4\n", 3, "weights, element 2: expected a number of at most 1e+150 in size"),
        ("3 7\n6 2\n5 3 1\n6 4\n", 3, "expected 2 numbers (value, weight), got 3"),
        ("3 7\n6 2\n5\n6 4\n", 3, "expected 2 numbers (value, weight), got 1"),
        ("4 7\n6 2\n5 3\n6 4\n", 4, "expected n and the capacity in line 1 and n items; got '4 7' and 3"),
        ("3 7\n6 2\n5 3\n6 4\n0 1 2\n", 5, "expected n and the capacity in line 1 and n items; got '3 7'"),
        ("2 -7\n6 2\n5 3\n", 1, "capacity: expected a number >= 0, got -7"),
        ("3\n1 6 2\n2 5 3\n", 3, "expected 3 items and a line with the capacity, got 2 lines"),
        ("3\n1 6 2\n2 5 3\n7\n", 4, "expected 3 items and a line with the capacity, got 3 lines"),
        ("2\n1 6 2\n2 5\n7\n", 3, "expected 3 numbers (id, value, weight), got 2"),
        ("2\n1 6 2\n2.5 5 1\n7\n", 3, "names, element 2: expected an integer or a string, got 2.5"),
        ("2\n1 6 2\n2 5 3\n-7\n", 4, "capacity: expected a number >= 0, got -7"),
        ("0\n1 6 2\n7\n", 1, "number of items: expected a positive integer, got '0'"),
        ("s\nn 2\nc 7\n1,6,2,0\n-----\n", 2, "block 's': expected 2 items, got 1"),
        ("s\nn 2\nc 7\n1,6,2,0\n2,5\n", 5, "block 's': expected 2 items as i,value,weight,x, got 2 cells"),
        ("s\nn 1\nc 7\n1,6,2,0\n2,5,3,0\n", 5, "block '2,5,3,0': expected a line 'n NUMBER' below its name"),
        ("s\nn 1\nc -7\n1,6,2,0\n", 3, "capacity: expected a number >= 0, got -7"),
        ("s\nn x\nc 7\n1,6,2,0\n", 2, "n: expected a positive integer, got 'x'"),
        ("1\n5 2 9\n6 5 6 4 3\n", 2, "is a multi-dimensional knapsack of 2 constraints; only one is"),
        ("1\n5 1 9\n6 5 6 4 3\n2 3 4 1 1\n", 2, "expected 5 values, 5 weights and the capacity, got 10"),
        ("1\n5 1 9\n6 5 6 4 3\n2 3 -4 1 1\n7\n", 4, "weights, element 3: expected a number >= 0, got -4"),
        ("2\n5 1 9\n6 5 6 4 3\n2 3 4 1 1\n7\n", 1, "expected 2 instances, got 1"),
        (
            "# capacity = 7\nvalue,weight,copies\n1,2,1\n1,2,1.5\n",
            4,
            "copies, element 2: expected a positive",
        ),
        ("# capacity = 7\nvalue,weight,copies\n1,2,3\n1,-2,2\n", 4, "weights, element 2: expected a number"),
    ],
)
def test_faults_have_lines(text: str, line: int, message: str) -> None:
    """What cannot be read is named with its line and what should be there."""
    with pytest.raises(InputError) as caught:
        instances_of(text)
    assert (caught.value.line, caught.value.message[: len(message)]) == (line, message)
    assert "\n" not in str(caught.value)


def test_a_capacity_from_outside_wins_and_has_no_line() -> None:
    """What the user says replaces what the file says; a fault in it is not the file's."""
    assert only("2 7\n6 2\n5 3\n", capacity=3).capacity == 3
    with pytest.raises(InputError, match=r"^f\.txt: capacity: expected a number, got 'much'$"):
        only("2 7\n6 2\n5 3\n", capacity="much")


@pytest.mark.parametrize(
    ("changes", "field", "index", "message"),
    [
        ({"values": None}, None, None, "values are missing"),
        ({"weights": None}, None, None, "weights are missing"),
        ({"capacity": None}, None, None, "capacity is missing"),
        ({"values": [], "weights": []}, "values", None, "expected at least one item"),
        ({"values": [1, 2]}, "weights", None, "weights: expected 2 as there are"),
        ({"values": 3}, "values", None, "values: expected a list, got 3"),
        ({"weights": ["1"]}, "weights", 0, "weights, element 1: expected a number"),
        ({"weights": [True]}, "weights", 0, "weights, element 1: expected a number"),
        ({"values": [[1]]}, "values", 0, "values, element 1: expected a number"),
        ({"capacity": float("inf")}, "capacity", None, "capacity: expected a finite"),
        ({"capacity": 2**63}, "capacity", None, "capacity: expected an integer of"),
        ({"values": [2**53 + 1, 0.5], "weights": [1, 1]}, "values", 0, "values, element 1: 9007"),
        ({"names": "a"}, "names", None, "names: expected a list"),
        ({"names": [1, 2]}, "names", None, "names: expected 1 of"),
        ({"copies": [1, 2]}, "copies", None, "copies: expected 1 of them, got 2"),
        ({"copies": ["x"]}, "copies", 0, "copies, element 1: expected a number, got 'x'"),
        ({"copies": [0]}, "copies", 0, "copies, element 1: expected a positive integer, got 0"),
        ({"name": [1]}, "name", None, "name: expected a text"),
        ({"best_known": "x"}, "best_known", None, "best_known: exp"),
    ],
)
def test_records_that_make_no_sack(changes: dict[str, Any], field: str, index: int, message: str) -> None:
    """Wrong data name their key and element."""
    with pytest.raises(DataError) as caught:
        KnapsackInstance.from_record({"values": [1], "weights": [1], "capacity": 1} | changes)
    assert (caught.value.field, caught.value.index) == (field, index)
    assert str(caught.value).startswith(message)


def test_equal_names_are_numbered() -> None:
    """Boxes of one name are told apart, in reasonable time however many there are."""
    count = 20_000
    record = {"values": [1] * count, "weights": [1] * count, "capacity": 2, "names": ["box"] * count}
    instance = KnapsackInstance.from_record(record)
    assert instance.to_ids(np.arange(count) < 3) == ["box", "box (2)", "box (3)"]
    assert instance.items.ids[-1] == f"box ({count})"


#: An item with a name, and one whose name is a number.
NAMED = {"values": [1, 10], "weights": [1, 1], "capacity": 2, "names": ["a", 1]}


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        *(
            ([x], f"there is no item {x!r} in the instance")
            for x in ("c", True, None, ["a"], "²", "--1", 1.5)
        ),
        (["9" * 5000], "there is no item '9999"),
        (["a", "a"], "item 'a' occurs twice in the solution"),
    ],
)
def test_ids_that_are_none(ids: list[Any], message: str) -> None:
    """An unknown or repeated id is named, whatever it is."""
    with pytest.raises(DataError) as caught:
        KnapsackInstance.from_record(NAMED).from_ids(ids)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("ids", [["a", 1], ["a", "1"], ["1"]])
def test_ids_as_text_or_number(ids: list[Any]) -> None:
    """A table writes every id as text; both ways find the item."""
    instance = KnapsackInstance.from_record(NAMED)
    assert instance.objective(instance.from_ids(ids)) == (11 if "a" in ids else 10)
