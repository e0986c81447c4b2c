"""Printed lengths against an evaluator that shares no code with the program."""

import math

import pytest

SIX = ["berlin52", "att48", "gr17", "ulysses16", "dsj1000ceil", "si175"]


def tokens_after(text, word):
    """Give the numbers of a section."""
    numbers = []
    for token in text.split(word)[1].split():
        try:
            numbers.append(float(token))
        except ValueError:
            break
    return numbers


def evaluate(text, tour):
    """Measure a tour from the file's text, by the formulas of the TSPLIB documentation."""
    kind = next(line.split(":")[1].strip() for line in text.splitlines() if "EDGE_WEIGHT_TYPE" in line)
    if kind == "EXPLICIT":
        distance = explicit(text)
    else:
        flat = tokens_after(text, "NODE_COORD_SECTION")
        place = {int(flat[k]): (flat[k + 1], flat[k + 2]) for k in range(0, len(flat), 3)}
        distance = lambda a, b: FORMULAS[kind](place[a], place[b])  # noqa: E731
    return sum(distance(a, b) for a, b in zip(tour, tour[1:] + tour[:1], strict=True))


def explicit(text):
    """Read the two triangular formats that the six use."""
    form = next(line.split(":")[1].strip() for line in text.splitlines() if "EDGE_WEIGHT_FORMAT" in line)
    n = next(int(line.split(":")[1]) for line in text.splitlines() if "DIMENSION" in line)
    numbers = iter(tokens_after(text, "EDGE_WEIGHT_SECTION"))
    length = {}
    for i in range(1, n + 1):
        for j in range(1, i + 1) if form == "LOWER_DIAG_ROW" else range(i, n + 1):
            length[i, j] = length[j, i] = int(next(numbers))
    assert form in ("LOWER_DIAG_ROW", "UPPER_DIAG_ROW")
    return lambda a, b: length[a, b]


def euclid(a, b):
    return math.hypot(a[0] - b[0], a[1] - b[1])


def att(a, b):
    real = math.sqrt(((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) / 10.0)
    rounded = int(real + 0.5)
    return rounded + 1 if rounded < real else rounded


def radians(x):
    degrees = int(x)
    return 3.141592 * (degrees + 5.0 * (x - degrees) / 3.0) / 180.0


def geo(a, b):
    (lat_a, lon_a), (lat_b, lon_b) = (tuple(map(radians, p)) for p in (a, b))
    q1, q2, q3 = math.cos(lon_a - lon_b), math.cos(lat_a - lat_b), math.cos(lat_a + lat_b)
    return int(6378.388 * math.acos(0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)) + 1.0)


FORMULAS = {
    "EUC_2D": lambda a, b: int(euclid(a, b) + 0.5),
    "CEIL_2D": lambda a, b: math.ceil(euclid(a, b)),
    "ATT": att,
    "GEO": geo,
}


@pytest.mark.parametrize("name", SIX)
@pytest.mark.parametrize("init", ["greedy", "random"])
def test_the_printed_length_is_the_length_of_the_printed_tour(nsa, shared, name, init):
    """Every city once, the length to the last digit; and not shorter than the optimum."""
    path = shared / "data" / "tsplib" / f"{name}.tsp"
    result = nsa("solve", path, "--steps", "400", "--init", init, "--seed", 1).json
    tour = result["solution"]
    assert sorted(tour) == list(range(1, result["n"] + 1))
    assert evaluate(path.read_text(), tour) == result["objective"]
    best = (shared / "data" / "tsplib" / "best-known.txt").read_text()
    optimum = next(int(s.split(":")[1]) for s in best.splitlines() if s.split(":")[0].strip() == name)
    assert result["objective"] >= optimum
