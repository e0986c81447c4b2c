"""Tours for networks to learn: cities and the tour in one line."""

from __future__ import annotations

import pytest

from nsa_cli.core.errors import InputError
from nsa_cli.io.source import decode
from nsa_cli.problems.files import read_instances

SQUARE = "0.0 0.0 0.3 0.4 0.0 0.4 0.3 0.0 output 1 3 2 4 1"


def test_each_line_is_an_instance_with_its_best_known_tour() -> None:
    """Real lengths; the tour may say its first city again or not; or there is none."""
    text = f"{SQUARE}\n\n{SQUARE.removesuffix(' 1')} \n0 0 1 1 output\n"
    found = read_instances(decode(text.encode(), "f.txt", ".txt"))
    assert [problem.name for problem, _ in found] == ["tsp"] * 3
    assert [i.best_known for _, i in found] == [pytest.approx(1.4), pytest.approx(1.4), None]
    instance = found[0][1]
    assert instance.objective(instance.from_ids([1, 3, 2, 4])) == pytest.approx(instance.best_known)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 0 1 output 1 2", "expected x and y of each city, got 3 numbers"),
        ("0 0 1 1 output 1 1", "expected a tour through the cities 1 to 2, each once"),
        ("0 0 1 1 output 1 3", "expected a tour through the cities 1 to 2, each once"),
        ("0 0 1 1e308 output 1 2", "expected a number of at most 1e+150 in size"),
        (f"0 0 1 {'9' * 400} output 1 2", "expected an integer of at most 64 bits"),
        ("0 0 1 x output 1 2", "coordinate: expected a number, got 'x'"),
        ("0 0 1 1 output 1 b", "city: expected a number, got 'b'"),
        ("0 0 1 1 1 2", "expected cities, the word 'output' and a tour"),
        ("output 1", "expected x and y of each city, got 0 numbers"),
    ],
)
def test_faults_have_lines(line: str, message: str) -> None:
    """What is wrong is named with its line."""
    with pytest.raises(InputError) as caught:
        read_instances(decode(f"{SQUARE}\n{line}\n".encode(), "f", ""))
    assert caught.value.line == 2
    assert message in caught.value.message
