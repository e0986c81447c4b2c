"""TSPLIB files as they are found: the right lengths, or the right line."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nsa_cli.core.errors import InputError, UsageError
from nsa_cli.core.record import Source
from nsa_cli.io.source import decode, read_source
from nsa_cli.problems import find_problem
from nsa_cli.problems.files import read_instances, read_solution
from nsa_cli.problems.tsp.formats.tsplib import read_tour, write, write_tour
from nsa_cli.problems.tsp.forms import is_tour, is_tsplib
from nsa_cli.problems.tsp.instance import TspInstance

TSP = find_problem("tsp")

#: A 6 x 8 rectangle, cities in the order of its corners: 6 + 8 + 6 + 8 = 28; crosswise 10 + 8 + 10 + 8 = 36.
ROWS = "1 0 0\n2 6 0\n3 6 8\n4 0 8\n"
RECTANGLE = f"NAME : r\nTYPE : TSP\nDIMENSION : 4\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n{ROWS}EOF\n"


def instance_of(text: str, suffix: str = ".tsp") -> TspInstance:
    ((problem, instance),) = read_instances(decode(text.encode(), "f.tsp", suffix))
    assert problem.name == "tsp"
    assert isinstance(instance, TspInstance)
    return instance


def length(instance: TspInstance, tour: list[Any] | None = None) -> float:
    ids = list(instance.cities.ids) if tour is None else tour
    return instance.objective(instance.from_ids(ids))


def cities(kind: str, rows: str, count: int) -> TspInstance:
    return instance_of(
        f"TYPE : TSP\nDIMENSION : {count}\nEDGE_WEIGHT_TYPE : {kind}\nNODE_COORD_SECTION\n{rows}EOF\n"
    )


def explicit(shape: str, numbers: str, size: int = 4) -> TspInstance:
    return instance_of(
        f"TYPE : TSP\nDIMENSION : {size}\nEDGE_WEIGHT_TYPE : EXPLICIT\n"
        f"EDGE_WEIGHT_FORMAT : {shape}\nEDGE_WEIGHT_SECTION\n{numbers}\nEOF\n"
    )


# --- the ways to write one file --------------------------------------------------------------------


WAYS = [
    RECTANGLE,
    RECTANGLE.replace(" : ", ":"),
    RECTANGLE.replace(" : ", ": \t "),
    RECTANGLE.replace(" : ", " "),
    RECTANGLE.replace(" : ", " = "),
    RECTANGLE.replace("TSP\n", "TSP   \n"),
    RECTANGLE.replace("TYPE : TSP", "COMMENT : 1:2, see http://x.y/z : w"),
    RECTANGLE.replace("\n", "\r\n"),
    RECTANGLE.replace("\n", "\r"),
    RECTANGLE.replace("\n", "\n\n  \n"),
    RECTANGLE.replace(ROWS, "  1   0\t0 \n\t2 6  0\n3\t\t6 8\n 4 0 8\t\n"),
    RECTANGLE.replace(ROWS, "1 0 0 2 6\n0 3\n\n6 8 4 0 8\n"),
    RECTANGLE.replace("EOF\n", ""),
    RECTANGLE.replace("EOF\n", "EOF"),
    RECTANGLE.replace("\nEOF\n", ""),
    RECTANGLE + "and what follows is not read\n",
    RECTANGLE.replace("NODE_COORD_SECTION", "NODE_COORD_SECTION:"),
    RECTANGLE.replace("NODE_COORD_SECTION", "NODE_COORD_SECTION :"),
    RECTANGLE.replace("NODE_COORD_SECTION\n", "NODE_COORD_SECTION "),
    RECTANGLE.lower().replace("euc_2d", "Euc_2d"),
    f"DIMENSION:4\nNODE_COORD_SECTION\n{ROWS}EDGE_WEIGHT_TYPE:EUC_2D\nTYPE:TSP\nNAME:r\n",
    f"NODE_COORD_SECTION\n{ROWS}DIMENSION : 4\nEDGE_WEIGHT_TYPE : EUC_2D\n",
    RECTANGLE.replace("TYPE : TSP", "TYPE : TSP (M.~Somebody)"),
    RECTANGLE.replace("TYPE : TSP", "# TYPE : CVRP"),
    RECTANGLE.replace("EOF", "FIXED_EDGES_SECTION\n-1\nEOF"),
    RECTANGLE.replace("EOF", "DISPLAY_DATA_SECTION\n1 9 9\n2 9 9\n3 9 9\n4 9 9\nEOF"),
    RECTANGLE.replace("6 8", "6.0 0.8e+01"),
    "\ufeff" + RECTANGLE,
]


@pytest.mark.parametrize("text", WAYS, ids=range(len(WAYS)))
def test_one_file_in_many_ways(text: str) -> None:
    """Colons, blanks, line ends, order, case and the end of the file change nothing."""
    assert length(instance_of(text)) == 28
    assert length(instance_of(text), [1, 3, 2, 4]) == 36


def test_what_the_text_keys_hold() -> None:
    """Names and comments keep their colons; comments keep their lines."""
    text = RECTANGLE.replace("NAME : r", "NAME : a:b = c\nCOMMENT :: x\nCOMMENT : y")
    instance = instance_of(text)
    assert (instance.name, instance.comment) == ("a:b = c", ": x\ny")


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        (RECTANGLE, True),
        ("COMMENT: x\n", True),
        ("NODE_COORD_SECTION\n1 2 3\n", True),
        ("dimension 5\n", True),
        ("name,weight\na,3\n", False),
        ("dimension,weight\n1,3\n", False),
        ("4 10\nNAME : x\n", False),
        ("just a text\n", False),
    ],
)
def test_recognised_by_its_keywords(text: str, yes: bool) -> None:
    """A keyword at the start of a line makes a TSPLIB file; a table's header does not."""
    assert is_tsplib(Source("f", "", text)) is yes


