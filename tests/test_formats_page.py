"""The page on files has every word that is understood."""

import re
from pathlib import Path

from nsa_cli.problems import all_problems
from nsa_cli.problems.vocabulary import vocabulary

PAGE = Path(__file__).parents[1] / "docs" / "formats.md"


def words_table():
    """Write the table of words, a row a key."""
    lines = ["| problem | key | words |", "|---|---|---|"]
    for problem in all_problems():
        words = vocabulary(problem)
        for key, spelt in words.spelt.items():
            others = ", ".join(f"`{word}`" for word in spelt if word != key)
            lines.append(f"| {problem.name} | `{key}` | {others} |")
    return "\n".join(lines)


def test_every_word_is_on_the_page():
    """Word for word; `python tests/test_formats_page.py` writes it."""
    found = re.search(r"<!-- words: begin -->\n(.*?)\n?<!-- words: end -->", PAGE.read_text(), re.DOTALL)
    assert found
    assert found[1] == words_table()


if __name__ == "__main__":
    text = PAGE.read_text()
    begin, rest = text.split("<!-- words: begin -->\n")
    end = "<!-- words: end -->" + rest.split("<!-- words: end -->")[1]
    PAGE.write_text(f"{begin}<!-- words: begin -->\n{words_table()}\n{end}")
