"""Tables as spreadsheets and scripts write them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from nsa_cli.core.errors import InputError
from nsa_cli.core.problem import Column
from nsa_cli.core.record import Source
from nsa_cli.io.table import format_table, looks_like_table, matches, read_table, to_record

COLUMNS = (
    Column("values", ("value", "profit")),
    Column("weights", ("weight", "size")),
    Column("names", ("name", "id"), required=False, text=True),
)


def record_of(text: str, suffix: str = ".csv") -> dict[str, Any]:
    return to_record(read_table(Source("f.csv", suffix, text)), COLUMNS, "sack").data


EXPECTED = {"values": [3.5, 2], "weights": [1, 4], "names": ["a", "b c"]}


@pytest.mark.parametrize(
    "text",
    [
        "value,weight,name\n3.5,1,a\n2,4,b c\n",
        "name,weight,value\na,1,3.5\nb c,4,2",
        "value;weight;name\n3,5;1;a\n2;4;b c\n",
        "sep=;\nvalue;weight;name\n3,5;1;a\n2;4;b c\n",
        "SEP=|\nvalue|weight|name\n3,5|1|a\n2|4|b c\n",
        "value\tweight\tname\n3.5\t1\ta\n2\t4\tb c\n",
        ' Value , "Weight (kg)",NAME\n"3.5", 1 ,"a"\n2,4,"b c"\n',
        "Profit [EUR];Size [m];Id\n3,5;1;a\n2;4;b c\n",
        "\n\nvalue,weight,name\n\n3.5,1,a\n,,\n2,4,b c\n\n",
        "value,weight,name,,\n3.5,1,a,,\n2,4,b c,,\n",
        "#,value,weight,name,note\n1,3.5,1,a,x\n2,2,4,b c,y\n",
        "# made by hand\nvalue,weight,name\n# half way\n3.5,1,a\n#done\n2,4,b c\n",
        "id,name,value,weight\n7,a,3.5,1\n9,b c,2,4\n",
        "3.5,1,a\n2,4,b c\n",
        "a,3.5,1\nb c,2,4\n",
    ],
    ids=[
        "plain",
        "other order",
        "semicolons",
        "sep",
        "bars",
        "tabs",
        "quotes and units",
        "aliases",
        "blank lines",
        "padded",
        "unused columns",
        "remarks",
        "id and name",
        "no header",
        "no header, names first",
    ],
)
def test_ways_to_write_one_table(text: str) -> None:
    """All of these say the same."""
    assert record_of(text) == EXPECTED


def test_a_decimal_comma_is_no_thousands_separator() -> None:
    """3,5 is three and a half, never 35."""
    assert record_of("value;weight\n3,5;1,25\n10;2\n") == {"values": [3.5, 10], "weights": [1.25, 2]}


def test_names_that_begin_like_a_remark_are_names() -> None:
    """An item called #1 is not dropped."""
    assert record_of("name,value,weight\n#1,3,4\n#2,5,6\n")["names"] == ["#1", "#2"]


def test_names_are_integers_only_if_all_are() -> None:
    """Ids stay numbers; one name among them, or a leading zero, makes them text."""
    assert record_of("value,weight,id\n1,2,10\n3,4,20\n")["names"] == [10, 20]
    assert record_of("value,weight,id\n1,2,10\n3,4,x\n")["names"] == ["10", "x"]
    assert record_of("value,weight,id\n1,2,010\n3,4,20\n")["names"] == ["010", "20"]


def test_a_third_column_of_numbers_is_the_id() -> None:
    """Without a header numbers come in the order of the contract."""
    assert record_of("5,1,7\n6,2,9\n") == {"values": [5, 6], "weights": [1, 2], "names": [7, 9]}


def test_notes_above_the_header() -> None:
    """Lines above the header may give what is not a column; a name stays text."""
    table = read_table(
        Source("f", "", "# capacity = 2.5\n# Best_Known: 7\n# name = 007\n# just words\nvalue\n1\n")
    )
    assert table.notes == {"capacity": 2.5, "best_known": 7, "name": "007"}
    assert table.note_lines == {"capacity": 1, "best_known": 2, "name": 3}
    assert (table.first, table.lines) == (5, [6])