# --- lengths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "rows", "expected"),
    [
        ("EUC_2D", "1 1.5e3 0\n2 1.50300E+03 4.0e0\n3 1.5D3 4\n", 12),  # 5 + 3 + 4
        ("GEO", "1 10.30 5\n2 12.00 5\n3 10.30 5\n", 335),  # 167, 167, and 1 between equal places
        ("EXACT_2D", "1 0 0\n2 0.3 0\n3 0.3 0.4\n", 1.2),  # 0.3 + 0.4 + 0.5
    ],
)
def test_types_of_edges(kind: str, rows: str, expected: float) -> None:
    """Numbers in any notation, rounded edge by edge."""
    assert length(cities(kind, rows, 3)) == pytest.approx(expected, rel=1e-15)
    assert isinstance(length(cities(kind, rows, 3)), float if kind == "EXACT_2D" else int)


@pytest.mark.parametrize(
    ("rows", "remarks"),
    [
        ("1 0 0\n2 0.3 0\n3 0 0.3\n", 1),  # the diagonal, 0.42, rounds to 0
        ("1 0 0\n2 0.45 0.45\n3 0 0\n", 0),  # one edge of 0.64 does not
        ("1 0 0\n2 0.4 0\n3 0 0.4\n", 0),  # nor does 0.57 across, though both axes do
        ("1 0 0\n2 5 0\n3 0 5\n", 0),
    ],
)
def test_a_remark_if_every_edge_rounds_to_nothing(rows: str, remarks: int) -> None:
    """Unit-square coordinates under EUC_2D are legal, but hardly meant."""
    assert len(cities("EUC_2D", rows, 3).remarks()) == remarks


#: 1-2: 3, 1-3: 8, 1-4: 5, 2-3: 7, 2-4: 4, 3-4: 6; on the diagonal what a file may hold there.
MATRIX = [[0, 3, 8, 5], [3, 0, 7, 4], [8, 7, 0, 6], [5, 4, 6, 0]]

STREAMS = {
    "FULL_MATRIX": "9999 3 8 5  3 0 7 4  8 7 100000000 6  5 4 6 -1",
    "UPPER_ROW": "3 8 5  7 4  6",
    "LOWER_ROW": "3  8 7  5 4 6",
    "UPPER_DIAG_ROW": "0 3 8 5  9999 7 4  0 6  0",
    "LOWER_DIAG_ROW": "0  3 9999  8 7 0  5 4 6 0",
    "UPPER_COL": "3  8 7  5 4 6",
    "LOWER_COL": "3 8 5  7 4  6",
    "UPPER_DIAG_COL": "0  3 9999  8 7 0  5 4 6 0",
    "LOWER_DIAG_COL": "0 3 8 5  9999 7 4  0 6  0",
}


