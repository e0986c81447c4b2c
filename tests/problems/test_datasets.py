"""Data sets of the learning community: the right instances, or a word about what is wrong."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from nsa_cli.core.errors import InputError
from nsa_cli.io.source import decode
from nsa_cli.problems import find_problem
from nsa_cli.problems.files import read_instances

from helpers import npy, npz

LOCS = np.random.default_rng(0).random((3, 5, 2))


def read(data: bytes, problem: str | None = None, **settings: Any) -> list[tuple[str, Any]]:
    found = read_instances(decode(data, "d/set.x", ""), find_problem(problem) if problem else None, settings)
    return [(owner.name, instance) for owner, instance in found]


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(LOCS.tolist(), pickle.HIGHEST_PROTOCOL),
        pickle.dumps([[tuple(city) for city in cities] for cities in LOCS.tolist()], 2),
        npz(locs=LOCS),
        npz(coords=LOCS),
        npy(LOCS),
    ],
    ids=["lists", "tuples", "npz locs", "npz coords", "npy"],
)
def test_one_set_in_many_forms(data: bytes) -> None:
    """Every city of every instance to the last digit, numbered names, real lengths."""
    found = read(data)
    assert [name for name, _ in found] == ["tsp"] * 3
    assert np.array_equal(np.stack([instance.coords for _, instance in found]), LOCS)
    assert [instance.name for _, instance in found] == ["set-1", "set-2", "set-3"]
    assert found[0][1].edge_weight_type == "EXACT_2D"


def test_single_precision_is_kept_as_it_is() -> None:
    """A float32 is the decimal it stands for, not a shorter one."""
    ((_, instance), *_) = read(npz(locs=LOCS.astype(np.float32)))
    assert np.array_equal(instance.coords, LOCS[0].astype(np.float32).astype(np.float64))


def test_one_instance_and_instances_of_several_sizes() -> None:
    """An array without the further axis; lists of unequal lengths."""
    ((_, one),) = read(npy(LOCS[0]))
    assert (one.size, one.name) == (5, None)
    assert [i.size for _, i in read(pickle.dumps([LOCS[0].tolist(), LOCS[1, :3].tolist()]))] == [5, 3]


def test_several_arrays_make_an_instance() -> None:
    """Values and weights by name; a capacity for all or for each; the best known objectives."""
    values, weights = np.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3) + 1.5
    for capacity in (4.0, np.array([4.0, 4.0]), np.array([[4.0], [4.0]])):
        found = read(npz(values=values, weights=weights, capacity=capacity, best_known=[7, 8]))
        assert [(name, i.capacity, i.best_known) for name, i in found] == [
            ("knapsack", 4.0, 7),
            ("knapsack", 4.0, 8),
        ]
        assert found[1][1].record()["weights"] == [4.5, 5.5, 6.5]
    assert [name for name, _ in read(npz(weights=weights / 10, capacity=1))] == ["bin", "bin"]
    assert read(npz(profits=values, weights=weights), capacity=9)[1][1].record()["values"] == [3, 4, 5]


def test_lists_of_numbers_need_the_problem() -> None:
    """They may be weights of anything."""
    with pytest.raises(InputError, match=r"^d/set\.x: cannot tell the problem: expected named arrays"):
        read(npy(np.array([0.5, 0.25])))
    ((_, instance),) = read(npy(np.array([0.5, 0.25])), "bin")
    assert instance.record()["weights"] == [0.5, 0.25]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npz(locs=LOCS, depot=LOCS[:, 0], demand=LOCS[:, :, 0]), r"'depot' .* is not supported; an answer"),
        (npz(x=LOCS), r"'x' is not understood, .*; tsp understands .*coords, matrix;"),
        (npz(values=[1, 2], capacity=3), r"cannot tell the problem from the keys 'values, capacity';"),
        (npz(values=[[1, 2]], weights=[[1, 2], [3, 4]], capacity=3), r"expected arrays of equally many"),
        (npz(locs=LOCS[None]), r"coords: expected an array of 2 or 3 axes, got 4"),
        (npz(locs=LOCS[:0]), r"expected numbers, got an array of the shape \(0, "),
        (npy(LOCS[:, :, :1]), r"set\.x\[1\]: coords, element 1: expected 2 numbers, got 1"),
        (npy(np.where(LOCS[1, 2, 0] == LOCS, np.nan, LOCS)), r"set\.x\[2\]: coords, element 3: .*finite"),
        (pickle.dumps([([0, 0], [[1, 1]], [1], 2.0)]), r"set\.x\[1\]: coords, element "),
        (pickle.dumps("text"), r"got one without a name, of 0 axes"),
        (pickle.dumps({}), r"from the keys none; expected"),
    ],
)
def test_what_fits_no_problem_is_refused(data: bytes, message: str) -> None:
    """In one line that names the array, or the instance and the element."""
    with pytest.raises(InputError, match=message) as caught:
        read(data)
    assert "\n" not in str(caught.value)
