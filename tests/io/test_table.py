"""Tables as spreadsheets and scripts write them."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from nsa_cli.core.errors import InputError
from nsa_cli.core.record import Reading, Source
from nsa_cli.io.table import Signs, format_table, looks_like_table, read_table
from nsa_cli.problems import find_problem
from nsa_cli.problems.tables import table_record


def source(text: str, suffix: str = ".csv", **reading: Any) -> Source:
    return replace(Source("f.csv", suffix, text), reading=Reading(**reading))


def record_of(text: str, suffix: str = ".csv", **reading: Any) -> dict[str, Any]:
    table = read_table(source(text, suffix, **reading))
    record = table_record(table, find_problem("knapsack"))
    return {key: value for key, value in record.data.items() if key != "problem"}


EXPECTED = {"values": [3.5, 2], "weights": [1, 4], "names": ["a", "b c"]}


@pytest.mark.parametrize(
    "text",
    [
        *("value,weight,name\n3.5,1,a\n2,4,b c\n", "name,weight,value\na,1,3.5\nb c,4,2"),
        *("value;weight;name\n3,5;1;a\n2;4;b c\n", "sep=;\nvalue;weight;name\n3,5;1;a\n2;4;b c\n"),
        *("SEP=|\nvalue|weight|name\n3,5|1|a\n2|4|b c\n", "value\tweight\tname\n3.5\t1\ta\n2\t4\tb c\n"),
        ' Value , "Weight (kg)",NAME\n"3.5", 1 ,"a"\n2,4,"b c"\n',
        "Profit [EUR];Size [m];Item\n3,5;1;a\n2;4;b c\n",
        "\n\nvalue,weight,name\n\n3.5,1,a\n,,\n2,4,b c\n\n",
        "value,weight,name,,\n3.5,1,a,,\n2,4,b c,,\n",
        "value,weight,name,note,weight unit\n3.5,1,a,x,kg\n2,4,b c,y,kg\n",
        "# made by hand\nvalue,weight,name\n# half way\n3.5,1,a\n#done\n2,4,b c\n",
        "3.5,1,a\n2,4,b c\n",
        "a,3.5,1\nb c,2,4\n",
        "value weight name\n3.5 1 a\n2 4 b c\n",
        "  name   value  weight\n a  3.5   1 # remark\nb c\t2 4\n",
        '2\nname value weight\na 3,5 1\n"b c" 2 4\n',
        "2\na 3.5 1\nb c 2 4\n",
        "item_name,Value,WEIGHT_KG\na,3.5,1\nb c,2,4\n",
    ],
    ids=[
        *("plain", "other order", "semicolons", "sep", "bars", "tabs", "quotes and units", "other words"),
        *("blank lines", "padded", "harmless columns", "remarks", "no header", "no header, names first"),
        *("blanks", "blanks and remarks", "number of rows", "number of rows, no header", "spelling"),
    ],
)
def test_ways_to_write_one_table(text: str) -> None:
    """All of these say the same."""
    assert record_of(text) == EXPECTED


def test_ids_are_kept_beside_names() -> None:
    """A column of ids counts for solutions of other programs, names for ours."""
    assert record_of("#,value,weight,name\n1,3.5,1,a\n2,2,4,b c\n") == EXPECTED | {"ids": [1, 2]}
    assert record_of("Id,name,value,weight\n7,a,3.5,1\n9,b c,2,4\n") == EXPECTED | {"ids": [7, 9]}


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        *((("2,400", "900"), (2400, 900)), (("2,400.50", "900"), (2400.5, 900))),
        *((("1.000,5", "3"), (1000.5, 3)), (("1,000,000", "5"), (1000000, 5))),
        (("3,5", "10"), (3.5, 10)),
        *((("1.000.000", "5"), (1000000, 5)), (("0,125", "0,250"), (0.125, 0.25))),
        *((("2'400", "900"), (2400, 900)), (("2\u00a0400,5", "900"), (2400.5, 900))),
        *((("1,250", "2.5"), (1250, 2.5)), (("1,5e3", "2"), (1500, 2)), (("-1,5", "+2"), (-1.5, 2))),
        (("1.250", "2.5"), (1.25, 2.5)),
    ],
)
def test_signs_are_found_from_all_cells(cells: tuple[str, str], numbers: tuple[float, float]) -> None:
    """What can be read in one way only is read so."""
    text = "value\tweight\n{}\t1\n{}\t1\n"
    assert record_of(text.format(*cells), ".tsv")["values"] == list(numbers)
    quoted = 'value,weight\n"{}",1\n"{}",1\n'
    assert record_of(quoted.format(*cells))["values"] == list(numbers)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("value;weight\n1,234;2\n2,500;4\n", 2, "'1,234': cannot tell 1234 from 1.234"),
        ("value;weight\n1,234;2\n2500;4\n", 2, "'1,234': cannot tell 1234 from 1.234"),
        ("value;weight\n1.234;2\n900;4\n", 2, "'1.234': cannot tell 1234 from 1.234"),
        ("value;weight\n1.5;2\n2,5;3\n", 3, "'2,5': cannot be read with . as the decimal sign"),
        ("value;weight\n1.500,5;2\n2.5;3\n", 3, "'2.5': cannot be read with , as the decimal sign"),
    ],
)
def test_signs_that_allow_two_readings(text: str, line: int, words: str) -> None:
    """Are refused with the choice, and read as the user says."""
    with pytest.raises(InputError) as caught:
        record_of(text)
    assert (caught.value.line, caught.value.message[: len(words)]) == (line, words)
    if "cannot tell 1234" in words:
        assert set(caught.value.use) == {"decimal"}
        sign = "," if "," in text else "."
        assert record_of(text, decimal="." if sign == "," else ",")["values"][0] == 1234
        assert record_of(text, decimal=sign)["values"][0] == 1.234


def test_thousands_that_were_decided_are_said() -> None:
    """A reading that another program would not make is a remark."""
    table = read_table(source("value\tweight\n2,400\t1\n900\t1\n", ".tsv"))
    assert (table.signs, len(table.remarks)) == (Signs(".", ","), 1)
    assert "2,400 is 2400" in table.remarks[0]


def test_names_that_begin_like_a_remark_are_names() -> None:
    """An item called #1 is not dropped."""
    assert record_of("name,value,weight\n#1,3,4\n#2,5,6\n")["names"] == ["#1", "#2"]