@pytest.mark.parametrize("shape", STREAMS)
@pytest.mark.parametrize("width", [1, 2, 3, 5, 100])
def test_shapes_of_matrices(shape: str, width: int) -> None:
    """All nine formats give one matrix, wherever their lines break."""
    tokens = STREAMS[shape].split()
    lines = [" ".join(tokens[i : i + width]) for i in range(0, len(tokens), width)]
    instance = explicit(shape, "\n\n ".join(lines))
    assert instance.record()["matrix"] == MATRIX
    assert length(instance) == 3 + 7 + 6 + 5
    assert length(instance, [1, 3, 2, 4]) == 8 + 7 + 4 + 5


def test_decimals_and_long_integers_in_a_matrix() -> None:
    """Integers stay exact, decimals stay decimals."""
    assert length(explicit("UPPER_ROW", "0.1 0.2 0.3", 3)) == pytest.approx(0.6)
    assert length(explicit("UPPER_ROW", "9007199254740993 1 1", 3)) == 9007199254740995


def test_a_section_with_a_colon_and_data_before_the_specification() -> None:
    """A matrix may come first, under a header with a colon."""
    text = "EDGE_WEIGHT_SECTION:\n3 8 5 7\n4 6\nTYPE: TSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EXPLICIT\n"
    assert length(instance_of(text + "EDGE_WEIGHT_FORMAT: UPPER_ROW\n")) == 21


def test_places_to_draw_do_not_count() -> None:
    """Display coordinates are kept, and never enter a length."""
    text = (
        "DIMENSION : 3\nEDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : UPPER_ROW\n"
        "EDGE_WEIGHT_SECTION\n1 2 3\nDISPLAY_DATA_TYPE : TWOD_DISPLAY\n"
        "DISPLAY_DATA_SECTION\n1 0 0\n2 50.5 0\n3 0 50\nEOF\n"
    )
    instance = instance_of(text)
    assert length(instance) == 6
    assert instance.record()["display"] == [[0.0, 0.0], [50.5, 0.0], [0.0, 50.0]]


# --- cities ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "expected"), [("1 3 4\n", 0), ("1 0 0\n2 3 4\n", 10)])
def test_one_and_two_cities(rows: str, expected: int) -> None:
    """A tour of one city has no length, of two the edge there and back."""
    assert length(cities("EUC_2D", rows, rows.count("\n"))) == expected


@pytest.mark.parametrize(
    ("shape", "numbers"), [("FULL_MATRIX", "7"), ("UPPER_ROW", ""), ("LOWER_DIAG_ROW", "9")]
)
def test_a_matrix_of_one_city(shape: str, numbers: str) -> None:
    """The smallest matrix is a diagonal, or nothing."""
    assert length(explicit(shape, numbers, 1)) == 0


@pytest.mark.parametrize("ids", [[0, 1, 2, 3], [4, 3, 2, 1], [10, 200, 3000, 7]])
def test_the_ids_are_those_of_the_file(ids: list[int]) -> None:
    """Ids from 0, in any order or with gaps come back in the tour."""
    rows = "".join(f"{i} {xy}\n" for i, xy in zip(ids, ["0 0", "6 0", "6 8", "0 8"], strict=True))
    instance = cities("EUC_2D", rows, 4)
    assert length(instance, ids) == 28
    assert instance.to_ids(np.array([2, 0, 1, 3])) == [ids[2], ids[0], ids[1], ids[3]]


# --- refused ---------------------------------------------------------------------------------------


def swap(old: str, new: str) -> str:
    assert old in RECTANGLE
    return RECTANGLE.replace(old, new)


