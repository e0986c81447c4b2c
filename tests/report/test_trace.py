"""The annealing curve: what is in it, and how long it gets."""

import csv
import math
from types import SimpleNamespace

import numpy as np
import pytest

from nsa_cli.anneal.chains import Progress
from nsa_cli.report.trace import Row, Trace


def progress(step, accepted, best=-3.0, x=None):
    """A moment of a run of a thousand steps."""
    share = accepted / step if step else 0.0
    return Progress(step, 1000, 0.5, share, best, mean=-1.0, lowest=-2.0, chains=SimpleNamespace(x=x))


def test_acceptance_is_that_since_the_row_before():
    """Not that of the whole run, which a cold end would not show in."""
    trace = Trace("min")
    for step, accepted in ((0, 0), (10, 10), (20, 10), (40, 15)):
        trace(progress(step, accepted))
    rows = trace.rows()
    assert [row.step for row in rows] == [0, 10, 20, 40]
    assert math.isnan(rows[0].acceptance)
    assert [row.acceptance for row in rows[1:]] == pytest.approx([1.0, 0.0, 0.25])


@pytest.mark.parametrize(("sense", "sign"), [("min", 1), ("max", -1)])
def test_energies_are_told_in_the_problems_sense(sense, sign):
    """A knapsack's value is no negative number."""
    trace = Trace(sense)
    trace(progress(0, 0))
    (row,) = trace.rows()
    assert (row.mean, row.current_best, row.best) == (sign * -1.0, sign * -2.0, sign * -3.0)


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 102, 150, 201, 205, 1000, 4321])
def test_a_long_run_has_few_rows_and_keeps_its_ends(count):
    """Rows that are left out take no accepted moves with them."""
    trace = Trace("min", rows=100)
    for step in range(count):
        trace(progress(step, step // 2))
    rows = trace.rows()
    assert rows[0].step == 0
    assert rows[-1].step == count - 1
    assert len(rows) <= 102
    assert len(rows) >= min(count, 50)
    steps = np.array([row.step for row in rows])
    assert (np.diff(steps) > 0).all()
    accepted = sum(row.acceptance * gap for row, gap in zip(rows[1:], np.diff(steps), strict=True))
    assert accepted == pytest.approx((count - 1) // 2, abs=1e-6)


def test_a_curve_is_a_table(tmp_path):
    """What is unknown is empty, and nothing else lies beside the file."""
    trace = Trace("min")
    for step in (0, 7, 20):
        trace(progress(step, step / 2))
    path = tmp_path / "run.csv"
    trace.write(path)
    lines = path.read_text().splitlines()
    assert lines[0] == ",".join(Row._fields)
    assert lines[1].split(",")[3] == ""
    rows = list(csv.DictReader(lines))
    assert [row["step"] for row in rows] == ["0", "7", "20"]
    assert [float(row["acceptance"]) for row in rows[1:]] == [0.5, 0.5]
    assert [p.name for p in tmp_path.iterdir()] == ["run.csv"]


def test_the_way_is_that_of_the_chain_that_found_the_solution():
    """Among all chains, the one that came nearest."""
    trace = Trace("min", follow=True)
    for step in range(5):
        trace(progress(step, 0, x=np.array([[9.0, 9.0], [float(step), 0.0]])))
    way = trace.path(np.array([4.0, 0.0]))
    assert way.tolist() == [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0]]
    assert Trace("min").path(np.array([4.0, 0.0])) is None