def test_names_are_integers_only_if_all_are() -> None:
    """Ids stay numbers; one name among them, or a leading zero, makes them text."""
    assert record_of("value,weight,id\n1,2,10\n3,4,20\n")["ids"] == [10, 20]
    assert record_of("value,weight,id\n1,2,10\n3,4,x\n")["ids"] == ["10", "x"]
    assert record_of("value,weight,id\n1,2,010\n3,4,20\n")["ids"] == ["010", "20"]


def test_notes_above_the_header() -> None:
    """Lines above the header may give what is not a column; a name stays text."""
    text = "# capacity = 2.5\n# Best_Known: 7\n# name = 007\n# just words\n# made by: us\nvalue,weight\n1,2\n"
    record = table_record(read_table(source(text)), find_problem("knapsack"))
    assert {key: record.data[key] for key in ("capacity", "best_known", "name")} == {
        "capacity": 2.5,
        "best_known": 7,
        "name": "007",
    }
    assert [record.locate(key, None) for key in ("capacity", "best_known", "name")] == [1, 2, 3]


def test_elements_and_notes_have_lines() -> None:
    """Rows are found in their lines, below notes, sep=, blanks and remarks."""
    text = "# capacity = 1\nsep=;\n\nvalue;weight\n1;2\n\n# x\n3;4\n"
    record = table_record(read_table(Source("f", "", text)), find_problem("knapsack"))
    assert [record.locate("weights", 0), record.locate("weights", 1)] == [5, 8]
    assert record.locate("capacity", None) == 1


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("value,weight\n1,2\n3,x\n", 3, "weight: expected a number, got 'x'"),
        ("value,weight\n1,2\n3,\n", 3, "weight: expected a number, got an empty cell"),
        ("value,weight\n1,2\n\n3,4,5\n", 4, "expected 2 cells separated by ',' as in line 1, got 3"),
        ("value,weight\n1\n", 2, "expected 2 cells separated by ',' as in line 1, got 1"),
        ("weight\n0,5\n", 2, "expected 1 cells separated by ',' as in line 1, got 2"),
        ("# a\n\nvalue,weight,profit\n\n1,2,3\n", 3, "'value' and 'profit' mean the same; expected one"),
        ("\nvalue,height\n1,2\n", 2, "'height' is not understood, and an answer may depend on it"),
        (
            "\nvalue,note\n1,2\n",
            2,
            "the headers 'value, note' lack a column that knapsack needs; the columns may be value,weight",
        ),
        ("\nvalue,weight\n", 2, "has a header but no rows"),
        ("5\n6\n", 1, "no header, 1 columns of numbers and 0 of text; knapsack needs value, weight"),
        ("1,2,3,4\n", 1, "no header, 4 columns of numbers and 0 of text; knapsack needs"),
        ("5,1,7\n6,2,9\n", 1, "no header, and columns of numbers, none of which counts the rows"),
        ("value,weight,name\n1,2,a\n3,4,\n", 3, "expected a name, got an empty cell"),
        ("value,weight,name,name\n1,2,a,b\n", 1, "two columns are called 'name'; expected one"),
        ("# only\n# remarks\n", None, "holds no rows; expected a table"),
        ("sep=x\n1x2\n", 1, "sep=: expected ; , | or a tab after it, got "),
        ("sep=\n1,2\n", 1, "sep=: expected ; , | or a tab after it, got "),
        ("value,weight\n1," + "2" * 200_000 + "\n", 2, "not a table: field larger than field limit"),
        ("# capcity = 5\nvalue,weight\n1,2\n", 1, "'capcity' is not understood, and an answer may depend"),
        ("value,weight,\n1,2,3\n", 1, "column 3 has no header"),
        ("3\nvalue weight\n1 2\n", 3, "line 1 says 3 rows, got 1"),
    ],
)
def test_faults_have_lines(text: str, line: int | None, message: str) -> None:
    """A table that cannot be read says what is wrong, and in which line."""
    with pytest.raises(InputError) as caught:
        record_of(text)
    assert (caught.value.line, caught.value.message[: len(message)]) == (line, message)
    assert "\n" not in str(caught.value)