FULL = (
    "TYPE : TSP\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : EXPLICIT\n"
    "EDGE_WEIGHT_FORMAT : FULL_MATRIX\nEDGE_WEIGHT_SECTION\n"
)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (swap("EDGE_WEIGHT_TYPE : EUC_2D\n", ""), 1, "EDGE_WEIGHT_TYPE is missing"),
        (swap("DIMENSION : 4\n", ""), 1, "DIMENSION is missing"),
        (swap("DIMENSION : 4", "DIMENSION : 5"), 9, "DIMENSION is 5, but NODE_COORD_SECTION has 4 cities"),
        (swap("DIMENSION : 4", "DIMENSION : 3"), 9, "DIMENSION is 3, but NODE_COORD_SECTION has 4 cities"),
        (swap("DIMENSION : 4", "DIMENSION : four"), 3, "DIMENSION: expected a positive integer, got 'four'"),
        (swap("DIMENSION : 4", "DIMENSION : 0"), 3, "DIMENSION: expected a positive integer, got '0'"),
        (swap("DIMENSION : 4", "DIMENSION : 4\nDIMENSION : 5"), 4, "DIMENSION is given twice: '4' in line 3"),
        (swap("TYPE : TSP", "TYPE : ATSP"), 2, "TYPE 'ATSP' is not supported with EUC_2D, which is"),
        (
            swap("TYPE : TSP", "TYPE : CVRP"),
            2,
            "TYPE 'CVRP' is not supported; expected TSP, ATSP, HPP; PyVRP",
        ),
        (swap("TYPE : TSP", "TYPE : TOUR"), 2, "expected an instance, got a tour"),
        (swap("EUC_2D", "XRAY1"), 4, "EDGE_WEIGHT_TYPE 'XRAY1' is not supported; there are EXPLICIT, EUC_2D"),
        (swap("EUC_2D", "EXPLICIT"), 4, "EDGE_WEIGHT_FORMAT is missing"),
        (swap("EUC_2D", "EUC_3D"), 6, "expected an id and 3 coordinates for EUC_3D, got 3 numbers"),
        (swap("3 6 8", "3 6"), 8, "expected an id and 2 coordinates for EUC_2D, got 2 numbers"),
        (swap("3 6 8", "3 6 x"), 8, "NODE_COORD_SECTION: expected a number, got 'x'"),
        (swap("3 6 8", "3 6 nan"), 8, "NODE_COORD_SECTION: expected a number, got 'nan'"),
        (swap("3 6 8", "3 6 1e400"), 8, "NODE_COORD_SECTION: expected a number, got '1e400'"),
        (swap("3 6 8", "3 6 -1e200"), 8, "coords, element 3: expected a number of at most 1e+150 in size"),
        (swap("3 6 8", "3 6 12345678901234567890"), 8, "coords, element 3: expected an integer of at most"),
        (swap("3 6 8", "3.5 6 8"), 8, "NODE_COORD_SECTION: expected an integer of at least 0 as the city's"),
        (swap("3 6 8", "-3 6 8"), 8, "NODE_COORD_SECTION: expected an integer of at least 0 as the city's"),
        (swap("3 6 8", "2 6 8"), 8, "ids, element 3: city 2 occurs twice"),
        (swap("3 6 8", "three 6 8"), 8, "expected a number or a TSPLIB keyword, got 'three 6 8'"),
        (swap("NODE_COORD_SECTION\n", ""), 5, "expected a TSPLIB keyword, got '1 0 0'"),
        (swap("NAME : r", "NAMEE : r"), 1, "there is no TSPLIB keyword 'NAMEE'; the nearest is NAME"),
        (swap("EOF", "FIXED_EDGES_SECTION\n1 3 2\n-1\nEOF"), 11, "FIXED_EDGES_SECTION: expected pairs of"),
        (swap("EOF", "DEMAND_SECTION\n1 3\nEOF"), 10, "DEMAND_SECTION is not supported"),
        (swap("EOF", "NODE_COORD_SECTION\nEOF"), 10, "NODE_COORD_SECTION occurs twice"),
        (swap(f"NODE_COORD_SECTION\n{ROWS}", ""), 4, "NODE_COORD_SECTION is missing"),
        (FULL + "0 1 2\n1 0 3\n2 4 0\n", 7, "matrix is not symmetric: entry (2, 3) is 3, entry (3, 2) is 4"),
        (FULL + "0 1 2\n1 0 3\n2 3\n", 8, "FULL_MATRIX of DIMENSION 3 has 9 numbers, got 8"),
        (FULL + "0 1 2\n1 0 3\n2 3 0 5\n", 8, "FULL_MATRIX of DIMENSION 3 has 9 numbers, got 10"),
        (FULL + "0 1 2\n1 0 3\n2 3 x\n", 8, "EDGE_WEIGHT_SECTION: expected a number, got 'x'"),
        (FULL + "0 1 2\n1 0 1e999\n2 3 0\n", 7, "EDGE_WEIGHT_SECTION: expected a number, got '1e999'"),
        (FULL + "0 1 2\n1 0 12345678901234567890\n2 3 0\n", 7, "matrix is not symmetric: entry (2, 3) is no"),
        (FULL + "0 9007199254740993 2.5\n3 0 3\n2 3 0\n", 6, "matrix, element 1: 9007199254740993 has too"),
        (FULL.replace("FULL_MATRIX", "FUNCTION"), 4, "EDGE_WEIGHT_FORMAT 'FUNCTION' is not supported; there"),
        (FULL.replace("EDGE_WEIGHT_SECTION\n", ""), 3, "EDGE_WEIGHT_SECTION is missing"),
        (FULL.replace(": 3", ": 999999999"), 5, "FULL_MATRIX of DIMENSION 999999999 has 999999998000000001"),
    ],
)
def test_refused_by_name_and_line(text: str, line: int, message: str) -> None:
    """What would change the answer, or cannot be read, is named in its own line."""
    with pytest.raises(InputError) as caught:
        instance_of(text)
    assert (caught.value.line, caught.value.message[: len(message)]) == (line, message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("gap", [" ", "\t", ":", " :"])
def test_long_lines_take_no_time(gap: str) -> None:
    """A keyword's line is read in linear time."""
    begin = time.perf_counter()
    with pytest.raises(InputError):
        instance_of("NAME : a" + gap * 200_000 + "b\n")
    assert time.perf_counter() - begin < 2.0


# --- writing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        {"coords": [[0.1, 0.2], [1 / 3, 0.1 + 0.2], [1e-9, 5e-324]]},
        {"coords": [[1116.3, 1555.2], [9007199254740993, 2], [3, 4]][::2], "edge_weight_type": "EUC_2D"},
        {"coords": [[1, 2, 3], [4, 5, 6.5]], "edge_weight_type": "EUC_3D", "name": "x", "ids": [0, 7]},
        {"coords": [[48.51, 2.21], [-0.07, 51.3]], "edge_weight_type": "GEO", "comment": "a : b\n\nc"},
        {"matrix": [[0, 3], [3, 0]], "name": "two words", "comment": ""},
        {"matrix": [[0, 0.1], [0.1, 0]], "display": [[0, 0.5], [1, 2]]},
        {"matrix": [[0, 2**62], [2**62, 0]]},
    ],
)
def test_what_is_written_reads_back(record: dict[str, Any]) -> None:
    """No digit, id or comment is lost on the way through a file."""
    instance = TspInstance.from_record(record)
    assert instance_of(write(instance)).record() == instance.record()


