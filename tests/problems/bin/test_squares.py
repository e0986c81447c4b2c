"""The neighbourhood of squared loads: what it calls lower, which moves it has, and where it is refused."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import nsa_cli as nsa
from nsa_cli.core.errors import InputError, UsageError

from helpers import draws_of, random_instances

BIN = nsa.find_problem("bin")
OPERATIONS = BIN.neighbourhood("squares").operations()


def solve(instance, **options):
    """A short run move by move, without a bound."""
    return nsa.solve(nsa.Task(BIN, instance), **{"seed": 1, "steps": "10N", "bound": False, **options})


@st.composite
def packings(draw):
    """An instance of up to twelve items and two feasible packings of it."""
    size = draw(st.integers(1, 12))
    units = draw(st.lists(st.integers(0, 20), min_size=size, max_size=size))
    instance = BIN.from_record({"weights": units, "capacity": 20})
    order = np.array(draw(st.permutations(range(size))))
    packed = BIN.from_record({"weights": [units[i] for i in order], "capacity": 20})
    other = np.empty(size, dtype=np.int64)
    other[order] = BIN.starts["bfd"](packed, draws_of(0))
    return instance, BIN.starts["ffd"](instance, draws_of(0)), other


@settings(max_examples=60, deadline=None)
@given(packings())
def test_fewer_bins_are_lower_and_then_larger_squares(case):
    """Whatever the fills are; and the energy tells the number of bins."""
    instance, *rows = case
    units = instance.exact.units
    rows.append(np.arange(instance.size))
    energies = OPERATIONS.cost(OPERATIONS.pack([instance] * 3), torch.from_numpy(np.stack(rows))).numpy()
    bins = [instance.objective(row) for row in rows]
    loads = [np.bincount(row, units / max(instance.exact.capacity, 1), instance.size) for row in rows]
    squares = [(load**2).sum() for load in loads]
    assert OPERATIONS.objectives(energies).tolist() == bins
    for i in range(3):
        for j in range(3):
            lower = (bins[i], -squares[i]) < (bins[j], -squares[j] - 1e-9)
            assert not lower or energies[i] < energies[j]
    losses = OPERATIONS.losses(energies * 2 * instance.size, instance.size)
    assert losses == pytest.approx(np.array(bins) - np.array(squares), abs=1e-6)


def test_candidates_are_bins_in_use_and_items_of_other_bins_that_fit():
    """Item 0 of 5 lies alone; beside items 1 and 2 there is room for it, and any other may take its place."""
    instance = BIN.from_record({"weights": [4, 5, 1, 7, 8], "capacity": 10})
    batch = OPERATIONS.pack([instance])
    x = torch.tensor([[0, 1, 1, 2, 3]])
    allowed = OPERATIONS.allowed(batch, x, (torch.tensor([0]),))[0]
    assert allowed[:5].nonzero().flatten().tolist() == [1]
    assert allowed[5:].nonzero().flatten().tolist() == [1, 2, 3, 4]
    moved = OPERATIONS.apply(batch, x, (torch.tensor([0]), torch.tensor([8])))
    assert moved.tolist() == [[2, 1, 1, 0, 3]]
    moved = OPERATIONS.apply(batch, x, (torch.tensor([0]), torch.tensor([1])))
    assert moved.tolist() == [[1, 1, 1, 2, 3]]


@pytest.mark.parametrize("backend", ["torch", "numba"])
@pytest.mark.parametrize("policy", ["bin-es-best", "uniform"])
def test_a_start_is_never_lost_and_no_bin_is_opened(policy, backend):
    """From first fit decreasing the answer has as many bins or fewer, at any temperature."""
    for instance in random_instances(BIN, 40, 4):
        first = instance.objective(BIN.starts["ffd"](instance, draws_of(0)))
        options = {"policy": policy, "neighbourhood": "squares", "init": "ffd", "t_start": 2.0, "t_end": 1.0}
        assert solve(instance, backend=backend, **options).objective <= first


def test_squared_fills_lead_further_than_numbers_of_bins():
    """Uniform proposals and as many steps: the neighbourhoods differ, and the better one is the default."""
    instances = random_instances(BIN, 60, 12)
    options = {"policy": "uniform", "init": "singletons", "steps": "100N", "chains": 1}
    paper, squares = (
        sum(solve(i, neighbourhood=name, **options).objective for i in instances)
        for name in ("paper", "squares")
    )
    assert squares < paper - 12
    assert solve(instances[0], method="anneal").policy == "bin-es-best"
    assert solve(instances[0], neighbourhood="paper").policy == "bin-es-bins"


def test_what_is_shown_of_a_run_is_numbers_of_bins():
    """Progress, and goals: stopped at a number of bins, not at what squared fills add to it."""
    (instance,) = random_instances(BIN, 60, 1)
    shown = []
    best = nsa.solve(nsa.Task(BIN, instance), steps=3000, seed=1, on_progress=shown.append, bound=False)
    assert all(progress.best == int(progress.best) for progress in shown)
    assert shown[-1].best == best.objective
    early = solve(instance, steps=3000, init="singletons", target=best.objective + 3)
    assert early.stop_reason == "target"
    assert early.objective <= best.objective + 3


def test_neighbourhoods_that_do_not_go_with_a_policy_or_a_problem_are_refused(tmp_path):
    """Each in one line that says what there is."""
    (instance,) = random_instances(BIN, 20, 1)
    with pytest.raises(UsageError, match="neighbourhood: policy bin-es-best is for squares, got 'paper'"):
        solve(instance, policy="bin-es-best", neighbourhood="paper")
    with pytest.raises(UsageError, match="neighbourhood: there is no 'round'; there are paper and squares"):
        solve(instance, neighbourhood="round")
    from nsa_cli.policy.checkpoint import directories

    shipped = next(d / "bin-es-best.json" for d in directories() if d.is_dir())
    path = tmp_path / "other.json"
    path.write_text(json.dumps({**json.loads(shipped.read_text()), "neighbourhood": "cubes"}))
    with pytest.raises(InputError, match=r"there is no .cubes.; there are paper and squares"):
        solve(instance, policy=str(path))
