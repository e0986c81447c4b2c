"""Words of files and options: compared without regard to how they are written, and the nearest of some."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable

#: Texts that stand for no number, as between cities without an edge.
NO_NUMBER = ("inf", "+inf", "infinity", "null", "none", "∞")

#: Units that a header may end in.
_UNIT = re.compile(r"[_ ](kg|g|lb|lbs|t|mm|cm|m|km|mi|ft|in|l|eur|usd|gbp|deg|degrees)$")


def listed(text: str) -> tuple[str, ...]:
    """Split a text of words, which may have blanks in them, at commas."""
    return tuple(word.strip() for word in text.split(","))


@functools.lru_cache(10_000)
def squeezed(word: str) -> str:
    """Cut a word to lower-case letters and digits: ``City ID``, ``city_id`` and ``CityId`` are one.

    A unit at its end is cut off, too: ``weight (kg)``, ``weight kg``, ``weight_kg``.
    """
    word = word.strip()
    if word.endswith((")", "]")):
        word = re.split(r"[\[(]", word)[0]
    short = _UNIT.sub("", word.lower())
    return re.sub(r"[\s_.\-]+", "", short) or word.lower()


def nearest(word: str, known: Iterable[str], cutoff: float = 0.7) -> str | None:
    """Find the known word that is most like another one; None if none is."""
    by_form: dict[str, str] = {}
    for there in known:
        by_form.setdefault(squeezed(there), there)
    found = difflib.get_close_matches(squeezed(word)[:60], by_form, 1, cutoff)
    return by_form[found[0]] if found else None
