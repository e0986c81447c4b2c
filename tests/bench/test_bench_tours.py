"""The benchmark of tours: its families of instances, its runs and its table."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import contestants  # noqa: E402
import families  # noqa: E402
import tours  # noqa: E402

SIZE = 300


def member(name, size=SIZE, number=1):
    (family,) = (f for f in families.FAMILIES if f.name == name)
    return families.member(family, size, number)


@pytest.fixture(params=families.FAMILIES, ids=lambda family: family.name)
def made(request):
    return families.member(request.param, SIZE, 1)


def test_an_instance_is_of_its_size_and_always_the_same(made):
    again, other = (families.member(made.family, SIZE, number) for number in (1, 2))
    data, same, different = (
        m.instance.coords if m.instance.matrix is None else m.instance.matrix for m in (made, again, other)
    )
    assert abs(made.instance.size - SIZE) <= 0.05 * SIZE
    assert np.array_equal(data, same)
    without_chance = made.family.name in ("lattice-square", "lattice-hexagonal")
    assert np.array_equal(data, different) == without_chance


def test_whole_lengths_fit_16_bits(made):
    lengths = made.instance.edges(*np.triu_indices(made.instance.size, 1))
    assert lengths.max() < 2**16
    assert lengths.min() >= 0


def test_halves_share_groups_and_nothing_else():
    names = {
        part: [f.name for f in families.FAMILIES if f.part == part] for part in ("choosing", "reporting")
    }
    groups = {part: {f.group for f in families.FAMILIES if f.part == part} for part in names}
    assert groups["choosing"] == groups["reporting"]
    assert len(names["choosing"]) == len(names["reporting"])
    assert len({f.name for f in families.FAMILIES}) == len(families.FAMILIES)


@pytest.mark.parametrize(
    ("name", "closed"), [("roads", True), ("network", True), ("random", False), ("tied", False)]
)
def test_matrices_with_and_without_the_triangle_inequality(name, closed):
    matrix = member(f"matrix-{name}").instance.matrix
    assert np.array_equal(matrix, matrix.T)
    by_way_of = np.min(matrix[:, :, None] + matrix[None], axis=1)
    assert np.all(by_way_of >= matrix) == closed


def test_the_optimum_of_a_lattice_is_a_tour():
    made = member("lattice-square")
    rows, columns = families._sides(SIZE)
    cities = np.arange(rows * columns).reshape(rows, columns)
    snake = [*cities[0], *(row for k in range(1, rows) for row in cities[k, 1:][:: (-1) ** k])]
    tour = np.array([*snake, *cities[1:, 0][::-1]])
    assert made.instance.objective(tour) == made.optimum
    lengths = made.instance.edges(*np.triu_indices(made.instance.size, 1))
    assert lengths.min() * made.instance.size == made.optimum  # no tour is shorter


class Fake:
    """Answers with a given tour, and counts."""

    def __init__(self, name, tour):
        self.name, self.version, self.tour, self.jobs = name, "1", tour, []

    def run(self, file, seconds, seed):
        self.jobs.append((file, seconds, seed))
        return contestants.Answer(self.tour, seconds, seconds, "note")


@pytest.fixture
def cases(tmp_path):
    made = [member("lattice-square", 16, number) for number in (1, 2)]
    return [
        tours.Case(f"{m.name}", "lattice-square", "lattices", m.instance, tmp_path / m.name, m.optimum)
        for m in made
    ]


def test_an_interrupted_measurement_goes_on(cases, tmp_path):
    path, plan = tmp_path / "runs.csv", [(1.0, 1), (1.0, 2)]
    first, again = Fake("now", list(range(16))), Fake("now", list(range(16)))
    tours.measure(cases, [first], tours.runs_of(path), plan)
    assert len(first.jobs) == 4
    path.write_text(path.read_text()[:-25])  # in the middle of a row
    tours.measure(cases, [again], tours.runs_of(path), plan)
    assert len(again.jobs) == 1
    assert len(tours.runs_of(path).all) == 4


def test_gaps_intervals_and_wrong_tours(cases, tmp_path, capsys):
    """The tour goes along each row from the left."""
    rows = Fake("now", list(range(16)))
    wrong = Fake("fast-tsp", [*range(15), 14])
    runs = tours.runs_of(tmp_path / "runs.csv")
    tours.measure(cases, [rows, wrong], runs, [(1.0, 1)])
    base, about = tours.bases(cases, runs, {})
    table = tours.Table(cases, [rows, wrong], runs, (1.0,), 1, base)
    unit = cases[0].optimum / 16
    gap = 100 * (cases[0].instance.objective(np.arange(16)) / (16 * unit) - 1)
    table.show()
    lines = capsys.readouterr().out.splitlines()
    assert f"| lattice-square | 2 | {gap:.3f} ± 0.000 ({gap:.2f}) |  |" in lines
    assert "to the optimum (2 instances)" in about
    assert any("fast-tsp failed: city 16 is not in the tour" in line for line in table.seconds())


def test_references_are_beaten_by_shorter_tours(cases, tmp_path):
    unknown = [case._replace(optimum=None) for case in cases]
    runs = tours.runs_of(tmp_path / "runs.csv")
    tours.measure(unknown, [Fake("now", list(range(16)))], runs, [(1.0, 1)])
    length = cases[0].instance.objective(np.arange(16))
    base, about = tours.bases(unknown, runs, {unknown[0].name: length - 1, unknown[1].name: length + 1})
    assert base == {unknown[0].name: length - 1, unknown[1].name: length}
    assert "(2, of which 1 shorter)" in about


def test_limits_by_processor_time(tmp_path):
    """Of a run in a process of its own; the instance is not solved to optimality by then."""
    made = member("uniform", 1_000)
    file = tmp_path / "it.json"
    file.write_text(tours.json.dumps(made.instance.record()))
    (ours, *_), _ = contestants.contestants(None)
    try:
        answer = ours.run(file, 0.3, 1)
    finally:
        ours.close()
    assert made.instance.violation(np.array(answer.tour)) is None
    assert 0.2 < answer.cpu < 0.5
