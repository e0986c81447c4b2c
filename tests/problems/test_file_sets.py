"""Instances in several files, whichever of them is given."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import nsa_cli as nsa
from nsa_cli.api import read_each
from nsa_cli.core.errors import InputError

SACK = {"c": "  10\n", "w": " 6\n 5\n\n 4\n", "p": "3.5\n2\n2.5\n"}
BINS = {"c": "10\n", "w": "6\n5\n5\n4\n"}


def write(folder: Path, parts: dict[str, str], stem: str = "q01") -> dict[str, Path]:
    """Write a set as ``q01_c.txt`` and so on."""
    files = {part: folder / f"{stem}_{part}.txt" for part in parts}
    for part, text in parts.items():
        files[part].write_text(text)
    return files


@pytest.mark.parametrize("part", list(SACK))
def test_any_file_of_a_knapsack_stands_for_all(tmp_path: Path, part: str) -> None:
    """Values are in ``p`` and not in ``w``; the selection in ``s`` gives the best known value."""
    files = write(tmp_path, SACK)
    (task,) = nsa.read(files[part])
    assert (task.problem.name, task.instance.name, task.instance.best_known) == ("knapsack", "q01", None)
    record = task.instance.record()
    assert (record["values"], record["weights"], record["capacity"]) == ([3.5, 2, 2.5], [6, 5, 4], 10)
    write(tmp_path, {"s": "1\n0\n1\n"})
    (task,) = nsa.read(files[part])
    assert task.instance.best_known == 6.0


def test_bins_have_no_values(tmp_path: Path) -> None:
    """Without ``p`` it is bin packing; ``s`` has the bin of each item."""
    files = write(tmp_path, {**BINS, "s": "1\n2\n2\n1\n"})
    (task,) = nsa.read(files["w"])
    assert (task.problem.name, task.instance.best_known) == ("bin", 2)
    assert task.instance.record()["weights"] == [6, 5, 5, 4]
    sack = write(tmp_path, SACK, "q02")
    (task,) = nsa.read(sack["w"], "bin")  # what the user says wins
    assert task.problem.name == "bin"


def test_all_files_of_a_set_are_one_instance(tmp_path: Path) -> None:
    """And two sets are two."""
    files = [*write(tmp_path, SACK).values(), *write(tmp_path, BINS, "q02").values()]
    tasks = read_each([*files, *files])
    assert [task.instance.name for task in tasks if isinstance(task, nsa.Task)] == ["q01", "q02"]


def test_a_lonely_file_is_what_it_seems(tmp_path: Path) -> None:
    """A list of weights that happens to be called so is no part of a set."""
    path = tmp_path / "heavy_w.txt"
    path.write_text("2\n10\n6\n5\n")
    (task,) = nsa.read(path)
    assert task.instance.record()["weights"] == [6, 5]


@pytest.mark.parametrize(
    ("part", "text", "message"),
    [
        ("c", "10\n20\n", r"q01_c\.txt:2: expected one capacity, got 2$"),
        ("w", "6\nx\n4\n", r"q01_w\.txt:2: weight: expected a number, got 'x'$"),
        ("w", "6\n5\n-4\n", r"q01_w\.txt:3: weights, element 3: expected a number >= 0, got -4$"),
        ("p", "1\n\n-2\n3\n", r"q01_p\.txt:3: values, element 2: expected a number >= 0, got -2$"),
        ("p", "1\n2\n", r"q01_p\.txt:2: expected 3 values as .*q01_w\.txt has weights, got 2$"),
        ("c", "-1\n", r"q01_c\.txt:1: capacity: expected a number >= 0, got -1$"),
        ("s", "1\n2\n0\n", r"q01_s\.txt:3: expected 0 or 1 for each of 3 items$"),
        ("p", "", r"q01_p\.txt: is empty; expected an instance or a solution$"),
    ],
)
def test_faults_name_the_file_of_the_set(tmp_path: Path, part: str, text: str, message: str) -> None:
    """The one that has the fault, and its line."""
    files = write(tmp_path, {**SACK, part: text})
    with pytest.raises(InputError, match=message):
        nsa.read(files["c"])


ITEMS = "ID,X,COPIES\n0,6,1\n1,5,2\n2,4,1\n"


def test_items_and_bins_in_tables(tmp_path: Path) -> None:
    """PackingSolver's pair of tables: copies are items, ids are kept."""
    (tmp_path / "small_items.csv").write_text(ITEMS)
    (tmp_path / "small_bins.csv").write_text("ID,X,COST,COPIES\n0,10,-1,-1\n")
    for name in ("small_items.csv", "small_bins.csv"):
        (task,) = nsa.read(tmp_path / name)
        assert (task.problem.name, task.instance.name) == ("bin", "small")
        record = task.instance.record()
        assert (record["weights"], record["capacity"]) == ([6, 5, 5, 4], 10)
        assert task.instance.to_ids(task.problem.start("singletons")(task.instance, None))[2] == ["1 (2)"]


@pytest.mark.parametrize(
    ("items", "bins", "message"),
    [
        (ITEMS, "ID,X\n0,10\n1,20\n", r"bins\.csv: expected one type of bins, got 2"),
        (ITEMS, "ID,X,COPIES\n0,10,3\n", r"bins\.csv:2: COPIES: expected -1 or at least 4, got 3"),
        (ITEMS, "ID,X\n0,5\n", r"items\.csv:2: item 0 does not fit any bin: weight 6 > capacity 5"),
        (ITEMS, "ID,X\n0,-1\n", r"bins\.csv:2: capacity: expected a number >= 0, got -1"),
        (ITEMS, "ID,X,MAXIMUM_WEIGHT\n0,10,7\n", r"bins\.csv:1: column 'MAXIMUM_WEIGHT' is not supported"),
        ("ID,X,COPIES\n0,6,0\n", "ID,X\n0,10\n", r"items\.csv:2: copies, element 1: expected a positive"),
    ],
)
def test_rules_that_an_answer_might_break_are_refused(
    tmp_path: Path, items: str, bins: str, message: str
) -> None:
    """By name, in the file that has them."""
    (tmp_path / "items.csv").write_text(items)
    (tmp_path / "bins.csv").write_text(bins)
    with pytest.raises(InputError, match=message):
        nsa.read(tmp_path / "items.csv")


def test_sets_may_be_compressed(tmp_path: Path) -> None:
    """All files alike."""
    for part, text in SACK.items():
        (tmp_path / f"q_{part}.txt.gz").write_bytes(gzip.compress(text.encode()))
    (task,) = nsa.read(tmp_path / "q_p.txt.gz")
    assert task.instance.record()["values"] == [3.5, 2, 2.5]
