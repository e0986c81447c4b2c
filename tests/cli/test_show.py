"""`nsa show`: how files are read."""

import pytest


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (
            "Kunde;Latitude;lng\nBonn;50,7;7,1\nUlm;48,4;10\n",
            (),
            ["tsp", "n 2", "Latitude as lat, lng as lon", "great circle (km", "'Kunde' is read as the names"],
        ),
        (
            "item,size,qty\nshelf,80,2\ndoor,120.5,1\n",
            ("--capacity", 240),
            ["bin", "n 3", "capacity 240", "1 80.0 shelf", "size as weights", "largest 120.5", "sum 280.5"],
        ),
        ("0,3,4\n3,0,5\n4,5,0\n", ("--columns", "matrix"), ["tsp", "n 3", "EXPLICIT", "2 2 3 0 5"]),
        ('{"problem": "rosenbrock", "a": 1, "b": 7, "x0": [2, 3]}', (), ["rosenbrock", "b 7", "1 2"]),
    ],
)
def test_what_was_read(nsa, tmp_path, text, options, words):
    """Problem, size, words, units, first rows and sums, and no answer."""
    path = tmp_path / "file.txt"
    path.write_text(text)
    done = nsa("show", path, *options)
    assert done.code == 0
    plain = " ".join(done.out.split())
    assert not [word for word in words if word not in plain], plain
    assert "objective" not in plain


def test_what_cannot_be_read_is_an_error(nsa, tmp_path):
    """The others are shown, and the exit code is that of the fault."""
    good, bad = tmp_path / "a.csv", tmp_path / "b.csv"
    good.write_text("x,y\n1,2\n3,4\n")
    bad.write_text("x,y\n1,2\n3,oops\n")
    done = nsa("show", bad, good)
    assert done.code == 2
    assert "b.csv:3: y: expected a number, got 'oops'" in done.err
    assert str(good) in done.out