def test_elements_and_notes_have_lines() -> None:
    """Rows are found in their lines, below notes, sep=, blanks and remarks."""
    text = "# capacity = 1\nsep=;\n\nvalue;weight\n1;2\n\n# x\n3;4\n"
    record = to_record(read_table(Source("f", "", text)), COLUMNS, "sack")
    assert [record.locate("weights", 0), record.locate("weights", 1)] == [5, 8]
    assert record.locate("capacity", None) == 1
    assert record.locate("weights", 2) is None


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("value,weight\n1,2\n3,x\n", 3, "weight: expected a number, got 'x'"),
        ("value,weight\n1,2\n3,\n", 3, "weight: expected a number, got an empty cell"),
        ("value;weight\n1;2\n3;1.000,5\n", 3, "weight: expected a number, got '1.000,5'; a comma in"),
        ("value;weight\n1;1,000,000\n", 2, "weight: expected a number, got '1,000,000'"),
        ('value,weight\n1,"2,5"\n', 2, "weight: expected a number, got '2,5'; a comma in a comma-separated"),
        ("value;weight\n1.5;2\n2,5;3\n", 3, "decimal comma here, decimal point in line 2"),
        ("value,weight\n1,2\n\n3,4,5\n", 4, "expected 2 cells separated by ',' as in line 1, got 3"),
        ("value,weight\n1\n", 2, "expected 2 cells separated by ',' as in line 1, got 1"),
        ("weight\n0,5\n", 2, "expected 1 cells separated by ',' as in line 1, got 2"),
        ("# a\n\nvalue,weight,profit\n\n1,2,3\n", 3, "two columns mean 'value'; expected one"),
        ("\nvalue,height\n1,2\n", 2, "no column 'weight', which sack needs; the header has 'value, height'"),
        ("\nvalue,weight\n", 2, "has a header but no rows"),
        ("5\n6\n", 1, "no header and 1 columns of numbers; give a header with value, weight for sack"),
        ("1,2,3,4\n", 1, "no header and 4 columns of numbers; give a header"),
        ("value,weight,name\n1,2,a\n3,4,\n", 3, "expected a name, got an empty cell"),
        ("value,weight,name,name\n1,2,a,b\n", 1, "two columns mean 'name'; expected one"),
        ("# only\n# remarks\n", None, "holds no rows; expected a table"),
        ("sep=x\n1x2\n", 1, "sep=: expected ; , | or a tab after it, got "),
        ("sep=\n1,2\n", 1, "sep=: expected ; , | or a tab after it, got "),
        ("value,weight\n1," + "2" * 200_000 + "\n", 2, "not a table: field larger than field limit"),
    ],
)
def test_faults_have_lines(text: str, line: int | None, message: str) -> None:
    """A table that cannot be read says what is wrong, and in which line."""
    with pytest.raises(InputError) as caught:
        record_of(text)
    assert (caught.value.line, caught.value.message[: len(message)]) == (line, message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "suffix", "yes"),
    [
        ("1 2\n", ".csv", True),
        ("sep=;\n", "", True),
        ("# remark\nx;y\n", "", True),
        ("weight\n3\n", "", True),
        ("3\n4\n", "", False),
        ("some words\n", "", False),
    ],
)
def test_what_looks_like_a_table(text: str, suffix: str, yes: bool) -> None:
    """A suffix, a separator or a single header word make a table."""
    assert looks_like_table(Source("f", suffix, text)) is yes


def test_matches_needs_all_required_columns() -> None:
    """A header belongs to a problem if every column that it needs is there."""
    assert matches(read_table(Source("f", "", "size,profit,x\n1,2,3\n")), COLUMNS)
    assert not matches(read_table(Source("f", "", "size,x\n1,2\n")), COLUMNS)
    assert not matches(read_table(Source("f", "", "1,2\n3,4\n")), COLUMNS)


def test_a_long_header_takes_no_time() -> None:
    """Cutting units off headers is linear in their length."""
    text = "(" * 100_000 + ")x,value\n1,2\n"
    begin = time.perf_counter()
    with pytest.raises(InputError, match="no column 'weight'"):
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