def test_what_the_user_says_of_the_columns() -> None:
    """Words by place, with or without a header in the file; a dash leaves a column out."""
    text = "4,9\n3,30\n4,36\n5,41\n6,50\n"
    with pytest.raises(InputError, match="capacity 9; cannot tell") as caught:
        record_of(text)
    assert caught.value.use == {"columns": "value,weight"}
    expected = {"values": [30, 36, 41, 50], "weights": [3, 4, 5, 6], "capacity": 9}
    assert record_of(text, columns="weight,value") == expected
    assert record_of("a;b;c\n1;2;3\n", columns="-,value,weight") == {"values": [2], "weights": [3]}
    assert record_of("1 2\n3 4\n", "", separator="blank", columns="value,weight")["weights"] == [2, 4]
    with pytest.raises(InputError, match="expected 2 words for the 2 columns, got 3"):
        record_of("1,2\n3,4\n", columns="id,value,weight")
    with pytest.raises(InputError, match=r"'valeu' is not understood.*nearest word is 'values'"):
        record_of("1,2\n3,4\n", columns="valeu,weight")


def test_what_the_user_leaves_out() -> None:
    """A column that is not understood may be left out by name."""
    text = "value,weight,height\n1,2,3\n"
    with pytest.raises(InputError) as caught:
        record_of(text)
    assert caught.value.use == {"ignore": "height"}
    assert record_of(text, ignore="height") == {"values": [1], "weights": [2]}


@pytest.mark.parametrize(
    ("text", "suffix", "yes"),
    [
        *(("1 2\n", ".csv", True), ("sep=;\n", "", True), ("# remark\nx;y\n", "", True)),
        *(("weight\n3\n", "", True), ("x y\n3 4\n", "", True), ("2\na 3 4\nb 1 2\n", "", True)),
        *(("3\n4\n", "", False), ("some words\n", "", False), ("some words\nand some more\n", "", False)),
    ],
)
def test_what_looks_like_a_table(text: str, suffix: str, yes: bool) -> None:
    """A suffix, a separator, a single header word or rows that end in numbers make a table."""
    assert looks_like_table(Source("f", suffix, text)) is yes


def test_a_long_header_takes_no_time() -> None:
    """Cutting units off headers is linear in their length."""
    text = "(" * 100_000 + ")x,value\n1,2\n"
    begin = time.perf_counter()
    with pytest.raises(InputError, match="is not understood"):
        record_of(text)
    assert time.perf_counter() - begin < 1.0


def test_writing_keeps_every_digit_and_quotes() -> None:
    """A written table reads back as it was, one line a note."""
    names = ['say "hi", you', "b;c", "ö"]
    rows = list(zip([0.1 + 0.2, 1e-300, 2**53 + 1], [1 / 3, 5, 0.1], names, strict=True))
    text = format_table(["value", "weight", "name"], rows, {"name": "two\nlines", "capacity": 2 / 3})
    values, weights, _ = (list(column) for column in zip(*rows, strict=True))
    assert record_of(text) == {
        "name": "two lines",
        "capacity": 2 / 3,
        "values": values,
        "weights": weights,
        "names": names,
    }
