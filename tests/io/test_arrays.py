"""Pickles, .npy and .npz: plain numbers, or one line; nothing in them ever runs."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
import time
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsa_cli.core.errors import InputError
from nsa_cli.io.source import decode

from helpers import npy, npz

PROTOCOLS = [2, 3, 4, 5]


def arrays_of(data: bytes) -> Any:
    return decode(data, "f", "").arrays


PLAIN = st.recursive(
    st.one_of(st.integers(), st.floats(allow_nan=False), st.text(max_size=3), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=20,
)


@given(PLAIN, st.sampled_from(PROTOCOLS))
def test_plain_data_come_back(value: Any, protocol: int) -> None:
    """Lists, texts, numbers of any size and dictionaries are what they were, in every protocol."""
    data = pickle.dumps(value, protocol)
    if value is None:
        with pytest.raises(InputError, match=r"^f: is a pickle of nothing"):
            arrays_of(data)
    else:
        assert arrays_of(data) == value


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_arrays_in_pickles_are_refused(protocol: int) -> None:
    """NumPy's own files hold them without code that restores them."""
    for value in (np.zeros(3), [np.zeros((2, 2))], {"locs": np.zeros((2, 2))}, [np.float64(1)]):
        with pytest.raises(InputError, match=r"^f: is a pickle with more .*numpy.*; give json or npz$"):
            arrays_of(pickle.dumps(value, protocol))


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_code_in_a_pickle_does_not_run(protocol: int, tmp_path: Path) -> None:
    """It is refused by name, wherever it stands."""
    for value in (Evil(tmp_path / "x"), [[[0.5, 0.5], Evil(tmp_path / "x")]]):
        with pytest.raises(InputError, match=r"^f: is a pickle with more than lists .*\.system.* nothing"):
            arrays_of(pickle.dumps(value, protocol))
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "value",
    [
        *(np.array([[1], "x"], dtype=object), OrderedDict(a=1), {1, 2}, 1j, slice(1)),
        *(np.datetime64("2020-01-01"), len),
    ],
    ids=["array of objects", "class", "set", "complex", "slice", "date", "function"],
)
def test_what_is_not_plain_is_refused(value: Any) -> None:
    """Also what would be harmless: one line says that it is too much."""
    with pytest.raises(InputError, match=r"^f: (is a pickle with more|damaged data)") as caught:
        arrays_of(pickle.dumps([value]))
    assert "\n" not in str(caught.value)


def bomb() -> bytes:
    """Make a small pickle of lists in lists that unfold to ten to the fortieth."""
    value: list[Any] = [0.5]
    for _ in range(40):
        value = [value] * 10
    return pickle.dumps(value)


def itself() -> bytes:
    value: list[Any] = []
    value.append(value)
    return pickle.dumps(value)


NPY = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999, 2), }"
SMALL_BUT_HUGE = {
    "memo": b"\x80\x02]r\xff\xff\xff\x7f.",
    "length": b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b"x.",
    "lists in lists": bomb(),
    "a list in itself": itself(),
    "shape": npz(locs=np.zeros((2, 3, 2))).replace(b"(2, 3, 2)", b"(9999999999, 9, 2)"),
    "npy": NPY.ljust(127) + b"\n",
}


@pytest.mark.parametrize("name", list(SMALL_BUT_HUGE))
def test_small_files_that_claim_to_be_huge(name: str) -> None:
    """They take neither time nor memory."""
    begin = time.perf_counter()
    with pytest.raises(InputError, match=r"^f: [^\n]*$"):
        arrays_of(SMALL_BUT_HUGE[name])
    assert time.perf_counter() - begin < 2.0


def test_npy_and_npz_come_back() -> None:
    """Under their names, compressed or not."""
    x = np.random.default_rng(0).random((2, 3, 2)).astype(np.float32)
    assert np.array_equal(arrays_of(npz(locs=x))["locs"], x)
    assert np.array_equal(arrays_of(npy(x)), x)
    assert np.array_equal(arrays_of(gzip.compress(npy(x))), x)


def test_objects_in_npz_are_refused() -> None:
    """They would be pickles."""
    with pytest.raises(InputError, match=r"^f: damaged data: .*allow_pickle"):
        arrays_of(npz(a=np.array([{}, 1], dtype=object)))
    with pytest.raises(InputError, match=r"^f: expected arrays of numbers, got 'complex128'$"):
        arrays_of(npz(a=np.array([1j])))


def test_other_archives_are_refused() -> None:
    """A spreadsheet or a zip of texts is a zip, too."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("x.xml", "<x/>")
    with pytest.raises(InputError, match=r"^f: is a zip archive; expected a file, or NumPy's \.npz$"):
        arrays_of(out.getvalue())
    with pytest.raises(InputError, match=r"^f: damaged data: "):
        arrays_of(b"PK\x03\x04\0\0")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_cut_pickles_are_damaged(protocol: int) -> None:
    """At any place, in one line."""
    data = pickle.dumps([[0.5, 0.25], [1, 2**70], {"a": "b"}], protocol)
    for end in range(2, len(data) - 1):
        with pytest.raises(InputError, match=r"^f: [^\n]*$"):
            arrays_of(data[:end])