def test_a_comment_cannot_break_out_of_its_line() -> None:
    """Line breaks of every kind in a comment stay comments, in a name are shown as escapes."""
    record = {"coords": [[0, 0], [3, 4]], "comment": "a\rDIMENSION : 9\r\nEOF", "name": "n\nEOF"}
    instance = instance_of(write(TspInstance.from_record(record)))
    assert (instance.comment, instance.name, instance.size) == ("a\nDIMENSION : 9\nEOF", "n\\nEOF", 2)


@pytest.mark.parametrize(
    "record",
    [
        {"coords": [[0, 0], [1, 1]], "ids": ["a", "b"]},
        {"coords": [[0, 0], [1, 1]], "ids": [-1, 3]},
        {"matrix": [[0, 1], [1, 0]], "ids": [5, 6]},
    ],
)
def test_ids_that_tsplib_cannot_hold(record: dict[str, Any]) -> None:
    """Ids that would be lost or misread are refused, not dropped."""
    with pytest.raises(UsageError, match="these have other ids; write json instead"):
        write(TspInstance.from_record(record))


# --- tours -----------------------------------------------------------------------------------------

TOUR = "NAME : r.tour\nCOMMENT : Length = 28\nTYPE : TOUR\nDIMENSION : 4\nTOUR_SECTION\n1\n2\n3\n4\n-1\nEOF\n"


@pytest.mark.parametrize(
    "text",
    [
        TOUR,
        TOUR.replace("1\n2\n3\n4\n", "1 2 3\n4 "),
        TOUR.replace("-1\n", "-1\n-1\n"),
        TOUR.replace("-1\nEOF\n", ""),
        TOUR.replace("\n-1\nEOF\n", " -1 EOF"),
        TOUR.replace("DIMENSION : 4\n", ""),
        TOUR.replace("\n", "\r\n"),
        "TOUR_SECTION\n1 2 3 4 -1\n",
        "TYPE:TOUR\nTOUR_SECTION:\n 1\t2\n\n3 4",
    ],
)
def test_tours_in_many_ways(text: str) -> None:
    """Ids may stand any number a line, and end with one -1, two, or none."""
    source = decode(text.encode(), "r.tour", ".tour")
    assert is_tour(source)
    assert read_tour(source) == [1, 2, 3, 4]
    instance = instance_of(RECTANGLE)
    assert instance.objective(read_solution(source, TSP, instance)) == 28


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TOUR.replace("3\n4\n", "3\n"), "r.tour:5: DIMENSION is 4, but TOUR_SECTION has 3 cities"),
        (TOUR.replace("4\n-1", "9\n-1"), "r.tour: there is no city 9 in the instance, which has 1 to 4"),
        (TOUR.replace("4\n-1", "3\n-1"), "r.tour: city 3 occurs twice in the solution"),
        (TOUR.replace("4\n-1", "x\n-1"), "r.tour:9: expected a number or a TSPLIB keyword, got 'x'"),
        (TOUR.replace("4\n-1", "4.5\n-1"), "r.tour:9: TOUR_SECTION: expected a city's id, got '4.5'"),
        (TOUR.replace(": 4\n", ": 3\n").replace("3\n4\n", "3\n"), "r.tour: city 4 is not in the tour"),
        (TOUR.replace("TOUR_SECTION\n1\n2\n3\n4\n-1\n", ""), "r.tour: TOUR_SECTION is missing"),
        (RECTANGLE, "r.tour: TOUR_SECTION is missing"),
    ],
)
def test_tours_refused(text: str, message: str) -> None:
    """A tour of other cities, or of too many or too few, names the city or the numbers."""
    with pytest.raises(InputError) as caught:
        read_solution(decode(text.encode(), "r.tour", ".tour"), TSP, instance_of(RECTANGLE))
    assert str(caught.value) == message


@pytest.mark.parametrize("ids", [[1, 2, 3, 4], [0, 1, 2, 3], [10, 20, 30, 5]])
def test_a_written_tour_reads_back(ids: list[int]) -> None:
    """A tour is written with the file's ids and its length."""
    rows = "".join(f"{i} {xy}\n" for i, xy in zip(ids, ["0 0", "6 0", "6 8", "0 8"], strict=True))
    instance, tour = cities("EUC_2D", rows, 4), np.array([2, 0, 3, 1])
    text = write_tour(instance, tour)
    source = decode(text.encode(), "r.tour", ".tour")
    # 3 to 1 is 10, 1 to 4 is 8, 4 to 2 is 10, 2 to 3 is 8
    assert "COMMENT : Length = 36\n" in text
    assert read_solution(source, TSP, instance).tolist() == tour.tolist()


# --- the library itself ----------------------------------------------------------------------------


@pytest.fixture
def library(shared: Path) -> Path:
    folder = shared / "data" / "tsplib"
    if not folder.is_dir():
        pytest.skip("needs a copy of TSPLIB beside the checkout")
    return folder


def best_known(folder: Path) -> dict[str, int]:
    lines = (folder / "best-known.txt").read_text().splitlines()
    return {
        name.strip(): int(value.split()[0])
        for name, value in (line.split(":") for line in lines if ":" in line)
    }


def test_optimal_tours_have_their_published_lengths(library: Path) -> None:
    """Every optimal tour of TSPLIB is as long as TSPLIB says, to the unit."""
    known, checked = best_known(library), {}
    for path in sorted(library.glob("*.opt.tour")):
        name = path.name.removesuffix(".opt.tour")
        ((_, instance),) = read_instances(read_source(library / f"{name}.tsp"))
        checked[name] = instance.objective(read_solution(read_source(path), TSP, instance))
    assert checked == {name: known[name] for name in checked}
    assert len(checked) > 20


def test_every_file_survives_writing(library: Path) -> None:
    """What is written of a TSPLIB file reads back as the same record."""
    for path in sorted(library.glob("*.tsp")):
        ((_, instance),) = read_instances(read_source(path))
        assert instance_of(write(instance)).record() == instance.record(), path.name


def test_a_large_file_is_read_quickly(library: Path) -> None:
    """85,900 cities are read in less than two seconds of processor time."""
    begin = time.process_time()
    ((_, instance),) = read_instances(read_source(library / "pla85900.tsp"))
    assert time.process_time() - begin < 2.0
    assert instance.size == 85900
